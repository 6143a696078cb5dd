//! Standard error as the log writes to it: a core never waits for whoever reads it. Lines that it has no room for are counted, and told of once it has.

use std::io::{Stderr, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

/// A pipe that is writable takes so many bytes at once.
const ATOMIC_BYTES: usize = 4096;

/// Where lines go.
pub(crate) struct LogWriter<W = Stderr>(Arc<Mutex<Lines<W>>>);

struct Lines<W> {
    out: W,
    /// Lines that were not written since the last that was.
    lost: u64,
}

impl<W> LogWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self(Arc::new(Mutex::new(Lines { out, lost: 0 })))
    }
}

impl<W> Clone for LogWriter<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write + AsFd> Lines<W> {
    /// Writes as much of it as there is room for. Returns whether that was all.
    fn write(&mut self, bytes: &[u8]) -> bool {
        bytes.chunks(ATOMIC_BYTES).all(|part| io_linux::is_writable(self.out.as_fd()) && self.out.write_all(part).is_ok())
    }

    fn line(&mut self, line: &[u8]) {
        if self.lost > 0 {
            let told = format!("{} lines of the log are missing here: standard error was not read\n", self.lost);
            if !self.write(told.as_bytes()) {
                self.lost += 1;
                return;
            }
            self.lost = 0;
        }
        if !self.write(line) {
            self.lost += 1;
        }
    }
}

impl<W: Write + AsFd> Write for LogWriter<W> {
    /// The log writes a line at a time.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a, W: Write + AsFd + 'a> MakeWriter<'a> for LogWriter<W> {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn nobody_waits_for_who_does_not_read_and_what_is_lost_is_told() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut log = LogWriter::new(writer);
        // Far more than a pipe holds.
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        for _ in 0..5_000 {
            log.write_all(&line).unwrap();
        }
        let mut read = vec![0; 32 << 10];
        reader.read_exact(&mut read).unwrap();
        log.write_all(b"back\n").unwrap();
        drop(log);
        reader.read_to_end(&mut read).unwrap();
        let text = String::from_utf8(read).unwrap();
        let whole = text.lines().filter(|line| line.len() == 999).count();
        let told = text
            .lines()
            .find_map(|line| line.find(" lines of the log are missing").map(|at| line[..at].trim_start_matches('x').parse::<usize>()));
        let lost = told.expect("what is lost is told").unwrap();
        assert!(whole + lost == 5_000 && lost > 4_000, "{whole} + {lost}");
        assert!(text.ends_with("back\n"));
    }
}
