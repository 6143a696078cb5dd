//! What a node's sessions are made with: its certificate and key, and the authority that has signed everybody's.

use crate::error::SetupError;
use crate::validity::not_after_s;
use base::Now;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig, version};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A certificate whose end is nearer than this is worth a warning.
const SOON: Duration = Duration::from_secs(30 * 24 * 3600);

/// What is in the files that a node is given, as PEM.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// The node's certificate, followed by those between it and the authority, if there are any.
    pub certificate: &'a [u8],
    /// Its key.
    pub key: &'a [u8],
    /// The certificates of one or more authorities.
    pub authority: &'a [u8],
}

/// The same for all sessions of a node.
pub struct Config {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) clock: Arc<Clock>,
    expires_soon: bool,
    not_after_s: Option<u64>,
}

impl Config {
    /// Checks what the files hold, as another node would that reaches this one at `address`.
    ///
    /// # Errors
    /// When other nodes would refuse the certificate, now or always; or nothing can be made of a file.
    pub fn new(files: &Files<'_>, address: IpAddr, now: Now) -> Result<Self, SetupError> {
        let chain = certificates(files.certificate).map_err(|why| SetupError::Certificate { why })?;
        let key = PrivateKeyDer::from_pem_slice(files.key)
            .map_err(|_| SetupError::Key { why: "holds no private key in PEM without a password".to_owned() })?;
        let mut roots = RootCertStore::empty();
        for root in certificates(files.authority).map_err(|why| SetupError::Authority { why })? {
            roots.add(root).map_err(|error| SetupError::Authority { why: format!("holds what is no certificate: {error}") })?;
        }

        let (provider, roots) = (Arc::new(ring::default_provider()), Arc::new(roots));
        let unusable = |error: &dyn fmt::Display| SetupError::Authority { why: format!("cannot be used: {error}") };
        let of_servers = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(&error))?;
        let of_clients =
            WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider)).build().map_err(|error| unusable(&error))?;

        let [certificate, between @ ..] = &chain[..] else {
            return Err(SetupError::Certificate { why: "holds no certificate in PEM".to_owned() });
        };
        let (name, time) = (ServerName::IpAddress(address.into()), unix_time(now));
        let serves = |time| of_servers.verify_server_cert(certificate, between, &name, &[], time);
        let verified = serves(time).map(|_| ()).and_then(|()| of_clients.verify_client_cert(certificate, between, time).map(|_| ()));
        verified.map_err(|error| SetupError::Refused { address, why: crate::error::refusal(&error) })?;
        let expires_soon = serves(UnixTime::since_unix_epoch(Duration::from_secs(time.as_secs()) + SOON)).is_err();

        let not_after_s = not_after_s(certificate);
        let clock = Arc::new(Clock(AtomicU64::new(time.as_secs())));
        let source: Arc<dyn TimeProvider> = Arc::<Clock>::clone(&clock);
        let mismatch = |error: rustls::Error| match error {
            rustls::Error::InconsistentKeys(_) => SetupError::Mismatch,
            other => SetupError::Key { why: format!("cannot be used: {other}") },
        };
        let no_version = |error: rustls::Error| SetupError::Key { why: format!("cannot be used: {error}") };
        let mut client = ClientConfig::builder_with_details(Arc::clone(&provider), Arc::clone(&source))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(no_version)?
            .with_webpki_verifier(of_servers)
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(mismatch)?;
        client.resumption = rustls::client::Resumption::disabled();
        let mut server = ServerConfig::builder_with_details(provider, source)
            .with_protocol_versions(&[&version::TLS13])
            .map_err(no_version)?
            .with_client_cert_verifier(of_clients)
            .with_single_cert(chain, key)
            .map_err(mismatch)?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), clock, expires_soon, not_after_s })
    }

    /// The last second in which the certificate is valid, since 1970, if that could be read.
    #[must_use]
    pub fn not_after_s(&self) -> Option<u64> {
        self.not_after_s
    }

    /// Whether other nodes will refuse the certificate within 30 days from when this was made.
    #[must_use]
    pub fn expires_soon(&self) -> bool {
        self.expires_soon
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").finish_non_exhaustive()
    }
}

/// The time by which certificates are verified: told with the bytes of a handshake.
#[derive(Debug)]
pub(crate) struct Clock(pub(crate) AtomicU64);

impl Clock {
    pub(crate) fn set(&self, now: Now) {
        self.0.store(unix_time(now).as_secs(), Ordering::Relaxed);
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0.load(Ordering::Relaxed))))
    }
}

pub(crate) fn unix_time(now: Now) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(now.wall_s().max(0).unsigned_abs()))
}

pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| format!("is damaged: {error}"))?;
    if certificates.is_empty() { Err("holds no certificate in PEM".to_owned()) } else { Ok(certificates) }
}
