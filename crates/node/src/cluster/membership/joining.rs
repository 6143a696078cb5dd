//! A process becomes a member: it asks those that `join` names, and core 0 of the one that is asked proposes it.
//!
//! A member that hears of no leader says hello to them, too: it may have moved, or all others may have, and a hello says where its sender is.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::channel::Channel;
use crate::cluster::links::connecting::OwnCore;
use crate::cluster::links::link::Link;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::group::{Contact, Waiter};
use crate::core::Core;
use crate::message::Message;
use base::CoreId;
use cluster::wire::{Hello, Join, JoinReply, Kind, RefusalMessage, link_version};
use cluster::{Metadata, Outcome, State, Versions};
use io::{ConnectionId, Reactor};
use std::net::SocketAddr;

/// How long after a member could not be asked to take this node in the next one is; twice as long after each round of all of them, ...
const JOIN_AGAIN_US: u64 = 500_000;
/// ... up to this.
const JOIN_AGAIN_US_MAX: u64 = 4_000_000;

/// How long a member hears of no leader before it looks for others where `join` says they are: longer than an election takes.
const CUT_OFF_US: u64 = 3_000_000;

/// How long a member that is asked has to answer: longer than a proposal takes at most.
const JOIN_PATIENCE_US: u64 = 12_000_000;

/// Whether a version is shared with the member that was asked, by its hello.
fn may_join(welcome: &[u8], versions: Versions, state: &State) -> Result<u16, String> {
    let hello = Hello::decode(welcome).map_err(|error| error.to_string())?;
    link_version(hello.protocol_versions, versions, state).map_err(|refusal| refusal.to_string())
}

impl ClusterCore {
    /// Whether core 0 of the member at this address is connected.
    fn is_linked_with(&self, address: SocketAddr) -> bool {
        let is_there = |(target, link): (&RemoteCore, &Link)| {
            target.1 == CoreId(0) && link.is_open() && self.address_of(target.0).is_some_and(|(known, _)| known == address)
        };
        self.links.outgoing.iter().any(is_there)
    }

    pub(crate) fn is_contact(&self, connection: ConnectionId) -> bool {
        let contact = self.membership.group.as_ref().and_then(|metadata| metadata.contact.as_ref());
        contact.is_some_and(|contact| contact.connection == connection)
    }
}

impl Core {
    /// On core 0 of a member that hears of no leader and has others to ask: when it does.
    pub(crate) fn cut_off_at(&mut self, now_us: u64) -> Option<u64> {
        let cluster = self.cluster.as_mut()?;
        let core = cluster.membership.group.as_mut()?;
        let is_led = core.metadata().is_none_or(|metadata| metadata.leader().is_some() || metadata.join_request().is_some());
        if is_led || cluster.config.join.is_empty() {
            core.leaderless_since_us = None;
            return None;
        }
        Some(*core.leaderless_since_us.get_or_insert(now_us) + CUT_OFF_US)
    }

