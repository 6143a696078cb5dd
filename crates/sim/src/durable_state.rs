//! What is left of a machine, and what may happen to it before the next one starts on it.

use crate::blobs::Blobs;
use crate::setup::{MIRRORS, Setup};
use crate::trace::Trace;
use base::Rng;
use io::Now;
use sim_disk::{Disk, Faults, Stable};

/// How a machine ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// `kill -9`.
    Process,
    /// Nothing survives but what was synced.
    Power,
}

/// Disks, stable memory, blobs and the time.
pub struct DurableState {
    pub(crate) disks: Vec<Disk>,
    pub(crate) stables: Vec<Stable>,
    pub(crate) blobs: Blobs,
    /// How often the power has come.
    pub(crate) boot: u64,
    pub(crate) now: Now,
    pub(crate) trace: Trace,
}

impl DurableState {
    pub(crate) fn none(setup: &Setup) -> Self {
        let stable_bytes = setup.engine_config(0, 0).stable_bytes(MIRRORS);
        Self {
            disks: (0..setup.cores).map(|_| Disk::new()).collect(),
            stables: (0..setup.cores).map(|_| Stable::new(stable_bytes)).collect(),
            blobs: Blobs::new(setup.seed),
            boot: 1,
            now: Now { monotonic_us: 1, wall_us: 1_700_000_000_000_000 },
            trace: Trace::new(),
        }
    }

    /// The machine is replaced by a new one, with nothing on it.
    pub fn wipe(&mut self, setup: &Setup) {
        let trace = std::mem::replace(&mut self.trace, Trace::new());
        *self = Self { boot: self.boot, now: self.now, trace, ..Self::none(setup) };
    }

    /// The next start sees another time: clocks are set, forth and back.
    pub fn shift_clock(&mut self, by_us: i64) {
        self.now.wall_us += by_us;
    }

    /// Every core's disk.
    #[must_use]
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// Bytes in a few places of the files change by themselves.
    pub fn rot(&mut self, rng: &mut Rng) {
        for disk in &mut self.disks {
            for _ in 0..1 + rng.below(8) {
                disk.rot(rng);
            }
        }
    }

    /// The devices are replaced by ones that work and have room, with the same bytes.
    pub fn repair(&mut self) {
        for disk in &mut self.disks {
            (disk.fail_writes, disk.fail_syncs, disk.capacity) = (false, false, usize::MAX);
            disk.faults = Faults::none();
        }
    }
}
