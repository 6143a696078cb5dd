//! One core's stream becomes one file.

use super::earlier::Earlier;
use super::encryption::{BackupCipher, Place};
use super::error::BackupError;
use super::format::{FileEntry, chunk, rows_file};
use super::interrupt;
use super::rate_limit::PIECE_BYTES;
use super::sink::Sink;
use super::target::Target;
use crate::meter::Meter;
use crate::operate::Asked;
use crate::throttle::Throttle;
use ::node::{FRAME_HEAD_BYTES, FrameKind, read_frame_head};
use engine::ReceivedRows;
use std::io::Read;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Rows are compressed in so many bytes.
const CHUNK_BYTES: usize = 256 << 10;
const FRAME_BYTES_MAX: usize = 1 << 30;

/// What all streams and the tool know of each other.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) scanned: usize,
    pub(crate) fault: Option<BackupError>,
    /// The cut that holds.
    pub(crate) cut: Option<u32>,
}

impl Progress {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// The first fault is the one that counts.
    pub(crate) fn fail(&self, error: BackupError) {
        self.change(|state| {
            state.fault.get_or_insert(error);
        });
    }

    /// Waits until so many streams are scanned, or one has failed.
    pub(crate) fn wait_scanned(&self, streams: usize) {
        let waits = |state: &mut State| state.scanned < streams && state.fault.is_none();
        drop(self.changed.wait_while(self.lock(), waits));
    }
}

/// A file in the making.
struct Writer {
    sink: Sink,
    number: u32,
    entry: FileEntry,
    rows: Vec<u8>,
    /// What the file was at each cut.
    cuts: Vec<(u32, FileEntry)>,
}

/// What all streams share.
pub(crate) struct Shared<'a> {
    pub(crate) progress: Progress,
    pub(crate) throttle: Throttle,
    pub(crate) meter: Meter,
    pub(crate) cipher: Option<&'a BackupCipher>,
    /// The rows of the backup before, of an incremental one.
    pub(crate) earlier: Option<Earlier>,
}

/// Writes a stream to the file of this number, up to the cut that holds.
pub(crate) fn receive(node: &Asked, request: &str, target: &Target, number: u32, shared: &Shared<'_>) -> Result<FileEntry, BackupError> {
    let mut writer = Writer::create(target, number)?;
    let mut outcome = Ok(None);
    node.stream(request, &mut |stream| {
        outcome = writer.follow(node, stream, shared);
    })?;
    let cut = outcome?.ok_or_else(|| BackupError::Ended { why: "a node has ended its stream".to_owned() })?;
    writer.end(cut)
}

/// Writes void rows for keys that were gone at a cut to the file of this number.
pub(crate) fn write_gone(
    target: &Target,
    number: u32,
    cipher: Option<&BackupCipher>,
    each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), BackupError>) -> Result<(), BackupError>,
) -> Result<FileEntry, BackupError> {
    let mut writer = Writer::create(target, number)?;
    each(&mut |row| {
        writer.rows.extend_from_slice(row);
        if writer.rows.len() >= CHUNK_BYTES { writer.flush(cipher) } else { Ok(()) }
    })?;
    writer.flush(cipher)?;
    writer.sink.mark(writer.entry.bytes);
    writer.sink.end(writer.entry.bytes)?;
    Ok(writer.entry)
}

impl Writer {
    fn create(target: &Target, number: u32) -> Result<Self, BackupError> {
        let name = rows_file(number);
        let sink = target.create(&name)?;
        let entry = FileEntry { name, ..FileEntry::default() };
        Ok(Self { sink, number, entry, rows: Vec::new(), cuts: Vec::new() })
    }