    /// On core 0: asks one contact after the other to be taken in, or says hello to it if this is a member.
    pub(crate) fn ask_contact<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let cluster = self.cluster.as_mut()?;
        let core = cluster.membership.group.as_mut()?;
        if let Some(contact) = &core.contact {
            if now_us < core.contact_until_us {
                return Some(core.contact_until_us);
            }
            // `closed` follows, which is of no interest any more.
            reactor.abort(contact.connection);
            self.contact_lost(now_us, &format!("no answer for {} s", JOIN_PATIENCE_US / 1_000_000));
            return self.cluster.as_ref()?.membership.group.as_ref().map(|core| core.contact_at_us);
        }
        if now_us < core.contact_at_us {
            return Some(core.contact_at_us);
        }
        (core.contact_at_us, core.contact_until_us) = (now_us + JOIN_AGAIN_US, now_us + JOIN_PATIENCE_US);
        let address = *cluster.config.join.get(core.contact_number % cluster.config.join.len().max(1))?;
        core.contact_number += 1;
        let joins = core.metadata().is_none_or(|metadata| metadata.join_request().is_some());
        if cluster.is_linked_with(address) {
            return Some(now_us + JOIN_AGAIN_US);
        }
        let mut channel = match Channel::connecting(&cluster.config, address.ip()) {
            Ok(channel) => channel,
            Err(error) => {
                cluster.links.log_closing(self.core, None, Some(address), &error.to_string(), now_us);
                return Some(now_us + JOIN_AGAIN_US);
            }
        };
        let connection = reactor.connect(address, Some((CoreId(0), 1)));
        let mut hello = cluster.hello(&OwnCore { core: self.core, cores: self.cores, config: &self.config }, CoreId(0));
        if joins {
            // Who has a number and nothing else asks for it again.
            (hello.cluster_id, hello.node) = (0, None);
        }
        channel.send(reactor, connection, Kind::HELLO, |body| body.extend_from_slice(&hello.encode()));
        let Some(core) = &mut cluster.membership.group else { return None };
        core.contact = Some(Contact { address, connection, channel, has_answered: false });
        None
    }

    /// What a contact says.
    pub(crate) fn contact_received<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId, mut bytes: &[u8]) {
        let now = reactor.now();
        let Some(cluster) = &mut self.cluster else { return };
        let (versions, Some(core)) = (cluster.config.protocol_versions, &mut cluster.membership.group) else { return };
        let (Some(contact), Some(metadata)) = (&mut core.contact, &mut core.metadata) else { return };
        if contact.connection != connection {
            return;
        }
        let received = contact.channel.receive(reactor, connection, &mut bytes);
        loop {
            let refused = match contact.channel.reader.next_of(&mut bytes) {
                Ok(None) => match received {
                    Ok(()) => return,
                    Err(why) => why,
                },
                Ok(Some(frame)) => match frame.kind {
                    Kind::WELCOME => match may_join(frame.body, versions, metadata.state()) {
                        Ok(version) => {
                            if let Some(join) = metadata.join_request() {
                                contact.channel.send(reactor, connection, Kind::JOIN, |body| body.extend_from_slice(&join.encode(version)));
                                continue;
                            }
                            // This member is known there, and found by what its hello has said.
                            (contact.has_answered, core.unanswered) = (true, 0);
                            core.contact_at_us = now.monotonic_us + JOIN_AGAIN_US_MAX;
                            reactor.close(connection);
                            if let Ok(hello) = Hello::decode(frame.body) {
                                cluster.note_address(reactor, &hello);
                            }
                            return;
                        }
                        Err(why) => why,
                    },
                    Kind::JOIN_REPLY => match JoinReply::decode(frame.body) {
                        Ok(reply) => {
                            tracing::info!(node = reply.node.0, cluster = reply.cluster_name, "joined");
                            contact.has_answered = true;
                            metadata.joined(now, &reply);
                            let members = reply.members.iter().filter_map(|(node, address)| Some((*node, address.parse().ok()?)));
                            let members = members.collect();
                            if let Some(cluster) = &mut self.cluster {
                                cluster.membership.members_told = members;
                            }
                            return reactor.close(connection);
                        }
                        Err(error) => error.to_string(),
                    },
                    Kind::REFUSAL => RefusalMessage::decode(frame.body).map_or_else(|error| error.to_string(), |refusal| refusal.text),
                    other => format!("a frame of kind {} does not belong here", other.0),
                },
                Err(error) => error.to_string(),
            };
            (contact.has_answered, core.unanswered) = (true, 0);
            let address = contact.address;
            if let Some(cluster) = &mut self.cluster
                && cluster.links.is_news(&refused, now.monotonic_us)
            {
                tracing::warn!(%address, why = refused, "the member that was asked does not take this node in; it is asked again");
            }
            return reactor.close(connection);
        }
    }

    pub(crate) fn contact_closed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId) {
        if self.cluster.as_ref().is_some_and(|cluster| cluster.is_contact(connection)) {
            let why = "it has closed the connection without an answer, as another kind of server does";
            self.contact_lost(reactor.now().monotonic_us, why);
        }
    }

    /// A connection to another node could not be made, for this error of the operating system.
    pub(crate) fn node_unreachable<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId, code: i32) {
        if self.cluster.as_ref().is_some_and(|cluster| cluster.is_contact(connection)) {
            return self.contact_lost(reactor.now().monotonic_us, &std::io::Error::from_raw_os_error(code).to_string());
        }
        self.node_closed(reactor, connection);
    }

    /// The contact is gone. If it has not answered, the next one is asked the later the more have not.
    fn contact_lost(&mut self, now_us: u64, why: &str) {
        let Some(cluster) = &mut self.cluster else { return };
        let contacts = cluster.config.join.len().max(1);
        let Some(core) = &mut cluster.membership.group else { return };
        let Some(contact) = core.contact.take().filter(|contact| !contact.has_answered) else { return };
        let round = (core.unanswered as usize / contacts).min(8) as u32;
        core.unanswered = core.unanswered.saturating_add(1);
        let wait_us = (JOIN_AGAIN_US << round).min(JOIN_AGAIN_US_MAX);
        core.contact_at_us = now_us + wait_us;
        tracing::warn!(
            address = %contact.address,
            why,
            tries = core.unanswered,
            next_in_ms = wait_us / 1_000,
            "no member of the cluster to join is reached yet, and this node is not ready before; check that one runs there, that `join` names its \
             node port, and that nothing between blocks it"
        );
    }

    /// On core 0: the process ends. Says so if it was never taken in.
    pub(crate) fn note_end_of_joining(&self) {
        let Some(cluster) = &self.cluster else { return };
        let Some(core) = &cluster.membership.group else { return };
        let is_joiner = core.metadata.as_ref().is_some_and(|metadata| metadata.join_request().is_some());
        if is_joiner && cluster.membership.members_told.is_empty() {
            let join = cluster.config.join.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            tracing::error!(
                join,
                unanswered = core.unanswered,
                "this node ends without having joined a cluster; start one of the members that `join` names first, or correct it, or found a new \
                 cluster with --node-port and without --join"
            );
        }
    }

    /// A process asks to be taken in.
    pub(crate) fn join_wanted<R: Reactor<Message = Message>>(
        &mut self,
        _: &mut R,
        connection: ConnectionId,
        body: &[u8],
    ) -> Result<(), String> {
        let join = Join::decode(body).map_err(|error| error.to_string())?;
        if self.core != CoreId(0) {
            return Err("a process that joins has come to another core than 0; it tries again".to_owned());
        }
        tracing::info!(address = join.profile.node_address, "a node asks to join");
        self.propose_for(Metadata::join_command(join), Waiter::Joiner(connection));
        Ok(())
    }

    pub(crate) fn join_decided<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, connection: ConnectionId, outcome: &Outcome) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(metadata) = cluster.membership.group.as_ref().and_then(|core| core.metadata.as_ref()) else { return };
        match outcome {
            Outcome::Joined(node) => {
                let reply = metadata.join_reply(*node);
                cluster.answer(reactor, connection, Kind::JOIN_REPLY.0, |body| body.extend_from_slice(&reply.encode()));
            }
            other => {
                let text = match other {
                    Outcome::Refused(refused) => refused.to_string(),
                    _ => "the cluster has not decided in time; ask again".to_owned(),
                };
                let refusal = RefusalMessage { code: 0, text };
                cluster.answer(reactor, connection, Kind::REFUSAL.0, |body| body.extend_from_slice(&refusal.encode()));
            }
        }
    }
}
