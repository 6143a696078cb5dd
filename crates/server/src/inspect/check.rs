//! Checking segments: heads first, because the newest generation decides what an unfinished segment means; then every record of those in use.
//!
//! Several threads take segments from one list, each with an image buffer of its own.

use super::error::InspectError;
use super::head::Head;
use super::live::{Live, Seen};
use super::losses::{Known, Loss};
use super::report::{Damage, SegmentReport, State};
use super::source::{Part, Place, Sources};
use crate::node::MIRRORS;
use base::{AlignedBuffer, BLOCK_BYTES, TableId};
use engine::{Contents, Found, Kind, Mark, SegmentHead, SegmentInfo, Sequence, Witness, check_checkpoint, read_witnesses, walk_segment};
use io_linux::Device;
use std::collections::{BTreeMap, HashMap};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

const THREADS_MAX: usize = 8;
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// A segment to be looked at.
struct Item<'a> {
    part: &'a Part,
    place: Place,
    head: SegmentHead,
    /// The newest generation that headers of other segments say it has, and whether that use was over; 0 if they say nothing.
    witnessed: (u64, bool),
}

/// What threads share.
struct Shared<'a> {
    sources: &'a Sources,
    items: Vec<Item<'a>>,
    /// The newest generation of each shard of each store.
    newest: BTreeMap<(u64, u32), u64>,
    /// How long each completed checkpoint is: by store, shard and number.
    checkpoints: BTreeMap<(u64, u32, u64), u64>,
    now_s: i64,
    next: AtomicUsize,
    bytes_read: AtomicU64,
    threads_done: AtomicUsize,
}

/// Looks at everything. Also says how many bytes of segments were read.
///
/// # Errors
/// When there is no key for what is encrypted.
pub(super) fn check(sources: &Sources, now_s: i64) -> Result<(Vec<SegmentReport>, Vec<Loss>, u64), InspectError> {
    let places = sources.parts.iter().flat_map(|part| part.places.iter().map(move |place| (part, *place)));
    let items = places.map(|(part, place)| Item { part, place, head: SegmentHead::Blank, witnessed: (0, false) }).collect();
    let (next, bytes_read, threads_done) = Default::default();
    let mut shared =
        Shared { sources, items, newest: BTreeMap::new(), checkpoints: BTreeMap::new(), now_s, next, bytes_read, threads_done };
    let heads = in_threads(&shared, "segment headers", |shared, index, _, buffer| {
        let item = &shared.items[index];
        match read(shared.device(item.part), item.place.offset, buffer, BLOCK_BYTES) {
            Ok(()) => {
                let block = &buffer[..BLOCK_BYTES];
                let (store, shard) = (item.part.store, item.part.shard);
                let mark = Mark::read_block(block).filter(|mark| (mark.store, mark.shard) == (store, shard));
                Head { head: SegmentHead::read(block), witnesses: read_witnesses(block, store, shard), mark }
            }
            Err(_) => Head { head: SegmentHead::Damaged, ..Head::default() },
        }
    });
    let mut witnessed: HashMap<(u64, u32, u32), (u64, bool)> = HashMap::new();
    if let Some(index) = heads.0.iter().find_map(|(index, head)| head.info().filter(|info| !sources.has_key(info)).map(|_| *index)) {
        return Err(InspectError::Encrypted { path: shared.device(shared.items[index].part).path().to_owned() });
    }
    let losses = find_losses(sources, &shared, &heads.0);
    for (index, Head { head, witnesses, .. }) in heads.0 {
        let item = &mut shared.items[index];
        for Witness { segment, generation, free } in witnesses {
            let newest = witnessed.entry((item.part.store, item.part.shard, segment.0)).or_default();
            *newest = (generation, free).max(*newest);
        }
        item.head = head;
        if let SegmentHead::Valid(info) = head
            && (info.store, info.shard) == (item.part.store, item.part.shard)
        {
            let newest = shared.newest.entry((info.store, info.shard)).or_default();
            *newest = info.generation.max(*newest);
            if let Contents::Checkpoint { number, stream_bytes: Some(bytes), .. } = info.contents {
                shared.checkpoints.insert((info.store, info.shard, number), bytes);
            }
        }
    }
    for item in &mut shared.items {
        item.witnessed = witnessed.get(&(item.part.store, item.part.shard, item.place.segment)).copied().unwrap_or_default();
    }
    shared.next = AtomicUsize::new(0);
    shared.threads_done = AtomicUsize::new(0);
    let (mut reports, live) = in_threads(&shared, "segments", check_segment);
    reports.sort_by_key(|(index, _)| *index);
    let percents = live.percents(shared.items.len());
    let mut reports: Vec<SegmentReport> = reports.into_iter().map(|(_, report)| report).collect();
    for (report, percent) in reports.iter_mut().zip(percents) {
        report.live_percent = if report.state == State::Used { percent } else { None };
    }
    Ok((reports, losses, shared.bytes_read.into_inner()))
}