    /// Up to the cut that holds; `None` if another stream has failed.
    fn follow(&mut self, node: &Asked, stream: &mut dyn Read, shared: &Shared<'_>) -> Result<Option<u32>, BackupError> {
        loop {
            interrupt::check()?;
            {
                let state = shared.progress.lock();
                if state.fault.is_some() {
                    return Ok(None);
                }
                if let Some(cut) = state.cut.filter(|cut| self.cuts.iter().any(|(number, _)| number == cut)) {
                    return Ok(Some(cut));
                }
            }
            let (kind, payload) = read_frame(node, stream, shared)?;
            match kind {
                FrameKind::Rows => {
                    self.take(&payload, shared)?;
                    if self.rows.len() >= CHUNK_BYTES {
                        self.flush(shared.cipher)?;
                    }
                }
                FrameKind::Cut => {
                    self.flush(shared.cipher)?;
                    let number = payload.first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
                    self.sink.mark(self.entry.bytes);
                    self.cuts.push((number, self.entry.clone()));
                }
                FrameKind::Fault => return Err(BackupError::Ended { why: String::from_utf8_lossy(&payload).into_owned() }),
                FrameKind::Idle => {}
                FrameKind::Scanned => {
                    shared.meter.add_done(1);
                    shared.progress.change(|state| state.scanned += 1);
                }
            }
        }
    }

    /// Takes rows that have come; those that are in the backup before are left out.
    fn take(&mut self, rows: &[u8], shared: &Shared<'_>) -> Result<(), BackupError> {
        match &shared.earlier {
            None => self.rows.extend_from_slice(rows),
            Some(earlier) => earlier.keep_changed(rows, self.cuts.last().map_or(0, |(number, _)| *number), &mut self.rows)?,
        }
        Ok(())
    }

    /// Writes chunks of what has come: each has whole rows.
    fn flush(&mut self, cipher: Option<&BackupCipher>) -> Result<(), BackupError> {
        let rows = std::mem::take(&mut self.rows);
        let (mut start, mut at, mut count) = (0, 0, 0);
        for row in ReceivedRows::new(&rows) {
            let row = row.map_err(|error| BackupError::Ended { why: error.to_string() })?;
            at += row.encoded.len();
            count += 1;
            if at - start >= CHUNK_BYTES {
                self.write(&rows[start..at], count, cipher)?;
                (start, count) = (at, 0);
            }
        }
        if at > start {
            self.write(&rows[start..at], count, cipher)?;
        }
        Ok(())
    }

    fn write(&mut self, rows: &[u8], count: u64, cipher: Option<&BackupCipher>) -> Result<(), BackupError> {
        let bytes = chunk(rows, Place::chunk(self.number, self.entry.chunks), cipher);
        self.sink.write(&bytes)?;
        self.entry.bytes += bytes.len() as u64;
        self.entry.chunks += 1;
        self.entry.rows += count;
        Ok(())
    }

    /// The file ends where the cut is.
    fn end(self, cut: u32) -> Result<FileEntry, BackupError> {
        let entry = self.cuts.iter().find(|(number, _)| *number == cut).map(|(_, entry)| entry.clone());
        let entry = entry.ok_or_else(|| BackupError::Ended { why: "a stream has no cut".to_owned() })?;
        self.sink.end(entry.bytes)?;
        Ok(entry)
    }
}

/// A frame, at the pace that the throttle allows.
fn read_frame(node: &Asked, stream: &mut dyn Read, shared: &Shared<'_>) -> Result<(FrameKind, Vec<u8>), BackupError> {
    let ended = |error: std::io::Error| BackupError::Ended { why: format!("the stream of {} has ended: {error}", node.url()) };
    let mut head = [0; FRAME_HEAD_BYTES];
    stream.read_exact(&mut head).map_err(ended)?;
    let (kind, bytes, stored) = read_frame_head(&head)
        .filter(|(_, bytes, _)| *bytes <= FRAME_BYTES_MAX)
        .ok_or_else(|| node.strange("a frame is unknown".to_owned()))?;
    let mut payload = vec![0; bytes];
    for piece in payload.chunks_mut(PIECE_BYTES) {
        stream.read_exact(piece).map_err(ended)?;
        shared.meter.add(piece.len());
        shared.throttle.pass(piece.len());
    }
    let mut checksum = base::Checksum::new();
    checksum.update(&[kind as u8]);
    checksum.update(&payload);
    if checksum.value() != stored {
        return Err(BackupError::Ended { why: "a frame has changed on its way".to_owned() });
    }
    Ok((kind, payload))
}
