//! One core's loop: wait, read the clocks, call the handler with everything that happened, give it its turn, wake peers, submit disk
//! operations, send.
//!
//! Invariants: the loop sleeps only when nothing is left to do; each source is served in bounded batches, so none starves another; a
//! connection's bytes are delivered in order and never after `closed`; the handler is never told of bytes or messages at a time before
//! they came.

mod accepting;
mod outgoing;

use crate::backlog::Backlog;
use crate::connection::{Flush, Phase};
use crate::epoll::{Epoll, Timer, Wait};
use crate::errno::Errno;
use crate::reactor::{Envelope, LinuxReactor};
use crate::signals::{SignalSource, exit_now};
use crate::{clock, descriptors};
use io::{ConnectionId, Handler, ListenerId, Reactor, Turn};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The receive buffer of a core: what one connection may deliver before the next one has its turn.
const RECEIVE_BYTES: usize = 64 * 1024;
/// How soon a core looks again whether a peer's full ring has space.
const BACKED_UP_US: u64 = 100;

/// Tokens with this index are not connections.
const SPECIAL: u32 = u32::MAX;
const TOKEN_WAKE: u64 = special(0);
const TOKEN_TIMER: u64 = special(1);
const TOKEN_DISK: u64 = special(2);
const TOKEN_SIGNALS: u64 = special(3);
/// Listener `n` has the token `TOKEN_LISTENERS + n`.
const TOKEN_LISTENERS: u64 = special(16);

const fn special(number: u32) -> u64 {
    ((SPECIAL as u64) << 32) | number as u64
}

const fn token_of(connection: ConnectionId) -> u64 {
    ((connection.index as u64) << 32) | connection.generation as u64
}

const CONNECTION_EVENTS: libc::c_int = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;

/// Whether this core watches the listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watching {
    /// No: the node is not ready, or drains.
    No,
    /// Yes.
    Yes,
    /// Not before this time: resources had run out.
    RestingUntil(u64),
}

/// A core's loop and what it waits with.
pub(crate) struct EventLoop<M> {
    epoll: Epoll,
    timer: Timer,
    signals: Option<SignalSource>,
    pub(crate) reactor: LinuxReactor<M>,
    /// Given up for a moment to refuse a client when there is no other descriptor left.
    spare: Option<OwnedFd>,
    backlog: Backlog,
    receive_buffer: Box<[u8]>,
    seen_generation: u32,
    told_stopping: bool,
    watching: Watching,
    /// The listener that is watched, and so heard, before the others.
    listener_first: usize,
    refused: u64,
    refused_warned_us: u64,
}

