//! What cores keep for catch-up when their data is laid out anew for another number of cores.
//!
//! Rows get other sequences on other cores. Those that all replicas have are written first, so one sequence still divides them from the rest.

use crate::cluster::rebuild::catch_up::CatchUp;
use base::CoreId;

/// Up to this sequence all replicas in sync have a core's rows, by its blob; `None` if that is not known.
#[must_use]
pub fn committed_sequence(blob: &[u8]) -> Option<u64> {
    CatchUp::restore(Some(blob)).restored()
}

/// The blobs of the new cores from those of the former ones. `committed` says of each new core up to which sequence all replicas have its rows, 0 if
/// that is not known.
#[must_use]
pub fn relaid_replication(former: &[&[u8]], committed: &[u64]) -> Vec<Vec<u8>> {
    let former: Vec<CatchUp> = former.iter().map(|blob| CatchUp::restore(Some(blob))).collect();
    let cores = committed.len() as u16;
    let of = |(core, committed): (u16, &u64)| CatchUp::relaid(&former, CoreId(core), cores, *committed).encode(0);
    (0..cores).zip(committed).map(of).collect()
}
