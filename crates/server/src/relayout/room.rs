//! Whether there is room for a copy: in the capacity, on the file system, in memory.

use super::error::RelayoutError;
use crate::size::Size;
use std::path::Path;

/// What a shard's file takes besides its rows: its first segments, and those that are free for reclaiming.
const SHARD_SEGMENTS: u64 = 9;
/// Data files leave so much of a file system free.
const FREE_BYTES_KEPT: u64 = 64 << 20;

/// What the former shards use.
#[derive(Clone, Copy, Default)]
pub(super) struct Use {
    pub(super) live_bytes: u64,
    pub(super) index_bytes: u64,
}

/// What there is for a copy.
pub(super) struct Room<'a> {
    /// Where the copy is made.
    pub(super) directory: &'a Path,
    /// What is free there.
    pub(super) free: u64,
    /// The data directory and what is free there, if it is another one: the stable memory stays there.
    pub(super) own: Option<(&'a Path, u64)>,
    pub(super) is_for_devices: bool,
    pub(super) former: u16,
    pub(super) cores: u16,
    /// Of all cores.
    pub(super) capacity: u64,
    pub(super) memory_limit: u64,
    pub(super) segment_bytes: u64,
    /// Stable memory of a core.
    pub(super) stable_bytes: u64,
}

impl Use {
    pub(super) fn add(&mut self, other: Self) {
        self.live_bytes += other.live_bytes;
        self.index_bytes += other.index_bytes;
    }

    /// Whether a copy has room.
    pub(super) fn check(self, room: &Room<'_>) -> Result<(), RelayoutError> {
        let (cores, count) = (room.cores, u64::from(room.cores));
        // Rows of wide partitions are put together only after they were written one by one.
        let rows = self.live_bytes + self.live_bytes / 4;
        let fixed = SHARD_SEGMENTS * room.segment_bytes;
        let (there, needed) = (room.capacity / count, rows / count + fixed);
        if there < needed && room.is_for_devices {
            return Err(RelayoutError::CapacityOfDevices { cores, there: Size(there), needed: Size(needed) });
        }
        if there < needed {
            return Err(RelayoutError::Capacity { cores, there: Size(there), needed: Size(needed), capacity: Size(needed * count) });
        }
        // A checkpoint of the index is written at the end.
        let (copy, stable) = (rows + self.index_bytes + count * fixed + FREE_BYTES_KEPT, count * room.stable_bytes);
        match room.own {
            None => room.check(room.directory, room.free, copy + stable)?,
            Some((own, free)) => {
                room.check(room.directory, room.free, copy)?;
                room.check(own, free, stable + FREE_BYTES_KEPT)?;
            }
        }
        // The index is there twice, and a quarter of the limit is for everything else.
        let (needed, limit) = (self.index_bytes * 2 / 3 * 4, room.memory_limit);
        if limit < needed {
            return Err(RelayoutError::Memory { cores, needed: Size(needed), limit: Size(limit) });
        }
        Ok(())
    }
}

impl Room<'_> {
    fn check(&self, path: &Path, free: u64, needed: u64) -> Result<(), RelayoutError> {
        let Some(missing) = needed.checked_sub(free).filter(|missing| *missing > 0) else { return Ok(()) };
        let elsewhere = if self.is_for_devices { ", or with --relayout-dir and a directory that has it" } else { "" };
        let (free, needed, missing) = (Size(free), Size(needed), Size(missing));
        Err(RelayoutError::Space { path: path.to_owned(), free, needed, missing, elsewhere, former: self.former, cores: self.cores })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn check(used: Use, change: impl FnOnce(&mut Room<'_>)) -> Option<String> {
        let mut room = Room {
            directory: Path::new("/data"),
            free: 2048 * MIB,
            own: None,
            is_for_devices: false,
            former: 3,
            cores: 5,
            capacity: 4096 * MIB,
            memory_limit: 1024 * MIB,
            segment_bytes: 8 * MIB,
            stable_bytes: 24 * MIB,
        };
        change(&mut room);
        used.check(&room).err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_missing_is_said_with_how_much() {
        let used = Use { live_bytes: 800 * MIB, index_bytes: 40 * MIB };
        assert_eq!(check(used, |_| {}), None);
        // 1000 of rows, 40 of index, 5 × 96, 64.
        let error = check(used, |room| room.free = 1484 * MIB).expect("a hundred are missing");
        assert!(error.contains("needs 1.5 GiB beside it, and /data has 1.4 GiB free: 100 MiB are missing"), "{error}");
        let error = check(used, |room| room.capacity = 1000 * MIB).expect("it does not fit");
        assert!(
            error.contains(
                "with 5 cores each has 200 MiB of the capacity, and needs 272 MiB for its share of the data: start with --capacity 1360MiB"
            ),
            "{error}"
        );
        let error = check(Use { index_bytes: 600 * MIB, ..used }, |room| room.free *= 2).expect("twice the index does not fit");
        assert!(error.contains("start with --memory-limit 1600MiB at least"), "{error}");
    }

    #[test]
    fn a_copy_for_devices_may_be_elsewhere() {
        let used = Use { live_bytes: 800 * MIB, index_bytes: 40 * MIB };
        let beyond = |room: &mut Room<'_>| {
            (room.directory, room.free, room.is_for_devices) = (Path::new("/mnt"), 1464 * MIB, true);
            room.own = Some((Path::new("/data"), 184 * MIB));
        };
        assert_eq!(check(used, beyond), None);
        let error = check(used, |room| {
            beyond(room);
            room.free -= 10 * MIB;
        });
        let error = error.expect("ten are missing");
        assert!(
            error.contains("/mnt has 1.4 GiB free: 10 MiB are missing. Make room and start again, or with --relayout-dir and"),
            "{error}"
        );
        let error = check(used, |room| {
            beyond(room);
            room.own = Some((Path::new("/data"), 164 * MIB));
        });
        assert!(error.expect("stable memory does not fit").contains("needs 184 MiB beside it, and /data has 164 MiB free"));
        let error = check(used, |room| {
            beyond(room);
            room.capacity = 1000 * MIB;
        });
        assert!(error.expect("it does not fit").contains("the devices cut for 5 cores give each 200 MiB, and it needs 272 MiB"));
    }
}
