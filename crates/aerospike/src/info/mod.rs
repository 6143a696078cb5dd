//! Information about the node: names in, one a line; each name with its value out.
//!
//! Clients ask for it when they connect and every second after, to learn what nodes there are and which partitions they hold. The names and
//! the forms of values are those of the version in [`BUILD`].

mod answer;
mod indexes;
mod members;
mod namespace;
mod partitions;
mod text;
mod truncation;
mod view;

pub(crate) use text::parameter;

pub use answer::{answer, write_value};
pub use truncation::Truncation;
pub use view::{BUILD, Cluster, NodeView, PartitionSet, Partitions, Peer};

#[cfg(test)]
mod tests;
