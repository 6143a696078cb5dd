//! The first block of every segment.

use super::{Engine, Phase};
use crate::config::Config;
use crate::error::OpenError;
use crate::format::checkpoint::Commit;
use crate::format::mark::Mark;
use crate::format::segment_header::{HeaderBlock, HeaderState};
use crate::format::witness::read_witnesses;
use crate::location::SegmentId;
use crate::segments::Usage;
use crate::tags::Purpose;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskRequest, DiskTag};

/// Header reads in flight.
const IN_FLIGHT_MAX: usize = 64;

impl Engine {
    pub(super) fn recover_headers(&mut self, now_us: u64) -> Option<Phase> {
        let Some(recovery) = &mut self.recovery else { return None };
        let count = self.segments.len();
        recovery.headers.resize(count, HeaderBlock::Damaged);
        while recovery.next_header < count && recovery.headers_in_flight < IN_FLIGHT_MAX {
            let number = recovery.next_header as u64;
            recovery.next_header += 1;
            recovery.headers_in_flight += 1;
            self.outbox.push(read_header(&self.config, number));
        }
        if recovery.headers_in_flight > 0 || recovery.next_header < count {
            return None;
        }
        self.judge_headers()?;
        self.read_mirrors();
        self.check_witnesses();
        self.plan_segments(now_us)
    }

    pub(crate) fn header_read(&mut self, number: u64, completion: DiskCompletion) {
        let Some(recovery) = &mut self.recovery else { return };
        recovery.headers_in_flight -= 1;
        let block = match (completion.result, &completion.buffer) {
            (Ok(()), Some(buffer)) => crate::format::segment_header::SegmentHeader::read_block(buffer),
            _ => {
                self.counters.device_failures += 1;
                HeaderBlock::Damaged
            }
        };
        if matches!(block, HeaderBlock::Blank) && recovery.blank_once.insert(number) {
            // A segment that was never used will be written over: one read that went astray must not be enough for that.
            recovery.headers_in_flight += 1;
            self.outbox.push(read_header(&self.config, number));
            return;
        }
        if let (HeaderBlock::Valid(header), Some(buffer)) = (&block, &completion.buffer) {
            let witnesses = read_witnesses(buffer, self.config.store, self.config.shard);
            witnesses.iter().for_each(|witness| recovery.vouched.add(*witness));
            let ours = |mark: &Mark| (mark.store, mark.shard) == (self.config.store, self.config.shard);
            if header.state != HeaderState::Checkpoint
                && u64::from(header.segment) == number
                && let Some(mark) = Mark::read_block(buffer).filter(ours)
            {
                recovery.evidence.saw_on_device(mark, SegmentId(header.segment), witnesses);
            }
        }
        if let (HeaderBlock::Valid(header), Some(buffer)) = (&block, &completion.buffer)
            && header.state == HeaderState::Checkpoint
        {
            recovery.commits.extend(Commit::read_block(buffer).map(|commit| (SegmentId(number as u32), commit)));
        }
        if let Some(header) = recovery.headers.get_mut(number as usize) {
            *header = block;
        }
    }

    /// Refuses what is not ours; sets aside what is damaged; frees what is free.
    fn judge_headers(&mut self) -> Option<()> {
        let headers = self.recovery.as_ref()?.headers.clone();
        for (index, block) in headers.into_iter().enumerate() {
            let id = SegmentId(index as u32);
            match block {
                HeaderBlock::Blank => self.segments.mark_free(id),
                HeaderBlock::Unknown(version) => {
                    self.recovery_failed(OpenError::Version { segment: id, version });
                    return None;
                }
                HeaderBlock::Valid(header) => {
                    if (header.store, header.shard, header.segment_bytes)
                        != (self.config.store, self.config.shard, self.config.segment_bytes)
                    {
                        let (store, shard, segment_bytes) = (header.store, header.shard, header.segment_bytes);
                        self.recovery_failed(OpenError::Foreign { segment: id, store, shard, segment_bytes });
                        return None;
                    }
                    if header.encrypted != self.config.log_key.is_some() {
                        self.recovery_failed(OpenError::Encryption { segment: id, encrypted: header.encrypted });
                        return None;
                    }
                    self.log.saw_generation(header.generation);
                    let evidence = &mut self.recovery.as_mut()?.evidence;
                    evidence.newest_on_device = evidence.newest_on_device.max(header.generation);
                    let of_checkpoint = header.state == HeaderState::Checkpoint;
                    if of_checkpoint {
                        self.checkpoints.saw_number(header.base_sequence.0);
                    } else {
                        self.log.saw_sequence(header.base_sequence);
                    }
                    if header.segment != id.0 {
                        // A misdirected write: whatever this segment held cannot be told any more.
                        self.set_aside(id);
                        continue;
                    }
                    if of_checkpoint {
                        self.segments.adopt(id, Usage::Checkpoint, header.generation, header.nonce, self.log.next_sequence());
                        self.recovery.as_mut()?.parts.push((header.base_sequence.0, header.ordinal, id));
                        continue;
                    }
                    self.segments.adopt(id, Usage::Stored, header.generation, header.nonce, header.base_sequence);
                    if header.state == HeaderState::Free {
                        self.segments.mark_free(id);
                    }
                }
                HeaderBlock::Damaged => {
                    self.recovery.as_mut()?.evidence.damaged_headers += 1;
                    self.set_aside(id);
                }
            }
        }
        self.recovery.as_mut()?.evidence.sequence_in_headers = self.log.last_sequence().0;
        Some(())
    }

    /// The header is damaged: the segment is neither read nor written.
    fn set_aside(&mut self, segment: SegmentId) {
        self.segments.set_usage(segment, Usage::Quarantined);
        self.report_damage(segment, 0, 0);
    }
}

fn read_header(config: &Config, segment: u64) -> (DiskTag, DiskRequest) {
    let offset = segment * u64::from(config.segment_bytes);
    let buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
    (Purpose::Header(segment).tag(), DiskRequest::Read { file: config.file, offset, buffer })
}
