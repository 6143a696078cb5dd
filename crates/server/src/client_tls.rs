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

const DAY_S: u64 = 24 * 3600;
/// A certificate that ends earlier is warned of, as those between nodes are.
const SOON_S: u64 = 30 * DAY_S;

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
        warn_of_end(&files, tls.not_after_s(), now_s());
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
            Ok(()) => {
                tracing::info!("files of TLS to clients have changed: new connections have them");
                warn_of_end(&self.files, self.tls.not_after_s(), now_s());
            }
            Err(error) => {
                tracing::error!(%error, "files of TLS to clients have changed and are of no use: connections are made with the former ones")
            }
        }
    }
}

/// What is wrong with a certificate that is valid up to a second, if anything is.
fn end_of(not_after_s: u64, now_s: u64) -> Option<String> {
    if not_after_s < now_s {
        Some(format!("has expired {} ago, and clients that verify it are not served", days(now_s - not_after_s)))
    } else if not_after_s - now_s < SOON_S {
        Some(format!("expires in {}, and clients that verify it are not served from then on", days(not_after_s - now_s)))
    } else {
        None
    }
}

fn days(seconds: u64) -> String {
    match seconds / DAY_S {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

fn warn_of_end(files: &ClientTlsFiles, not_after_s: Option<u64>, now_s: u64) {
    let file = files.certificate.display();
    if let Some(what) = not_after_s.and_then(|not_after_s| end_of(not_after_s, now_s)) {
        tracing::warn!(%file, "the certificate that clients see {what}: put another one, with its key, in the place of these files, which takes no restart");
    }
}

fn now_s() -> u64 {
    u64::try_from(now().wall_us).unwrap_or(0) / 1_000_000
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_warned_of_a_month_before_its_end_and_after_it() {
        let now = 1_000 * DAY_S;
        assert_eq!(end_of(now + SOON_S, now), None);
        assert!(end_of(now + SOON_S - 1, now).is_some_and(|said| said.starts_with("expires in 29 days")));
        assert!(end_of(now, now).is_some_and(|said| said.starts_with("expires in less than a day")));
        assert!(end_of(now - 1, now).is_some_and(|said| said.starts_with("has expired less than a day ago")));
        assert!(end_of(now - DAY_S, now).is_some_and(|said| said.starts_with("has expired 1 day ago")));
    }
}
