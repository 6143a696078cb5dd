//! Devices cut anew, for another number of cores.
//!
//! Invariant: a superblock with the new number is written only when what the new areas shall hold is on every device.

use super::{DevicesError, block_of, cut};
use crate::devices::Devices;
use crate::devices::superblock::{COPY_OFFSETS, HEAD_BYTES, Superblock};
use io_linux::{Device, Stripes};

impl Devices {
    /// The segments of each core on each device, if there were so many cores.
    pub(crate) fn cut_for(&self, cores: u16) -> Result<Vec<u64>, DevicesError> {
        let given: Vec<_> =
            self.claimed.iter().map(Device::path).zip(self.superblocks.iter().map(|superblock| superblock.given_bytes)).collect();
        cut(cores, self.superblocks[0].segment_bytes, &given)
    }

    /// Whether all superblocks say that there are so many cores.
    pub(crate) fn are_cut_for(&self, cores: u16) -> bool {
        self.superblocks.iter().all(|superblock| superblock.cores == cores)
    }

    /// Where the segments of a core are once the devices are cut so.
    pub(crate) fn stripes(&self, cores: u16, area_segments: &[u64], core: u16) -> Stripes {
        self.superblock_for(0, cores, area_segments).stripes(core)
    }

    /// Bytes in a segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        u64::from(self.superblocks[0].segment_bytes)
    }

    /// In the order of the list.
    pub(crate) fn claimed(&self) -> &[Device] {
        &self.claimed
    }

    /// Writes the superblocks for another number of cores, one device after the other: what areas shall hold is there.
    pub(crate) fn write_superblocks(&mut self, cores: u16, area_segments: &[u64]) -> Result<(), DevicesError> {
        for number in 0..self.claimed.len() {
            let (device, superblock) = (&self.claimed[number], self.superblock_for(number, cores, area_segments));
            for offset in COPY_OFFSETS {
                device.write(offset, &block_of(&superblock))?;
            }
            tracing::info!(device = %device.path().display(), number, shards = cores, "the device is cut for another number of cores");
            self.superblocks[number] = superblock;
        }
        Ok(())
    }

    fn superblock_for(&self, number: usize, cores: u16, area_segments: &[u64]) -> Superblock {
        let former = self.superblocks[number].clone();
        let mut new = Superblock { cores, areas_start: HEAD_BYTES, area_segments: area_segments.to_vec(), ..former };
        // An earlier version did not note what is given, and the start that has cut the areas may have been told more than this one.
        new.given_bytes = new.given_bytes.max(new.used_bytes());
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_counts_as_given() {
        const SEGMENT: u64 = 8 << 20;
        let former = Superblock {
            store: 7,
            cores: 3,
            number: 0,
            segment_bytes: SEGMENT as u32,
            areas_start: HEAD_BYTES,
            formatted_s: 0,
            given_bytes: HEAD_BYTES + 24 * SEGMENT,
            area_segments: vec![8],
        };
        let devices = Devices { claimed: Vec::new(), superblocks: vec![former] };
        // The start that cut them so was told of two segments more.
        let new = devices.superblock_for(0, 2, &[13]);
        assert_eq!((new.used_bytes(), new.given_bytes), (HEAD_BYTES + 26 * SEGMENT, HEAD_BYTES + 26 * SEGMENT));
        assert_eq!(devices.superblock_for(0, 2, &[12]).given_bytes, HEAD_BYTES + 24 * SEGMENT);
    }
}
