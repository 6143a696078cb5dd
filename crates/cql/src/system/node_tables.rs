//! Rows of the tables about the node and its cluster: `system.local`, `system.peers`, `system.peers_v2`, `system_views.clients`,
//! `system_views.settings`.

use super::row::{RowBuilder, bigint, boolean, inet, int, pairs, text, texts, uuid};
use super::{CQL_VERSION, NATIVE_PROTOCOL_VERSION, NodeView, PARTITIONER, RELEASE_VERSION};
use crate::index::{Analysis, IndexClass, indexed_type};
use model::{DataType, IndexPart};

pub(super) fn local(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    rows.row([
        ("key", text("local")),
        ("bootstrapped", text("COMPLETED")),
        ("broadcast_address", inet(view.node_address.ip())),
        ("broadcast_port", int(view.node_address.port().into())),
        ("cluster_name", text(view.cluster_name)),
        ("cql_version", text(CQL_VERSION)),
        ("data_center", text(view.data_center)),
        ("gossip_generation", int(view.started_s.try_into().unwrap_or(i32::MAX))),
        ("host_id", uuid(view.host_id)),
        ("listen_address", inet(view.node_address.ip())),
        ("listen_port", int(view.node_address.port().into())),
        ("native_protocol_version", text(NATIVE_PROTOCOL_VERSION)),
        ("partitioner", text(PARTITIONER)),
        ("rack", text(view.rack)),
        ("release_version", text(RELEASE_VERSION)),
        ("rpc_address", inet(view.cql_address.ip())),
        ("rpc_port", int(view.cql_address.port().into())),
        ("schema_version", uuid(view.schema.version)),
        ("tokens", token_set(view.tokens)),
    ]);
}

/// A set is in the order of its elements' bytes.
fn token_set(tokens: &[i64]) -> Option<Vec<u8>> {
    let mut tokens: Vec<String> = tokens.iter().map(ToString::to_string).collect();
    tokens.sort_unstable();
    texts(tokens.iter().map(String::as_str))
}

/// Drivers that ask here know a node by its address alone, so a peer that shares this node's is not shown.
pub(super) fn peers(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for peer in view.peers.iter().filter(|peer| peer.cql_address.ip() != view.cql_address.ip()) {
        rows.row([
            ("peer", inet(peer.node_address.ip())),
            ("data_center", text(&peer.data_center)),
            ("host_id", uuid(peer.host_id)),
            ("preferred_ip", inet(peer.node_address.ip())),
            ("rack", text(&peer.rack)),
            ("release_version", text(RELEASE_VERSION)),
            ("rpc_address", inet(peer.cql_address.ip())),
            ("schema_version", uuid(view.schema.version)),
            ("tokens", token_set(&peer.tokens)),
        ]);
    }
}

pub(super) fn peers_v2(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for peer in view.peers {
        rows.row([
            ("peer", inet(peer.node_address.ip())),
            ("peer_port", int(peer.node_address.port().into())),
            ("data_center", text(&peer.data_center)),
            ("host_id", uuid(peer.host_id)),
            ("native_address", inet(peer.cql_address.ip())),
            ("native_port", int(peer.cql_address.port().into())),
            ("preferred_ip", inet(peer.node_address.ip())),
            ("preferred_port", int(peer.node_address.port().into())),
            ("rack", text(&peer.rack)),
            ("release_version", text(RELEASE_VERSION)),
            ("schema_version", uuid(view.schema.version)),
            ("tokens", token_set(&peer.tokens)),
        ]);
    }
}

pub(super) fn clients(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for client in view.clients {
        let state = client.state();
        let option = |name| client.options.iter().find(|(key, _)| key == name).and_then(|(_, value)| text(value));
        rows.row([
            ("address", inet(client.address.ip())),
            ("port", int(client.address.port().into())),
            ("client_options", pairs(client.options.iter().map(|(key, value)| (key.as_str(), value.as_str())))),
            ("connection_stage", text(if state.is_ready { "ready" } else { "authenticating" })),
            ("driver_name", option("DRIVER_NAME")),
            ("driver_version", option("DRIVER_VERSION")),
            ("hostname", text(client.address.ip().to_string())),
            ("keyspace_name", state.keyspace.and_then(text)),
            ("protocol_version", int(client.version.number().into())),
            ("request_count", bigint(client.requests().try_into().unwrap_or(i64::MAX))),
            ("ssl_cipher_suite", client.encryption.and_then(|encryption| text(encryption.cipher))),
            ("ssl_enabled", boolean(client.encryption.is_some())),
            ("ssl_protocol", client.encryption.and_then(|encryption| text(encryption.protocol))),
            ("username", text(state.role.as_deref().unwrap_or("anonymous"))),
        ]);
    }
}

/// Complete indexes. The column `table_name` has the keyspace's name, as Cassandra's has.
pub(super) fn index_info(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for table in view.schema.tables() {
        for index in table.indexes.values().filter(|index| view.built_indexes.contains(&index.id)) {
            rows.row([("table_name", text(&table.keyspace)), ("index_name", text(&index.name))]);
        }
    }
}

/// Storage-attached indexes. A query reads the rows where one is not complete, so it can be used at once.
pub(super) fn sai_column_indexes(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for table in view.schema.tables() {
        for index in table.indexes.values().filter(|index| IndexClass::of(index) == IndexClass::StorageAttached) {
            let Some((_, column)) = table.column_of_id(index.column) else { continue };
            let data_type = indexed_type(&column.data_type, index.part);
            let analysis = Analysis::of(index, data_type);
            rows.row([
                ("keyspace_name", text(&table.keyspace)),
                ("index_name", text(&index.name)),
                ("analyzer", text(analysis.map_or_else(|| "NoOpAnalyzer".to_owned(), |analysis| analysis.to_string()))),
                ("column_name", text(&column.name)),
                ("is_building", boolean(!view.built_indexes.contains(&index.id))),
                ("is_queryable", boolean(true)),
                ("is_string", boolean(is_literal(data_type) || index.part == IndexPart::Entries)),
                ("table_name", text(&table.name)),
            ]);
        }
    }
}

/// Whether SAI compares values of a type as bytes, and not by their order.
fn is_literal(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Text | DataType::Ascii | DataType::Boolean | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..)
    ) || data_type.is_collection()
}

/// Complete materialized views.
pub(super) fn built_views(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for table in view.schema.tables().filter(|table| table.view.is_some() && view.built_indexes.contains(&table.id)) {
        rows.row([("keyspace_name", text(&table.keyspace)), ("view_name", text(&table.name)), ("status_replicated", boolean(true))]);
    }
}

/// How far this node is with materialized views.
pub(super) fn view_build_status(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for table in view.schema.tables().filter(|table| table.view.is_some()) {
        let status = if view.built_indexes.contains(&table.id) { "SUCCESS" } else { "STARTED" };
        rows.row([
            ("keyspace_name", text(&table.keyspace)),
            ("view_name", text(&table.name)),
            ("host_id", uuid(view.host_id)),
            ("status", text(status)),
        ]);
    }
}

pub(super) fn settings(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for (name, value) in view.settings {
        rows.row([("name", text(name)), ("value", text(value))]);
    }
}
