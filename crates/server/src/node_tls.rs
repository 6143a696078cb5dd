//! The files for TLS between nodes: read once, at the start, and refused with their names.

use crate::config::TlsFiles;
use crate::tls_files::{TlsFileError, now, read_file};
use std::net::IpAddr;
use tls::{Config, Files, SetupError};

/// What links of a node at `listen` are encrypted with.
pub(crate) fn read(files: &TlsFiles, listen: IpAddr) -> Result<Config, TlsFileError> {
    let named = [("node-certificate", &files.certificate), ("node-key", &files.key), ("node-ca", &files.authority)];
    let [certificate, key, authority] = named.map(|(setting, path)| read_file(setting, path));
    let (certificate, key, authority) = (certificate?, key?, authority?);
    let made = Config::new(&Files { certificate: &certificate, key: &key, authority: &authority }, listen, now());
    let config = made.map_err(|why| {
        let (setting, path) = match why {
            SetupError::Certificate { .. } | SetupError::Refused { .. } => named[0],
            SetupError::Key { .. } | SetupError::Mismatch => named[1],
            SetupError::Authority { .. } => named[2],
        };
        TlsFileError::Useless { setting, path: path.clone(), why }
    })?;
    tracing::info!("links between nodes are encrypted");
    if config.expires_soon() {
        let file = files.certificate.display();
        tracing::warn!(%file, "the node's certificate expires within 30 days, and other nodes refuse it then: give it another one and restart");
    }
    Ok(config)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::net::Ipv4Addr;

    #[test]
    fn a_file_of_no_use_is_named() {
        let folder = Folder::made("node-tls");
        let file = |name: &str| folder.join(name);
        let files = TlsFiles { certificate: file("certificate"), key: file("key"), authority: file("authority") };
        let said = || read(&files, Ipv4Addr::LOCALHOST.into()).unwrap_err().to_string();
        std::fs::write(&files.certificate, "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n").unwrap();
        let missing = said();
        std::fs::write(&files.key, "no key").unwrap();
        std::fs::write(&files.authority, "no certificate").unwrap();
        let useless = said();
        assert!(missing.starts_with(&format!("--node-key {} cannot be read: ", files.key.display())), "{missing}");
        assert!(useless.starts_with(&format!("--node-key {} holds no private key in PEM", files.key.display())), "{useless}");
    }
}
