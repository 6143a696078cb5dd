#![allow(clippy::unwrap_used)]

use super::*;
use crate::exec::Namespace;
use crate::index::IndexChange;
use base64::Engine;
use model::record_set::NewBin;
use model::{DataType, Schema};

const INDEXES: &str = "ns=test:indexname=no_set:set=NULL:bin=b:type=numeric:indextype=default:context=null:state=WO;\
                       ns=test:indexname=age:set=users:bin=a:type=numeric:indextype=default:context=null:state=RW";

/// The values of names, on a node with the namespaces `test` and `bar`, of which `test` has two sets and records without a set.
fn values(names: &str) -> Vec<(String, String)> {
    values_of(None, names)
}

fn values_of(cluster: Option<Box<dyn Cluster>>, names: &str) -> Vec<(String, String)> {
    let bin = |name: &str| NewBin { name: name.to_owned(), kind: 1, kind_name: "integer", data_type: DataType::BigInt };
    let mut schema = Schema::empty();
    for (set, bins) in [("users", vec![bin("a"), bin("b")]), ("", vec![bin("b")]), ("orders", vec![])] {
        schema = schema.declare_bins("test", set, &bins, 1).unwrap().unwrap().schema;
    }
    let created = |command: &str| match IndexChange::of_request(command) {
        Some(Ok(IndexChange::Create { name, definition, .. })) => (name, definition),
        other => panic!("{other:?}"),
    };
    let built = schema.next_table;
    for command in
        ["sindex-create:ns=test;set=users;indexname=age;indexdata=a,NUMERIC", "sindex-create:ns=test;indexname=no_set;bin=b;type=numeric"]
    {
        let (name, definition) = created(command);
        let table = if name == "age" { "users" } else { "_no_set" };
        assert_eq!(definition.add(&mut schema, "test", table, &name), Ok(true));
    }
    let namespaces = ["test", "bar"].map(|name| Namespace { name: name.to_owned(), default_ttl_s: 0 });
    let view = NodeView {
        node_name: "BB9000000000001",
        cluster_name: "",
        address: "192.0.2.1:3000".parse().unwrap(),
        tls_address: Some("192.0.2.1:4333".parse().unwrap()),
        namespaces: &namespaces,
        schema: &schema,
        built_indexes: vec![built],
        jobs: &crate::jobs::Jobs::default(),
        now_us: 0,
        uptime_s: 5,
        client_connections: 2,
        cluster,
    };
    let mut out = Vec::new();
    answer(names, &view, &mut out);
    let text = String::from_utf8(out).unwrap();
    text.lines().map(|line| line.split_once('\t').unwrap()).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn value(name: &str) -> String {
    let mut values = values(name);
    assert_eq!(values.len(), 1);
    assert_eq!(values[0].0, name, "the name comes back as it was asked");
    values.remove(0).1
}

#[test]
fn what_clients_ask_when_they_connect_is_answered() {
    // Java 9, C 7 and Python 19, then the Java client of 2015, in the order in which they ask.
    let names = "node\npartition-generation\nfeatures\nbuild\ncluster-name\nservice-clear-std\npeers-generation\nrebalance-generation\n\
                 peers-clear-std\nreplicas\nrack-ids\nuser-agent-set:value=eA==\nservices\nreplicas-master\nreplicas-all\n";
    let values = values(names);
    assert_eq!(values.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names.lines().collect::<Vec<_>>());
    assert!(values.iter().all(|(_, value)| !value.starts_with("ERROR")), "{values:?}");
    let features: Vec<&str> = values[2].1.split(';').collect();
    for feature in ["pscans", "pquery", "batch-any", "batch-index", "query-show", "replicas-all", "float"] {
        assert!(features.contains(&feature), "{feature}");
    }
    assert!(!features.contains(&"udf") && values[2].1.is_ascii() && !values[2].1.contains(' '));
    assert_eq!(value("peers-clear-std"), "1,3000,[]");
    assert_eq!(value("service-clear-std"), "192.0.2.1:3000");
    assert_eq!(value("service-tls-std"), "192.0.2.1:4333");
    assert_eq!(value("peers-tls-std"), "1,3000,[]");
    assert_eq!(value("cluster-name"), "null");
    assert_eq!(value("rack-ids"), "test:0;bar:0");
    assert_eq!(value("namespaces"), "test;bar");
}

#[test]
fn the_partition_map_is_whole_and_linearizable() {
    let all = base64::engine::general_purpose::STANDARD.encode([0xFF; 512]);
    let none = base64::engine::general_purpose::STANDARD.encode([0; 512]);
    assert_eq!(value("replicas"), format!("test:1,1,{all};bar:1,1,{all}"));
    assert_eq!(value("replicas-all"), format!("test:1,{all};bar:1,{all}"));
    assert_eq!(value("replicas-master"), format!("test:{all};bar:{all}"));
    assert_eq!(value("replicas-prole"), format!("test:{none};bar:{none}"));
    assert_eq!(value("partitions"), "4096");
}

#[test]
fn namespaces_show_their_sets_and_bins() {
    assert_eq!(value("sets"), "ns=test:set=orders:truncating=false;ns=test:set=users:truncating=false");
    assert_eq!(value("sets/test/users"), "ns=test:set=users:truncating=false");
    assert_eq!(value("sets/bar"), "");
    assert_eq!(value("bins/test"), "bin_names=2,bin_names_quota=32768,a,b");
    assert_eq!(value("bins"), "test:bin_names=2,bin_names_quota=32768,a,b;bar:bin_names=0,bin_names_quota=32768");
    assert_eq!(value("bins/none"), "ERROR:20:no such namespace");
    let namespace = value("namespace/test");
    assert!(namespace.split(';').any(|pair| pair == "nsup-period=120") && namespace.split(';').all(|pair| pair.contains('=')));
    assert_eq!(value("get-config:context=namespace;id=test"), namespace);
    assert_eq!(value("namespace/none"), "ERROR:20:no such namespace");
}

#[test]
fn what_is_not_served_says_so() {
    let cases = [
        ("nonsense", "ERROR:4:unrecognized command"),
        ("set-config:context=service;proto-fd-max=1", "ERROR:4:unrecognized command"),
        ("sindex-create:ns=test;indexname=i;bin=a;type=NUMERIC", "ERROR:4:a change of an index comes alone"),
        ("sindex/test/i", "ERROR:201:no index of this name"),
        ("sindex/test/age", "load_pct=100;state=RW"),
        ("sindex-stat:ns=test;indexname=age", "load_pct=100;state=RW"),
        ("sindex-stat:namespace=test;indexname=no_set", "load_pct=0;state=WO"),
        ("sindex-stat:ns=test", "ERROR:4:the namespace or the index's name is missing"),
        ("sindex-stat:ns=none;indexname=age", "ERROR:20:no such namespace"),
        ("sindex-exists:ns=test;indexname=i", "false"),
        ("sindex-exists:ns=test;indexname=age", "true"),
        ("sindex-exists:ns=bar;indexname=age", "false"),
        ("sindex-exists", "ERROR:4:the namespace or the index's name is missing"),
        ("sindex-list:ns=bar", ""),
        ("sindex/none", "ERROR:20:no such namespace"),
        ("sindex", INDEXES),
        ("sindex/test", INDEXES),
        ("sindex-list:ns=test", INDEXES),
        ("udf-list", ""),
        ("udf-put:filename=x;content=eA==", "ERROR:4:a change of a module comes alone"),
        ("query-show:trid=1", "ERROR:2:no such job"),
        ("query-show", ""),
    ];
    for (name, expected) in cases {
        assert_eq!(value(name), expected, "{name}");
    }
}

#[test]
fn a_request_without_names_gets_the_usual_ones() {
    assert_eq!(values(""), values("\n\n"));
    assert!(values("").iter().any(|(name, value)| name == "statistics" && value.contains("uptime=5;")));
}

#[test]
fn a_long_request_does_not_get_a_reply_without_bound() {
    let names = "replicas\n".repeat(100_000);
    let bytes: usize = values(&names).iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(bytes < (1 << 20) + 10_000);
}

#[test]
fn truncations_are_told_apart() {
    let of = Truncation::of_request;
    let ok = |namespace, set| Some(Ok(Truncation { namespace, set }));
    assert_eq!(of("truncate:namespace=test;set=s\n"), ok("test", Some("s")));
    assert_eq!(of("truncate:namespace=test;set=s;lut=0"), ok("test", Some("s")));
    assert_eq!(of("truncate-namespace:namespace=test"), ok("test", None));
    assert!(matches!(of("truncate:namespace=test"), Some(Err(_))), "a mistake does not empty a namespace");
    assert!(matches!(of("truncate:set=s"), Some(Err(_))));
    assert!(matches!(of("truncate:namespace=test;set=s;lut=17"), Some(Err(_))));
    assert!(matches!(of("truncate:namespace=test;set=s\nbuild"), Some(Err(_))));
    assert_eq!(of("build\ntruncate:namespace=test;set=s"), None, "only the first");
    assert_eq!(of("build"), None);
}

/// A node of three, which is the first replica of every fourth partition of `test` and the second of every other odd one.
#[derive(Debug)]
struct Three {
    unavailable: u32,
    receiving: u32,
}

impl Cluster for Three {
    fn peers(&self) -> Vec<Peer> {
        [2, 3].map(|number| Peer { node_name: format!("A{number}"), address: ([192, 0, 2, number], 3_000).into() }).into()
    }

    fn peers_generation(&self) -> u64 {
        7
    }

    fn size(&self) -> usize {
        3
    }

    fn partition_generation(&self) -> u64 {
        (1 << 31) + 9
    }

    fn key(&self) -> u64 {
        0xABC
    }

    fn partitions(&self, namespace: &str) -> Partitions {
        let mut partitions = Partitions::none(12, if namespace == "test" { 2 } else { 1 });
        if namespace == "test" {
            for partition in (0..4_096).step_by(4) {
                partitions.hold(0, partition);
                partitions.hold(1, partition + 1);
                partitions.hold(2, partition + 2);
            }
            (partitions.unavailable, partitions.receiving) = (self.unavailable, self.receiving);
        }
        partitions
    }
}

#[test]
fn members_and_their_partitions_are_told() {
    let value = |name: &str| values_of(Some(Box::new(Three { unavailable: 0, receiving: 0 })), name).remove(0).1;
    let encoded = |byte: u8| base64::engine::general_purpose::STANDARD.encode([byte; 512]);
    let (first, second, none) = (encoded(0x88), encoded(0x44), encoded(0));
    assert_eq!(value("replicas"), format!("test:12,2,{first},{second};bar:12,1,{none}"));
    assert_eq!(value("replicas-all"), format!("test:2,{first},{second};bar:1,{none}"));
    assert_eq!(value("replicas-master"), format!("test:{first};bar:{none}"));
    assert_eq!(value("replicas-prole"), format!("test:{second};bar:{none}"));
    assert_eq!(value("peers-clear-std"), "7,3000,[[A2,,[192.0.2.2:3000]],[A3,,[192.0.2.3:3000]]]");
    assert_eq!(value("peers-tls-std"), "7,3000,[[A2,192.0.2.2,[192.0.2.2:3000]],[A3,192.0.2.3,[192.0.2.3:3000]]]");
    assert_eq!(value("services"), "192.0.2.2:3000;192.0.2.3:3000");
    assert_eq!((value("peers-generation"), value("partition-generation")), ("7".to_owned(), "9".to_owned()), "31 bits");
    assert!(value("namespace/test").starts_with("ns_cluster_size=3;effective_replication_factor=2;replication-factor=2;"));
    assert!(value("statistics").starts_with("cluster_size=3;cluster_key=ABC;cluster_generation=7;cluster_principal=A2;"));
}

#[test]
fn a_cluster_is_stable_when_all_is_in_its_place() {
    let asked = |unavailable, receiving, name: &str| values_of(Some(Box::new(Three { unavailable, receiving })), name).remove(0).1;
    assert_eq!(asked(0, 0, "cluster-stable"), "ABC");
    assert_eq!(asked(0, 0, "cluster-stable:size=3;ignore-migrations=false;namespace=test"), "ABC");
    assert_eq!(asked(0, 0, "cluster-stable:size=4"), "ERROR:4:cluster-specified-size");
    assert_eq!(asked(0, 0, "cluster-stable:namespace=none"), "ERROR:4:unknown-namespace");
    assert_eq!(asked(0, 1, "cluster-stable"), "ERROR:1:unstable-cluster");
    assert_eq!(asked(0, 1, "cluster-stable:ignore-migrations=true"), "ABC");
    assert_eq!(asked(1, 0, "cluster-stable:ignore-migrations=true"), "ERROR:1:unstable-cluster");
    assert_eq!(asked(1, 1, "cluster-stable:namespace=bar"), "ABC");
    assert_eq!(value("cluster-stable:size=1"), "1");
}
