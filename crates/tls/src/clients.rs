//! What sessions with clients are made with: a certificate and its key, which may be replaced while the node runs.

use crate::config::{Clock, certificates, unix_time};
use crate::error::SetupError;
use crate::validity::not_after_s;
use base::Now;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme, version,
};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// What is in the files that a node is given for its clients, as PEM.
#[derive(Clone, Copy)]
pub struct ClientFiles<'a> {
    /// The certificate that clients see, followed by those between it and the authority, if there are any.
    pub certificate: &'a [u8],
    /// Its key.
    pub key: &'a [u8],
    /// Who has to have signed those of clients; without, nobody asks them for one.
    pub authority: Option<ClientAuthority<'a>>,
}

/// Authorities of clients' certificates.
#[derive(Clone, Copy)]
pub struct ClientAuthority<'a> {
    /// Their certificates.
    pub certificates: &'a [u8],
    /// What clients need.
    pub need: CertificateNeed,
}

/// What clients need a certificate for, where there are authorities for theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateNeed {
    /// They may do without.
    Optional,
    /// To connect.
    ToConnect,
    /// To log in.
    ToLogIn,
}

/// The same for all sessions of a node with its clients: TLS 1.2 and 1.3.
pub struct ClientTls {
    /// Of sessions that begin now.
    current: Mutex<Configs>,
    pub(crate) clock: Arc<Clock>,
}

/// By who connects.
#[derive(Clone)]
struct Configs {
    clients: Arc<ServerConfig>,
    /// They may show a certificate where clients may or have to.
    operators: Arc<ServerConfig>,
    /// The node itself, at both ends.
    itself: OwnEnds,
    need: Option<CertificateNeed>,
    not_after_s: Option<u64>,
}

/// What a connection of the node to itself is made with. Either end has the node's certificate and its key, and takes no other.
#[derive(Clone)]
struct OwnEnds {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl ClientTls {
    /// Checks what the files hold.
    ///
    /// # Errors
    /// When nothing can be made of one, or they do not belong together.
    pub fn new(files: &ClientFiles<'_>, now: Now) -> Result<Self, SetupError> {
        let clock = Arc::new(Clock(AtomicU64::new(unix_time(now).as_secs())));
        let current = Mutex::new(configs(files, &clock)?);
        Ok(Self { current, clock })
    }

    /// Has sessions that begin from now on use other files. Those that there are go on with what they began with.
    ///
    /// # Errors
    /// As [`ClientTls::new`]; nothing is changed then.
    pub fn replace(&self, files: &ClientFiles<'_>) -> Result<(), SetupError> {
        let configs = configs(files, &self.clock)?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = configs;
        Ok(())
    }

    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).clients)
    }

    /// What clients need a certificate for, if anybody asks them for one.
    #[must_use]
    pub fn certificate_need(&self) -> Option<CertificateNeed> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).need
    }

    /// The last second in which the certificate that clients see is valid, since 1970, if that could be read.
    #[must_use]
    pub fn not_after_s(&self) -> Option<u64> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).not_after_s
    }

    pub(crate) fn to_itself(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).itself.client)
    }

    pub(crate) fn with_itself(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).itself.server)
    }

    pub(crate) fn for_operators(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).operators)
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").finish_non_exhaustive()
    }
}

fn configs(files: &ClientFiles<'_>, clock: &Arc<Clock>) -> Result<Configs, SetupError> {
    let need = files.authority.map(|authority| authority.need);
    let clients = server_config(files, clock)?;
    let operators = match files.authority {
        Some(ClientAuthority { certificates, need: CertificateNeed::ToConnect | CertificateNeed::ToLogIn }) => {
            let asked = ClientAuthority { certificates, need: CertificateNeed::Optional };
            server_config(&ClientFiles { authority: Some(asked), ..*files }, clock)?
        }
        Some(_) | None => Arc::clone(&clients),
    };
    let not_after_s = not_after_s(&first_certificate(files)?);
    Ok(Configs { clients, operators, itself: own_ends(files, clock)?, need, not_after_s })
}

fn own_ends(files: &ClientFiles<'_>, clock: &Arc<Clock>) -> Result<OwnEnds, SetupError> {
    let unusable = |error: Error| SetupError::Certificate { why: format!("cannot be used: {error}") };
    let (provider, source) = (Arc::new(ring::default_provider()), Arc::<Clock>::clone(clock) as Arc<dyn TimeProvider>);
    let algorithms = provider.signature_verification_algorithms;
    let itself = Arc::new(OneCertificate { certificate: first_certificate(files)?, algorithms });
    let chain = certificates(files.certificate).map_err(|why| SetupError::Certificate { why })?;
    let client = ClientConfig::builder_with_details(Arc::clone(&provider), Arc::clone(&source))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(unusable)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::<OneCertificate>::clone(&itself))
        .with_client_auth_cert(chain.clone(), private_key(files.key)?)
        .map_err(unusable)?;
    let mut server = ServerConfig::builder_with_details(provider, source)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(unusable)?
        .with_client_cert_verifier(itself)
        .with_single_cert(chain, private_key(files.key)?)
        .map_err(unusable)?;
    never_resume(&mut server);
    Ok(OwnEnds { client: Arc::new(client), server: Arc::new(server) })
}

