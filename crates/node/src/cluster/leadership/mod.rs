//! A slot changes its primary.
//!
//! Owns: slots that are to go to another live primary, what a new primary does before it serves, and the end of a process.
//! Never touches: how rows travel. Reconciliation puts its keys at the front of the queues of `rebuild`.
//!
//! | a slot, at the primary before (transfer) | next |
//! |---|---|
//! | wanted elsewhere | the metadata names a successor: 50 ms later it closes |
//! | closed | operations are refused and wait where they were routed · all that was written is with all in sync, and answered → proposed · 3 s → opened again |
//! | proposed | `TransferPrimary` is decided → given away, `STEPPED_DOWN` goes to the new primary · 3 s → opened again |
//!
//! | a slot, at the new primary | next |
//! |---|---|
//! | gained | waits for up to three things at once: |
//! | … transfer | `STEPPED_DOWN` of the primary before, or every lease of before is over |
//! | … reconciliation | every other replica in sync has the rows that the primary before may have sent to this one alone |
//! | … release | this process has restarted: all other replicas are dropped first |
//! | served | none of them is left |

pub(crate) mod reconciliation;
pub(crate) mod shutdown;
pub(crate) mod state;
pub(crate) mod transfer;
