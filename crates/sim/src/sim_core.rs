//! A core of a node over the simulated reactor, compiled once.
//!
//! [`node::Core`] handles events of any reactor, so every program that calls it compiles the whole node for its reactor. [`SimCore`] calls it from
//! functions that are not generic: the node for [`SimReactor`] is in this crate's own code, and tests only link it.

use crate::reactor::SimReactor;
use base::CoreId;
use io::{ConnectionId, DiskCompletion, Handler, ListenerId, Turn};
use node::{Core, Message};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

/// A core of a simulated node.
pub struct SimCore(Core);

impl From<Core> for SimCore {
    fn from(core: Core) -> Self {
        Self(core)
    }
}

impl Deref for SimCore {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.0
    }
}

impl DerefMut for SimCore {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.0
    }
}

// Inlined into a caller, each of these would bring the node with it.
impl Handler<SimReactor> for SimCore {
    #[inline(never)]
    fn accepted(&mut self, reactor: &mut SimReactor, connection: ConnectionId, listener: ListenerId, peer: SocketAddr) {
        self.0.accepted(reactor, connection, listener, peer);
    }

    #[inline(never)]
    fn connected(&mut self, reactor: &mut SimReactor, connection: ConnectionId) {
        self.0.connected(reactor, connection);
    }

    #[inline(never)]
    fn received(&mut self, reactor: &mut SimReactor, connection: ConnectionId, bytes: &[u8]) {
        self.0.received(reactor, connection, bytes);
    }

    #[inline(never)]
    fn drained(&mut self, reactor: &mut SimReactor, connection: ConnectionId) {
        self.0.drained(reactor, connection);
    }

    #[inline(never)]
    fn closed(&mut self, reactor: &mut SimReactor, connection: ConnectionId) {
        self.0.closed(reactor, connection);
    }

    #[inline(never)]
    fn completed(&mut self, reactor: &mut SimReactor, completion: DiskCompletion) {
        self.0.completed(reactor, completion);
    }

    #[inline(never)]
    fn message(&mut self, reactor: &mut SimReactor, from: CoreId, message: Message) {
        self.0.message(reactor, from, message);
    }

    #[inline(never)]
    fn stopping(&mut self, reactor: &mut SimReactor) {
        self.0.stopping(reactor);
    }

    #[inline(never)]
    fn turn(&mut self, reactor: &mut SimReactor) -> Turn {
        self.0.turn(reactor)
    }
}
