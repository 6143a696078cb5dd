//! The options that say which node a command asks.

use clap::Args;
use std::path::PathBuf;

/// Which node is asked.
#[derive(Debug, Args)]
pub(crate) struct NodeArguments {
    /// The HTTP port of a node that runs; in a cluster, of any member. With https:// before it, by TLS.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080", env = "TARNDB_HTTP")]
    pub(crate) http: String,
    /// Certificates of the authorities that sign those of nodes, PEM: for https://.
    #[arg(long, value_name = "FILE", env = "TARNDB_HTTP_CA")]
    pub(crate) http_ca: Option<PathBuf>,
    /// A certificate and its key, both PEM, in one file: for nodes whose clients need certificates.
    #[arg(long, value_name = "FILE", env = "TARNDB_HTTP_CERTIFICATE", requires = "http_ca")]
    pub(crate) http_certificate: Option<PathBuf>,
    /// A file with ROLE:PASSWORD, for nodes that ask for a login: orders take a superuser.
    #[arg(long, value_name = "FILE", env = "TARNDB_LOGIN_FILE")]
    pub(crate) login_file: Option<PathBuf>,
}
