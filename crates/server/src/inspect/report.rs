//! What was found, for people and for programs.

use super::losses::Loss;
use super::source::{Part, Place, Sources};
use base::format_size;
use engine::{Kind, Sequence};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Damaged places that the text lists; JSON has all.
const DAMAGE_LINES_MAX: usize = 100;

/// What a segment is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    NeverUsed,
    Used,
    Free,
    /// A part of a checkpoint of the index.
    Checkpoint,
    /// The header is wrong: nothing of the segment can be read.
    Damaged,
}

/// Bytes that are not what was written.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Damage {
    /// In the segment.
    offset: u64,
    /// `null`: up to an end that is not known.
    bytes: Option<u64>,
    what: String,
}

impl Damage {
    pub(super) fn new(offset: usize, bytes: Option<usize>, what: String) -> Self {
        Self { offset: offset as u64, bytes: bytes.map(|bytes| bytes as u64), what }
    }
}

/// One segment.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SegmentReport {
    store: String,
    shard: u32,
    segment: u32,
    device: PathBuf,
    device_offset: u64,
    pub(super) state: State,
    pub(super) generation: Option<u64>,
    first_sequence: Option<u64>,
    last_sequence: Option<u64>,
    records: u64,
    tombstones: u64,
    pub(super) used_bytes: u64,
    /// An estimate of how much of its records is neither overwritten nor deleted.
    pub(super) live_percent: Option<u8>,
    /// It was open, or not yet synced, when its writer ended.
    pub(super) unfinished: bool,
    pub(super) damage: Vec<Damage>,
}

impl SegmentReport {
    pub(super) fn new(part: &Part, place: Place, device: &Path) -> Self {
        Self {
            store: format!("{:016x}", part.store),
            shard: part.shard,
            segment: place.segment,
            device: device.to_owned(),
            device_offset: place.offset,
            state: State::NeverUsed,
            generation: None,
            first_sequence: None,
            last_sequence: None,
            records: 0,
            tombstones: 0,
            used_bytes: 0,
            live_percent: None,
            unfinished: false,
            damage: Vec::new(),
        }
    }

    /// Nothing else can be said of it.
    pub(super) fn damaged<T>(&mut self, damage: Damage) -> Option<T> {
        self.state = State::Damaged;
        self.damage.push(damage);
        None
    }

    /// A valid record, up to `end`.
    pub(super) fn saw(&mut self, end: usize, sequence: Sequence, kind: Kind) {
        self.records += 1;
        self.tombstones += u64::from(matches!(kind, Kind::Tombstone { .. }));
        self.used_bytes = end as u64;
        self.first_sequence = Some(self.first_sequence.map_or(sequence.0, |first| first.min(sequence.0)));
        self.last_sequence = Some(self.last_sequence.map_or(sequence.0, |last| last.max(sequence.0)));
    }
}

/// One device or shard's own file.
#[derive(Clone, Debug, Serialize)]
struct DeviceReport {
    path: PathBuf,
    bytes: u64,
    /// `null` for a shard's own file.
    superblock: Option<SuperblockReport>,
}

#[derive(Clone, Debug, Serialize)]
struct SuperblockReport {
    store: String,
    format: u16,
    number: u16,
    devices: usize,
    shards: u16,
    segment_bytes: u32,
    formatted_s: i64,
    /// Where a copy is damaged.
    bad_copy: Option<u64>,
}

/// One shard, over all that was looked at.
#[derive(Clone, Debug, Default, Serialize)]
struct ShardReport {
    store: String,
    shard: u32,
    segments: u64,
    used: u64,
    free: u64,
    never_used: u64,
    checkpoint: u64,
    damaged: u64,
    unfinished: u64,
    records: u64,
    tombstones: u64,
    used_bytes: u64,
    live_bytes_estimate: u64,
    first_generation: Option<u64>,
    last_generation: Option<u64>,
    first_sequence: Option<u64>,
    last_sequence: Option<u64>,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    clean: bool,
    bytes_read: u64,
    devices: Vec<DeviceReport>,
    shards: Vec<ShardReport>,
    segments: Vec<SegmentReport>,
    losses: Vec<Loss>,
}

