//! What moves between machines: questions for connections, bytes, ends.

use super::Network;
use super::link::{CONNECT_US_MAX, End, Flow, Link, RETRY_US, Stage};
use crate::connection::{Connection, Phase};
use crate::machine::Arrival;
use crate::reactor::{KernelRequest, SimReactor};
use crate::setup::LISTENERS;
use base::checksum;
use io::{Handler, ListenerId, Placement};
use std::net::SocketAddr;

/// Ports of those who ask begin here.
const PORT_FIRST: u16 = 40_000;
/// What was sent in vain is sent again so late at most once it can get through.
const BACKOFF_US_MAX: u64 = 400_000;
/// A machine that was without power says this late at most that it knows nothing of a connection.
const FORGOTTEN_US_MAX: u64 = 2_000_000;

impl<H: Handler<SimReactor>> Network<H> {
    /// A core asks for a connection.
    pub(super) fn ask(&mut self, node: usize, core: u16, kernel_requests: KernelRequest) {
        let listener = LISTENERS.iter().position(|(port, _)| *port == kernel_requests.to.port());
        let (Some(listener), Some(target)) = (listener, self.host_of(kernel_requests.to.ip())) else {
            self.refuse(node, core, &kernel_requests);
            return;
        };
        let wanted = kernel_requests.lands_on.filter(|(_, cores)| *cores > 0 && self.rng.below(32) > 0);
        let port = match wanted {
            Some((core, cores)) => PORT_FIRST.next_multiple_of(cores) + core.0 % cores,
            None => PORT_FIRST + self.rng.below(20_000) as u16,
        };
        let cores = self.hosts[target].setup.cores;
        let target_core = match LISTENERS[listener].1 {
            Placement::ByClientPort => port % cores,
            Placement::Spread => self.rng.below(u64::from(cores)) as u16,
        };
        let due_us = self.now_us + self.link_faults.delay_us(node, target, &mut self.rng);
        let timeout = [true, false].map(|asks| Link::timeout(asks, &mut self.rng));
        let boots = [node, target].map(|node| self.hosts[node].boots);
        let end = |node, side: usize, core, connection| End { node, boot: boots[side], core, connection, timeout_us: timeout[side] };
        self.links_made += 1;
        self.trace.add("asks", &[node as u64, u64::from(core), target as u64, u64::from(target_core)]);
        let link = Link {
            ends: [end(node, 0, core, Some(kernel_requests.connection)), end(target, 1, target_core, None)],
            flows: [Flow::default(), Flow::default()],
            stage: Stage::KernelRequest(due_us),
            requested_us: self.now_us,
            listener: ListenerId(listener as u16),
            peer: SocketAddr::new(Self::address(node), port),
            obstructed_us: None,
        };
        if let Some(connection) = self.connection(&link.ends[0]) {
            (connection.linked, connection.window) = (true, 0);
        }
        self.links.insert(self.links_made, link);
    }

    fn refuse(&mut self, node: usize, core: u16, kernel_requests: &KernelRequest) {
        if let Some(machine) = self.hosts[node].machine() {
            machine.disconnect((core, kernel_requests.connection));
        }
    }

    /// When something happens to a link by itself.
    pub(super) fn link_due_us(&self, link: &Link) -> Option<u64> {
        if let Stage::KernelRequest(due_us) = link.stage {
            return Some(due_us);
        }
        let flows = (0..2).filter_map(|side| {
            let (from, to) = (link.ends[side].node, link.ends[1 - side].node);
            // What a paused machine has not accepted waits, and what cannot get through.
            let waits = link.ends[1 - side].connection.is_none() || self.is_obstructed(from, to);
            if waits { None } else { link.flows[side].next_us().filter(|due_us| *due_us > self.now_us) }
        });
        let timeout = link.obstructed_us.into_iter().flat_map(|since_us| link.ends.iter().map(move |end| since_us + end.timeout_us));
        flows.chain(timeout.filter(|due_us| *due_us > self.now_us)).min()
    }

    fn is_obstructed(&self, from: usize, to: usize) -> bool {
        self.link_faults.is_cut(from, to) || self.hosts[from].is_off() || self.hosts[to].is_off()
    }

    /// Everything that is due moves.
    pub(super) fn move_bytes(&mut self) {
        let mut links = std::mem::take(&mut self.links);
        links.retain(|name, link| self.move_link(*name, link));
        // Nobody asks for a connection while bytes move.
        self.links = links;
    }

