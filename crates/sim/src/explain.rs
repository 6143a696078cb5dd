//! Which faults explain that a row is not what it should be.
//!
//! A row may be lost only if a fault that corrupts has touched a segment that holds, or should hold, a record of it. Where records should be is
//! known without asking the engine: the disk keeps what it would hold without such faults, and keys and values of the workload are unlike any
//! other bytes; pages are opened, as tools do it. Whether the loss was *reported* is asked from the engine.

use crate::machine::Machine;
use crate::setup::{MIRRORS, Setup};
use engine::{Found, SegmentHead, read_witnesses, visit_page, walk_segment};
use sim_disk::{Disk, Fault};
use std::collections::{BTreeMap, BTreeSet};

/// Whether the node knows of the damage behind a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// A damage report names the segment, or its end looks torn, which nobody can tell from damage.
    Yes,
    /// No report does.
    No,
    /// No report does, and none can: the segment never got its header, and looks as it did before its latest use. No header of another segment
    /// that is left says otherwise.
    Cannot,
}

/// A segment that faults have touched.
struct Touched {
    core: u16,
    segment: usize,
    faults: BTreeSet<Fault>,
    /// Newer segments do not prove that it was ever complete: its end may look torn.
    newest: bool,
    /// The write of its header has not come here, and nothing on the disk says that it should have.
    without_trace: bool,
}

/// The segments that faults have touched, and what should be in all of them.
pub struct Explainer {
    segment_bytes: usize,
    /// By core: what its disk would hold.
    ideals: Vec<Vec<u8>>,
    /// By core and segment: the rows of pages, that compression hides in the bytes themselves.
    paged: Vec<Vec<Vec<u8>>>,
    /// By core: the newest generation of each segment that header blocks on its disk speak of.
    witnessed: Vec<BTreeMap<usize, u64>>,
    touched: Vec<Touched>,
}

/// Where `docs/internals/log-format.md` has them in a segment's header.
const STATE_AT: usize = 14;
const GENERATION_AT: usize = 32;

impl Explainer {
    /// For disks, by core, that kept their ideal.
    ///
    /// # Panics
    /// When they did not.
    #[must_use]
    pub fn new<'a>(disks: impl IntoIterator<Item = &'a Disk>, setup: &Setup) -> Self {
        let segment_bytes = setup.segment_bytes as usize;
        let (mut ideals, mut paged, mut witnessed) = (Vec::new(), Vec::new(), Vec::new());
        for (core, disk) in (0..).zip(disks) {
            let mut ideal = disk.ideal().expect("the disk was told to keep it").to_vec();
            setup.decrypt(core, &mut ideal);
            paged.push(ideal.chunks(segment_bytes).map(rows_of_pages).collect());
            witnessed.push(said_of_segments(disk.bytes(), segment_bytes));
            ideals.push(ideal);
        }
        Self { segment_bytes, ideals, paged, witnessed, touched: Vec::new() }
    }

    /// Learns of the faults that struck until now, those in recovery among them.
    pub fn learn(&mut self, machine: &mut Machine) {
        self.touched.clear();
        for core in 0..machine.cores() {
            // Where the newest header is lost, the ones before are the newest that the engine knows of.
            let mut newest = newest(&self.ideals[usize::from(core)], self.segment_bytes);
            newest.extend(newest_left(machine.disk(core).bytes(), self.segment_bytes));
            let mut faults: BTreeMap<usize, BTreeSet<Fault>> = BTreeMap::new();
            let mut without_header = BTreeSet::new();
            let is_known = |segment: usize| {
                let ideal = self.ideals[usize::from(core)].get(segment * self.segment_bytes..).filter(|rest| !rest.is_empty());
                let known = self.witnessed[usize::from(core)].get(&segment);
                ideal.zip(known).is_some_and(|(image, known)| *known >= generation_in(image))
            };
            for event in machine.disk(core).events().iter().filter(|event| event.fault.corrupts() && event.bytes > 0) {
                let (first, last) =
                    (event.offset as usize / self.segment_bytes, (event.offset + event.bytes - 1) as usize / self.segment_bytes);
                for segment in first..=last {
                    faults.entry(segment).or_default().insert(event.fault);
                }
                let lost = matches!(event.fault, Fault::LostWrite | Fault::MisdirectedWrite | Fault::LyingSync);
                if lost && event.offset.is_multiple_of(self.segment_bytes as u64) && !is_known(first) {
                    without_header.insert(first);
                }
            }
            let segments = faults.into_iter();
            self.touched.extend(segments.map(|(segment, faults)| Touched {
                core,
                segment,
                faults,
                newest: newest.contains(&segment),
                without_trace: without_header.contains(&segment),
            }));
        }
    }

    /// The faults that explain the loss of a record in which all of `parts` occur, and whether the node knows of one of them. `None` when nothing
    /// explains it.
    #[must_use]
    pub fn explain(&self, machine: &Machine, parts: &[&[u8]]) -> Option<(BTreeSet<Fault>, Reported)> {
        let (mut faults, mut reported, mut cannot) = (BTreeSet::new(), Reported::No, false);
        for touched in self.touched.iter().filter(|touched| self.holds(touched.core, touched.segment, parts)) {
            faults.extend(touched.faults.iter().copied());
            let reports = machine.engine(touched.core).damage_reports();
            cannot |= touched.without_trace;
            if touched.newest || reports.iter().any(|report| report.segment.0 as usize == touched.segment) {
                reported = Reported::Yes;
            }
        }
        if reported == Reported::No && cannot {
            reported = Reported::Cannot;
        }
        (!faults.is_empty()).then_some((faults, reported))
    }

    /// Whether faults have touched the segment of this number, of any core.
    #[must_use]
    pub fn is_touched(&self, segment: Option<usize>) -> bool {
        self.touched.iter().any(|touched| Some(touched.segment) == segment)
    }

    fn holds(&self, core: u16, segment: usize, parts: &[&[u8]]) -> bool {
        let ideal = &self.ideals[usize::from(core)];
        let start = segment * self.segment_bytes;
        let bytes = ideal.get(start..start + self.segment_bytes).unwrap_or(&[]);
        let paged = self.paged[usize::from(core)].get(segment).map_or(&[][..], |rows| rows);
        parts.iter().all(|part| contains(bytes, part) || contains(paged, part))
    }

    /// For messages: the segments in which all of `parts` occur, and those that were touched, each as core and number.
    #[must_use]
    pub fn describe(&self, parts: &[&[u8]]) -> String {
        let all = (0..self.ideals.len() as u16).flat_map(|core| {
            let segments = self.ideals[usize::from(core)].len() / self.segment_bytes;
            (0..segments).map(move |segment| (core, segment))
        });
        let holding: Vec<_> = all.filter(|(core, segment)| self.holds(*core, *segment, parts)).collect();
        let touched: Vec<_> = self.touched.iter().map(|touched| (touched.core, touched.segment)).collect();
        format!("its records should be in {holding:?}, faults touched {touched:?}")
    }

    /// Asserts that damage is reported only where faults were.
    ///
    /// # Panics
    /// When it is reported elsewhere.
    pub fn check_reports(&self, machine: &Machine) {
        for core in 0..machine.cores() {
            for report in machine.engine(core).damage_reports() {
                let known = |touched: &Touched| touched.core == core && touched.segment == report.segment.0 as usize;
                assert!(self.touched.iter().any(known), "core {core} reports damage where no fault was: {report:?}");
            }
        }
    }
}

