//! Who may read the files that this process makes.

/// From now on files that the process makes are its user's alone, and so are directories.
pub fn make_files_private() {
    // SAFETY: it takes a number and cannot fail.
    unsafe { libc::umask(0o077) };
}
