//! Materialized views: a write of a table reaches its views before it is acknowledged, whoever dies on the way.
//!
//! A view is a table whose rows lie where its own key says, on other cores and members than those of the base table. Each row of it belongs to exactly one
//! row of the base table, as the view's key has all of the base's. So a view row is never merged: it is replaced as a whole, by what the base row is.
//!
//! ```text
//! core of the base row:  write ─► observer: an entry says which row changed, and its former keys in views ─► one atomic group
//! coordinator:           Collect ─► the rows of entries as they are now, as updates of views ─► Apply, on the cores of the view rows ─► reply ─► End
//! ```
//!
//! - [`shape`]: the row of a view that a row of the base table makes.
//! - [`entry`]: entries of changed rows, and the observer that writes them.
//! - [`update`]: a change of a view's row, and the operation that applies it.
//! - [`collect`]: the operations on the base table's side: [`Collect`](collect::Collect), [`End`](collect::End), and [`FindEntries`](collect::FindEntries).
//! - [`build`]: views of rows that were there before.
//! - [`changed`]: what a part of a statement says of the entries that it leaves.
//! - [`delivery`]: what a coordinator does, step by step; [`coordinator`]: for nobody, after a failure or to build.
//! - [`part`]: how operations travel to other members, by their [`description`].
//!
//! Invariants:
//! - **An entry stays until its updates are applied.** Its slot's primary delivers it again if its coordinator does not.
//! - **Updates are as new as they say.** An update's version is the time at which the base row was read, on the one core that writes it; a view's row takes an
//!   update that is newer than what it has, and so late and repeated ones do nothing. Where a clock was set back an update is older than the row: the
//!   base row is read again, for a version above that.
//! - **A view's row lives as long as its base row** and the column of its key: it has their expiries, and nobody has to see them pass.

mod build;
mod changed;
mod collect;
mod coordinator;
mod delivery;
mod description;
mod entry;
mod part;
mod shape;
mod update;

pub use build::{BuildState, build_state};
pub(super) use changed::{take_changed, write_changed};
pub use collect::{PendingEntries, find_view_entries};
pub use coordinator::ViewCoordinator;
pub(super) use delivery::{Delivery, Progress};
pub use entry::Entries;
pub use part::{is_view_part, part as view_part};
pub(super) use shape::Shapes;
