#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn names_and_addresses_are_told_apart() {
    for (given, name, protocol, nodes) in [
        ("tarndb", "tarndb", Protocol::Cql, None),
        ("tarndb?protocol=cql", "tarndb", Protocol::Cql, None),
        ("tarndb?protocol=aerospike", "tarndb-aerospike", Protocol::Aerospike, None),
        ("tarndb?nodes=1", "tarndb", Protocol::Cql, Some(1)),
        ("tarndb?nodes=5&protocol=cql", "tarndb-5", Protocol::Cql, Some(5)),
        ("tarndb?nodes=3&protocol=griddb", "tarndb-griddb-3", Protocol::GridDb, Some(3)),
    ] {
        assert_eq!(TargetSpec::parse(given).unwrap(), TargetSpec::Private { name: name.to_owned(), protocol, nodes, batch: None });
    }
    assert_eq!(TargetSpec::parse("cassandra").unwrap(), TargetSpec::Peer { name: "cassandra".to_owned(), options: vec![] });
    let options = vec![("readahead".to_owned(), "4".to_owned()), ("durability".to_owned(), "group".to_owned())];
    assert_eq!(
        TargetSpec::parse("cassandra?readahead=4&durability=group").unwrap(),
        TargetSpec::Peer { name: "cassandra".to_owned(), options }
    );
    let spec = TargetSpec::parse("three=cql://me:se:cr@10.0.0.1:9042,10.0.0.2:9042?nodes=3&consistency=quorum&table=a=1").unwrap();
    let TargetSpec::Server { name, address, nodes, access, .. } = spec else { panic!("a server") };
    let Access::Cql { credentials, consistency, table } = access else { panic!("CQL") };
    assert_eq!((name.as_str(), address.as_str(), nodes), ("three", "10.0.0.1:9042,10.0.0.2:9042", 3));
    assert_eq!(credentials, Some(("me".to_owned(), "se:cr".to_owned())));
    assert_eq!((consistency.as_deref(), table.as_deref()), (Some("QUORUM"), Some("a=1")));
    assert_eq!(TargetSpec::parse("cql://[::1]:9042").unwrap().name(), "[::1]:9042");
    for (given, wanted) in [("aerospike://10.0.0.1:3000,10.0.0.2:3000/bar?nodes=2&pid=7", "bar"), ("as=aerospike://h:3000", "test")] {
        let spec = TargetSpec::parse(given).unwrap();
        assert_eq!(spec.protocol(), Protocol::Aerospike);
        let TargetSpec::Server { access: Access::Aerospike { namespace }, .. } = spec else { panic!("Aerospike") };
        assert_eq!(namespace, wanted);
    }
}

#[test]
fn a_griddb_server_has_a_cluster_a_login_and_batches() {
    let spec = TargetSpec::parse("g=griddb://me:se:cr@10.0.0.1:10001/myCluster?batch=1000&pid=7").unwrap();
    assert_eq!((spec.name(), spec.protocol(), spec.batch(), spec.nodes()), ("g", Protocol::GridDb, Some(1000), 1));
    let TargetSpec::Server { access: Access::GridDb { credentials, cluster, .. }, address, .. } = spec else { panic!("GridDB") };
    assert_eq!(credentials, Some(("me".to_owned(), "se:cr".to_owned())));
    assert_eq!((cluster.as_str(), address.as_str()), ("myCluster", "10.0.0.1:10001"));
    let spec = TargetSpec::parse("griddb://h:1,i:1").unwrap();
    assert_eq!((spec.batch(), spec.nodes()), (None, 2));
    let sized: Vec<_> = TargetSpec::parse("tarndb?protocol=griddb&batch=10").unwrap().sized(&[3, 5]);
    assert_eq!(
        sized.iter().map(|spec| (spec.name(), spec.batch())).collect::<Vec<_>>(),
        [("tarndb-griddb-3", Some(10)), ("tarndb-griddb-5", Some(10))]
    );
}