impl<M: Send + 'static> EventLoop<M> {
    /// Opens what the loop waits with, on the thread that will run it.
    pub(crate) fn new(reactor: LinuxReactor<M>, signals: Option<SignalSource>) -> Result<Self, Errno> {
        let (epoll, timer) = (Epoll::new()?, Timer::new()?);
        let own = &reactor.control.cores[usize::from(reactor.core().0)];
        epoll.add(own.wake_descriptor(), libc::EPOLLIN | libc::EPOLLET, TOKEN_WAKE)?;
        epoll.add(timer.descriptor(), libc::EPOLLIN | libc::EPOLLET, TOKEN_TIMER)?;
        if let Some(completions) = reactor.disk.descriptor() {
            epoll.add(completions, libc::EPOLLIN | libc::EPOLLET, TOKEN_DISK)?;
        }
        if let Some(signals) = &signals {
            epoll.add(signals.descriptor(), libc::EPOLLIN, TOKEN_SIGNALS)?;
        }
        Ok(Self {
            epoll,
            timer,
            signals,
            reactor,
            spare: descriptors::spare(),
            backlog: Backlog::default(),
            receive_buffer: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            // Different from the control's: the first batch looks at all flags.
            seen_generation: u32::MAX,
            told_stopping: false,
            watching: Watching::No,
            listener_first: 0,
            refused: 0,
            refused_warned_us: 0,
        })
    }

    /// Runs until the node stops.
    pub(crate) fn run<H: Handler<LinuxReactor<M>>>(mut self, mut handler: H) {
        let mut turn = Turn::Again;
        loop {
            let wait = self.prepare_wait(turn);
            let asleep = (wait == Wait::Sleep).then(|| self.reactor.clock_us());
            let count = self.epoll.wait(wait).expect("waiting fails only for invalid arguments");
            self.reactor.control.cores[usize::from(self.reactor.core().0)].announce_awake();
            self.reactor.now = clock::read();
            self.reactor.slept_us += asleep.map_or(0, |since_us| self.reactor.now.monotonic_us.saturating_sub(since_us));
            if self.reactor.control.generation() != self.seen_generation {
                self.control_changed(&mut handler);
            }
            if matches!(self.watching, Watching::RestingUntil(at_us) if at_us <= self.reactor.now.monotonic_us) {
                self.watch_listeners();
            }
            self.close_failed_connects(&mut handler);
            self.deliver_completions(&mut handler);
            self.deliver_messages(&mut handler);
            self.read_on(&mut handler);
            for index in 0..count {
                let (events, token) = self.epoll.event(index);
                self.event(&mut handler, events, token);
            }
            self.cut_late_connections(&mut handler);
            self.admit(&mut handler);
            self.give_up_connecting(&mut handler);
            turn = handler.turn(&mut self.reactor);
            self.start_work();
            self.flush_dirty(&mut handler);
            // Closing connections may have made the handler send again.
            self.start_work();
            self.watch_outgoing(&mut handler);
            if self.reactor.control.is_stopped() {
                break;
            }
        }
        drop(handler);
        self.reactor.disk.finish();
    }

    /// Gives other cores and the kernel the work that the handler made.
    fn start_work(&mut self) {
        let control = Arc::clone(&self.reactor.control);
        self.reactor.mailbox.announce(&control);
        self.reactor.disk.submit();
    }

    /// Decides whether to sleep, and arms the timer for the earliest deadline.
    fn prepare_wait(&mut self, turn: Turn) -> Wait {
        let reactor = &mut self.reactor;
        if turn == Turn::Again || !reactor.readable.is_empty() || !reactor.failed_connects.is_empty() || reactor.disk.is_ready() {
            return Wait::Poll;
        }
        let now_us = self.reactor.now.monotonic_us;
        let deadlines = [
            if let Turn::At(at_us) = turn { Some(at_us) } else { None },
            self.reactor.ending.front().map(|(at_us, _)| *at_us),
            self.reactor.connecting.front().map(|(at_us, _)| *at_us),
            if let Watching::RestingUntil(at_us) = self.watching { Some(at_us) } else { None },
            self.backlog.due_us(),
            self.reactor.mailbox.is_backed_up().then_some(now_us + BACKED_UP_US),
        ];
        if let Some(deadline_us) = deadlines.into_iter().flatten().min() {
            if deadline_us <= now_us {
                return Wait::Poll;
            }
            self.timer.arm(deadline_us).expect("a timer takes every time");
        }
        let own = &self.reactor.control.cores[usize::from(self.reactor.core().0)];
        own.announce_sleep();
        let has_work =
            self.reactor.mailbox.has_mail() || own.has_completions() || self.reactor.control.generation() != self.seen_generation;
        if has_work { Wait::Poll } else { Wait::Sleep }
    }

    fn control_changed<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        self.seen_generation = self.reactor.control.generation();
        match (self.reactor.control.is_open(), self.watching) {
            (true, Watching::No) => self.watch_listeners(),
            (false, Watching::Yes | Watching::RestingUntil(_)) => {
                self.unwatch_listeners(Watching::No);
                self.turn_backlog_away();
            }
            _ => {}
        }
        if self.reactor.control.is_stopping() && !self.told_stopping {
            self.told_stopping = true;
            handler.stopping(&mut self.reactor);
        }
    }

    fn deliver_completions<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        self.reactor.disk.set_now(self.reactor.now.monotonic_us);
        self.reactor.disk.submit();
        while let Some(completion) = self.reactor.disk.next_completion() {
            handler.completed(&mut self.reactor, completion);
        }
        let own = &self.reactor.control.cores[usize::from(self.reactor.core().0)];
        if own.has_completions() {
            for completion in own.take_completions() {
                handler.completed(&mut self.reactor, completion);
            }
        }
    }

    fn deliver_messages<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        let own = self.reactor.core();
        for _ in 0..self.reactor.mailbox.own_len() {
            if let Some(Envelope::Message(message)) = self.reactor.mailbox.receive_own() {
                handler.message(&mut self.reactor, own, message);
            }
        }
        for from in 0..self.reactor.cores() {
            let waiting = self.reactor.mailbox.inbound_len(usize::from(from));
            if waiting > 0 {
                self.reactor.now = clock::read_again(self.reactor.now);
            }
            for _ in 0..waiting {
                match self.reactor.mailbox.receive(usize::from(from)) {
                    Some(Envelope::Message(message)) => handler.message(&mut self.reactor, base::CoreId(from), message),
                    Some(Envelope::Connection(client)) => self.adopt(handler, client),
                    None => break,
                }
            }
        }
    }

    fn event<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, events: u32, token: u64) {
        match token {
            // These only end the wait; what they tell of is looked at in every batch.
            TOKEN_WAKE | TOKEN_DISK => {}
            TOKEN_TIMER => self.timer.fired(),
            TOKEN_SIGNALS => self.take_signals(),
            _ if token >= TOKEN_LISTENERS => self.accept(handler, ListenerId((token - TOKEN_LISTENERS) as u16)),
            _ => {
                let id = ConnectionId { index: (token >> 32) as u32, generation: token as u32 };
                self.connection_event(handler, id, events as libc::c_int);
            }
        }
    }

    fn connection_event<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, id: ConnectionId, events: libc::c_int) {
        if !self.is_made(handler, id, events) {
            return;
        }
        let Some(connection) = self.reactor.connections.get_mut(id) else { return };
        if events & libc::EPOLLOUT != 0 && connection.blocked {
            connection.blocked = false;
            if self.flush(handler, id) == Some(Flush::Done) {
                handler.drained(&mut self.reactor, id);
            }
        }
        let Some(connection) = self.reactor.connections.get_mut(id) else { return };
        if events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0 {
            connection.ending = true;
        }
        if events & (libc::EPOLLERR | libc::EPOLLHUP) != 0 && !connection.reading {
            // Both directions are gone, and a handler that does not read would never hear of it.
            self.remove(handler, id);
            return;
        }
        connection.readable = true;
        if !connection.queued {
            self.read(handler, id);
        }
    }

    /// Reads on from connections that have more bytes than one read takes, or that read again.
    fn read_on<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        let count = self.reactor.readable.len();
        for index in 0..count {
            let id = self.reactor.readable[index];
            if let Some(connection) = self.reactor.connections.get_mut(id) {
                connection.queued = false;
                self.read(handler, id);
            }
        }
        self.reactor.readable.drain(..count);
    }

    /// Reads once from a connection and delivers the bytes.
    fn read<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, id: ConnectionId) {
        let Some(connection) = self.reactor.connections.get_mut(id) else { return };
        if !connection.wants_reading() {
            return;
        }
        let phase = connection.phase;
        match connection.receive(&mut self.receive_buffer) {
            Ok(0) => match phase {
                Phase::Open => self.reactor.close(id),
                Phase::Connecting | Phase::Flushing => {}
                Phase::Lingering => self.remove(handler, id),
            },
            Ok(count) => {
                if phase == Phase::Open {
                    self.reactor.now = clock::read_again(self.reactor.now);
                    handler.received(&mut self.reactor, id, &self.receive_buffer[..count]);
                }
                self.reactor.mark_readable(id);
            }
            Err(errno) if errno.is_would_block() => self.reactor.mark_readable(id),
            Err(Errno(libc::EINTR)) => self.reactor.mark_readable(id),
            Err(_) => self.remove(handler, id),
        }
    }

    fn flush_dirty<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        let mut index = 0;
        // Closing a connection may make others dirty: the list grows while it is walked.
        while let Some(id) = self.reactor.dirty.get(index).copied() {
            index += 1;
            if let Some(connection) = self.reactor.connections.get_mut(id) {
                connection.dirty = false;
                let paused = !connection.reading;
                // A handler that stopped reading because of what it had written waits for `drained`, also when the kernel took all at once.
                if self.flush(handler, id) == Some(Flush::Done) && paused {
                    handler.drained(&mut self.reactor, id);
                }
            }
        }
        self.reactor.dirty.clear();
    }

    /// Sends; moves a connection that ends on. `None` when it is gone.
    fn flush<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, id: ConnectionId) -> Option<Flush> {
        let connection = self.reactor.connections.get_mut(id)?;
        let Ok(flush) = connection.flush(&mut self.reactor.pool) else {
            self.remove(handler, id);
            return None;
        };
        if flush == Flush::Done && connection.phase == Phase::Flushing {
            if connection.ended {
                self.remove(handler, id);
                return None;
            }
            connection.linger();
        }
        Some(flush)
    }

    pub(super) fn cut_late_connections<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H) {
        while let Some((at_us, id)) = self.reactor.ending.front().copied() {
            if self.reactor.connections.get(id).is_some() && at_us > self.reactor.now.monotonic_us {
                return;
            }
            // Before the handler hears of it, which may end others.
            self.reactor.ending.pop_front();
            self.remove(handler, id);
        }
    }

    fn remove<H: Handler<LinuxReactor<M>>>(&mut self, handler: &mut H, id: ConnectionId) {
        if self.forget(id) {
            handler.closed(&mut self.reactor, id);
        }
    }

    /// Closes a connection, of which the handler is yet to be told. `false`: it is gone already.
    fn forget(&mut self, id: ConnectionId) -> bool {
        let Some(mut connection) = self.reactor.connections.remove(id) else { return false };
        connection.release(&mut self.reactor.pool);
        drop(connection);
        self.forget_connection(self.reactor.core().0);
        // Its place is free for one that waits.
        self.backlog.due_us = 0;
        true
    }

    fn take_signals(&mut self) {
        let Some(seen) = self.signals.as_ref().and_then(SignalSource::take) else { return };
        let is_repeated = self.reactor.control.ask_to_stop();
        if !is_repeated {
            tracing::info!(signal = seen.number, "draining; another signal, a second later, ends at once");
        }
        if seen.is_another_order {
            tracing::warn!(signal = seen.number, "second signal: ending at once without draining");
            exit_now(128 + seen.number);
        }
        if is_repeated {
            tracing::info!(signal = seen.number, "another signal so soon is taken for the same order: draining goes on");
        }
    }
}
