//! The other members of the cluster, and whether all is as it should be.

use super::text::{list, number, parameter};
use super::view::NodeView;
use std::fmt::Write;

/// Generation, the port that those have of whom none is told, and of each member its name, the name that its certificate is to have, and its addresses.
/// Certificates are for addresses, as clients of CQL verify them.
pub(super) fn peers(view: &NodeView<'_>, with_tls: bool) -> String {
    let mut text = format!("{},{},[", generation(view), view.address.port());
    for (position, peer) in view.peers().iter().enumerate() {
        let separator = if position == 0 { "" } else { "," };
        let tls_name = if with_tls { peer.address.ip().to_string() } else { String::new() };
        write!(text, "{separator}[{},{tls_name},[{}]]", peer.node_name, peer.address).expect("text takes what is written to it");
    }
    text.push(']');
    text
}

pub(super) fn generation(view: &NodeView<'_>) -> u64 {
    view.cluster.as_ref().map_or(1, |cluster| number(cluster.peers_generation()))
}

/// As clients before 2016 want it.
pub(super) fn addresses(view: &NodeView<'_>) -> String {
    list(view.peers().iter().map(|peer| peer.address))
}

pub(super) fn size(view: &NodeView<'_>) -> usize {
    view.cluster.as_ref().map_or(1, |cluster| cluster.size())
}

/// The node that the others would go by; the smallest name.
pub(super) fn principal(view: &NodeView<'_>) -> String {
    view.peers().into_iter().map(|peer| peer.node_name).chain([view.node_name.to_owned()]).min().unwrap_or_default()
}

pub(super) fn key(view: &NodeView<'_>) -> String {
    format!("{:X}", view.cluster.as_ref().map_or(1, |cluster| cluster.key()))
}

/// The cluster's key if it has the size that is asked for, all partitions are served and none is on its way.
pub(super) fn stable(view: &NodeView<'_>, parameters: &str) -> String {
    if parameter(parameters, "size").is_some_and(|wanted| wanted != size(view).to_string()) {
        return "ERROR:4:cluster-specified-size".to_owned();
    }
    let namespace = parameter(parameters, "namespace");
    if namespace.is_some_and(|name| view.namespace(name).is_none()) {
        return "ERROR:4:unknown-namespace".to_owned();
    }
    let ignores_migrations = parameter(parameters, "ignore-migrations").is_some_and(|value| matches!(value, "true" | "yes"));
    let wanted = view.namespaces.iter().filter(|known| namespace.is_none_or(|name| known.name == name));
    let is_stable = wanted.map(|namespace| view.partitions(&namespace.name)).all(|partitions| {
        let migrates = partitions.sending + partitions.receiving > 0;
        partitions.unavailable == 0 && (ignores_migrations || !migrates)
    });
    if is_stable { key(view) } else { "ERROR:1:unstable-cluster".to_owned() }
}
