//! Which authorities are trusted: those of this machine, and those of `--s3-ca`.

use super::error::S3Error;
use std::path::{Path, PathBuf};
use ureq::tls::{Certificate, PemItem, parse_pem};

/// Where distributions keep the certificates of authorities.
const BUNDLES: [&str; 4] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"];

/// All of them.
pub(super) fn authorities(extra: Option<&Path>) -> Result<Vec<Certificate<'static>>, S3Error> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let machine = named.or_else(|| BUNDLES.iter().map(PathBuf::from).find(|path| path.is_file()));
    let files: Vec<&Path> = machine.as_deref().into_iter().chain(extra).collect();
    if files.is_empty() {
        return Err(S3Error::NoAuthorities);
    }
    let mut found = Vec::new();
    for path in files {
        let refused = |why: String| S3Error::Authorities { path: path.to_owned(), why };
        let text = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
        let before = found.len();
        for item in parse_pem(&text) {
            if let PemItem::Certificate(certificate) = item.map_err(|error| refused(error.to_string()))? {
                found.push(certificate);
            }
        }
        if found.len() == before {
            return Err(refused("it has no certificate".to_owned()));
        }
    }
    Ok(found)
}
