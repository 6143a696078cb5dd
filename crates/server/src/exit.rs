//! Why the process ends, and the exit code that says so.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | ended as asked |
//! | 2 | the command line or the configuration is wrong |
//! | 3 | the environment: a port in use, no space, a locked data directory |
//! | 4 | stored data is damaged, or the master key is another one than it needs |
//! | 70 | a bug |
//! | 128 + n | ended at once by a second signal n |
//!
//! `tarndb status`, `drain` and `remove`: 0 healthy or done, 1 something is missing or refused, 2 no answer.
//! `tarndb sql`: 0 done, 1 a statement was refused or has failed, 2 no answer.
//! `tarndb backup` and `restore`: 0 done, 1 not made, not whole or not done, 2 no answer, or a wrong command line.
//! `tarndb import`: 0 done, 1 something is left out, differs or has failed, 2 a wrong command line.
//! `tarndb follow`: 0 done with `--once`, 1 a table that cannot be followed any more, 2 a wrong command line.
//! `tarndb inspect` has its own: 0 clean, 1 damage, 2 cannot be read. `tarndb bench` ends with 1 when not everything was measured.

use crate::at_rest::AtRestError;
use crate::audit_writer::AuditError;
use crate::backup::BackupError;
use crate::config::ConfigError;
use crate::devices::DevicesError;
use crate::environment::UnknownVariable;
use crate::first_superuser::SuperuserError;
use crate::follow::FollowError;
use crate::import::ImportError;
use crate::inspect::InspectError;
use crate::layout::LayoutError;
use crate::node::NodeError;
use crate::operate::OperateError;
use crate::relayout::RelayoutError;
use crate::settings_file::SettingsFileError;
use crate::tls_files::TlsFileError;
use io_linux::StartError;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

const REFUSED: u8 = 1;
const USAGE: u8 = 2;
const ENVIRONMENT: u8 = 3;
const CORRUPTION: u8 = 4;
const BUG: i32 = 70;

