//! TLS by the client's own settings.

use aerospike::{Bin, Client, ClientPolicy, Error, TlsPolicy, Value};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tarndb_driver_test_aerospike_rust::{connect, endpoint, fresh, read, writes};

/// The authority of the server's certificate.
fn authority() -> RootCertStore {
    let file = std::env::var("TARNDB_TEST_CA").expect("TARNDB_TEST_CA is the authority of the server's certificate");
    let mut authorities = RootCertStore::empty();
    authorities.add(CertificateDer::from_pem_file(file).expect("a certificate")).expect("an authority");
    authorities
}

/// A client by TLS that trusts these authorities to sign the certificate of `name`.
async fn connect_by_tls(authorities: RootCertStore, name: &str) -> Result<Client, Error> {
    let config = ClientConfig::builder().with_root_certificates(authorities).with_no_client_auth();
    let mut policy = ClientPolicy::default();
    policy.tls_policy = Some(TlsPolicy::new(config));
    let (host, port) = endpoint().rsplit_once(':').map(|(host, port)| (host.to_owned(), port.to_owned())).expect("HOST:PORT");
    Client::new(&policy, &format!("{host}:{name}:{port}")).await
}

#[tokio::test]
async fn tls_carries_records() {
    let encrypted = connect_by_tls(authority(), "localhost").await.expect("the client trusts the server");
    let (plain, value) = (connect().await, "x".repeat(10_000));
    for number in 0..100 {
        let key = fresh(&encrypted, "rust_tls", number).await;
        encrypted.put(&writes(), &key, &[Bin::new("v", value.as_str().into())]).await.expect("a put");
        for reader in [&encrypted, &plain] {
            assert_eq!(read(reader, &key).await["v"], Value::from(value.as_str()));
        }
    }
}

#[tokio::test]
async fn tls_of_another_authority_or_name_is_refused() {
    for (authorities, name, why) in
        [(RootCertStore::empty(), "localhost", "UnknownIssuer"), (authority(), "elsewhere.example.org", "not valid for name")]
    {
        let refused = connect_by_tls(authorities, name).await.err().expect("the client does not trust the server");
        assert!(format!("{refused:?}").contains(why), "{refused:?}");
    }
}
