//! DESCRIBE CLUSTER.

use super::description::{Description, columns};
use crate::system::{self, NodeView};
use crate::value::build;
use model::{DataType, Frozen};
use std::collections::BTreeMap;
use std::net::SocketAddr;
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

/// A map from the end of each range to the node whose it is first.
fn range_ownership(view: &NodeView<'_>) -> Vec<u8> {
    let own = view.tokens.iter().map(|token| (token.to_string(), view.node_address));
    let others = view.peers.iter().flat_map(|peer| peer.tokens.iter().map(|token| (token.to_string(), peer.node_address)));
    let ranges: BTreeMap<String, SocketAddr> = own.chain(others).collect();
    let mut out = (ranges.len() as u32).to_be_bytes().to_vec();
    for (token, owner) in &ranges {
        let mut owners = Vec::new();
        build::list([format!("/{owner}").as_bytes()].into_iter(), &mut owners);
        build::field(Some(token.as_bytes()), &mut out);
        build::field(Some(&owners), &mut out);
    }
    out
}