/// A session that is resumed takes the client's certificate from the former one, and does not look at it again.
fn never_resume(config: &mut ServerConfig) {
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
}

fn first_certificate(files: &ClientFiles<'_>) -> Result<CertificateDer<'static>, SetupError> {
    let unusable = |why: String| SetupError::Certificate { why };
    let chain = certificates(files.certificate).map_err(unusable)?;
    chain.into_iter().next().ok_or_else(|| unusable("holds no certificate".to_owned()))
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, SetupError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| SetupError::Key { why: "holds no private key in PEM without a password".to_owned() })
}

/// Trusts one certificate, whoever has signed it, for whatever name and time: its key is what counts.
#[derive(Debug)]
struct OneCertificate {
    certificate: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl OneCertificate {
    fn is_it(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if *shown == self.certificate { Ok(()) } else { Err(CertificateError::UnknownIssuer.into()) }
    }
}

impl ServerCertVerifier for OneCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.is_it(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for OneCertificate {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.is_it(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whom a program trusts that connects to a node as an operator.
pub struct Trust {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) clock: Arc<Clock>,
}

impl Trust {
    /// Trusts servers whose certificates one of these authorities has signed, PEM. Those that ask for a certificate are shown this one, with its key, PEM.
    ///
    /// # Errors
    /// When nothing can be made of a file.
    pub fn new(authority: &[u8], shown: Option<&[u8]>, now: Now) -> Result<Self, SetupError> {
        let clock = Arc::new(Clock(AtomicU64::new(unix_time(now).as_secs())));
        let (provider, source) = (Arc::new(ring::default_provider()), Arc::<Clock>::clone(&clock) as Arc<dyn TimeProvider>);
        let client = ClientConfig::builder_with_details(provider, source)
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|error| SetupError::Authority { why: format!("cannot be used: {error}") })?
            .with_root_certificates(roots(authority)?);
        let client = match shown {
            None => client.with_no_client_auth(),
            Some(pem) => {
                let chain = certificates(pem).map_err(|why| SetupError::Certificate { why })?;
                client.with_client_auth_cert(chain, private_key(pem)?).map_err(|error| match error {
                    Error::InconsistentKeys(_) => SetupError::Key { why: "has the key of another certificate".to_owned() },
                    other => SetupError::Certificate { why: format!("cannot be used: {other}") },
                })?
            }
        };
        Ok(Self { client: Arc::new(client), clock })
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").finish_non_exhaustive()
    }
}

/// Certificates of authorities, PEM.
fn roots(authority: &[u8]) -> Result<RootCertStore, SetupError> {
    let mut roots = RootCertStore::empty();
    for root in certificates(authority).map_err(|why| SetupError::Authority { why })? {
        roots.add(root).map_err(|error| SetupError::Authority { why: format!("holds what is no certificate: {error}") })?;
    }
    Ok(roots)
}

fn server_config(files: &ClientFiles<'_>, clock: &Arc<Clock>) -> Result<Arc<ServerConfig>, SetupError> {
    let chain = certificates(files.certificate).map_err(|why| SetupError::Certificate { why })?;
    let key = private_key(files.key)?;
    let (provider, source) = (Arc::new(ring::default_provider()), Arc::<Clock>::clone(clock) as Arc<dyn TimeProvider>);
    let unusable = |error: &dyn fmt::Display| SetupError::Authority { why: format!("cannot be used: {error}") };
    let builder = ServerConfig::builder_with_details(Arc::clone(&provider), source)
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .map_err(|error| SetupError::Key { why: format!("cannot be used: {error}") })?;
    let builder = match files.authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(authority.certificates)?), provider);
            let verifier = if authority.need == CertificateNeed::Optional { verifier.allow_unauthenticated() } else { verifier };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| unusable(&error))?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| match error {
        Error::InconsistentKeys(_) => SetupError::Mismatch,
        Error::InvalidCertificate(why) => SetupError::Certificate { why: format!("holds what is no certificate: {why}") },
        other => SetupError::Key { why: format!("cannot be used: {other}") },
    })?;
    if files.authority.is_some() {
        never_resume(&mut config);
    }
    Ok(Arc::new(config))
}
