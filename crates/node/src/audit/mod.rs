//! The audit log: who, from where, which kind of statement, on what, with which result.
//!
//! ```text
//! a protocol: Event ─► CoreAudit: filter, one line of JSON ─► Lines, once a turn ─► the writer's thread (crate `server`)
//! ```
//!
//! | file | what |
//! |---|---|
//! | `category` | categories, by Cassandra's names |
//! | `filter` | which lines are wanted |
//! | `event` | what a line tells |
//! | `line` | its form |
//! | `operator_audit` | the part of the port of operators, which has threads |
//! | `core_audit` | a core's part: requests that wait for their reply, and the bounded queue to the writer |
//!
//! Invariants: without an audit log a request costs a comparison. What a core has queued for the writer is bounded; what does not fit is dropped and counted,
//! or connections wait, as the setting says. A core never waits for the file. No line has a password.

mod category;
mod core_audit;
mod event;
mod filter;
mod line;
mod operator_audit;
mod queue;

pub use category::{Categories, Category};
pub(crate) use core_audit::{CoreAudit, RequestTag};
pub(crate) use event::{Event, Failure, Operation, Source};
pub use filter::{AuditFilter, Names};
pub use line::append_dropped;
pub use operator_audit::{OperatorAudit, OperatorFailure, OperatorRequest};
pub use queue::{AuditConfig, AuditMessage, Lines, WhenFull};
