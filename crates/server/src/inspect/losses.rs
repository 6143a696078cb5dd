//! What a shard's own file had and lacks, and whether its stable memory is the one that belongs to it: the same questions that a start asks
//! (`engine/src/recovery/losses.rs`), without the engine.

use super::head::Head;
use super::source::{OwnFile, Part, Sources};
use crate::node::MIRRORS;
use base::{AlignedBuffer, BLOCK_BYTES, format_size};
use engine::{BeyondEnd, Contents, Mark, RunState, SegmentHead, Witness, read_witnesses};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What a shard has lost.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Loss {
    store: String,
    shard: u32,
    #[serde(flatten)]
    what: What,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum What {
    /// Of the data file.
    Data {
        path: PathBuf,
        /// How long it is; `null`: there is none.
        bytes: Option<u64>,
        /// How long it was, at least.
        known_bytes: u64,
        /// The latest generation in it.
        generation: u64,
        /// The latest generation that it had.
        known_generation: u64,
        /// Segments with records beyond its end, as far as known.
        segments: u64,
        /// Records beyond its end that the last checkpoint names; `null` if that cannot be read.
        records: Option<u64>,
        /// Of the writes that the device had the last one, and the last one that is there.
        known_sequence: u64,
        sequence: u64,
    },
    /// The stable memory of a run that did not end in order.
    Buffer { path: PathBuf, why: &'static str },
}

/// What the stable memory of a shard says.
#[derive(Default)]
pub(super) struct Buffer {
    bytes: Option<u64>,
    marks: Vec<Mark>,
    witnesses: Vec<Witness>,
    /// Generations of segments that it has images of.
    images: Vec<u64>,
}

impl Buffer {
    /// Reads the first block of each mirror slot.
    pub(super) fn read(path: &Path, store: u64, shard: u32, segment_bytes: u32) -> Self {
        let Ok(file) = std::fs::File::open(path) else { return Self::default() };
        let mut buffer = Self { bytes: file.metadata().ok().map(|metadata| metadata.len()), ..Self::default() };
        let mut block = [0; BLOCK_BYTES];
        for slot in 0..MIRRORS as u64 {
            if file.read_exact_at(&mut block, slot * u64::from(segment_bytes)).is_err() {
                break;
            }
            buffer.marks.extend(Mark::read_block(&block).filter(|mark| (mark.store, mark.shard) == (store, shard)));
            buffer.witnesses.extend(read_witnesses(&block, store, shard));
            if let SegmentHead::Valid(info) = SegmentHead::read(&block)
                && (info.store, info.shard) == (store, shard)
            {
                buffer.images.push(info.generation);
            }
        }
        buffer
    }
}

/// What all headers of one part say together.
#[derive(Default)]
pub(super) struct Known<'a> {
    heads: Vec<&'a Head>,
    places: BTreeMap<u32, u64>,
}

impl<'a> Known<'a> {
    pub(super) fn add(&mut self, segment: u32, offset: u64, head: &'a Head) {
        self.heads.push(head);
        self.places.insert(segment, offset);
    }

    /// Compares them with the file and with the stable memory.
    pub(super) fn losses(&self, part: &Part, own: &OwnFile, sources: &Sources) -> Vec<Loss> {
        let buffer = own.buffer.as_ref().map(|path| Buffer::read(path, part.store, part.shard, part.segment_bytes)).unwrap_or_default();
        let on_device: Vec<Mark> = self.heads.iter().filter_map(|head| head.mark).collect();
        let whats =
            [self.data_loss(part, own, sources, &buffer, &on_device), buffer_loss(part, own, &buffer, &on_device, self.newest(part))];
        let loss = |what| Loss { store: format!("{:016x}", part.store), shard: part.shard, what };
        whats.into_iter().flatten().map(loss).collect()
    }

    fn newest(&self, part: &Part) -> u64 {
        let generation = |head: &&Head| match head.head {
            SegmentHead::Valid(info) if (info.store, info.shard) == (part.store, part.shard) => info.generation,
            _ => 0,
        };
        self.heads.iter().map(generation).max().unwrap_or(0)
    }

    fn data_loss(&self, part: &Part, own: &OwnFile, sources: &Sources, buffer: &Buffer, on_device: &[Mark]) -> Option<What> {
        let bytes = own.bytes.unwrap_or(0);
        let segment_bytes = u64::from(part.segment_bytes);
        let run = on_device.iter().chain(&buffer.marks).map(|mark| mark.run).max();
        let last: Vec<&Mark> = on_device.iter().chain(&buffer.marks).filter(|mark| Some(mark.run) == run).collect();
        let known_generation = last.iter().map(|mark| mark.generation).max().unwrap_or(0);
        let generation = self.newest(part);
        let count = (bytes / segment_bytes) as u32;
        // The latest word on each segment beyond the end.
        let mut beyond: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
        let witnesses = self.heads.iter().flat_map(|head| &head.witnesses).chain(&buffer.witnesses);
        for Witness { segment, generation, free } in witnesses.filter(|witness| witness.segment.0 >= count) {
            let entry = beyond.entry(segment.0).or_default();
            *entry = (*generation, *free).max(*entry);
        }
        beyond.retain(|_, (generation, free)| !*free && !buffer.images.contains(generation));
        let marked = last.iter().map(|mark| mark.segments).max().unwrap_or(0);
        let known_segments = marked.max(beyond.keys().last().map_or(0, |segment| segment + 1));
        let imaged = buffer.images.iter().filter(|image| **image > generation && **image <= known_generation).count() as u64;
        let damaged = self.heads.iter().filter(|head| matches!(head.head, SegmentHead::Damaged)).count() as u64;
        let gone = known_generation.saturating_sub(generation).saturating_sub(imaged + damaged);
        let named = self.beyond_by_checkpoint(part, bytes, sources);
        let known_bytes = (u64::from(known_segments) * segment_bytes).max(bytes);
        let is_short = known_bytes > bytes || named.is_some_and(|(records, _)| records > 0);
        (is_short || gone > 0).then(|| What::Data {
            path: own.path.clone(),
            bytes: own.bytes,
            known_bytes,
            generation,
            known_generation: known_generation.max(generation),
            segments: (beyond.len() as u64).max(named.map_or(0, |(_, segments)| segments)),
            records: named.map(|(records, _)| records),
            known_sequence: last.iter().map(|mark| mark.sequence).max().unwrap_or(0),
            sequence: 0,
        })
    }

    /// Records and segments beyond the end that the last complete checkpoint names.
    fn beyond_by_checkpoint(&self, part: &Part, bytes: u64, sources: &Sources) -> Option<(u64, u64)> {
        let infos = self.heads.iter().filter_map(|head| match head.head {
            SegmentHead::Valid(info) if (info.store, info.shard) == (part.store, part.shard) => Some(info),
            _ => None,
        });
        let committed = infos.clone().filter_map(|info| match info.contents {
            Contents::Checkpoint { number, stream_bytes: Some(bytes), .. } => Some((number, bytes)),
            _ => None,
        });
        let (last, stream_bytes) = committed.max()?;
        let mut parts: Vec<_> = infos
            .filter_map(|info| match info.contents {
                Contents::Checkpoint { number, ordinal, .. } if number == last => Some((ordinal, info)),
                _ => None,
            })
            .collect();
        parts.sort_by_key(|(ordinal, _)| *ordinal);
        let mut beyond = BeyondEnd::new(bytes, part.segment_bytes, stream_bytes);
        let length = part.segment_bytes as usize;
        let mut image = AlignedBuffer::zeroed(length);
        let device = &sources.sources.get(part.source)?.device;
        for (_, info) in parts {
            device.read(*self.places.get(&info.segment)?, &mut image, length).ok()?;
            sources.decrypt(&info, &mut image);
            beyond.add(&image, &info);
        }
        beyond.count()
    }
}

fn buffer_loss(part: &Part, own: &OwnFile, buffer: &Buffer, on_device: &[Mark], newest: u64) -> Option<What> {
    let path = own.buffer.clone()?;
    let last = on_device.iter().max_by_key(|mark| (mark.run, mark.state))?;
    if newest == 0 || last.state == RunState::Ended {
        return None;
    }
    let boot = crate::node::boot_number();
    let run = buffer.marks.iter().map(|mark| mark.run).max();
    let why = match buffer.bytes {
        None | Some(0) => "it is missing or empty",
        Some(bytes) if bytes < MIRRORS as u64 * u64::from(part.segment_bytes) => "its end is missing",
        _ if last.boot != boot => return None,
        _ if run.is_none() => "it holds nothing of the last run",
        _ if run < Some(last.run) => "it is older than the data",
        _ => return None,
    };
    Some(What::Buffer { path, why })
}

impl Loss {
    /// The last sequences that were found, by shard.
    pub(super) fn found(&mut self, last_sequence: impl Fn(&str, u32) -> u64) {
        if let What::Data { sequence, .. } = &mut self.what {
            *sequence = last_sequence(&self.store, self.shard);
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}: ", self.shard)?;
        match &self.what {
            What::Data { path, bytes, known_bytes, generation, known_generation, segments, records, known_sequence, sequence } => {
                let path = path.display();
                match bytes {
                    None => write!(f, "{path} is missing; it had at least {}", format_size(*known_bytes))?,
                    Some(bytes) if bytes < known_bytes => {
                        write!(f, "{path} has {}; it had at least {}", format_size(*bytes), format_size(*known_bytes))?
                    }
                    Some(_) => write!(f, "{path} is older than what was written last, or has lost writes")?,
                }
                if known_generation > generation {
                    write!(f, "; its newest segment is of generation {generation}, and it had one of {known_generation}")?;
                }
                write!(f, "; at least {segments} segments with records are gone")?;
                if let Some(records) = records {
                    write!(f, ", and {records} records that the last checkpoint names")?;
                }
                if known_sequence > sequence {
                    write!(
                        f,
                        "; the last {} writes are gone ({sequence} is the last one there, {known_sequence} was)",
                        known_sequence - sequence
                    )?;
                }
                Ok(())
            }
            What::Buffer { path, why } => {
                write!(f, "the last run did not end in order, and of {} ", path.display())?;
                write!(f, "{why}: the writes that it acknowledged last may be gone")
            }
        }
    }
}