impl Report {
    pub(super) fn new(sources: &Sources, segments: Vec<SegmentReport>, mut losses: Vec<Loss>, bytes_read: u64) -> Self {
        let devices: Vec<DeviceReport> = sources.sources.iter().map(DeviceReport::new).collect();
        let mut shards: BTreeMap<(String, u32), ShardReport> = BTreeMap::new();
        for segment in &segments {
            let key = (segment.store.clone(), segment.shard);
            let shard = shards.entry(key).or_insert_with(|| ShardReport {
                store: segment.store.clone(),
                shard: segment.shard,
                ..ShardReport::default()
            });
            shard.add(segment);
        }
        let last_sequence = |store: &str, shard| shards.get(&(store.to_owned(), shard)).and_then(|shard| shard.last_sequence).unwrap_or(0);
        losses.iter_mut().for_each(|loss| loss.found(last_sequence));
        let bad_copy = |device: &DeviceReport| device.superblock.as_ref().is_some_and(|superblock| superblock.bad_copy.is_some());
        let clean = segments.iter().all(|segment| segment.damage.is_empty()) && !devices.iter().any(bad_copy) && losses.is_empty();
        Self { clean, bytes_read, devices, shards: shards.into_values().collect(), segments, losses }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.clean
    }

    /// The text; with a line for each segment that was ever used if asked.
    pub(super) fn text(&self, all_segments: bool) -> String {
        let mut text = String::new();
        for device in &self.devices {
            text.push_str(&format!("{device}\n"));
        }
        for shard in &self.shards {
            text.push_str(&format!("{shard}\n"));
        }
        if all_segments {
            text.push_str(
                "\n shard  segment  state         generation        sequences           records   used        live   device offset\n",
            );
            for segment in self.segments.iter().filter(|segment| segment.state != State::NeverUsed) {
                text.push_str(&format!("{segment}\n"));
            }
        }
        let damaged = self.segments.iter().flat_map(|segment| segment.damage.iter().map(move |damage| (segment, damage)));
        let count = damaged.clone().count();
        if count > 0 {
            text.push_str("\ndamage:\n");
        }
        for (segment, damage) in damaged.take(DAMAGE_LINES_MAX) {
            text.push_str(&format!("  {}\n", DamageLine(segment, damage)));
        }
        if count > DAMAGE_LINES_MAX {
            text.push_str(&format!("  and {} more (--json lists all)\n", count - DAMAGE_LINES_MAX));
        }
        if !self.losses.is_empty() {
            text.push_str("\nlost:\n");
        }
        for loss in &self.losses {
            text.push_str(&format!("  {loss}\n"));
        }
        let (records, read) = (self.shards.iter().map(|shard| shard.records).sum::<u64>(), format_size(self.bytes_read));
        text.push_str(&match (self.clean, count) {
            (true, _) => format!("clean: {records} records in {read} checked, no damage\n"),
            (false, 0) if !self.losses.is_empty() => format!("damaged: stored data is lost; {records} records in {read} are good\n"),
            (false, 0) => format!("damaged: a superblock; {records} records in {read} checked\n"),
            (false, _) => format!("damaged: {count} places; {records} records in {read} are good\n"),
        });
        text
    }
}

impl DeviceReport {
    fn new(source: &super::source::Source) -> Self {
        let superblock = source.superblock.as_ref().map(|superblock| SuperblockReport {
            store: format!("{:032x}", superblock.store),
            format: 1,
            number: superblock.number,
            devices: superblock.area_segments.len(),
            shards: superblock.cores,
            segment_bytes: superblock.segment_bytes,
            formatted_s: superblock.formatted_s,
            bad_copy: source.bad_copy,
        });
        Self { path: source.device.path().to_owned(), bytes: source.device.bytes(), superblock }
    }
}

