//! New clients: which core takes them, and what becomes of those for whom there is no room.

use super::{CONNECTION_EVENTS, EventLoop, TOKEN_LISTENERS, Watching, token_of};
use crate::backlog::Client;
use crate::connection::Connection;
use crate::control::Control;
use crate::errno::Errno;
use crate::reactor::{Envelope, LinuxReactor};
use crate::{descriptors, socket};
use io::{Handler, ListenerId, Placement, Reactor, Room};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How many connections one listener may bring in before the other events have their turn.
const ACCEPTS_MAX: usize = 64;
/// How long accepting rests when the process has no descriptors or memory left for a connection.
const ACCEPT_REST_US: u64 = 100_000;
/// How long accepting rests when as many clients as may wait at every core; the others wait in the kernel.
const SURPLUS_REST_US: u64 = 10_000;
/// At most one warning about refused connections in this time.
const REFUSED_WARNING_US: u64 = 1_000_000;

impl<M: Send + 'static> EventLoop<M> {
    pub(super) fn accept<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, listener: ListenerId) {
        let control = Arc::clone(&self.reactor.control);
        if self.watching != Watching::Yes {
            return;
        }
        let socket = &control.listeners[usize::from(listener.0)];
        for _ in 0..ACCEPTS_MAX {
            if socket.placement == Placement::Spread && surplus(&control, emptiest_core(&control)) >= control.surplus_max() / 2 {
                return self.unwatch_listeners(Watching::RestingUntil(self.reactor.now.monotonic_us + SURPLUS_REST_US));
            }
            match socket::accept(socket.descriptor()) {
                Ok((socket, peer)) if self.has_spare() => self.place(handler, &control, Client { socket, listener, peer }),
                // By the descriptor that another core has just given up: if each core served such a client, none could refuse the next one.
                Ok((connection, _)) => self.refuse_and_keep(connection),
                Err(errno) if errno.is_would_block() => return,
                Err(Errno(code @ (libc::EMFILE | libc::ENFILE))) => match self.make_room(handler) {
                    Room::Made => {}
                    // Another core may have a place sooner.
                    Room::At(at_us) => {
                        let at_us = at_us.min(self.reactor.now.monotonic_us + ACCEPT_REST_US);
                        return self.unwatch_listeners(Watching::RestingUntil(at_us));
                    }
                    Room::Never if self.refuse_with_spare(socket.descriptor()) => {}
                    Room::Never => return self.rest_from_accepting(code),
                },
                Err(Errno(code @ (libc::ENOBUFS | libc::ENOMEM))) => return self.rest_from_accepting(code),
                // The listener was closed by the node.
                Err(Errno(libc::EINVAL)) => return,
                // This client failed before it was accepted; the next one may be fine.
                Err(_) => {}
            }
        }
    }

    fn rest_from_accepting(&mut self, code: i32) {
        tracing::warn!(errno = code, "no descriptors or memory left for another connection: accepting rests for 100 ms");
        self.unwatch_listeners(Watching::RestingUntil(self.reactor.now.monotonic_us + ACCEPT_REST_US));
    }

    /// Refuses a client for whom there is no descriptor, so that it does not wait for an answer. `false`: that was not possible.
    fn refuse_with_spare(&mut self, listener: RawFd) -> bool {
        if self.spare.take().is_none() {
            self.spare = descriptors::spare();
            return false;
        }
        match socket::accept(listener) {
            Ok((client, _)) => {
                self.refuse_and_keep(client);
                true
            }
            Err(errno) => {
                self.spare = descriptors::spare();
                // Nobody waits any more, or another core had the descriptor for the client.
                errno.is_would_block()
            }
        }
    }

    /// Refuses a client whose descriptor becomes the spare one: between closing it and opening another somebody else would take it.
    fn refuse_and_keep(&mut self, client: OwnedFd) {
        socket::shut_down(client.as_raw_fd());
        self.spare = Some(client);
        self.refuse();
    }

    fn has_spare(&mut self) -> bool {
        if self.spare.is_none() {
            self.spare = descriptors::spare();
        }
        self.spare.is_some()
    }

    /// Gives a client to its core. One that chooses its core by its port is refused if too many wait there, of which half are places that others do not get.
    fn place<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, control: &Control, client: Client) {
        let target = match control.listeners[usize::from(client.listener.0)].placement {
            Placement::Spread => emptiest_core(control),
            Placement::ByClientPort => {
                let target = client.peer.port() % self.reactor.cores();
                if surplus(control, target) >= control.surplus_max() {
                    return self.refuse();
                }
                target
            }
        };
        control.cores[usize::from(target)].connections.fetch_add(1, Ordering::Relaxed);
        if target == self.reactor.core().0 {
            self.adopt(handler, client);
        } else {
            self.reactor.mailbox.send(base::CoreId(target), Envelope::Connection(client));
        }
    }

    pub(super) fn forget_connection(&self, core: u16) {
        let connections = &self.reactor.control.cores[usize::from(core)].connections;
        connections.fetch_sub(1, Ordering::Relaxed);
    }

    fn refuse(&mut self) {
        self.refused += 1;
        let now_us = self.reactor.now.monotonic_us;
        if now_us.saturating_sub(self.refused_warned_us) >= REFUSED_WARNING_US {
            self.refused_warned_us = now_us;
            tracing::warn!(
                refused = self.refused,
                connections_max = self.reactor.control.connections_max(),
                "too many connections on a core: new ones are closed at once"
            );
        }
    }

    /// Takes in a client whom this core or another one has accepted, has it wait, or refuses it.
    pub(super) fn adopt<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, client: Client) {
        self.backlog.clients.push_back(client);
        if self.backlog.clients.len() == 1 {
            self.admit(handler);
        }
    }

    /// Takes in those that wait, as far as there is room, and refuses those who wait in vain.
    pub(super) fn admit<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        while !self.backlog.clients.is_empty() {
            let own = &self.reactor.control.cores[usize::from(self.reactor.core().0)];
            let others = own.connections.load(Ordering::Relaxed) - self.backlog.clients.len() as u32;
            let is_full = others >= self.reactor.control.connections_max();
            let room = if is_full { self.make_room(handler) } else { Room::Made };
            if let Room::At(at_us) = room {
                self.backlog.due_us = at_us;
                return;
            }
            let Some(client) = self.backlog.clients.pop_front() else { return };
            if room == Room::Made {
                self.take_in(handler, client);
            } else {
                self.forget_connection(self.reactor.core().0);
                self.refuse();
            }
        }
    }

    /// The node drains: nobody is taken in any more.
    pub(super) fn turn_backlog_away(&mut self) {
        while self.backlog.clients.pop_front().is_some() {
            self.forget_connection(self.reactor.core().0);
        }
    }

    fn take_in<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, client: Client) {
        let connection = Connection::new(client.socket);
        let descriptor = connection.descriptor();
        let id = self.reactor.connections.insert(connection);
        if let Err(Errno(code)) = self.epoll.add(descriptor, CONNECTION_EVENTS, token_of(id)) {
            tracing::warn!(errno = code, "the kernel cannot watch another connection: closed");
            self.reactor.connections.remove(id);
            self.forget_connection(self.reactor.core().0);
            return;
        }
        handler.accepted(&mut self.reactor, id, client.listener, client.peer);
    }

    /// Has the handler give up a connection for another one.
    fn make_room<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) -> Room {
        let room = handler.make_room(&mut self.reactor);
        if room == Room::Made {
            // Its place and its descriptor are free at once.
            self.cut_late_connections(handler);
        }
        room
    }

    pub(super) fn watch_listeners(&mut self) {
        self.watching = Watching::Yes;
        let listeners = &self.reactor.control.listeners;
        // Each is the first in its turn: one that is flooded takes all places of a rest.
        self.listener_first = (self.listener_first + 1) % listeners.len().max(1);
        for number in (self.listener_first..listeners.len()).chain(0..self.listener_first) {
            let listener = &listeners[number];
            // Exclusive: one client does not wake all cores.
            let added = self.epoll.add(listener.descriptor(), libc::EPOLLIN | libc::EPOLLEXCLUSIVE, TOKEN_LISTENERS + number as u64);
            added.expect("a listener is watched once");
        }
    }

    pub(super) fn unwatch_listeners(&mut self, watching: Watching) {
        if self.watching == Watching::Yes {
            for listener in &self.reactor.control.listeners {
                self.epoll.remove(listener.descriptor()).expect("a watched listener can be unwatched");
            }
        }
        self.watching = watching;
    }
}

/// How many clients are on their way to this core beyond what it serves, or wait there.
fn surplus(control: &Control, core: u16) -> u32 {
    control.cores[usize::from(core)].connections.load(Ordering::Relaxed).saturating_sub(control.connections_max())
}

/// The core with fewest connections, the first of equals.
fn emptiest_core(control: &Control) -> u16 {
    let loads = control.cores.iter().map(|core| core.connections.load(Ordering::Relaxed));
    loads.enumerate().min_by_key(|(_, load)| *load).map_or(0, |(core, _)| core as u16)
}
