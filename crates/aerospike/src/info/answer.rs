//! The value of each name.

use super::text::{list, parameter};
use super::view::{BUILD, NodeView, Partitions};
use super::{indexes, members, namespace, partitions};
use crate::udf::{self, Modules};
use std::fmt::{Display, Write};

/// A reply that is this long gets no further values: names are short and some values long.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// What is told when no name is given.
const DEFAULT_NAMES: [&str; 11] = [
    "node",
    "build",
    "edition",
    "version",
    "features",
    "namespaces",
    "cluster-name",
    "partition-generation",
    "service",
    "services",
    "statistics",
];

/// What is answered to a name that is not known.
const UNKNOWN: &str = "ERROR:4:unrecognized command";

/// What this server does of what came with the protocol's versions.
const FEATURES: &str = "batch-any;batch-index;cdt-list;cdt-map;float;geo;peers;pipelining;pquery;pscans;query-show;replicas;\
                        replicas-all;replicas-master;replicas-prole;sindex-exists;truncate-namespace";

/// Appends each name of a request with its value, as the body of a reply.
pub fn answer(names: &str, view: &NodeView<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    let mut names = names.split('\n').filter(|name| !name.is_empty()).peekable();
    if names.peek().is_none() {
        for name in DEFAULT_NAMES {
            write_value(out, name, &value(name, view));
        }
    }
    for name in names {
        if out.len() - start > REPLY_BYTES_MAX {
            break;
        }
        write_value(out, name, &value(name, view));
    }
}

/// Appends a name with its value.
pub fn write_value(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.push(b'\t');
    out.extend_from_slice(value.as_bytes());
    out.push(b'\n');
}

fn value(name: &str, view: &NodeView<'_>) -> String {
    let (command, parameters) = name.split_once(':').unwrap_or((name, ""));
    let (command, path) = command.split_once('/').unwrap_or((command, ""));
    match command {
        "node" => view.node_name.to_owned(),
        "build" => BUILD.to_owned(),
        "edition" => "TarnDB Community Edition".to_owned(),
        "version" => concat!("TarnDB ", env!("CARGO_PKG_VERSION")).to_owned(),
        "features" => FEATURES.to_owned(),
        "status" => "ok".to_owned(),
        "logs" => "0:stderr".to_owned(),
        "cluster-name" if view.cluster_name.is_empty() => "null".to_owned(),
        "cluster-name" => view.cluster_name.to_owned(),
        "partition-generation" => partitions::generation(view).to_string(),
        "cluster-generation" | "peers-generation" | "rebalance-generation" => members::generation(view).to_string(),
        "cluster-stable" => members::stable(view, parameters),
        "service" | "service-clear-std" => view.address.to_string(),
        "services" => members::addresses(view),
        "service-tls-std" => view.tls_address.map_or(String::new(), |address| address.to_string()),
        // A node has no other.
        "services-alternate" | "services-alumni" | "service-clear-alt" | "service-tls-alt" => String::new(),
        "peers-clear-std" | "peers-clear-alt" => members::peers(view, false),
        "peers-tls-std" | "peers-tls-alt" if view.tls_address.is_some() => members::peers(view, true),
        "peers-tls-std" | "peers-tls-alt" => format!("{},,[]", members::generation(view)),
        "partitions" => base::SLOT_COUNT.to_string(),
        "replicas" => partitions::replicas(view),
        "replicas-all" => partitions::replicas_all(view),
        "replicas-master" => partitions::replicas_master(view, true),
        "replicas-prole" => partitions::replicas_master(view, false),
        "rack-ids" => list(view.namespaces.iter().map(|namespace| format!("{}:0", namespace.name))),
        "namespaces" => list(view.namespaces.iter().map(|namespace| &namespace.name)),
        "namespace" => namespace::of_name(view, path),
        "get-config" if parameter(parameters, "context") == Some("namespace") => {
            namespace::of_name(view, parameter(parameters, "id").or(parameter(parameters, "namespace")).unwrap_or_default())
        }
        "sets" => namespace::sets(view, path),
        "bins" => namespace::bins(view, path),
        "statistics" => statistics(view),
        "sindex" | "sindex-list" => indexes::list(view, path, parameters),
        "sindex-stat" => indexes::state(view, path, parameters),
        "sindex-exists" => indexes::exists(view, parameters),
        // Alone, they are changes.
        "sindex-create" | "sindex-delete" => "ERROR:4:a change of an index comes alone".to_owned(),
        "udf-list" => udf::list(&Modules::of(view.schema)),
        "udf-get" => udf::get(&Modules::of(view.schema), parameters),
        // Alone, they are changes.
        "udf-put" | "udf-remove" => "ERROR:4:a change of a module comes alone".to_owned(),
        "query-show" | "scan-show" | "jobs" => view.jobs.show(parameters, view.now_us),
        // Alone, they do something.
        "query-abort" | "scan-abort" | "query-abort-all" | "scan-abort-all" => {
            "ERROR:4:jobs are ended by a command that comes alone".to_owned()
        }
        "user-agent-set" => "ok".to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

fn statistics(view: &NodeView<'_>) -> String {
    let mut text = String::new();
    let mut put = |name: &str, value: &dyn Display| {
        let separator = if text.is_empty() { "" } else { ";" };
        write!(text, "{separator}{name}={value}").expect("text takes what is written to it");
    };
    let partitions: Vec<Partitions> = view.namespaces.iter().map(|namespace| view.partitions(&namespace.name)).collect();
    put("cluster_size", &members::size(view));
    put("cluster_key", &members::key(view));
    put("cluster_generation", &members::generation(view));
    put("cluster_principal", &members::principal(view));
    put("cluster_integrity", &true);
    put("cluster_is_member", &true);
    put("uptime", &view.uptime_s);
    put("migrate_allowed", &true);
    put("migrate_partitions_remaining", &partitions.iter().map(|held| held.sending + held.receiving).sum::<u32>());
    put("client_connections", &view.client_connections);
    text
}