/// Compares what headers say with the files of shards and their stable memories.
fn find_losses(sources: &Sources, shared: &Shared<'_>, heads: &[(usize, Head)]) -> Vec<Loss> {
    let mut known: BTreeMap<(u64, u32), Known<'_>> = BTreeMap::new();
    for (index, head) in heads {
        let Item { part, place, .. } = &shared.items[*index];
        known.entry((part.store, part.shard)).or_default().add(place.segment, place.offset, head);
    }
    let mut losses = Vec::new();
    for part in &sources.parts {
        if let Some(own) = &part.own {
            losses.extend(known.entry((part.store, part.shard)).or_default().losses(part, own, sources));
        }
    }
    losses
}

/// Has threads look at each item; results come in no particular order.
fn in_threads<T: Send>(
    shared: &Shared<'_>,
    what: &str,
    look: impl Fn(&Shared<'_>, usize, &mut Live, &mut AlignedBuffer) -> T + Sync,
) -> (Vec<(usize, T)>, Live) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let largest = shared.sources.parts.iter().map(|part| part.segment_bytes as usize).max().unwrap_or(BLOCK_BYTES);
    let work = || {
        let mut buffer = AlignedBuffer::zeroed(largest.max(BLOCK_BYTES));
        let (mut results, mut live) = (Vec::new(), Live::default());
        loop {
            let index = shared.next.fetch_add(1, Ordering::Relaxed);
            if index >= shared.items.len() {
                shared.threads_done.fetch_add(1, Ordering::Release);
                return (results, live);
            }
            results.push((index, look(shared, index, &mut live, &mut buffer)));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        show_progress(shared, what, threads);
        let (mut results, mut live) = (Vec::new(), Live::default());
        for worker in workers {
            let (more, seen) = worker.join().expect("looking at segments does not panic");
            results.extend(more);
            live.merge(seen);
        }
        (results, live)
    })
}

/// Writes a line that is overwritten again and again, for a person who waits.
fn show_progress(shared: &Shared<'_>, what: &str, threads: usize) {
    let mut stderr = std::io::stderr();
    if !stderr.is_terminal() {
        return;
    }
    while shared.threads_done.load(Ordering::Acquire) < threads {
        let done = shared.next.load(Ordering::Relaxed).min(shared.items.len());
        let read = base::format_size(shared.bytes_read.load(Ordering::Relaxed));
        let _ = write!(stderr, "\r{what}: {done} of {}, {read} read ", shared.items.len());
        let _ = stderr.flush();
        std::thread::sleep(PROGRESS_EVERY);
    }
    let _ = write!(stderr, "\r\x1b[K");
}

impl Shared<'_> {
    fn device(&self, part: &Part) -> &Device {
        &self.sources.sources[part.source].device
    }

    /// Whether newer segments prove that the device was told to keep all of this one.
    fn was_synced(&self, info: &SegmentInfo) -> bool {
        let newest = self.newest.get(&(info.store, info.shard)).copied().unwrap_or(0);
        info.generation + MIRRORS as u64 <= newest
    }

    /// Whether a record is not dead by a dropped or truncated table, or by its time.
    fn counts(&self, shard: u32, table: TableId, sequence: Sequence, kind: Kind) -> bool {
        let purged = match kind {
            Kind::Live => false,
            Kind::Expiring { purge_after_s } | Kind::Tombstone { purge_after_s } => purge_after_s < self.now_s,
        };
        let tables = self.sources.tables.as_ref();
        let dead = tables.is_some_and(|tables| {
            let mark = tables.marks.get(&shard).and_then(|marks| marks.get(&table)).copied().unwrap_or_default();
            !tables.exist.contains(&table) || sequence < mark
        });
        !purged && !dead
    }
}

fn read(device: &Device, offset: u64, buffer: &mut AlignedBuffer, length: usize) -> std::io::Result<()> {
    device.read(offset, buffer, length)
}

/// Reads the image of a segment, and decrypts it.
fn read_image(shared: &Shared<'_>, part: &Part, offset: u64, info: &SegmentInfo, buffer: &mut AlignedBuffer, damage: &mut Vec<Damage>) {
    let length = part.segment_bytes as usize;
    read_blocks(shared.device(part), offset, buffer, length, damage);
    shared.sources.decrypt(info, &mut buffer[..length]);
    shared.bytes_read.fetch_add(length as u64, Ordering::Relaxed);
}