/// Keys and rows of all pages in a segment's image.
fn rows_of_pages(image: &[u8]) -> Vec<u8> {
    let mut rows = Vec::new();
    let SegmentHead::Valid(info) = SegmentHead::read(image) else { return rows };
    walk_segment(image, &info, false, |found| {
        if let Found::Record { offset, .. } = found {
            visit_page(image, &info, offset, |clustering, row| {
                rows.extend_from_slice(clustering);
                rows.extend_from_slice(row.bytes);
            });
        }
    });
    rows
}

/// The newest generation of each segment that header blocks on a disk speak of.
fn said_of_segments(file: &[u8], segment_bytes: usize) -> BTreeMap<usize, u64> {
    let mut known = BTreeMap::new();
    for image in file.chunks(segment_bytes) {
        let SegmentHead::Valid(info) = SegmentHead::read(image) else { continue };
        for witness in read_witnesses(image, info.store, info.shard) {
            let newest: &mut u64 = known.entry(witness.segment.0 as usize).or_default();
            *newest = witness.generation.max(*newest);
        }
    }
    known
}

fn generation_in(image: &[u8]) -> u64 {
    u64::from_le_bytes(image[GENERATION_AT..GENERATION_AT + 8].try_into().unwrap())
}

/// The segments of the highest generations: the open one, and sealed ones that may not have been synced.
fn newest(file: &[u8], segment_bytes: usize) -> BTreeSet<usize> {
    let mut generations: Vec<(u64, usize)> = file
        .chunks(segment_bytes)
        .enumerate()
        .filter(|(_, segment)| segment[STATE_AT] == 1)
        .map(|(number, segment)| (generation_in(segment), number))
        .collect();
    generations.sort_unstable();
    generations.iter().rev().take(MIRRORS).map(|(_, number)| *number).collect()
}

/// The same of those whose headers are whole.
fn newest_left(file: &[u8], segment_bytes: usize) -> BTreeSet<usize> {
    let heads = file.chunks(segment_bytes).enumerate().filter_map(|(number, segment)| match SegmentHead::read(segment) {
        SegmentHead::Valid(info) if info.segment as usize == number && segment[STATE_AT] == 1 => Some((info.generation, number)),
        _ => None,
    });
    let mut generations: Vec<(u64, usize)> = heads.collect();
    generations.sort_unstable();
    generations.iter().rev().take(MIRRORS).map(|(_, number)| *number).collect()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    let Some(first) = part.first() else { return true };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        if rest[at..].starts_with(part) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}
