//! Transactions of several statements, and row locks. What they need is rows beside the container's own, in the same partition of a companion
//! table that goes where the container goes: [`layout`]. So a transaction is as durable as its container, is found by whichever core or member
//! serves the container now, and needs no memory of its own. `docs/decisions/0032-griddb-transactions.md` says why.
//!
//! | what | module |
//! |---|---|
//! | who a transaction belongs to, and how a statement takes part | [`identity`] |
//! | the transactions that a connection has begun | [`open`] |
//! | rows of transactions, as bytes | [`layout`] |
//! | begin, lock, commit, abort | [`state`] |
//! | a container as its transaction sees it | [`overlay`] |
//!
//! Invariants:
//! - A lock is held as long as its transaction's row says that this is open. Who finds one that is over time ends it, in the same atomic group
//!   in which he takes the row.
//! - A commit is one atomic group, and done only if the transaction's row is open: then all its locks are held.
//! - Rows of the container are written by a commit, or by a statement of its own that met no lock.

mod identity;
mod layout;
mod open;
mod overlay;
mod state;

pub(crate) use identity::{Reference, TransactionId, UUID_BYTES};
pub(crate) use layout::last_locked_key;
pub use open::OpenTransaction;
pub(crate) use open::{Followed, OpenTransactions, read_sessions};
pub(crate) use overlay::Overlay;
pub use state::LOCK_WAIT_US;
pub(crate) use state::{Change, Commit, Scope, Transaction, abort, abort_begun_by, check_unlocked, commit, end_overdue};