/// Where wrong values are from, if that is not in sight.
fn named(variables: &[String]) -> String {
    match variables {
        [] => String::new(),
        [one] => format!(" (from the environment variable {one})"),
        several => format!(" (from the environment variables {})", several.join(", ")),
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The configuration file.
    #[error(transparent)]
    SettingsFile(#[from] SettingsFileError),
    /// An environment variable.
    #[error(transparent)]
    Variable(#[from] UnknownVariable),
    /// A setting's value.
    #[error("{error}{}", named(variables))]
    Config {
        /// What is wrong.
        error: ConfigError,
        /// The environment variables that the wrong values are from.
        variables: Vec<String>,
    },
    /// The address to listen on is somebody else's.
    #[error("address {address} is not an address of this machine: give --listen one of its own, or 0.0.0.0 or :: for all of them")]
    NotHere {
        /// The address.
        address: IpAddr,
    },
    /// The log filter.
    #[error("`{filter}` is not a log filter: {source}")]
    LogFilter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Files with certificates and keys.
    #[error(transparent)]
    TlsFile(#[from] TlsFileError),
    /// The first superuser's password.
    #[error(transparent)]
    Superuser(#[from] SuperuserError),
    /// The audit log.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The data directory.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Another number of cores.
    #[error(transparent)]
    Relayout(#[from] RelayoutError),
    /// What the node is made from.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// What cores need of the operating system.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What was to be inspected.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// A node that was asked.
    #[error(transparent)]
    Operate(#[from] OperateError),
    /// A backup or restore that was not made.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A table that is not followed any more.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// Tables that were not copied.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A benchmark that gave no report.
    #[error(transparent)]
    Bench(#[from] bench::cli::BenchError),
    /// The HTTP port.
    #[error("cannot listen on {address} for HTTP: {source}; stop the server that has this port, or choose another --http-port")]
    Http {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The port for SQL.
    #[error("cannot listen on {address} for SQL: {source}; stop the server that has this port, or choose another --griddb-sql-port")]
    Sql {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The manual pages.
    #[error("cannot write manual pages to {}: {source}; name a directory that exists and that you may write to", directory.display())]
    Manual {
        /// Where to.
        directory: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Failure {
    /// The code that the process ends with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Bench(error) => usage_or(error.is_usage(), ENVIRONMENT),
            Self::Operate(OperateError::Refused { .. }) => REFUSED,
            Self::Backup(error) => usage_or(error.is_usage(), REFUSED),
            Self::Follow(error) => usage_or(error.is_usage(), REFUSED),
            Self::Import(error) => usage_or(error.is_usage(), REFUSED),
            Self::Operate(_) => USAGE,
            Self::SettingsFile(_)
            | Self::Config { .. }
            | Self::Variable(_)
            | Self::TlsFile(_)
            | Self::Audit(AuditError::Open { .. })
            | Self::Superuser(SuperuserError::Read { .. } | SuperuserError::Useless { .. })
            | Self::LogFilter { .. } => USAGE,
            Self::Node(NodeError::MemoryLimit { .. }) | Self::Inspect(_) => USAGE,
            Self::Layout(LayoutError::FilesHaveData { .. } | LayoutError::CapacityOfDevices { .. }) => USAGE,
            Self::Audit(AuditError::Thread(_)) => ENVIRONMENT,
            Self::Layout(LayoutError::AtRest(error)) => of_encryption(error),
            Self::Layout(LayoutError::Devices(error)) => of_devices(error),
            Self::Layout(
                LayoutError::Damaged { .. }
                | LayoutError::BlobsLost { .. }
                | LayoutError::IdentityLost { .. }
                | LayoutError::LayoutLost { .. }
                | LayoutError::LayoutDamaged { .. }
                | LayoutError::TwoNodes { .. },
            )
            | Self::Superuser(SuperuserError::Schema(_))
            | Self::Node(NodeError::Damaged { .. } | NodeError::Schema(_)) => CORRUPTION,
            Self::Superuser(SuperuserError::File { .. }) => ENVIRONMENT,
            Self::Relayout(RelayoutError::Node(NodeError::MemoryLimit { .. })) => USAGE,
            Self::Relayout(RelayoutError::Node(_) | RelayoutError::Damaged { .. }) => CORRUPTION,
            Self::Relayout(RelayoutError::Devices(error)) => of_devices(error),
            Self::Relayout(RelayoutError::Capacity { .. } | RelayoutError::CapacityOfDevices { .. } | RelayoutError::Memory { .. }) => {
                USAGE
            }
            Self::Relayout(_) => ENVIRONMENT,
            Self::Node(_)
            | Self::Layout(_)
            | Self::Start(_)
            | Self::Http { .. }
            | Self::Sql { .. }
            | Self::Manual { .. }
            | Self::NotHere { .. } => ENVIRONMENT,
        })
    }
}

fn usage_or(is_usage: bool, other: u8) -> u8 {
    if is_usage { USAGE } else { other }
}

fn of_encryption(error: &AtRestError) -> u8 {
    match error {
        AtRestError::NoKey(source) if source.may_pass() => ENVIRONMENT,
        AtRestError::Io { .. } => ENVIRONMENT,
        AtRestError::NoKey(_) | AtRestError::Plain { .. } | AtRestError::Unset { .. } => USAGE,
        AtRestError::WrongKey { .. } | AtRestError::Lost { .. } | AtRestError::Useless { .. } | AtRestError::SmallFile { .. } => CORRUPTION,
    }
}

fn of_devices(error: &DevicesError) -> u8 {
    match error {
        DevicesError::Damaged { .. } => CORRUPTION,
        DevicesError::SizeNeeded { .. }
        | DevicesError::Cores { .. }
        | DevicesError::Count { .. }
        | DevicesError::Order { .. }
        | DevicesError::Resized { .. }
        | DevicesError::TooSmall { .. }
        | DevicesError::TooLittle { .. } => USAGE,
        _ => ENVIRONMENT,
    }
}

/// A panic anywhere ends the whole process: a node that lost a thread must not go on.
pub(crate) fn end_with_bug_code_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        eprintln!("tarndb: this is a bug; please report the lines above (version {})", env!("CARGO_PKG_VERSION"));
        io_linux::exit_now(BUG);
    }));
}
