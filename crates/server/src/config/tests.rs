use super::*;
use crate::settings::Tls;

const HOST: Host = Host { memory: Memory::OfMachine(8 << 30) };

#[test]
fn without_settings_it_is_a_single_node_on_loopback() {
    let config = Config::new(Settings::default(), HOST).unwrap();
    assert_eq!(config.listen, IpAddr::V4(Ipv4Addr::LOCALHOST));
    assert_eq!((config.cql_port, config.cql_shard_aware_port, config.http_port), (9042, 19042, 8080));
    assert_eq!((config.aerospike_port, config.aerospike_namespaces), (3000, vec!["test".to_owned()]));
    assert_eq!(config.memory_limit, Size(4 << 30));
    assert_eq!((config.durability, config.flush_interval_ms), (Durability::Memory, 100));
}

#[test]
fn clients_are_warned_before_they_are_refused() {
    let of = |text: &str| Config::new(Settings { guardrails: toml::from_str(text).unwrap(), ..Settings::default() }, HOST);
    of("page_size_warn_threshold = 5\npage_size_fail_threshold = 5").unwrap();
    let error = of("page_size_warn_threshold = 6\npage_size_fail_threshold = 5").unwrap_err();
    assert_eq!(error.to_string(), "page_size_warn_threshold must not be greater than page_size_fail_threshold");
    assert_eq!(error.keys(), ["page_size_warn_threshold", "page_size_fail_threshold"]);
}

#[test]
fn a_name_to_listen_on_is_resolved_to_the_same_address_each_time() {
    let listen = |name: &str| Config::new(Settings { listen: Some(name.to_owned()), ..Settings::default() }, HOST);
    assert_eq!(listen("localhost").unwrap().listen, IpAddr::V4(Ipv4Addr::LOCALHOST));
    assert_eq!(listen("::1").unwrap().listen, IpAddr::V6(std::net::Ipv6Addr::LOCALHOST));
    let error = listen("no.such.name.invalid").unwrap_err().to_string();
    assert!(error.starts_with("listen is `no.such.name.invalid`, which is neither an IP address nor a name"), "{error}");
}

#[test]
fn beyond_loopback_somebody_has_to_log_in_or_the_operator_says_otherwise() {
    let settings = |listen: &str| Settings { listen: Some(listen.to_owned()), ..Settings::default() };
    for listen in ["127.0.0.1", "127.77.0.3", "::1", "::ffff:127.0.0.1"] {
        Config::new(settings(listen), HOST).unwrap();
    }
    for listen in ["0.0.0.0", "::", "10.0.0.1", "192.0.2.1", "::ffff:10.0.0.1", "fe80::1"] {
        let error = Config::new(settings(listen), HOST).unwrap_err();
        assert!(matches!(error, ConfigError::Exposed { .. }), "{listen}: {error}");
        let no = Settings { insecure: Some(false), ..settings(listen) };
        assert!(matches!(Config::new(no, HOST), Err(ConfigError::Exposed { .. })), "{listen}");
        Config::new(Settings { insecure: Some(true), ..settings(listen) }, HOST).unwrap();
        Config::new(Settings { authentication: Some(Authentication::Password), ..settings(listen) }, HOST).unwrap();
    }
}

#[test]
fn flags_go_before_the_file() {
    let flags = Settings { cql_port: Some(1), ..Settings::default() };
    let file = Settings { cql_port: Some(2), http_port: Some(3), ..Settings::default() };
    let config = Config::new(flags.or(file), HOST).unwrap();
    assert_eq!((config.cql_port, config.http_port), (1, 3));
}

