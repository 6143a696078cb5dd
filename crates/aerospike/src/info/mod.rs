//! Information about the node: names in, one a line; each name with its value out.
//!
//! Clients ask for it when they connect and every second after, to learn what nodes there are and which partitions they hold. The names and
//! the forms of values are those of the version in [`BUILD`].

mod answer;
mod members;
mod namespace;
mod partitions;
mod truncation;
mod view;

pub use answer::{answer, write_value};
pub use truncation::Truncation;
pub use view::{BUILD, Cluster, NodeView, PartitionSet, Partitions, Peer};

/// What is answered to a name that is not known.
const UNKNOWN: &str = "ERROR:4:unrecognized command";

/// A parameter of a command: `command:name=value;name=value`.
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    parameters.split(';').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
