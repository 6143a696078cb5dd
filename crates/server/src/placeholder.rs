//! A handler that accepts clients and closes their connections: what is wired until the node is.

use base::CoreId;
use io::{ConnectionId, DiskCompletion, Handler, ListenerId, Reactor, Turn};
use std::net::SocketAddr;

/// A core without a node.
pub(crate) struct Placeholder {
    pub(crate) started: bool,
}

impl<R: Reactor> Handler<R> for Placeholder {
    fn accepted(&mut self, reactor: &mut R, connection: ConnectionId, _: ListenerId, _: SocketAddr) {
        reactor.close(connection);
    }
    fn received(&mut self, _: &mut R, _: ConnectionId, _: &[u8]) {}
    fn drained(&mut self, _: &mut R, _: ConnectionId) {}
    fn closed(&mut self, _: &mut R, _: ConnectionId) {}
    fn completed(&mut self, _: &mut R, _: DiskCompletion) {}
    fn message(&mut self, _: &mut R, _: CoreId, _: R::Message) {}
    fn stopping(&mut self, reactor: &mut R) {
        reactor.stop();
    }
    fn turn(&mut self, reactor: &mut R) -> Turn {
        if !self.started {
            self.started = true;
            reactor.start_accepting();
        }
        Turn::Idle
    }
}
