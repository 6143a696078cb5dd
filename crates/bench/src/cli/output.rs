//! What commands print.

use std::io::{IsTerminal, Write};

/// Width of tables where standard output is no terminal.
const WIDTH: usize = 120;

/// To standard output; nobody may be reading any more, which is no reason to end.
pub(super) fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

pub(super) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    if std::io::stdout().is_terminal() { columns.unwrap_or(WIDTH) } else { WIDTH }
}
