//! Requests that other cores and members have sent on to this one.
//!
//! One that goes by newer metadata than this core's waits until that has come: only then does this core know whether it may run it.

use super::frames::{FORWARD_BYTES_MAX, FORWARDED, Forward, Forwarded, RemoteOutcome};
use super::routing::{Asker, PATIENCE_US};
use crate::coordination::Started;
use crate::core::Core;
use crate::message::Message;
use crate::protocol::aerospike;
use crate::protocol::cql::{ReplyHeader, Statements, travel};
use io::{ConnectionId, Reactor};
use shard::{Refusal, ShardError};
use std::collections::VecDeque;

/// Requests that wait for newer metadata, at most, a core, and their bytes.
const EARLY_MAX: usize = 10_000;
const EARLY_BYTES_MAX: usize = 4 * FORWARD_BYTES_MAX;
/// How long one waits: longer than who has sent it does.
const EARLY_US: u64 = 2 * PATIENCE_US;

/// The connection of requests that have none here.
pub(crate) const NOBODY: ConnectionId = ConnectionId { index: u32::MAX, generation: u32::MAX };

/// A request that is too early.
struct Early {
    asker: Asker,
    version: u64,
    until_us: u64,
    part: Option<Vec<u8>>,
    request: Vec<u8>,
}

/// All of a core, in the order in which they came.
#[derive(Default)]
pub(super) struct EarlyRequests {
    queue: VecDeque<Early>,
    bytes: usize,
}

impl Early {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.request.len() + self.part.as_ref().map_or(0, Vec::len)
    }
}

impl EarlyRequests {
    /// Takes one, if there is room; those that nobody waits for any more make some.
    fn push(&mut self, early: Early, now_us: u64) -> Result<(), Early> {
        while self.queue.front().is_some_and(|old| old.until_us <= now_us)
            && let Some(old) = self.queue.pop_front()
        {
            self.bytes -= old.memory_bytes();
        }
        let bytes = self.bytes + early.memory_bytes();
        if self.queue.len() >= EARLY_MAX || bytes > EARLY_BYTES_MAX {
            return Err(early);
        }
        self.bytes = bytes;
        self.queue.push_back(early);
        Ok(())
    }
}

fn refused(why: impl ToString) -> ShardError {
    ShardError::Elsewhere { refusal: Refusal::Other, message: why.to_string() }
}

impl Core {
    /// Runs a request for another core or member.
    pub(crate) fn run_forwarded<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, asker: Asker, forward: &Forward<'_>) {
        if self.send_away_until_us.is_some() && matches!(asker, Asker::Link { .. }) {
            return self.answer_asker(reactor, asker, Err(ShardError::NotPrimary));
        }
        let Some(cluster) = &mut self.cluster else { return };
        cluster.client_came();
        if forward.version > cluster.view.version() {
            let now_us = reactor.now().monotonic_us;
            let (part, request) = (forward.part.map(<[u8]>::to_vec), forward.request.to_vec());
            let early = Early { asker, version: forward.version, until_us: now_us + EARLY_US, part, request };
            if let Err(early) = cluster.early.push(early, now_us) {
                self.answer_asker(reactor, early.asker, Err(ShardError::NotPrimary));
            }
            return;
        }
        if let Some(body) = aerospike::unpack(forward.request) {
            return self.run_travelled_records(reactor, asker, body, forward.part);
        }
        let travelled = match travel::unpack(forward.request) {
            Ok(Some(travelled)) => travelled,
            Ok(None) => return self.answer_asker(reactor, asker, Err(refused("a request is damaged"))),
            Err(error) => return self.answer_asker(reactor, asker, Err(refused(error))),
        };
        let mut reply = Vec::new();
        let header = ReplyHeader::new(travelled.header.version, travelled.header.stream);
        let mut statements = Statements { core: self, reactor, connection: NOBODY, asker: Some(asker) };
        match statements.travelled(&travelled, forward.part, &mut reply) {
            Ok(Started::Replied) => self.answer_asker(reactor, asker, Ok(reply)),
            Ok(Started::Waiting) => {}
            Err(error) if forward.part.is_some() => self.answer_asker(reactor, asker, Err(refused(error))),
            Err(error) => {
                reply.clear();
                header.write_error(&error, &mut reply);
                self.answer_asker(reactor, asker, Ok(reply));
            }
        }
    }

    /// Runs what has waited for the metadata that has come.
    pub(crate) fn run_early<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        for early in std::mem::take(&mut cluster.early).queue {
            let forward = Forward { id: 0, version: early.version, part: early.part.as_deref(), request: &early.request };
            self.run_forwarded(reactor, early.asker, &forward);
        }
    }

    /// Tells who asked what came of a request.
    pub(crate) fn answer_asker<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        asker: Asker,
        outcome: Result<Vec<u8>, ShardError>,
    ) {
        match asker {
            Asker::Core { core, id } if core == self.core => self.routed_answered(reactor, id, outcome),
            Asker::Core { core, id } => reactor.send(core, Message::Forwarded { id, outcome }),
            Asker::BatchLog(table) => self.batches_found(reactor, table, outcome),
            Asker::Nobody => {}
            Asker::Link { connection, id } => {
                let Some(cluster) = &mut self.cluster else { return };
                let text;
                let outcome = match &outcome {
                    Ok(reply) if reply.len() > FORWARD_BYTES_MAX => {
                        text = format!(
                            "the result has {} bytes, more than the {FORWARD_BYTES_MAX} that are sent on; ask for less",
                            reply.len()
                        );
                        RemoteOutcome::Failed(Refusal::Other, &text)
                    }
                    Ok(reply) => RemoteOutcome::Done(reply),
                    Err(ShardError::NotPrimary) => RemoteOutcome::NotPrimary,
                    Err(ShardError::OutcomeUnknown | ShardError::NoAnswer) => RemoteOutcome::Unknown,
                    Err(error) => {
                        text = error.to_string();
                        RemoteOutcome::Failed(error.refusal(), &text)
                    }
                };
                cluster.answer(reactor, connection, FORWARDED, |body| Forwarded { id, outcome }.write(body));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_metadata_in_bounded_memory_and_not_for_ever() {
        let early = |now_us: u64, bytes: usize| Early {
            asker: Asker::Nobody,
            version: u64::MAX,
            until_us: now_us + EARLY_US,
            part: None,
            request: vec![0; bytes],
        };
        let mut requests = EarlyRequests::default();
        assert!((0..EARLY_MAX).all(|_| requests.push(early(0, 0), 0).is_ok()));
        assert!(requests.push(early(0, 0), 0).is_err());
        assert!(requests.push(early(EARLY_US, 1), EARLY_US).is_ok(), "nobody waits for the others any more");
        assert_eq!((requests.queue.len(), requests.bytes), (1, size_of::<Early>() + 1));
        let large = (0..).take_while(|_| requests.push(early(EARLY_US, FORWARD_BYTES_MAX), EARLY_US).is_ok()).count();
        assert_eq!(large, EARLY_BYTES_MAX / FORWARD_BYTES_MAX - 1);
    }
}
