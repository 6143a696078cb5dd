//! Why a table is not followed.

use crate::feed::FeedError;
use crate::tls_files::TlsFileError;
use std::path::PathBuf;

/// Why a table is not followed any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    /// Which table.
    #[error("{keyspace}.{table}: {error}")]
    Of {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        table: String,
        /// Why.
        error: Box<FollowError>,
    },
    /// The operating system gives no thread.
    #[error("no thread for a table: {0}")]
    Thread(std::io::Error),
    /// The name of a table.
    #[error("--table {name} is to be KEYSPACE.TABLE")]
    Table {
        /// What was given.
        name: String,
    },
    /// An address.
    #[error("`{address}` is to be HOST:PORT, the CQL port of a node; several with commas between")]
    Address {
        /// What was given.
        address: String,
    },
    /// The file with a login.
    #[error("{} cannot be used: {why}; it has one line, ROLE:PASSWORD", path.display())]
    LoginFile {
        /// Its name.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file with authorities.
    #[error(transparent)]
    Authority(#[from] TlsFileError),
    /// Reading the log, or a refusal of either side.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The same at the target.
    #[error("the target refuses it: {error}{remedy}")]
    Target {
        /// Its words.
        error: FeedError,
        /// What to do.
        remedy: &'static str,
    },
    /// Lists need images.
    #[error(
        "its column `{column}` is a list, which is replaced as a whole: that takes images of rows after each change. ALTER TABLE … WITH cdc = {{'enabled': true, \
         'postimage': true}} at the source, then copy the table anew"
    )]
    List {
        /// The column.
        column: String,
    },
    /// The log has keys only.
    #[error("its log has no values (cdc = {{'delta': 'keys'}}): it takes 'delta': 'full'")]
    Keys,
    /// A deletion that CQL has no statement for.
    #[error("a deleted range of rows whose clustering columns go up and down cannot be told to the target")]
    Range,
}

impl FollowError {
    /// Whether it may be otherwise when it is tried again.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Feed(error) | Self::Target { error, .. } if error.may_pass())
    }

    /// Whether the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Of { error, .. } if error.is_usage())
            || matches!(
                self,
                Self::Table { .. }
                    | Self::Address { .. }
                    | Self::LoginFile { .. }
                    | Self::Authority(_)
                    | Self::Feed(FeedError::Position(_))
            )
    }
}
