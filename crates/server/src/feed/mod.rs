//! The change feed: a table's CDC log, all streams of it, as one sequence of changes that goes on where it was.
//!
//! ```text
//! tables' logs ─► Source (CQL, QUORUM) ─► Reader: rounds over the streams ─► changes, each with a position ─► GET /changes/…, tarndb follow
//! ```
//!
//! - [`time_id`]: the times of a log.
//! - [`position`]: how far a reader has come, as text.
//! - [`link`], [`source`]: a connection to a CQL port that is made again when it breaks.
//! - [`log`]: what is known of a table and its log.
//! - [`change`]: from rows of a log to changes.
//! - [`reader`]: which stream is read when, and from where.
//! - [`json`]: a change as a line.
//! - [`avro`]: changes as a file of Avro.
//!
//! Invariants:
//! - A stream is read from where this reader has left it, in the order in which its rows were written: no clock is asked, and nothing comes late.
//! - A position says less than was read: what was written in the last moments before it is read again by whoever goes on there, so that members' clocks may
//!   differ by that much. `docs/decisions/0049-change-feed.md` has the reasoning.
//! - A reader holds one page of a log, whoever is slow.

pub(crate) mod avro;
mod change;
mod error;
mod json;
mod link;
mod log;
mod position;
mod reader;
mod source;
mod time_id;

pub(crate) use change::{Change, Kind, LogRow};
pub(crate) use error::FeedError;
pub(crate) use json::{line, mark};
pub(crate) use link::Link;
pub(crate) use log::{Log, digest, quoted};
pub(crate) use position::Mark;
pub(crate) use reader::{Reader, Since, Step, time_us};
pub(crate) use source::{Cells, Page, Source, VERSION, text};