/// Reads what the device gives; blocks that it does not are zero, and told.
fn read_blocks(device: &Device, offset: u64, buffer: &mut AlignedBuffer, length: usize, damage: &mut Vec<Damage>) {
    if read(device, offset, buffer, length).is_ok() {
        return;
    }
    let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
    for at in (0..length).step_by(BLOCK_BYTES) {
        match read(device, offset + at as u64, &mut block, BLOCK_BYTES) {
            Ok(()) => buffer[at..at + BLOCK_BYTES].copy_from_slice(&block),
            Err(error) => {
                buffer[at..at + BLOCK_BYTES].fill(0);
                damage.push(Damage::new(at, Some(BLOCK_BYTES), format!("the device cannot read it: {error}")));
            }
        }
    }
}

/// What the header of a segment says of the records or the checkpoint that follow, if any do.
fn check_head<'a>(item: &'a Item<'_>, report: &mut SegmentReport) -> Option<&'a SegmentInfo> {
    let Item { part, place, head, witnessed } = item;
    let damage = |what: String| Damage::new(0, Some(BLOCK_BYTES), what);
    let lost = |found: String| {
        let (generation, over) = (witnessed.0, if witnessed.1 { ", free again" } else { "" });
        let what =
            format!("a write was lost or misdirected: other segments know of generation {generation}{over} of this one, here is {found}");
        Damage::new(0, None, what)
    };
    let info = match head {
        SegmentHead::Valid(info) => info,
        SegmentHead::Blank if witnessed.0 == 0 => return None,
        SegmentHead::Blank => return report.damaged(lost("nothing".to_owned())),
        SegmentHead::Unknown { version } => return report.damaged(damage(format!("the header has format version {version}"))),
        SegmentHead::Damaged => return report.damaged(damage("the header is damaged".to_owned())),
    };
    report.generation = Some(info.generation);
    if (info.store, info.shard, info.segment_bytes) != (part.store, part.shard, part.segment_bytes) {
        let whose = format!("store {:#x} shard {} with segments of {} bytes", info.store, info.shard, info.segment_bytes);
        return report.damaged(damage(format!("the header is that of {whose}")));
    }
    if info.segment != place.segment {
        return report.damaged(damage(format!("a misdirected write: the header is that of segment {}", info.segment)));
    }
    if info.bad_copy {
        report.damage.push(damage("one of the two copies of the header is damaged; the other one is good".to_owned()));
    }
    // The segments of a checkpoint take no generation of their own.
    if (info.generation, info.contents != Contents::Records) < *witnessed {
        return report.damaged(lost(format!("generation {}", info.generation)));
    }
    let is_free = info.contents == Contents::Free;
    report.state = if is_free { State::Free } else { State::Used };
    (!is_free).then_some(info)
}

fn check_segment(shared: &Shared<'_>, index: usize, live: &mut Live, buffer: &mut AlignedBuffer) -> SegmentReport {
    let item @ Item { part, place, .. } = &shared.items[index];
    let mut report = SegmentReport::new(part, *place, shared.device(part).path());
    let Some(info) = check_head(item, &mut report) else { return report };
    let length = part.segment_bytes as usize;
    if let Contents::Checkpoint { number, .. } = info.contents {
        report.state = State::Checkpoint;
        // One that was not completed means nothing, and the next start frees it.
        if let Some(stream_bytes) = shared.checkpoints.get(&(part.store, part.shard, number)) {
            read_image(shared, part, place.offset, info, buffer, &mut report.damage);
            for (offset, bytes) in check_checkpoint(&buffer[..length], info, *stream_bytes) {
                let what = "a part of a checkpoint is wrong: no row is lost, but a start without it reads the whole log".to_owned();
                report.damage.push(Damage::new(offset, Some(bytes), what));
            }
        }
        return report;
    }
    read_image(shared, part, place.offset, info, buffer, &mut report.damage);
    let was_synced = shared.was_synced(info);
    walk_segment(&buffer[..length], info, was_synced, |found| match found {
        Found::Record { offset, bytes, key, sequence, kind } => {
            report.saw(offset + bytes, sequence, kind);
            let counts = shared.counts(part.shard, key.table, sequence, kind);
            let whose = (part.store, part.shard, key.table.0, key.token.0, key.partition, key.clustering);
            live.saw(whose, Seen { generation: info.generation, offset, bytes, segment: index, counts });
        }
        Found::Damage { offset, bytes } if was_synced && offset + bytes == length => {
            report.damage.push(Damage::new(offset, None, "the end of the segment is gone, with all that was here".to_owned()));
        }
        Found::Damage { offset, bytes } if was_synced => {
            report.damage.push(Damage::new(
                offset,
                Some(bytes),
                "no valid record: bit rot, or a write that was lost or misdirected".to_owned(),
            ));
        }
        // The next start finishes the segment, and has what is missing in the stable memory unless power was lost.
        Found::Damage { .. } | Found::Open { .. } => report.unfinished = true,
        Found::Seal { end } => report.used_bytes = end as u64,
    });
    report
}