#[test]
fn metrics_of_several_nodes_are_separated_by_commas() {
    let given = "cql://10.0.0.1:9042,10.0.0.2:9042?metrics=http://10.0.0.1:8080/metrics,http://10.0.0.2:8080/m?a=b&nodes=3";
    let TargetSpec::Server { address, nodes, metrics, .. } = TargetSpec::parse(given).unwrap() else { panic!("a server") };
    assert_eq!((address.as_str(), nodes), ("10.0.0.1:9042,10.0.0.2:9042", 3));
    let shown: Vec<String> = metrics.iter().map(MetricsUrl::to_string).collect();
    assert_eq!(shown, ["http://10.0.0.1:8080/metrics", "http://10.0.0.2:8080/m?a=b"]);
}

#[test]
fn a_study_says_how_many_nodes_unless_the_target_does() {
    let names = |given: &str| -> Vec<(String, u32)> {
        let sized = TargetSpec::parse(given).unwrap().sized(&[3, 5]);
        sized.iter().map(|spec| (spec.name().to_owned(), spec.nodes())).collect()
    };
    assert_eq!(names("tarndb"), [("tarndb-3".to_owned(), 3), ("tarndb-5".to_owned(), 5)]);
    assert_eq!(names("tarndb?nodes=2"), [("tarndb-2".to_owned(), 2)]);
    assert_eq!(names("tarndb?protocol=aerospike")[1], ("tarndb-aerospike-5".to_owned(), 5));
    assert_eq!(names("tarndb?protocol=aerospike&nodes=3"), [("tarndb-aerospike-3".to_owned(), 3)]);
    assert_eq!(names("x=cql://h:1?nodes=4"), [("x".to_owned(), 4)]);
}

#[test]
fn nonsense_is_refused_without_showing_a_password() {
    for (given, says) in [
        ("", "no protocol"),
        ("tarndb?memory=1", "the options"),
        ("tarndb?nodes=0", "from 1"),
        ("tarndb?nodes=65", "to 64"),
        ("tarndb?protocol=redis", "not one of: cql, aerospike, griddb"),
        ("tarndb?batch=10", "goes with protocol=griddb"),
        ("tarndb?protocol=griddb&batch=0", "from 1 to 16384"),
        ("griddb://me@host:1", "USER:PASSWORD"),
        ("griddb://me:secret@host:1/a/b", "cluster's name"),
        ("griddb://me:secret@host:1/a?batch=many", "batch is a number"),
        ("griddb://me:secret@host:1/a?bach=3", "did you mean `batch`"),
        ("griddb://host/a", "HOST:PORT"),
        ("cassandra?x", "key=value"),
        ("10.0.0.1:9042", "no protocol"),
        ("http://a:1", "not one of"),
        ("cql://host", "HOST:PORT"),
        ("cql://host:0", "HOST:PORT"),
        ("cql://host:99999", "HOST:PORT"),
        ("cql://me@host:1", "USER:PASSWORD"),
        ("cql://me:secret@host:1?node=3", "did you mean `nodes`"),
        ("cql://me:secret@host:1?pid=x", "pid"),
        ("cql://me:secret@host:1?metrics=htp://h:1/m", "`htp://h:1/m` is no address of metrics"),
        ("cql://host:1?metrics=http://h:1/m,", "`` is no address of metrics"),
        ("cql://host:1?metrics=http://h:1,http://i:1,http://h:1/metrics", "http://h:1/metrics twice"),
        ("aerospike://host:1?metrics=http://me:secret@h:1/m", "password"),
        ("aerospike://me:secret@host:1", "users"),
        ("aerospike://host:1/", "namespace"),
        ("aerospike://host:1/a/b", "namespace"),
        ("aerospike://host/test", "HOST:PORT"),
        ("aerospike://host:1/test?consistency=one", "unknown key"),
        ("aerospike://host:1/test?node=3", "did you mean `nodes`"),
    ] {
        let error = TargetSpec::parse(given).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("secret"), "{error}");
    }
}
