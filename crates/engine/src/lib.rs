//! The storage engine of one shard: index in DRAM, records in a log on flash.
//!
//! The engine knows no protocol: tables are numbers, keys are a token and bytes, rows are bytes. It does no I/O: it gets the time, disk
//! completions and stable memory as values and gives disk requests back. `docs/internals/engine.md` is its guide, and
//! `docs/internals/log-format.md` says what it writes.
//!
//! Files in the order in which a write passes through them: `batch`, `received`, `write`, `format`, `log`, `memory`, `index`, `segments`, `flush`,
//! `witness`, `growth`, `encryption`; a read: `read`, `pages`, `scan`, `prefixes`, `prefix_filter`, `dead_runs`, `dead_run_calls`, `merge`, `tail`, `fetch`, `cache`, `resident`; in the background: `defrag`, `cold`, `expiry`, `purging`, `paging`, `drops`,
//! `checkpoint`, `scrub`; for who asks: `stats`, `sizes`; at start: `recovery`; offline: `inspect`.

mod batch;
mod cache;
mod checkpoint;
mod cold;
mod config;
mod damage;
mod damage_calls;
mod dead_run_calls;
mod dead_runs;
mod defrag;
mod drops;
mod encryption;
mod engine;
mod error;
mod expiry;
mod fetch;
mod flush;
mod format;
mod growth;
mod index;
mod inspect;
mod inspect_checkpoint;
mod key;
mod large_partitions;
mod load;
mod location;
mod log;
mod marks;
mod memory;
mod merge;
mod pages;
mod paging;
mod prefix_filter;
mod prefixes;
mod purging;
mod read;
mod received;
mod recovery;
mod resident;
mod scan;
mod scrub;
mod segments;
mod sizes;
mod stats;
mod tags;
mod tail;
mod walk;
mod witness;
mod write;

#[cfg(test)]
mod tests;

pub use batch::WriteBatch;
pub use config::Config;
pub use damage::DamagedPlaces;
pub use dead_runs::DeadRun;
pub use encryption::{LogKey, SegmentCipher, xts};
pub use engine::Engine;
pub use error::{Damage, DataLoss, Miss, NoSpace, OpenError, ReadError, ReceivedError, StableLoss, WriteError};
pub use format::mark::{Mark, RunState};
pub use format::witness::{Witness, read_witnesses};
pub use inspect::{Contents, Found, SegmentHead, SegmentInfo, check_checkpoint, visit_page, walk_segment};
pub use inspect_checkpoint::BeyondEnd;
pub use key::{CachePolicy, Key, Kind, Row, Sequence};
pub use large_partitions::LargePartition;
pub use location::SegmentId;
pub use prefix_filter::PrefixOf;
pub use prefixes::Covering;
pub use received::{EncodedRow, ReceivedRows};
pub use recovery::{DamageReport, RecoveryProgress};
pub use resident::resident_of;
pub use scan::{Direction, PartitionCursor, PartitionScan, READ_AHEAD_MAX, TableCursor, TablePosition, TableRow, TableScan};
pub use sizes::TableSizes;
pub use stats::Stats;
pub use tail::{Tail, TailPosition, TailScan};
