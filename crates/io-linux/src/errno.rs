//! The operating system's error numbers as a value.

/// A positive errno value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    /// The calling thread's last error.
    pub(crate) fn last() -> Self {
        Self(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// Turns a system call's `-1` into its error.
    pub(crate) fn check(result: libc::c_int) -> Result<libc::c_int, Self> {
        if result < 0 { Err(Self::last()) } else { Ok(result) }
    }

    /// Turns a transfer's `-1` into its error.
    pub(crate) fn check_length(result: libc::ssize_t) -> Result<usize, Self> {
        usize::try_from(result).map_err(|_| Self::last())
    }

    /// Whether the call has to be made again later: nothing to transfer now.
    pub(crate) fn is_would_block(self) -> bool {
        self.0 == libc::EAGAIN || self.0 == libc::EWOULDBLOCK
    }
}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}
