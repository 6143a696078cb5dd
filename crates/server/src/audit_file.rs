//! The files of the audit log: `audit.log` is written, `audit.log.1` is the one before, and so on; the oldest is deleted.
//!
//! Invariant: a file has whole lines, but for the last one of a process that was killed while it wrote. The next line begins on a line of its own.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Its owner's alone.
const MODE: u32 = 0o600;

/// The file that is written.
#[derive(Debug)]
pub(crate) struct AuditFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
    files: u16,
    /// What is not a regular file, as a pipe, is never replaced.
    is_regular: bool,
    /// Whether the last write ended within a line.
    is_torn: bool,
}

impl AuditFile {
    pub(crate) fn open(path: &Path, bytes_max: u64, files: u16) -> io::Result<Self> {
        // Opened for reading, too: a pipe that nobody reads yet must not keep the start waiting.
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(MODE).open(path)?;
        let found = file.metadata()?;
        let is_regular = found.is_file();
        if is_regular && found.permissions().mode() & 0o777 != MODE {
            file.set_permissions(Permissions::from_mode(MODE))?;
        }
        let is_torn = is_regular && found.len() > 0 && {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            last != *b"\n"
        };
        Ok(Self { path: path.to_owned(), file, bytes: found.len(), bytes_max, files, is_regular, is_torn })
    }

    /// Writes whole lines; takes those from the front of `lines` that it has written.
    pub(crate) fn write(&mut self, lines: &mut &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            if self.is_torn {
                self.write_whole(b"\n")?;
                self.is_torn = false;
            }
            let room = usize::try_from(self.bytes_max.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
            let fits = if !self.is_regular || lines.len() <= room { lines.len() } else { end_of_lines(&lines[..room]) };
            if fits == 0 && self.bytes > 0 {
                self.rotate()?;
                continue;
            }
            // A line that is longer than a file may be has one of its own.
            let length = if fits == 0 { lines.iter().position(|byte| *byte == b'\n').map_or(lines.len(), |end| end + 1) } else { fits };
            self.write_whole(&lines[..length])?;
            *lines = &lines[length..];
        }
        Ok(())
    }

    /// All of it, or nothing.
    fn write_whole(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match self.file.write(&bytes[written..]) {
                Ok(0) => return self.undo(written, io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.undo(written, error),
            }
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn undo(&mut self, written: usize, error: io::Error) -> io::Result<()> {
        if written > 0 && self.file.set_len(self.bytes).is_err() {
            self.bytes += written as u64;
            self.is_torn = true;
        }
        Err(error)
    }

    /// Begins the next file.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.files).rev() {
            let older = if number == 1 { self.path.clone() } else { numbered(&self.path, number - 1) };
            match fs::rename(older, numbered(&self.path, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.files == 1 {
            fs::remove_file(&self.path)?;
        }
        *self = Self::open(&self.path, self.bytes_max, self.files)?;
        Ok(())
    }
}

fn numbered(path: &Path, number: u16) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// How many bytes the whole lines have that these begin with.
fn end_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}
