//! A write reaches every replica in sync before it is acknowledged.
//!
//! Owns: what goes into the streams to replicas and what is taken from those of primaries, how far each set of replicas is, which rows here may differ from those
//! of other replicas, and how much of a core moving rows may take.
//! Never touches: who is in which role (`membership`), which rows a replica lacks (`rebuild`).
//!
//! | a write here, as primary | next |
//! |---|---|
//! | proposed: an operation has staged it | the shard applies it, and appends it to the stream of each core in the slot's set |
//! | in flight | every core that the set waits for has acknowledged its position → committed |
//! | committed | the reply leaves, and replicas hear of it with the next `APPEND`, or within 50 ms |
//!
//! | an item of a primary's stream, here | next |
//! |---|---|
//! | received | of the slot's primary and term: applied · of a newer term: waits for the metadata · of an older term: refused, the link closes |
//! | applied | acknowledged as `durability` demands; uncommitted until the primary says more |
//! | uncommitted | committed → forgotten · the primary changes → its keys are fetched from the new primary, or the new primary is this core and reconciles them |

pub(crate) mod applying;
pub(crate) mod divergence;
pub(crate) mod pacing;
pub(crate) mod sending;
pub(crate) mod state;
pub(crate) mod uncommitted;
