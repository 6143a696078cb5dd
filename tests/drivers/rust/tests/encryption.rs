//! TLS by the driver's own settings.

use openssl::ssl::{SslConnector, SslMethod};
use openssl::x509::X509;
use openssl::x509::store::X509StoreBuilder;
use scylla::client::session::{OpenSsl010Config, Session};
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::NewSessionError;
use tarndb_driver_test_rust::{PATIENCE, connect, endpoint, run};

/// The authority of the server's certificate, and nobody else.
fn authority() -> Vec<X509> {
    let file = std::env::var("TARNDB_TEST_CA").expect("TARNDB_TEST_CA is the authority of the server's certificate");
    X509::stack_from_pem(&std::fs::read(file).expect("the authority can be read")).expect("a certificate")
}

/// A session by TLS that trusts these authorities alone; the driver wants the certificate to name the node's address.
async fn connect_by_tls(authorities: Vec<X509>) -> Result<Session, NewSessionError> {
    let mut trusted = X509StoreBuilder::new().expect("a store");
    authorities.into_iter().for_each(|authority| trusted.add_cert(authority).expect("an authority"));
    let mut connector = SslConnector::builder(SslMethod::tls()).expect("a connector");
    connector.set_cert_store(trusted.build());
    let builder = SessionBuilder::new().known_node(endpoint()).connection_timeout(PATIENCE);
    builder.tls_context(Some(OpenSsl010Config::new(connector))).build().await
}

#[tokio::test]
async fn tls_carries_rows() {
    let session = connect_by_tls(authority()).await.expect("the driver trusts the server");
    run(&session, "CREATE KEYSPACE IF NOT EXISTS rust_tls WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await;
    run(&session, "CREATE TABLE IF NOT EXISTS rust_tls.t (k int PRIMARY KEY, v text)").await;
    let insert = session.prepare("INSERT INTO rust_tls.t (k, v) VALUES (?, ?)").await.expect("prepares");
    let value = "x".repeat(10_000);
    for key in 0..100 {
        session.execute_unpaged(&insert, (key, &value)).await.expect("inserts");
    }
    for (name, reader) in [("by TLS", session), ("in the plain", connect().await)] {
        let rows = reader.query_unpaged("SELECT v FROM rust_tls.t", &[]).await.expect("selects").into_rows_result().expect("rows");
        assert_eq!(rows.rows_num(), 100, "{name}");
        assert!(rows.rows::<(String,)>().expect("typed rows").all(|row| row.expect("a row").0 == value), "{name}");
    }
}

#[tokio::test]
async fn tls_of_a_server_that_no_trusted_authority_has_signed_is_refused() {
    let refused = connect_by_tls(Vec::new()).await.err().expect("the driver does not trust the server");
    assert!(format!("{refused:?}").contains("certificate verify failed"), "{refused:?}");
}
