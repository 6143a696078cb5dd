//! What tests of the crate make clusters of.

use crate::state::Profile;
use crate::versions::Versions;
use model::{Keyspace, Replication};
use std::collections::BTreeMap;

/// What process `incarnation` of `host` says of itself.
pub(crate) fn profile(host: u128, incarnation: u64) -> Profile {
    Profile {
        host_id: host,
        incarnation,
        node_address: format!("10.0.0.{host}:7000"),
        cql_address: format!("10.0.0.{host}:9042"),
        shard_aware_port: 19042,
        aerospike_address: None,
        griddb_address: None,
        cores: 2,
        rack: "rack1".to_owned(),
        data_center: "datacenter1".to_owned(),
        version: "0.1.0".to_owned(),
        protocol_versions: Versions::KNOWN,
        boot: 1,
        is_durable: false,
    }
}

/// A keyspace without tables.
pub(crate) fn keyspace(name: &str, factor: u8) -> Keyspace {
    Keyspace {
        name: name.to_owned(),
        replication: Replication {
            class: "org.apache.cassandra.locator.SimpleStrategy".to_owned(),
            parameters: BTreeMap::from([("replication_factor".to_owned(), factor.to_string())]),
        },
        durable_writes: true,
        tables: BTreeMap::new(),
        types: BTreeMap::new(),
        functions: Default::default(),
    }
}
