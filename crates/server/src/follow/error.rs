//! Why a table is not followed.

use crate::endpoint::EndpointError;
use crate::feed::FeedError;
use crate::patience::Passing;

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
    /// How a side is named.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
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

impl Passing for FollowError {
    fn may_pass(&self) -> bool {
        matches!(self, Self::Feed(error) | Self::Target { error, .. } if error.may_pass())
    }
}

impl FollowError {
    /// Whether the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Of { error, .. } if error.is_usage())
            || matches!(self, Self::Table { .. } | Self::Endpoint(_) | Self::Feed(FeedError::Position(_)))
    }
}
