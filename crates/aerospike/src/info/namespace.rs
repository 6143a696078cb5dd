//! A namespace, its sets and bins.

use super::members;
use super::text::list;
use super::view::{NodeView, Partitions};
use model::Table;
use model::record_set::{MONITOR_SET, NO_SET, RecordSet};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) const NO_NAMESPACE: &str = "ERROR:20:no such namespace";

/// How often expired records are looked for, in seconds. They are gone for clients the moment they expire.
const EXPIRY_PERIOD_S: u32 = 120;

pub(super) fn of_name(view: &NodeView<'_>, name: &str) -> String {
    let Some(namespace) = view.namespace(name) else { return NO_NAMESPACE.to_owned() };
    let Partitions { factor, unavailable, sending, receiving, .. } = view.partitions(name);
    let size = members::size(view);
    format!(
        "ns_cluster_size={size};effective_replication_factor={};replication-factor={factor};strong-consistency=true;\
         nsup-period={EXPIRY_PERIOD_S};allow-ttl-without-nsup=false;default-ttl={};single-bin=false;dead_partitions=0;\
         unavailable_partitions={unavailable};clock_skew_stop_writes=false;stop_writes=false;migrate_tx_partitions_remaining={sending};\
         migrate_rx_partitions_remaining={receiving};storage-engine=device",
        size.min(usize::from(factor)),
        namespace.default_ttl_s
    )
}

fn tables<'a>(view: &NodeView<'a>, namespace: &str) -> impl Iterator<Item = (&'a Arc<Table>, &'a RecordSet)> {
    let keyspace = view.schema.keyspaces.get(namespace);
    keyspace.into_iter().flat_map(|keyspace| keyspace.tables.values()).filter_map(|table| Some((table, table.records.as_ref()?)))
}

/// `sets`, `sets/namespace` or `sets/namespace/set`.
pub(super) fn sets(view: &NodeView<'_>, path: &str) -> String {
    let (wanted, set) = path.split_once('/').unwrap_or((path, ""));
    let namespaces = view.namespaces.iter().filter(|namespace| wanted.is_empty() || namespace.name == wanted);
    let lines = namespaces.flat_map(|namespace| {
        let named = tables(view, &namespace.name).map(|(table, _)| &table.name);
        let wanted = named.filter(move |name| *name != NO_SET && *name != MONITOR_SET && (set.is_empty() || *name == set));
        wanted.map(|name| format!("ns={}:set={name}:truncating=false", namespace.name))
    });
    list(lines)
}

/// `bins` or `bins/namespace`.
pub(super) fn bins(view: &NodeView<'_>, wanted: &str) -> String {
    let of_namespace = |name: &str| {
        let names: BTreeSet<&str> =
            tables(view, name).flat_map(|(_, records)| records.bins().iter().map(|bin| bin.name.as_str())).collect();
        let names: String = names.iter().flat_map(|name| [",", *name]).collect();
        format!("bin_names={},bin_names_quota={}{names}", names.matches(',').count(), model::record_set::BINS_MAX)
    };
    if !wanted.is_empty() {
        return view.namespace(wanted).map_or_else(|| NO_NAMESPACE.to_owned(), |namespace| of_namespace(&namespace.name));
    }
    list(view.namespaces.iter().map(|namespace| format!("{}:{}", namespace.name, of_namespace(&namespace.name))))
}
