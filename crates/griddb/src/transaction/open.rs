//! The transactions that a connection has begun: they are aborted when it ends.

use super::TransactionId;
use crate::wire::{Options, Reader, Statement, put_i32, put_i64, statement};
use crate::{ErrorCode, GridError};

/// How many sessions with transactions a connection has at most.
const SESSIONS_MAX: usize = 1_024;

/// Where a statement about rows says whether it begins a transaction.
const MODE_AT: usize = 37;
const MODE_BEGIN: u8 = 1;

/// A session that has begun a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The database of its container.
    pub database: Box<str>,
    partition: i32,
    container: i64,
    id: TransactionId,
    /// The statement that has begun it.
    begun_by: i64,
    /// Its client has asked for its end: if the answer is lost, it asks again elsewhere.
    is_ending: bool,
}

/// All of a connection.
#[derive(Debug, Default)]
pub(crate) struct OpenTransactions {
    all: Vec<OpenTransaction>,
}

/// Whether a statement needs to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    Serve,
    /// It closes sessions that have had no transaction: there is nothing to do.
    Done,
}

impl OpenTransactions {
    /// Takes those that no client will end any more.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = OpenTransaction> + use<> {
        std::mem::take(&mut self.all).into_iter().filter(|open| !open.is_ending)
    }

    /// Follows a statement before it is served.
    ///
    /// # Errors
    /// The connection has too many open transactions.
    #[inline]
    pub(crate) fn follow(&mut self, statement: &Statement<'_>, database: &str) -> Result<Followed, GridError> {
        let number = statement.number();
        match number {
            statement::GET_ROW..=statement::QUERY_TIME_SERIES_SAMPLING | statement::FETCH_ROW_SET
                if statement.arguments.rest().get(MODE_AT) == Some(&MODE_BEGIN) =>
            {
                self.begin(statement, database)
            }
            statement::COMMIT_TRANSACTION | statement::ABORT_TRANSACTION | statement::CLOSE_SESSION => {
                let Ok((container, id)) = read_session(&mut statement.arguments.clone()) else { return Ok(Followed::Serve) };
                let known = self.end(container, id, number == statement::CLOSE_SESSION);
                Ok(if known || number != statement::CLOSE_SESSION { Followed::Serve } else { Followed::Done })
            }
            statement::CLOSE_MULTIPLE_SESSIONS => {
                let Ok(sessions) = read_sessions(statement.arguments) else { return Ok(Followed::Serve) };
                let known = sessions.iter().filter(|(container, id)| self.end(*container, *id, true)).count();
                Ok(if known > 0 { Followed::Serve } else { Followed::Done })
            }
            _ => Ok(Followed::Serve),
        }
    }

    #[inline(never)]
    fn begin(&mut self, statement: &Statement<'_>, database: &str) -> Result<Followed, GridError> {
        let Ok((container, id)) = read_session(&mut statement.arguments.clone()) else { return Ok(Followed::Serve) };
        let (partition, begun_by) = (statement.partition, statement.reply.id);
        let open = OpenTransaction { database: database.into(), partition, container, id, begun_by, is_ending: false };
        let has = |other: &OpenTransaction| other.container == container && other.id == id;
        if let Some(known) = self.all.iter_mut().find(|other| has(other)) {
            *known = open;
            return Ok(Followed::Serve);
        }
        if self.all.len() >= SESSIONS_MAX {
            let full =
                || GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, format!("a connection has at most {SESSIONS_MAX} open transactions"));
            let ended = self.all.iter().position(|other| other.is_ending).ok_or_else(full)?;
            self.all.swap_remove(ended);
        }
        self.all.push(open);
        Ok(Followed::Serve)
    }

    /// Whether the session is known; it is forgotten if it closes.
    fn end(&mut self, container: i64, id: TransactionId, closes: bool) -> bool {
        let Some(at) = self.all.iter().position(|open| open.container == container && open.id == id) else { return false };
        if closes {
            self.all.swap_remove(at);
        } else {
            self.all[at].is_ending = true;
        }
        true
    }
}

impl OpenTransaction {
    /// The body of a frame that aborts it, unless its session has begun another one since.
    #[must_use]
    pub fn abort_body(&self) -> Vec<u8> {
        let mut body = [statement::ABORT_TRANSACTION.to_le_bytes(), self.partition.to_le_bytes()].concat();
        put_i64(&mut body, 0);
        put_i64(&mut body, self.container);
        put_i64(&mut body, self.id.session);
        body.extend_from_slice(&self.id.uuid);
        put_i32(&mut body, 0);
        put_i64(&mut body, self.begun_by);
        body
    }
}

fn read_session(reader: &mut Reader<'_>) -> Result<(i64, TransactionId), GridError> {
    Ok((reader.i64()?, TransactionId::read(reader)?))
}

/// The sessions that CLOSE_MULTIPLE_SESSIONS is about.
pub(crate) fn read_sessions(mut reader: Reader<'_>) -> Result<Vec<(i64, TransactionId)>, GridError> {
    let uuid = reader.uuid()?;
    Options::read(&mut reader)?;
    let count = reader.count()?;
    let session = |_| {
        let _statement = reader.i64()?;
        Ok((reader.i64()?, TransactionId { uuid, session: reader.i64()? }))
    };
    (0..count).map(session).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(open: &mut OpenTransactions, number: i32, session: i64, mode: u8) -> Result<Followed, i32> {
        let mut body = [number.to_le_bytes(), 5_i32.to_le_bytes()].concat();
        put_i64(&mut body, 77);
        put_i64(&mut body, 3);
        put_i64(&mut body, session);
        body.extend_from_slice(&[9; 16]);
        body.extend_from_slice(&[0, 0, 0, 0, 1, mode]);
        open.follow(&Statement::read(&body, false).expect("it is whole"), "public").map_err(|error| error.code.0)
    }

    #[test]
    fn a_connection_knows_what_it_has_begun() {
        let mut open = OpenTransactions::default();
        assert_eq!(follow(&mut open, statement::CLOSE_SESSION, 1, 0), Ok(Followed::Done), "nothing was begun");
        for (session, mode) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 1)] {
            assert_eq!(follow(&mut open, statement::PUT_ROW, session, mode), Ok(Followed::Serve));
        }
        assert_eq!(follow(&mut open, statement::COMMIT_TRANSACTION, 2, 0), Ok(Followed::Serve));
        assert_eq!(follow(&mut open, statement::CLOSE_SESSION, 3, 0), Ok(Followed::Serve));
        let left: Vec<_> = open.take().map(|open| (open.id.session, open.begun_by, open.container)).collect();
        assert_eq!(left, [(5, 77, 3)], "2 is ending, 3 is closed");
    }

    #[test]
    fn a_connection_has_not_too_many() {
        let mut open = OpenTransactions::default();
        for session in 1..=SESSIONS_MAX as i64 {
            assert_eq!(follow(&mut open, statement::GET_ROW, session, 1), Ok(Followed::Serve));
        }
        assert_eq!(follow(&mut open, statement::GET_ROW, 0, 1), Err(1_008));
        follow(&mut open, statement::ABORT_TRANSACTION, 9, 0).expect("it is served");
        assert_eq!(follow(&mut open, statement::GET_ROW, 0, 1), Ok(Followed::Serve), "one has ended");
    }
}
