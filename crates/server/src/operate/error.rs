//! Why a command has not done what it was to do.

use crate::tls_files::TlsFileError;
use std::path::PathBuf;

/// Why a command has not done what it was to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperateError {
    /// Nobody answers, or not a node.
    #[error("no answer from {http}: {source}; name the HTTP port of a node that runs with --http")]
    Unreachable {
        /// Who was asked.
        http: String,
        /// Why.
        source: std::io::Error,
    },
    /// What answers is no node of this program.
    #[error("what answers at {http} is no TarnDB node of this version: {why}")]
    Strange {
        /// Who was asked.
        http: String,
        /// What is strange.
        why: String,
    },
    /// The node refuses plaintext.
    #[error("{http} is to be spoken to by TLS: give --http https://HOST:PORT, and --http-ca")]
    Plaintext {
        /// Who was asked.
        http: String,
    },
    /// The node wants to know who asks.
    #[error("{http} asks for a login: {text}; name a file with ROLE:PASSWORD with --login-file, for orders that of a superuser")]
    Login {
        /// Who was asked.
        http: String,
        /// Its words.
        text: String,
    },
    /// The file with the login.
    #[error("--login-file {} cannot be used: {why}; it has one line, ROLE:PASSWORD", path.display())]
    LoginFile {
        /// Its name.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Nobody is trusted.
    #[error("https:// needs --http-ca, a file with certificates of the authorities that sign those of nodes")]
    NoAuthority,
    /// That file.
    #[error(transparent)]
    Authority(#[from] TlsFileError),
    /// The node cannot do it now.
    #[error("{text}")]
    Unavailable {
        /// Its words.
        text: String,
    },
    /// The node says no.
    #[error("{text}")]
    Refused {
        /// Its words.
        text: String,
    },
}
