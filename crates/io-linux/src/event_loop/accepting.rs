//! New clients: which core takes them, and what becomes of those for whom there is no room.

use super::{CONNECTION_EVENTS, EventLoop, TOKEN_LISTENERS, Watching, token_of};
use crate::connection::Connection;
use crate::control::Control;
use crate::errno::Errno;
use crate::reactor::{Envelope, LinuxReactor};
use crate::{descriptors, socket};
use io::{Handler, ListenerId, Placement, Reactor};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// How many connections one listener may bring in before the other events have their turn.
const ACCEPTS_MAX: usize = 64;
/// How long accepting rests when the process has no descriptors or memory left for a connection.
const ACCEPT_REST_US: u64 = 100_000;
/// How many clients may be on their way to a core that is full: it refuses them, or cuts as many.
const SURPLUS_MAX: u32 = 64;
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
            match socket::accept(socket.descriptor()) {
                Ok((connection, peer)) if self.has_spare() => self.place(handler, &control, connection, listener, peer),
                // By the descriptor that another core has just given up: if each core served such a client, none could refuse the next one.
                Ok((connection, _)) => self.refuse_and_keep(connection),
                Err(errno) if errno.is_would_block() => return,
                Err(Errno(libc::EMFILE | libc::ENFILE)) if self.make_room(handler) => {}
                Err(Errno(libc::EMFILE | libc::ENFILE)) if self.refuse_with_spare(socket.descriptor()) => {}
                Err(Errno(code @ (libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))) => {
                    tracing::warn!(errno = code, "no descriptors or memory left for another connection: accepting rests for 100 ms");
                    self.unwatch_listeners(Watching::RestingUntil(self.reactor.now.monotonic_us + ACCEPT_REST_US));
                    return;
                }
                // The listener was closed by the node.
                Err(Errno(libc::EINVAL)) => return,
                // This client failed before it was accepted; the next one may be fine.
                Err(_) => {}
            }
        }
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

    /// Gives an accepted connection to its core, or refuses it when that one is full.
    fn place<H: Handler<LinuxReactor<M>>>(
        &mut self,
        handler: &mut H,
        control: &Control,
        socket: OwnedFd,
        listener: ListenerId,
        peer: SocketAddr,
    ) {
        let target = match control.listeners[usize::from(listener.0)].placement {
            Placement::Spread => emptiest_core(control),
            Placement::ByClientPort => peer.port() % self.reactor.cores(),
        };
        let connections = &control.cores[usize::from(target)].connections;
        // A core that is full may have a connection that gives its place.
        if connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= control.connections_max() + SURPLUS_MAX {
            self.forget_connection(target);
            self.refuse();
            return;
        }
        if target == self.reactor.core().0 {
            self.adopt(handler, socket, listener, peer);
        } else {
            self.reactor.mailbox.send(base::CoreId(target), Envelope::Connection { socket, listener, peer });
        }
    }

    pub(super) fn forget_connection(&self, core: u16) {
        let connections = &self.reactor.control.cores[usize::from(core)].connections;
        connections.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
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

    pub(super) fn adopt<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, socket: OwnedFd, listener: ListenerId, peer: SocketAddr) {
        let own = &self.reactor.control.cores[usize::from(self.reactor.core().0)];
        let is_one_too_many = own.connections.load(std::sync::atomic::Ordering::Relaxed) > self.reactor.control.connections_max();
        if is_one_too_many && !self.make_room(handler) {
            self.forget_connection(self.reactor.core().0);
            self.refuse();
            return;
        }
        let connection = Connection::new(socket);
        let descriptor = connection.descriptor();
        let id = self.reactor.connections.insert(connection);
        if let Err(Errno(code)) = self.epoll.add(descriptor, CONNECTION_EVENTS, token_of(id)) {
            tracing::warn!(errno = code, "the kernel cannot watch another connection: closed");
            self.reactor.connections.remove(id);
            self.forget_connection(self.reactor.core().0);
            return;
        }
        handler.accepted(&mut self.reactor, id, listener, peer);
    }

    /// Has the handler give up a connection for another one. `false`: it has none to give.
    fn make_room<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) -> bool {
        let has_room = handler.make_room(&mut self.reactor);
        if has_room {
            // Its place and its descriptor are free at once.
            self.cut_late_connections(handler);
        }
        has_room
    }

    pub(super) fn watch_listeners(&mut self) {
        self.watching = Watching::Yes;
        for (number, listener) in self.reactor.control.listeners.iter().enumerate() {
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

/// The core with fewest connections, the first of equals.
fn emptiest_core(control: &Control) -> u16 {
    let loads = control.cores.iter().map(|core| core.connections.load(std::sync::atomic::Ordering::Relaxed));
    loads.enumerate().min_by_key(|(_, load)| *load).map_or(0, |(core, _)| core as u16)
}
