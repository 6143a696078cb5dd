//! The terminal that a command writes to.

use std::mem::zeroed;

/// How many columns and lines the terminal of the standard output has; none if that is no terminal, or does not say.
#[must_use]
pub fn terminal_size() -> Option<(usize, usize)> {
    // SAFETY: all fields are numbers.
    let mut size: libc::winsize = unsafe { zeroed() };
    // SAFETY: the structure is valid for writing.
    let answer = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (answer == 0 && size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}
