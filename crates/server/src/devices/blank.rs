//! Whether a device is empty in the places that matter: the head of every segment, and its own end, where others keep their marks.

use base::{AlignedBuffer, BLOCK_BYTES};
use io_linux::Device;

/// Reads at once.
const THREADS: usize = 16;
/// How much of a device's end is looked at: backup partition tables and RAID marks are there.
const TAIL_BYTES: u64 = 1 << 20;

/// The first byte that is not zero in the blocks at `offsets` or at the device's end. Blocks that the device does not have are empty.
pub(crate) fn first_data(device: &Device, mut offsets: Vec<u64>) -> std::io::Result<Option<u64>> {
    let block = BLOCK_BYTES as u64;
    let end = device.bytes() / block * block;
    offsets.extend((end.saturating_sub(TAIL_BYTES)..end).step_by(BLOCK_BYTES));
    offsets.retain(|offset| offset + block <= end);
    let share = offsets.len().div_ceil(THREADS).max(1);
    std::thread::scope(|scope| {
        let readers: Vec<_> = offsets.chunks(share).map(|offsets| scope.spawn(move || first_of(device, offsets))).collect();
        let mut first = None;
        for reader in readers {
            let found = reader.join().expect("reading does not panic")?;
            first = [first, found].into_iter().flatten().min();
        }
        Ok(first)
    })
}

fn first_of(device: &Device, offsets: &[u64]) -> std::io::Result<Option<u64>> {
    let mut buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
    for offset in offsets {
        device.read(*offset, &mut buffer, BLOCK_BYTES)?;
        if let Some(at) = buffer.iter().position(|byte| *byte != 0) {
            return Ok(Some(offset + at as u64));
        }
    }
    Ok(None)
}
