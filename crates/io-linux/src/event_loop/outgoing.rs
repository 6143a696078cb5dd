//! Connections that this core asked for, until they are made.

use super::{CONNECTION_EVENTS, EventLoop, token_of};
use crate::connection::{Flush, Phase};
use crate::errno::Errno;
use crate::reactor::LinuxReactor;
use io::{ConnectionId, Handler};

impl<M: Send + 'static> EventLoop<M> {
    /// Tells the handler of connections that could not even be begun.
    pub(super) fn close_failed_connects<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        for (id, Errno(code)) in std::mem::take(&mut self.reactor.failed_connects) {
            handler.unreachable(&mut self.reactor, id, code);
        }
    }

    /// Begins to wait for connections that were begun in this batch.
    pub(super) fn watch_outgoing<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        for id in std::mem::take(&mut self.reactor.unwatched) {
            let Some(connection) = self.reactor.connections.get(id) else { continue };
            if let Err(Errno(code)) = self.epoll.add(connection.descriptor(), CONNECTION_EVENTS, token_of(id)) {
                tracing::warn!(errno = code, "the kernel cannot watch another connection: closed");
                self.remove(handler, id);
            }
        }
    }

    /// Whether a connection that has an event is more than an attempt; tells the handler when it has just become so, or has failed.
    pub(super) fn is_made<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, id: ConnectionId, events: libc::c_int) -> bool {
        let Some(connection) = self.reactor.connections.get_mut(id) else { return false };
        if connection.phase != Phase::Connecting {
            return true;
        }
        if events & (libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP) == 0 {
            return false;
        }
        let had_output = match connection.made() {
            Ok(had_output) => had_output,
            Err(errno) => {
                self.give_up(handler, id, errno);
                return false;
            }
        };
        handler.connected(&mut self.reactor, id);
        if had_output && self.flush(handler, id) == Some(Flush::Done) {
            handler.drained(&mut self.reactor, id);
        }
        true
    }

    /// Ends attempts that have taken too long.
    pub(super) fn give_up_connecting<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        while let Some((at_us, id)) = self.reactor.connecting.front().copied() {
            if self.reactor.connections.get(id).is_some_and(|connection| connection.phase == Phase::Connecting) {
                if at_us > self.reactor.now.monotonic_us {
                    return;
                }
                self.give_up(handler, id, Errno(libc::ETIMEDOUT));
            }
            self.reactor.connecting.pop_front();
        }
    }

    /// Ends an attempt that has failed.
    fn give_up<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, id: ConnectionId, Errno(code): Errno) {
        if self.forget(id) {
            handler.unreachable(&mut self.reactor, id, code);
        }
    }
}
