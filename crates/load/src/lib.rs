//! The load generator: which operations clients ask for, on which keys, how fast, and how long the answers took.
//!
//! What a load is made of is data ([`workload`], [`Plan`]): a study's file says it, [`run`] carries it out. Protocols stand behind the small
//! trait [`Target`]; nothing but their own module knows them.
//!
//! ```text
//! Dataset, Mix ─► traffic: next request ─► Session: bytes ─► connection ─► server
//!                    │ when: pacer, where: router               │
//!                 recorder ◄── settled: latency, verdict ◄── replies
//!                    │ a second each, from each thread (or agent)
//!                 collector ─► Observer (progress, HistogramLog), Outcome
//! ```
//! Invariants: no lock and no allocation per request on the way from reply to next request; in an open loop latency counts from the
//! moment at which a request was due, however late it was sent; a request ends exactly once, as a reply, an error or lost.

pub mod aerospike;
mod agent;
pub mod choice;
mod collector;
mod connection;
mod control;
pub mod cql;
mod dataset;
pub mod griddb;
pub mod keys;
pub mod latency;
mod log;
mod newest_ring;
mod outcome;
mod pacer;
mod plan;
mod recorder;
pub mod ring;
mod route;
mod router;
mod run;
mod settings;
mod socket;
pub mod tables;
pub mod target;
mod tls;
mod traffic;
pub mod transport;
pub mod values;
mod versions;
mod window;
mod worker;
pub mod workload;

pub use agent::{Agent, Agents, AgentsError};
pub use control::{Control, Observer, Progress};
pub use dataset::{Dataset, Share};
pub use latency::{Histogram, Summary};
pub use log::HistogramLog;
pub use outcome::{Ended, Outcome, Second, ThreadUse, Verified};
pub use plan::{Limits, Plan};
pub use ring::Routing;
pub use run::{LoadError, run};
pub use settings::TargetSettings;
pub use target::Target;
pub use tls::access::TlsError;
