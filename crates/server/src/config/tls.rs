//! The files of TLS, between nodes and to clients: which of them go together.

use super::error::ConfigError;
use crate::settings::{Authentication, Tls};
use ::tls::CertificateNeed;
use std::path::PathBuf;

/// Where the parts of TLS between nodes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) authority: PathBuf,
}

/// What clients' TLS is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientTlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) authority: Option<PathBuf>,
    /// What clients need a certificate for, if there is an authority.
    pub(crate) need: CertificateNeed,
    /// Whether clients have to speak it.
    pub(crate) is_required: bool,
}

/// All three, or none.
pub(super) fn tls_files(named: [(&'static str, Option<PathBuf>); 3]) -> Result<Option<TlsFiles>, ConfigError> {
    let of = |is_given| move |(name, path): &(&'static str, Option<PathBuf>)| (path.is_some() == is_given).then_some(*name);
    let (given, missing) = (named.iter().find_map(of(true)), named.iter().find_map(of(false)));
    if let (Some(given), Some(missing)) = (given, missing) {
        return Err(ConfigError::PartOfTls { given, missing });
    }
    let [certificate, key, authority] = named.map(|(_, path)| path);
    Ok(certificate.zip(key).zip(authority).map(|((certificate, key), authority)| TlsFiles { certificate, key, authority }))
}

/// A certificate and its key, or neither, nor what goes with them.
pub(super) fn client_tls_files(
    [certificate, key]: [(&'static str, Option<PathBuf>); 2],
    authority: Option<PathBuf>,
    authentication: Authentication,
    tls: Option<Tls>,
) -> Result<Option<ClientTlsFiles>, ConfigError> {
    let others = [("tls_client_ca", authority.is_some()), ("tls", tls.is_some())];
    let given = [(certificate.0, certificate.1.is_some()), (key.0, key.1.is_some())].into_iter().chain(others).find(|(_, given)| *given);
    let Some((given, _)) = given else { return Ok(None) };
    let missing = |missing| ConfigError::PartOfClientTls { given, missing };
    let certificate_file = certificate.1.ok_or(missing(certificate.0))?;
    let key_file = key.1.ok_or(missing(key.0))?;
    let is_required = tls.unwrap_or(Tls::Required) == Tls::Required;
    Ok(Some(ClientTlsFiles {
        certificate: certificate_file,
        key: key_file,
        authority,
        need: match authentication {
            Authentication::None | Authentication::Password => CertificateNeed::ToConnect,
            Authentication::CertificateOrPassword => CertificateNeed::Optional,
            Authentication::Certificate => CertificateNeed::ToLogIn,
        },
        is_required,
    }))
}
