//! The database that follows: statements are run there, and the position is kept there.

use super::error::FollowError;
use super::followed::Followed;
use super::statement::Statement;
use super::translation::of_change;
use crate::feed::{Change, FeedError, Page, Source, VERSION, quoted};
use cql::wire::{
    Batch, BatchBuffer, BatchKind, BatchStatement, CommonParameters, Consistency, Query, QueryParameters, Request, Value, ValuesBuffer,
};
use load::cql::client::ClientError;

/// Where positions are kept, in the keyspace of the table.
pub(crate) const POSITIONS: &str = "tarndb_follow";
/// Statements that are under way at once.
const AT_ONCE: usize = 128;

/// The table that follows.
pub(super) struct Target<'c> {
    source: Source<'c>,
    keyspace: String,
    table: String,
    /// Of the follower.
    name: String,
}

impl<'c> Target<'c> {
    pub(super) fn new(source: Source<'c>, keyspace: &str, table: &str, name: &str) -> Self {
        Self { source, keyspace: keyspace.to_owned(), table: table.to_owned(), name: name.to_owned() }
    }

    pub(super) fn has_table(&mut self, keyspace: &str, table: &str) -> Result<bool, FollowError> {
        let text = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?";
        let names = [keyspace.as_bytes(), table.as_bytes()];
        self.source.rows(text, &names, Page::default(), |rows| !rows.is_empty()).map_err(refused)
    }

    pub(super) fn change_schema(&mut self, text: &str) -> Result<(), FollowError> {
        self.run(&Statement { text: text.to_owned(), values: Vec::new() })
    }

    /// Makes the table for positions.
    pub(super) fn make_positions(&mut self) -> Result<(), FollowError> {
        if self.has_table(&self.keyspace.clone(), POSITIONS)? {
            return Ok(());
        }
        let comment = "How far tarndb follow has come, by its --name and the table";
        self.change_schema(&format!(
            "CREATE TABLE IF NOT EXISTS {} (follower text, source text, position text, is_copied boolean, lag_ms bigint, stored_at timestamp, \
             PRIMARY KEY (follower, source)) WITH comment = '{comment}'",
            self.positions()
        ))
    }

    fn positions(&self) -> String {
        format!("{}.{POSITIONS}", quoted(&self.keyspace))
    }

    /// Where to go on, and whether the rows that were there before are copied.
    pub(super) fn position(&mut self) -> Result<Option<(String, bool)>, FollowError> {
        let text = format!("SELECT position, is_copied FROM {} WHERE follower = ? AND source = ?", self.positions());
        let names = [self.name.as_bytes(), self.table.as_bytes()];
        let stored = self.source.rows(&text, &names, Page::default(), |rows| {
            let mut row = rows.iter().next()?;
            let position = String::from_utf8_lossy(row.next()??).into_owned();
            Some((position, row.next().flatten() == Some(&[1])))
        });
        stored.map_err(refused)
    }

    /// Keeps a position before which everything is applied.
    pub(super) fn store(&mut self, position: &str, is_copied: bool, lag_us: Option<i64>) -> Result<(), FollowError> {
        let text = format!(
            "INSERT INTO {} (follower, source, position, is_copied, lag_ms, stored_at) VALUES (?, ?, ?, ?, ?, toTimestamp(now()))",
            self.positions()
        );
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let lag = lag_us.map(|lag_us| (lag_us / 1_000).to_be_bytes().to_vec());
        let values = vec![bytes(&self.name), bytes(&self.table), bytes(position), Some(vec![u8::from(is_copied)]), lag];
        self.run(&Statement { text, values })
    }

    fn run(&mut self, statement: &Statement) -> Result<(), FollowError> {
        self.run_all(&[vec![statement.clone()]])
    }

    /// Applies changes. When it fails some are applied, and it is to be done again.
    pub(super) fn apply(&mut self, followed: &Followed, changes: &[Change], now_us: i64) -> Result<(), FollowError> {
        let mut image = None;
        let mut statements = Vec::with_capacity(changes.len());
        for change in changes.iter().rev() {
            // The last of the changes that one write has made has the row after all of them.
            if let Some(postimage) = &change.postimage {
                image = Some((change.time, postimage));
            }
            let image = image.filter(|(time, _)| *time == change.time).map(|(_, image)| image);
            statements.push(of_change(followed, change, image, now_us)?);
        }
        self.run_all(&statements)
    }

    /// Runs statements, many at once; those of a group as one.
    pub(super) fn run_all(&mut self, groups: &[Vec<Statement>]) -> Result<(), FollowError> {
        for groups in groups.chunks(AT_ONCE) {
            let bound: Vec<Vec<ValuesBuffer>> = groups.iter().map(|group| group.iter().map(bind).collect()).collect();
            let batches: Vec<BatchBuffer> = groups.iter().zip(&bound).map(|(group, bound)| batch(group, bound)).collect();
            let requests: Vec<Request<'_>> = groups
                .iter()
                .zip(&bound)
                .zip(&batches)
                .filter(|((group, _), _)| !group.is_empty())
                .map(|((group, bound), batch)| match (&group[..], &bound[..]) {
                    ([statement], [values]) => {
                        let parameters = QueryParameters::new(Consistency::Quorum, values.as_values(VERSION));
                        Request::Query(Query { text: &statement.text, parameters })
                    }
                    _ => Request::Batch(Batch {
                        kind: BatchKind::Unlogged,
                        statements: batch.as_statements(VERSION),
                        consistency: Consistency::Quorum,
                        common: CommonParameters::default(),
                    }),
                })
                .collect();
            self.source.do_all(&requests).map_err(refused)?;
        }
        Ok(())
    }
}

fn bind(statement: &Statement) -> ValuesBuffer {
    let mut values = ValuesBuffer::new();
    statement.values.iter().for_each(|value| values.push(value.as_deref().map_or(Value::Null, Value::Bytes)));
    values
}

fn batch(group: &[Statement], bound: &[ValuesBuffer]) -> BatchBuffer {
    let mut batch = BatchBuffer::new();
    if group.len() > 1 {
        group
            .iter()
            .zip(bound)
            .for_each(|(statement, values)| batch.push(BatchStatement::Text(&statement.text), &values.as_values(VERSION)));
    }
    batch
}

/// Says whose words these are, and what helps.
fn refused(error: FeedError) -> FollowError {
    const INVALID: i32 = 0x2200;
    let remedy = match &error {
        FeedError::Client(ClientError::Refused { code: INVALID, .. }) => {
            ". A column that the source has and the target lacks is to be added there by ALTER TABLE; a keyspace whose replication does not fit is to be made \
             there before"
        }
        _ => "",
    };
    FollowError::Target { error, remedy }
}