    /// Whether the link is still there.
    fn move_link(&mut self, name: u64, link: &mut Link) -> bool {
        let nodes = [link.ends[0].node, link.ends[1].node];
        let obstructed = self.is_obstructed(nodes[0], nodes[1]) || self.is_obstructed(nodes[1], nodes[0]);
        match (obstructed, link.obstructed_us) {
            (true, None) => link.obstructed_us = Some(self.now_us),
            (false, Some(_)) => {
                link.obstructed_us = None;
                let until_us = self.now_us + self.rng.below(BACKOFF_US_MAX);
                link.flows.iter_mut().for_each(|flow| flow.delay(until_us));
            }
            _ => {}
        }
        if let Stage::KernelRequest(due_us) = link.stage {
            return due_us > self.now_us || self.answer(name, link, obstructed);
        }
        for side in 0..2 {
            self.send(link, side);
        }
        for side in 0..2 {
            if !self.is_obstructed(nodes[side], nodes[1 - side]) {
                self.deliver(name, link, side);
            }
        }
        if let Some(since_us) = link.obstructed_us {
            for end in &link.ends {
                if self.now_us - since_us > end.timeout_us
                    && let Some(connection) = self.connection(end)
                {
                    connection.cut();
                }
            }
        }
        link.ends.iter().any(|end| self.is_there(end))
    }

    /// The request arrives, is sent again, or times out. Returns whether the link is still there.
    fn answer(&mut self, name: u64, link: &mut Link, obstructed: bool) -> bool {
        let (target, boots) = (link.ends[1].node, self.hosts[link.ends[1].node].boots);
        let accepts = self.hosts[target].machine().is_some_and(|machine| machine.is_accepting());
        let give_up_us = link.requested_us + CONNECT_US_MAX;
        if obstructed && self.now_us < give_up_us {
            link.stage = Stage::KernelRequest((self.now_us + RETRY_US).min(give_up_us));
            return true;
        }
        let made = accepts && !obstructed;
        let Some(connection) = self.connection(&link.ends[0]) else { return false };
        if connection.phase != Phase::Connecting {
            return false;
        }
        if !made {
            connection.cut();
            return false;
        }
        connection.made = true;
        (link.stage, link.ends[1].boot) = (Stage::Made, boots);
        if let Some(machine) = self.hosts[target].machine() {
            machine.arrive(Arrival { core: link.ends[1].core, listener: link.listener, peer: link.peer, link: name });
        }
        true
    }

    /// Takes what one end has written, or notes that it is gone.
    fn send(&mut self, link: &mut Link, side: usize) {
        let (from, to) = (link.ends[side].node, link.ends[1 - side].node);
        let unread = self.connection(&link.ends[1 - side]).map_or(0, |connection| connection.to_core.len());
        let (most, flow, end) = (self.wire_bytes_max, &mut link.flows[side], &link.ends[side]);
        if let Some(connection) = self.any_connection(end)
            && !connection.disconnected
        {
            let bytes = std::mem::take(&mut connection.to_client);
            connection.window = most.saturating_sub(flow.bytes + bytes.len() + unread);
            if !bytes.is_empty() && flow.end_us.is_none() {
                flow.send(bytes, self.now_us + self.link_faults.delay_us(from, to, &mut self.rng));
            }
        }
        if flow.end_us.is_none() && !self.is_there(end) && !self.hosts[from].is_off() {
            let forgotten = flow.resets && self.hosts[from].is_running();
            let delay_us = if forgotten { self.rng.below(FORGOTTEN_US_MAX) } else { self.link_faults.delay_us(from, to, &mut self.rng) };
            flow.end_us = Some(self.now_us + delay_us);
        }
    }

    /// Gives one end what has arrived from the other.
    fn deliver(&mut self, name: u64, link: &mut Link, side: usize) {
        let (flow, end, now_us) = (&mut link.flows[side], &link.ends[1 - side], self.now_us);
        if end.connection.is_none() {
            return;
        }
        while let Some(bytes) = flow.arrived(now_us) {
            self.trace.add("arrived", &[name, side as u64, u64::from(checksum(&bytes))]);
            if let Some(connection) = self.connection(end)
                && connection.phase != Phase::Closing
            {
                connection.to_core.extend(bytes);
            }
        }
        if flow.in_flight.is_empty()
            && flow.end_us.is_some_and(|end_us| end_us <= now_us)
            && let Some(connection) = self.connection(end)
        {
            if flow.resets && connection.phase != Phase::Closing { connection.cut() } else { connection.ended = true }
        }
    }

    /// Whether an end's process and connection are there.
    fn is_there(&mut self, end: &End) -> bool {
        let (host, boot) = (&self.hosts[end.node], end.boot);
        if host.boots != boot || !host.is_running() {
            return false;
        }
        end.connection.is_none() || self.connection(end).is_some()
    }

    /// An end's connection, unless it is gone.
    fn connection(&mut self, end: &End) -> Option<&mut Connection> {
        self.any_connection(end).filter(|connection| connection.phase != Phase::Gone)
    }

    /// An end's connection, until another one has its place.
    fn any_connection(&mut self, end: &End) -> Option<&mut Connection> {
        let host = &mut self.hosts[end.node];
        if host.boots != end.boot {
            return None;
        }
        host.machine()?.connection((end.core, end.connection?))
    }
}
