//! A chunk runs on its shard.

use super::chunk::{COVERING, Chunk, End, Extent};
use super::gather::Gather;
use crate::wire::writer::{write_byte, write_int, write_long, write_short};
use model::operation::{Context, Operation, RowStore, Stop, WriteSet};

const HEADER_BYTES: usize = 9;

/// Room for a few rows and where they ended.
const REPLY_BYTES: usize = 512;

/// What a reply may hold besides its bytes.
const SPARE_BYTES_MAX: usize = 64 << 10;

impl Operation for Chunk {
    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_long(out, self.nonce.cast_signed());
        write_int(out, self.fetch.per_partition.cast_signed());
        write_int(out, self.fetch.now_s.cast_signed());
        write_int(out, self.rows_max.cast_signed());
        write_byte(out, self.peek.into());
        let until = if let Extent::Ring { until } = self.extent { Some(until) } else { None };
        let extent = if self.covers { COVERING } else { until.is_some().into() };
        write_byte(out, extent);
        write_long(out, until.map_or(0, |until| until.0));
        self.cursor.write(out);
        true
    }

    fn run(&self, _: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = reply.len();
        reply.reserve(REPLY_BYTES);
        reply.extend_from_slice(&[0; HEADER_BYTES]);
        let mut gather = Gather::new(self, reply);
        let outcome = match self.extent {
            Extent::Partition => gather.partition(store),
            Extent::Ring { until } if let Some(entries) = &self.fetch.entries => gather.indexed(store, entries, until),
            Extent::Ring { until } => match gather.by_graph(store, until) {
                Ok(true) => Ok(()),
                Ok(false) => gather.ring(store, until),
                Err(stop) => Err(stop),
            },
        };
        match outcome {
            Err(Stop::Miss) if self.extent != Extent::Partition && gather.ends_early() => {}
            Err(stop) => return Err(stop),
            Ok(()) => {}
        }
        if let Extent::Ring { until } = self.extent
            && self.covers
            && gather.end.is_none()
            && !self.fetch.gives_covered_rows()
        {
            gather.covered = self.fetch.slots_without(store, until.slot());
        }
        gather.keep_nearest();
        let (end, row_count, cursor, covered) = (gather.end.unwrap_or(End::Finished), gather.given, gather.cursor, gather.covered);
        let bytes = (reply.len() - start - HEADER_BYTES) as u32;
        let header = &mut reply[start..start + HEADER_BYTES];
        header[..4].copy_from_slice(&row_count.to_be_bytes());
        header[4] = end as u8;
        header[5..].copy_from_slice(&bytes.to_be_bytes());
        cursor.write(reply);
        if !covered.is_empty() {
            write_short(reply, covered.len() as u16);
            covered.iter().for_each(|slot| write_short(reply, slot.0));
        }
        if reply.capacity() - reply.len() > SPARE_BYTES_MAX {
            // It may wait for the replies of other chunks; half of it may be what its growth by doubling has left.
            reply.shrink_to_fit();
        }
        Ok(())
    }
}
