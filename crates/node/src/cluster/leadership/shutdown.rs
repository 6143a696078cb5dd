//! The shutdown of a member, as its operator orders it: neither clients nor other members see an error.
//!
//! ```text
//! transferring ─► ShuttingDown is decided, primaries drop this member ─► each core transfers the slots that it is primary of
//! transferred  ─► every member knows, and another one leads the metadata group
//! sending away ─► requests in flight are answered, new ones are refused
//! writing out  ─► everything is on the device
//! ```
//!
//! The clock bounds each step: a slot that nobody else has in sync cannot be transferred, and is not waited for.

use crate::cluster::core::ClusterCore;
use crate::cluster::leadership::state::{Shutdown, Step};
use crate::cluster::membership::roles::Role;
use crate::core::Core;
use crate::message::Message;
use base::CoreId;
use cluster::{Command, MemberState};
use io::Reactor;

/// So long at most for giving slots away.
const TRANSFER_US_MAX: u64 = 8_000_000;

/// So long at most until every member knows of it, and another one leads.
const KNOWN_US_MAX: u64 = 3_000_000;

/// So long at most for requests that are under way when clients are sent away.
const SEND_AWAY_US_MAX: u64 = 6_000_000;

/// When to say again that this process ends.
const ASK_AGAIN_US: u64 = 500_000;

/// Steps of others are looked for this often.
const LOOK_US: u64 = 10_000;

impl Core {
    /// The process is to end. Returns whether it has to take leave of other members first.
    pub(crate) fn begin_shutdown(&mut self, now_us: u64) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        if !cluster.view.is_current || cluster.view.peers.values().all(|peer| !peer.is_up) {
            return false;
        }
        let until_us = now_us + TRANSFER_US_MAX;
        cluster.leadership.shutdown.get_or_insert(Shutdown { step: Step::Transferring, until_us, ask_at_us: now_us, cores: 0, version: 0 });
        true
    }

    /// On core 0: another core has given away what it could.
    pub(crate) fn core_transferred(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        let version = cluster.view.version();
        if let Some(shutdown) = &mut cluster.leadership.shutdown {
            (shutdown.cores, shutdown.version) = (shutdown.cores + 1, shutdown.version.max(version));
        }
    }

    /// From core 0: clients are to go.
    pub(crate) fn begin_to_send_away(&mut self, now_us: u64) {
        if let Some(shutdown) = self.cluster.as_mut().and_then(|cluster| cluster.leadership.shutdown.as_mut()) {
            shutdown.step = Step::SendingAway;
        }
        // Nobody waits for jobs in the background, and none goes on elsewhere.
        self.config.aerospike.jobs.abort(None);
        self.send_away_until_us.get_or_insert(now_us + SEND_AWAY_US_MAX);
    }

    /// The next steps towards the end. Returns the time at which to look again.
    pub(crate) fn shutdown_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        cluster.leadership.shutdown.as_ref()?;
        let (is_known, has_transferred_all) = (cluster.is_known_to_shut_down(), cluster.has_transferred_all());
        let shutdown = cluster.leadership.shutdown.as_mut()?;
        match shutdown.step {
            Step::Transferring => {
                if has_transferred_all || now_us >= shutdown.until_us {
                    (shutdown.step, shutdown.until_us) = (Step::Transferred, now_us + TRANSFER_US_MAX + KNOWN_US_MAX);
                    reactor.send(CoreId(0), Message::PrimariesTransferred);
                } else if self.core == CoreId(0) && !is_known && now_us >= shutdown.ask_at_us {
                    shutdown.ask_at_us = now_us + ASK_AGAIN_US;
                    let (node, incarnation) = (cluster.view.me, cluster.config.incarnation);
                    self.propose(Command::ShuttingDown { node, incarnation });
                }
            }
            Step::Transferred if self.core == CoreId(0) => self.wait_for_others(reactor),
            // Core 0 may have had nobody to take leave of.
            Step::Transferred if now_us >= shutdown.until_us => self.begin_to_send_away(now_us),
            Step::Transferred => {}
            Step::WritingOut => return None,
            Step::SendingAway => {
                let has_clients = self.connections.count() > 0 || !self.requests.is_empty();
                if !has_clients || self.send_away_until_us.is_none_or(|until_us| now_us >= until_us) {
                    shutdown.step = Step::WritingOut;
                    self.flush_to_end();
                    return None;
                }
            }
        }
        Some(now_us + LOOK_US)
    }

    /// On core 0: clients go once everybody knows who has the slots now.
    fn wait_for_others<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        let now = reactor.now();
        let cores = self.cores;
        let Some(cluster) = &mut self.cluster else { return };
        let Some(shutdown) = &mut cluster.leadership.shutdown else { return };
        if shutdown.cores < cores && now.monotonic_us < shutdown.until_us {
            return;
        }
        shutdown.until_us = shutdown.until_us.min(now.monotonic_us + KNOWN_US_MAX);
        let (version, is_late) = (shutdown.version, now.monotonic_us >= shutdown.until_us);
        if is_late || (cluster.is_everywhere(version) && cluster.transfer_leadership(now)) {
            for core in 0..cores {
                reactor.send(CoreId(core), Message::SendAway);
            }
        }
    }

    /// This node is no member any more: its clients go to others, instead of waiting for answers that cannot come.
    pub(crate) fn send_clients_away<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if self.core == CoreId(0) {
            tracing::warn!("this node has been removed from its cluster and serves nothing any more; end it");
            reactor.stop_accepting();
        }
        self.begin_to_send_away(reactor.now().monotonic_us);
    }
}

impl ClusterCore {
    /// Whether this member's process is about to end.
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.leadership.shutdown.is_some()
    }

    /// Whether the metadata knows that it is.
    fn is_known_to_shut_down(&self) -> bool {
        self.view.state.member(self.view.me).is_some_and(|member| member.state == MemberState::ShuttingDown)
    }

    fn has_transferred_all(&self) -> bool {
        let is_waited_for = self.roles.iter().any(|(_, _, local)| local.role == Role::Secondary);
        self.is_known_to_shut_down()
            && !is_waited_for
            && self.leadership.transfer.is_over(self.view.version())
            && self.leadership.stepped_down.is_empty()
    }
}