#[test]
fn values_outside_their_range_are_refused_with_the_range() {
    let refused = |settings| Config::new(settings, HOST).unwrap_err().to_string();
    let error = refused(Settings { cores: Some(0), ..Settings::default() });
    assert_eq!(error, "cores is 0, but must be from 1 to 1024");
    let error = refused(Settings { memory_limit: Some(Size(1 << 20)), ..Settings::default() });
    assert_eq!(error, "memory_limit is 1 MiB, but must be at least 64 MiB");
    let error = refused(Settings { memory_limit: Some(Size(9 << 30)), ..Settings::default() });
    assert_eq!(error, "memory_limit is 9 GiB, but this machine has 8 GiB: give the node less");
    let group = Host { memory: Memory::OfControlGroup(1 << 30) };
    let error = Config::new(Settings { memory_limit: Some(Size(2 << 30)), ..Settings::default() }, group).unwrap_err().to_string();
    assert_eq!(error, "memory_limit is 2 GiB, but the control group of this process has 1 GiB: give the node less");
    let error = refused(Settings { cql_port: Some(8080), ..Settings::default() });
    assert_eq!(error, "cql_port and http_port are both 8080: each needs its own port (0 picks a free one)");
    let namespaces = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    for names in [&["a b"][..], &["system"], &["a", "a"], &["a", ""], &["01234567890123456789012345678901"]] {
        let error = refused(Settings { aerospike_namespaces: namespaces(names), ..Settings::default() });
        assert!(error.starts_with("aerospike_namespaces has `"), "{error}");
    }
    let devices = |text: &str| Some(text.split(',').map(|device| device.parse().unwrap()).collect());
    let error = refused(Settings { devices: devices("/a,/b,/a=1GiB"), ..Settings::default() });
    assert_eq!(error, "devices lists /a twice");
    let error = refused(Settings { devices: devices("/a"), capacity: Some(Size(1 << 30)), ..Settings::default() });
    assert!(error.contains("leave capacity away"), "{error}");
    let file = || Some(PathBuf::from("file"));
    let error = refused(Settings { node_port: Some(1), node_key: file(), ..Settings::default() });
    assert_eq!(error, "node_key is given without node_certificate: TLS between nodes takes node_certificate, node_key and node_ca");
    let tls = Settings { node_certificate: file(), node_key: file(), node_ca: file(), ..Settings::default() };
    assert!(refused(tls.clone()).contains("switch clustering on"));
    assert!(Config::new(Settings { node_port: Some(7000), ..tls }, HOST).unwrap().node_tls.is_some());
    let error = refused(Settings { tls_key: file(), ..Settings::default() });
    assert_eq!(error, "tls_key is given without tls_certificate: TLS to clients takes tls_certificate and tls_key");
    assert!(refused(Settings { tls: Some(Tls::Optional), ..Settings::default() }).starts_with("tls is given without tls_certificate"));
    let tls = Settings { tls_certificate: file(), tls_key: file(), ..Settings::default() };
    assert!(Config::new(tls.clone(), HOST).unwrap().client_tls.unwrap().is_required, "who gives a certificate wants it used");
    let error = refused(Settings { cql_tls_port: Some(9142), ..Settings::default() });
    assert_eq!(error, "cql_tls_port is for clients that speak TLS: give tls_certificate and tls_key, too, or leave it away");
    let own_port = Settings { aerospike_tls_port: Some(4333), ..tls.clone() };
    assert!(Config::new(own_port.clone(), HOST).is_ok());
    assert!(refused(Settings { cql_port: Some(4333), ..own_port.clone() }).starts_with("cql_port and aerospike_tls_port are both 4333"));
    assert!(
        refused(Settings { aerospike_namespaces: namespaces(&[""]), ..own_port }).starts_with("aerospike_tls_port has nobody to serve")
    );
    let sql = Settings { griddb_port: Some(0), griddb_sql_port: Some(0), ..tls.clone() };
    assert!(Config::new(sql.clone(), HOST).is_ok(), "by TLS");
    let with_certificates = Settings { tls_client_ca: file(), ..sql };
    assert!(Config::new(with_certificates.clone(), HOST).is_ok(), "by its own certificate");
    let by_certificate = Settings { authentication: Some(Authentication::Certificate), ..with_certificates };
    assert!(refused(by_certificate).starts_with("griddb_sql_port reads and writes through griddb_port, where nobody can log in"));
    assert!(!Config::new(Settings { tls: Some(Tls::Optional), ..tls }, HOST).unwrap().client_tls.unwrap().is_required);
    Config::new(Settings { cql_port: Some(0), http_port: Some(0), ..Settings::default() }, HOST).unwrap();
    let off = Settings { aerospike_namespaces: namespaces(&[""]), http_port: Some(3000), ..Settings::default() };
    assert!(Config::new(off, HOST).unwrap().aerospike_namespaces.is_empty(), "without namespaces nobody listens");
    let with_login = || Settings { authentication: Some(Authentication::Password), ..Settings::default() };
    assert!(Config::new(with_login(), HOST).unwrap().aerospike_namespaces.is_empty(), "one port less, unless it is asked for");
    assert_eq!(Config::new(with_login(), HOST).unwrap().authorization, Authorization::Permissions);
    assert_eq!(Config::new(Settings::default(), HOST).unwrap().authorization, Authorization::None);
    let error = refused(Settings { authorization: Some(Authorization::Permissions), ..Settings::default() });
    assert!(error.contains("needs authentication = password"), "{error}");
    let error = refused(Settings { superuser_password_file: file(), ..Settings::default() });
    assert!(error.contains("needs authentication = password"), "{error}");
    let both = Settings { aerospike_namespaces: namespaces(&["test"]), ..with_login() };
    assert_eq!(Config::new(both, HOST).unwrap().aerospike_namespaces, ["test"]);
}
