//! Where the master key comes from, and what a master key is: 32 bytes that wrap the data key.

use crate::secret_files::{SecretFileError, read_secrets};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A command has so long to print its keys.
const COMMAND_WAIT: Duration = Duration::from_secs(30);
/// What is read of a command.
const BYTES_MAX: u64 = 64 << 10;
/// Bytes of any key.
pub(crate) const KEY_BYTES: usize = 32;

/// Where the master key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    File(PathBuf),
    Command(String),
}

/// Why there is no master key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeySourceError {
    /// It cannot be read.
    #[error("encryption_key_file {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others can read it or change it.
    #[error("encryption_key_file {} has mode {mode:03o}: others can read or change the master key; chmod 600 it", path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its rights.
        mode: u32,
    },
    /// It cannot be run.
    #[error("encryption_key_command cannot be run: {0}")]
    Run(std::io::Error),
    /// It says that it failed.
    #[error("encryption_key_command ended with {0}")]
    Failed(std::process::ExitStatus),
    /// It does not end.
    #[error("encryption_key_command has not ended after {} s", COMMAND_WAIT.as_secs())]
    Slow,
    /// A line is no key.
    #[error("{whence}: line {line} is no master key: 64 hexadecimal digits or 32 bytes in Base64, as `openssl rand -hex 32` prints them")]
    Malformed {
        /// What was read.
        whence: &'static str,
        /// Which line, from 1.
        line: usize,
    },
    /// No line is a key.
    #[error("{whence} has no master key: `openssl rand -hex 32` prints one")]
    Empty {
        /// What was read.
        whence: &'static str,
    },
}

impl KeySourceError {
    /// Another start may find the key where this one has not.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Run(_) | Self::Failed(_) | Self::Slow)
    }
}

impl KeySource {
    /// The one that is set, if one is; `None` if both are.
    pub(crate) fn new(file: Option<PathBuf>, command: Option<String>) -> Option<Option<Self>> {
        match (file, command) {
            (Some(_), Some(_)) => None,
            (file, command) => Some(file.map(Self::File).or(command.map(Self::Command))),
        }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Command(_) => None,
        }
    }

    /// The master keys, the current one first.
    pub(crate) fn read(&self) -> Result<Vec<MasterKey>, KeySourceError> {
        let (whence, text) = match self {
            Self::File(path) => ("encryption_key_file", read_file(path)?),
            Self::Command(command) => ("encryption_key_command", run(command)?),
        };
        let mut keys = Vec::new();
        for (index, line) in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate() {
            if !line.is_empty() && !line.starts_with(b"#") {
                keys.push(MasterKey::parse(line).ok_or(KeySourceError::Malformed { whence, line: index + 1 })?);
            }
        }
        if keys.is_empty() { Err(KeySourceError::Empty { whence }) } else { Ok(keys) }
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, KeySourceError> {
    read_secrets(path).map_err(|error| match error {
        SecretFileError::Read(source) => KeySourceError::Read { path: path.to_owned(), source },
        SecretFileError::Mode(mode) => KeySourceError::Mode { path: path.to_owned(), mode },
    })
}

/// What a command prints. It has the server's environment, and its errors go where the server's go.
fn run(command: &str) -> Result<Vec<u8>, KeySourceError> {
    let mut child =
        Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(KeySourceError::Run)?;
    let output = child.stdout.take().expect("it was asked for");
    let (done, is_done) = channel();
    let read = move || {
        let mut text = Vec::new();
        let read = output.take(BYTES_MAX).read_to_end(&mut text).map(|_| text);
        // Who asked may have given up.
        let _ = done.send(read);
    };
    std::thread::Builder::new().name("key-command".to_owned()).spawn(read).map_err(KeySourceError::Run)?;
    let Ok(text) = is_done.recv_timeout(COMMAND_WAIT) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(KeySourceError::Slow);
    };
    let status = child.wait().map_err(KeySourceError::Run)?;
    if status.success() { text.map_err(KeySourceError::Run) } else { Err(KeySourceError::Failed(status)) }
}

/// A key that wraps data keys.
pub(crate) struct MasterKey([u8; KEY_BYTES]);

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.name())
    }
}

impl MasterKey {
    fn parse(line: &[u8]) -> Option<Self> {
        let bytes = match from_hex(line) {
            Some(bytes) => bytes,
            None => STANDARD.decode(line).ok()?,
        };
        bytes.try_into().ok().map(Self)
    }

