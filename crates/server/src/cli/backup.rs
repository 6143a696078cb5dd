//! The options of `tarndb backup` and `tarndb restore`; those of S3 are the client's.

use super::node::NodeArguments;
use crate::backup::Location;
use crate::s3::S3Arguments;
use crate::size::Size;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,
    /// A directory that is new or empty, or s3://BUCKET/PREFIX, likewise.
    #[arg(long, value_name = "PLACE", required = true)]
    pub(crate) to: Option<Location>,
    /// A keyspace, namespace or GridDB database; may be given again. All without.
    #[arg(long, value_name = "NAME")]
    pub(crate) keyspace: Vec<String>,
    /// Roles, too, with their hashed passwords.
    #[arg(long)]
    pub(crate) roles: bool,
    /// Replace what a backup that was interrupted has left there.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Go on from what a backup that was interrupted has left there, if one has; and leave there what this one stores, if it fails.
    #[arg(long, conflicts_with = "restart")]
    pub(crate) resume: bool,
    /// Only what is not as it was in this backup, full or incremental; a restore of the new one needs it.
    #[arg(long, value_name = "PLACE")]
    pub(crate) incremental_from: Option<Location>,
    /// At most so many bytes of rows a second, over all nodes, as 20MiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) rate_limit: Option<Size>,
    /// Rows that change meanwhile may wait in so much of each node's memory; when there are more, the backup fails and not the writers.
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) buffer: Size,
    #[command(flatten)]
    pub(crate) key: BackupKeyArguments,
    #[command(flatten)]
    pub(crate) s3: S3Arguments,
    /// In a cluster, --http names all members, with commas between.
    #[command(flatten)]
    pub(crate) node: NodeArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Read a whole backup and check every checksum.
    Verify {
        /// The backup: a directory, or s3://BUCKET/PREFIX.
        #[arg(value_name = "PLACE")]
        place: Location,
        #[command(flatten)]
        key: BackupKeyArguments,
        #[command(flatten)]
        s3: S3Arguments,
    },
    /// End the backup that runs, whoever has started it: its tool fails.
    End {
        #[command(flatten)]
        node: NodeArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The backup: a directory, or s3://BUCKET/PREFIX.
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Location,
    /// Only this table, with the views of it; may be given again. It must not exist.
    #[arg(long, value_name = "KEYSPACE.TABLE")]
    pub(crate) table: Vec<String>,
    /// Make the roles of the backup, too, those that do not exist.
    #[arg(long)]
    pub(crate) roles: bool,
    /// Where it is kept how far the restore has come; `restore.progress` in the backup without; needed for one in S3.
    #[arg(long, value_name = "FILE")]
    pub(crate) progress: Option<PathBuf>,
    /// At most so many bytes of rows a second, as 20MiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) rate_limit: Option<Size>,
    #[command(flatten)]
    pub(crate) key: BackupKeyArguments,
    #[command(flatten)]
    pub(crate) s3: S3Arguments,
    /// In a cluster, --http names all members, with commas between.
    #[command(flatten)]
    pub(crate) node: NodeArguments,
}

/// The master key of a backup that is encrypted.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BackupKeyArguments {
    /// The backup is encrypted; this file has its master key: 64 hexadecimal digits or 32 bytes in Base64.
    #[arg(long, value_name = "FILE", conflicts_with = "encryption_key_command")]
    pub(crate) encryption_key_file: Option<PathBuf>,
    /// A command for the shell that prints that key instead.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) encryption_key_command: Option<String>,
}