impl ShardReport {
    fn add(&mut self, segment: &SegmentReport) {
        let least = |one: Option<u64>, other: Option<u64>| [one, other].into_iter().flatten().min();
        self.segments += 1;
        match segment.state {
            State::NeverUsed => self.never_used += 1,
            State::Used => self.used += 1,
            State::Free => self.free += 1,
            State::Checkpoint => self.checkpoint += 1,
            State::Damaged => self.damaged += 1,
        }
        self.unfinished += u64::from(segment.unfinished);
        self.records += segment.records;
        self.tombstones += segment.tombstones;
        self.used_bytes += segment.used_bytes;
        self.live_bytes_estimate += segment.used_bytes * u64::from(segment.live_percent.unwrap_or(0)) / 100;
        self.first_generation = least(self.first_generation, segment.generation);
        self.last_generation = self.last_generation.max(segment.generation);
        self.first_sequence = least(self.first_sequence, segment.first_sequence);
        self.last_sequence = self.last_sequence.max(segment.last_sequence);
    }
}

impl fmt::Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, ", self.path.display(), format_size(self.bytes))?;
        let Some(superblock) = &self.superblock else { return write!(f, "a shard's own file") };
        let SuperblockReport { store, number, devices, shards, segment_bytes, .. } = superblock;
        let segment = format_size(u64::from(*segment_bytes));
        write!(
            f,
            "device {number} of {devices} (numbers count from 0) of store {store}, areas of {shards} shards, segments of {segment}, format 1"
        )?;
        match superblock.bad_copy {
            Some(offset) => write!(f, "\n  damaged: the copy of the superblock at {offset}; the next start writes it anew"),
            None => Ok(()),
        }
    }
}

/// `3–7`, or nothing known.
struct Range(Option<u64>, Option<u64>);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(first), Some(last)) => f.pad(&format!("{first}–{last}")),
            _ => f.pad("–"),
        }
    }
}

impl fmt::Display for ShardReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, segments, used, free, never_used, checkpoint, damaged, records, tombstones, .. } = self;
        write!(f, "  shard {shard}: {segments} segments: {used} used, {checkpoint} of checkpoints, {free} free, {never_used} never used")?;
        if *damaged > 0 {
            write!(f, ", {damaged} damaged")?;
        }
        let (generations, sequences) = (Range(self.first_generation, self.last_generation), Range(self.first_sequence, self.last_sequence));
        let (bytes, live) = (format_size(self.used_bytes), format_size(self.live_bytes_estimate));
        write!(f, "; generations {generations}; {records} records ({tombstones} tombstones), sequences {sequences}")?;
        write!(f, "; {bytes}, of which about {live} live")?;
        if self.unfinished > 0 {
            write!(f, "; {} not finished when the server ended, which the next start does", self.unfinished)?;
        }
        Ok(())
    }
}

impl fmt::Display for SegmentReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::NeverUsed => "never used",
            State::Used if self.unfinished => "used, open",
            State::Used => "used",
            State::Free => "free",
            State::Checkpoint => "checkpoint",
            State::Damaged => "damaged",
        };
        let generation = self.generation.map_or("–".to_owned(), |generation| generation.to_string());
        let live = self.live_percent.map_or("–".to_owned(), |percent| format!("{percent} %"));
        let (sequences, used) = (Range(self.first_sequence, self.last_sequence), format_size(self.used_bytes));
        let (device, offset) = (self.device.display(), self.device_offset);
        write!(f, "{:>6} {:>8}  {state:<12} {generation:>11}  {sequences:>19} ", self.shard, self.segment)?;
        write!(f, "{:>13}   {used:<10} {live:>5}   {device} {offset}", self.records)
    }
}

/// A damaged place with its segment.
struct DamageLine<'a>(&'a SegmentReport, &'a Damage);

impl fmt::Display for DamageLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(segment, damage) = self;
        let bytes = damage.bytes.map_or("all up to the end".to_owned(), |bytes| format!("{bytes} bytes"));
        write!(f, "shard {} segment {} offset {}, {bytes}: {}", segment.shard, segment.segment, damage.offset, damage.what)?;
        write!(f, " ({} at {})", segment.device.display(), segment.device_offset + damage.offset)
    }
}