    /// By what people tell keys apart: nothing of the key follows from it.
    pub(crate) fn name(&self) -> String {
        let mut name = [0; KEY_BYTES];
        derive(&self.0, b"tarndb master key name", &mut name);
        to_hex(&name[..8])
    }

    /// Encrypts a data key of the node, or the backup, with this identity.
    pub(crate) fn wrap(&self, identity: u128, data_key: &[u8; KEY_BYTES]) -> Vec<u8> {
        let mut nonce = [0; NONCE_LEN];
        io_linux::fill_with_entropy(&mut nonce);
        let mut sealed = data_key.to_vec();
        let whose = Aad::from(identity.to_le_bytes());
        let done = self.cipher().seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), whose, &mut sealed);
        done.expect("32 bytes are not too long");
        [&nonce[..], &sealed].concat()
    }

    /// Undoes that; `None` if another key wrapped it, or it is not what was wrapped.
    pub(crate) fn unwrap(&self, identity: u128, wrapped: &[u8]) -> Option<[u8; KEY_BYTES]> {
        let (nonce, sealed) = wrapped.split_first_chunk::<NONCE_LEN>()?;
        let (mut sealed, whose) = (sealed.to_vec(), Aad::from(identity.to_le_bytes()));
        let data_key = self.cipher().open_in_place(Nonce::assume_unique_for_key(*nonce), whose, &mut sealed).ok()?;
        (&*data_key).try_into().ok()
    }

    fn cipher(&self) -> LessSafeKey {
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &self.0).expect("a key of 32 bytes"))
    }
}

/// A key for one purpose (HKDF, RFC 5869).
pub(super) fn derive(key: &[u8; KEY_BYTES], purpose: &[u8], derived: &mut [u8; KEY_BYTES]) {
    let purposes = [purpose];
    let extracted = Salt::new(HKDF_SHA256, b"tarndb at rest").extract(key);
    let okm = extracted.expand(&purposes, HKDF_SHA256).expect("one hash is not too long");
    okm.fill(derived).expect("it has the length that was asked for");
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

pub(crate) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect::<Option<Vec<u8>>>()?;
    rest.is_empty().then_some(bytes).filter(|bytes| bytes.len() * 2 == text.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_32_bytes_in_either_form() {
        let hex = to_hex(&[0xAB; KEY_BYTES]);
        let base64 = STANDARD.encode([0xAB; KEY_BYTES]);
        let name = |text: &str| MasterKey::parse(text.as_bytes()).map(|key| key.name());
        assert_eq!(name(&hex), name(&base64));
        assert!(name(&hex).is_some_and(|name| name.len() == 16));
        for other in [&hex[1..], &hex[2..], &base64[4..], "", "a passphrase", &"x".repeat(64)] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn a_wrapped_key_opens_with_its_master_key_for_its_node_only() {
        let (master, data_key) = (MasterKey([1; KEY_BYTES]), [2; KEY_BYTES]);
        let mut wrapped = master.wrap(3, &data_key);
        assert_eq!(master.unwrap(3, &wrapped), Some(data_key));
        assert_eq!(master.unwrap(4, &wrapped), None);
        assert_eq!(MasterKey([9; KEY_BYTES]).unwrap(3, &wrapped), None);
        assert_eq!(master.unwrap(3, &wrapped[..20]), None);
        *wrapped.last_mut().unwrap() ^= 1;
        assert_eq!(master.unwrap(3, &wrapped), None);
    }

    #[test]
    fn a_command_gives_what_it_prints() {
        let command = |text: &str| KeySource::Command(text.to_owned()).read();
        let key = to_hex(&[7; KEY_BYTES]);
        assert_eq!(command(&format!("echo '# new'; echo {key}")).unwrap().len(), 1);
        assert!(matches!(command("exit 3"), Err(KeySourceError::Failed(_))));
        assert!(matches!(command("true"), Err(KeySourceError::Empty { .. })));
        assert!(matches!(command("echo secret"), Err(KeySourceError::Malformed { line: 1, .. })));
    }

    #[test]
    fn no_key_is_shown() {
        let key = MasterKey([0xAB; KEY_BYTES]);
        assert!(!format!("{key:?}").to_lowercase().contains("abab"));
    }
}
