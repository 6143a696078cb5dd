//! COMMIT_TRANSACTION, ABORT_TRANSACTION, CLOSE_SESSION, CLOSE_MULTIPLE_SESSIONS: the ends of transactions.
//!
//! What a client has begun it may always abort. To commit, it must still have a permission on the container.

use super::request::{ANY, Request};
use crate::GridError;
use crate::container::Container;
use crate::failure::Failure;
use crate::transaction::{self, Commit, Scope, TransactionId};
use crate::wire::{Options, Reader, statement};
use std::sync::Arc;

/// The end of transactions of one partition.
pub(super) struct Ending<'a> {
    sessions: Vec<(&'a Arc<Container>, TransactionId)>,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    /// By the statement of this number.
    Commit(i64),
    Abort,
    /// Only what this statement has begun: its connection is lost.
    AbortBegunBy(i64),
}

impl<'a> Ending<'a> {
    pub(super) const STATEMENTS: [i32; 4] =
        [statement::COMMIT_TRANSACTION, statement::ABORT_TRANSACTION, statement::CLOSE_SESSION, statement::CLOSE_MULTIPLE_SESSIONS];

    /// Reads a statement by its number among statements, and the client's number of it.
    pub(super) fn read(number: i32, request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        if number == statement::CLOSE_MULTIPLE_SESSIONS {
            return Self::read_many(request, reader);
        }
        let container = request.any_container(reader.i64()?);
        let session = TransactionId::read(&mut reader)?;
        Options::read(&mut reader)?;
        let how = match number {
            statement::COMMIT_TRANSACTION => How::Commit(id),
            statement::ABORT_TRANSACTION if !reader.rest().is_empty() => How::AbortBegunBy(reader.i64()?),
            _ => How::Abort,
        };
        let sessions = match container {
            Ok(container) => {
                if matches!(how, How::Commit(_)) {
                    request.check(container, ANY)?;
                }
                vec![(container, session)]
            }
            Err(error) if matches!(how, How::Commit(_)) => return Err(error),
            // The transaction went with its container.
            Err(_) => Vec::new(),
        };
        Ok(Self { sessions, how })
    }

    fn read_many(request: &Request<'a>, reader: Reader<'a>) -> Result<Self, GridError> {
        let sessions = transaction::read_sessions(reader)?.into_iter();
        let sessions = sessions.filter_map(|(container, id)| Some((request.any_container(container).ok()?, id)));
        Ok(Self { sessions: sessions.collect(), how: How::Abort })
    }

    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Arc<Container>> + '_ {
        self.sessions.iter().map(|(container, _)| *container)
    }

    pub(super) fn run(&self, scope: &mut Scope<'_>) -> Result<(), Failure> {
        self.sessions.iter().try_for_each(|(container, id)| match self.how {
            How::Commit(statement) => transaction::commit(container, Commit { id: *id, statement }, scope),
            How::Abort => transaction::abort(container, *id, scope),
            How::AbortBegunBy(statement) => transaction::abort_begun_by(container, *id, statement, scope),
        })
    }
}
