//! DESCRIBE CLUSTER.

use super::{Description, columns};
use crate::system::{self, NodeView, ring_tokens};
use crate::value::build;
use model::{DataType, Frozen};
use std::sync::Arc;

/// The cluster; with the ranges of the ring and who has them when the session uses a keyspace of users'.
pub(super) fn describe(view: &NodeView<'_>, keyspace: Option<&str>) -> Description {
    let partitioner = system::PARTITIONER.rsplit('.').next().unwrap_or_default();
    let mut description = Description {
        columns: columns(&["cluster", "partitioner", "snitch"]),
        rows: vec![vec![view.cluster_name.into(), partitioner.into(), b"SimpleSnitch".to_vec()]],
    };
    if keyspace.is_some_and(|name| !system::is_system_keyspace(name)) {
        let owners = DataType::List(Arc::new(DataType::Text), Frozen::Yes);
        description.columns.push(("range_ownership", DataType::Map(Arc::new(DataType::Text), Arc::new(owners), Frozen::Yes)));
        if let Some(row) = description.rows.first_mut() {
            row.push(range_ownership(view));
        }
    }
    description
}

/// A map from the end of each range to the nodes that have it.
fn range_ownership(view: &NodeView<'_>) -> Vec<u8> {
    let mut tokens = ring_tokens().map(|token| token.to_string());
    tokens.sort_unstable();
    let mut owners = Vec::new();
    let node = format!("/{}", view.node_address);
    build::list([node.as_bytes()].into_iter(), &mut owners);
    let mut out = (tokens.len() as u32).to_be_bytes().to_vec();
    for token in &tokens {
        build::field(Some(token.as_bytes()), &mut out);
        build::field(Some(&owners), &mut out);
    }
    out
}
