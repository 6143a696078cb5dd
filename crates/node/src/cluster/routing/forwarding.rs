//! Requests that other cores and members have sent to this one.
//!
//! A request that needs newer metadata than this core has waits: only then does the core know whether it may run it.

use crate::cluster::links::frames::{FORWARD_BYTES_MAX, FORWARDED, Forward, Forwarded, RemoteOutcome};
use crate::cluster::routing::pending_requests::{PENDING_US, PendingRequest};
use crate::cluster::routing::requests::Asker;
use crate::core::Core;
use crate::message::Message;
use io::Reactor;
use shard::{Refusal, ShardError};

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
            let early = PendingRequest { asker, version: forward.version, until_us: now_us + PENDING_US, part, request };
            if let Err(early) = cluster.routing.pending.push(early, now_us) {
                self.answer_asker(reactor, early.asker, Err(ShardError::NotPrimary));
            }
            return;
        }
        self.run_forwarded_request(reactor, asker, forward.request, forward.part);
    }

    /// Runs what has waited for the metadata that has come.
    pub(crate) fn run_pending_requests<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let Some(cluster) = &mut self.cluster else { return };
        for early in std::mem::take(&mut cluster.routing.pending).queue {
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
            Asker::Backfill => self.backfilled(reactor, outcome),
            Asker::Cover => self.covered(reactor, outcome),
            Asker::ViewEntries(table, slot) => self.view_entries_found(reactor, (table, slot), outcome),
            Asker::ViewBuild => self.view_build_seen(reactor, outcome),
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
