//! The files for TLS to clients: read at the start, and again whenever they change.

use crate::config::ClientTlsFiles;
use crate::tls_files::{TlsFileError, now, read_file};
use node::ClientTlsConfig;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tls::{CertificateNeed, ClientAuthority, ClientFiles, ClientTls, SetupError};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Where a node's TLS to clients comes from.
pub(crate) struct ClientTlsSource {
    files: ClientTlsFiles,
    tls: Arc<ClientTls>,
    /// As the files were when they were read last.
    read: Vec<Stamp>,
}

/// What changes when a file is written: when it was, and its length. None of a file that is not there.
type Stamp = Option<(SystemTime, u64)>;

/// The contents of the files.
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Option<Vec<u8>>,
    need: CertificateNeed,
}

impl Contents {
    fn files(&self) -> ClientFiles<'_> {
        let authority = self.authority.as_deref().map(|certificates| ClientAuthority { certificates, need: self.need });
        ClientFiles { certificate: &self.certificate, key: &self.key, authority }
    }
}

impl ClientTlsSource {
    pub(crate) fn open(files: ClientTlsFiles) -> Result<Self, TlsFileError> {
        let read = stamps(&files);
        let contents = contents(&files)?;
        let tls = ClientTls::new(&contents.files(), now()).map_err(|why| useless(&files, why))?;
        let (how, certificates) = (if files.is_required { "have to" } else { "can" }, files.authority.is_some());
        tracing::info!(certificates, "clients {how} speak TLS");
        Ok(Self { files, tls: Arc::new(tls), read })
    }

    /// What the node is given.
    pub(crate) fn config(&self) -> ClientTlsConfig {
        ClientTlsConfig { tls: Arc::clone(&self.tls), is_required: self.files.is_required }
    }

    /// Looks at the files as long as the process lives.
    pub(crate) fn follow(mut self) {
        let look = move || {
            loop {
                std::thread::sleep(LOOK_EVERY);
                self.look();
            }
        };
        if let Err(error) = std::thread::Builder::new().name("tls-files".to_owned()).spawn(look) {
            tracing::warn!(%error, "certificates that are replaced count from the next start on only");
        }
    }

    fn look(&mut self) {
        let stamps = stamps(&self.files);
        if stamps == self.read {
            return;
        }
        self.read = stamps;
        let replaced =
            contents(&self.files).and_then(|contents| self.tls.replace(&contents.files()).map_err(|why| useless(&self.files, why)));
        match replaced {
            Ok(()) => tracing::info!("files of TLS to clients have changed: new connections have them"),
            Err(error) => {
                tracing::error!(%error, "files of TLS to clients have changed and are of no use: connections are made with the former ones")
            }
        }
    }
}

fn named(files: &ClientTlsFiles) -> Vec<(&'static str, &PathBuf)> {
    let always = [("tls-certificate", &files.certificate), ("tls-key", &files.key)];
    always.into_iter().chain(files.authority.iter().map(|path| ("tls-client-ca", path))).collect()
}

fn stamps(files: &ClientTlsFiles) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| std::fs::metadata(path).ok().and_then(|found| Some((found.modified().ok()?, found.len())));
    named(files).into_iter().map(|(_, path)| stamp(path)).collect()
}

fn contents(files: &ClientTlsFiles) -> Result<Contents, TlsFileError> {
    let mut read = named(files).into_iter().map(|(setting, path)| read_file(setting, path));
    let mut next = || read.next().transpose();
    let (certificate, key, authority) = (next()?, next()?, next()?);
    Ok(Contents { certificate: certificate.unwrap_or_default(), key: key.unwrap_or_default(), authority, need: files.need })
}

fn useless(files: &ClientTlsFiles, why: SetupError) -> TlsFileError {
    let named = named(files);
    let (setting, path) = match why {
        SetupError::Certificate { .. } | SetupError::Refused { .. } => named[0],
        SetupError::Key { .. } | SetupError::Mismatch => named[1],
        SetupError::Authority { .. } => named[named.len() - 1],
    };
    TlsFileError::Useless { setting, path: path.clone(), why }
}
