//! One connection under load: its socket, its session, its requests in flight.
//!
//! ```text
//! down ─► connecting ─► handshake ─► up ─► down: whatever was in flight is lost, and it is tried again after a pause that doubles
//! ```
//! A connection that is to go elsewhere gets no further requests, and is closed and made anew when nothing is in flight on it.
//!
//! A request that is given up keeps its stream until its late reply comes, or the connection ends; another stream takes its place.

mod settling;
mod slots;

use crate::plan::Limits;
use crate::socket;
use crate::target::{Route, Session, TargetError};
use crate::traffic::{Pending, Traffic};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustix::net::{self, RecvFlags, SendFlags};
use settling::Settling;
use slots::{Slot, Slots};
use std::io::{self, ErrorKind};

/// Streams of requests that were given up before the connection is made anew.
const GIVEN_UP_MAX: usize = 1_024;
/// Bytes that a connection may have waiting before it gets no further requests.
const OUT_BYTES_MAX: usize = 4 << 20;
const PAUSE_NS_MIN: u64 = 50_000_000;
const PAUSE_DOUBLINGS_MAX: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Down { again_ns: u64 },
    Connecting { since_ns: u64 },
    Handshake { since_ns: u64 },
    Up,
}

/// A connection.
pub(crate) struct Connection {
    route: Route,
    /// Whether it leads somewhere else and is to be closed when nothing is in flight.
    moves: bool,
    token: Token,
    session: Box<dyn Session>,
    socket: Option<TcpStream>,
    state: State,
    slots: Slots,
    in_flight_max: usize,
    out: Vec<u8>,
    sent: usize,
    /// Whether [`Connection::send_all`] is due.
    unflushed: bool,
    attempts: u32,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    /// Times that it was made anew.
    pub(crate) reconnects: u64,
}

impl Connection {
    pub(crate) fn new(route: Route, token: Token, session: Box<dyn Session>, in_flight_max: u32, fields: usize) -> Self {
        Self {
            route,
            moves: false,
            token,
            session,
            socket: None,
            state: State::Down { again_ns: 0 },
            slots: Slots::new(fields),
            in_flight_max: in_flight_max as usize,
            out: Vec::new(),
            sent: 0,
            unflushed: false,
            attempts: 0,
            bytes_sent: 0,
            bytes_received: 0,
            reconnects: 0,
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// Requests that wait for replies.
    pub(crate) fn in_flight(&self) -> usize {
        self.slots.waiting
    }

    /// Whether another request can be sent.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.slots.waiting < self.in_flight_max && self.is_up() && self.out.len() < OUT_BYTES_MAX && !self.moves
    }

    /// Where it leads, or is to lead.
    pub(crate) fn route(&self) -> Route {
        self.route
    }

    /// Leads to `route` from now on.
    pub(crate) fn move_to(&mut self, route: Route) {
        if self.route != route {
            self.route = route;
            self.moves = true;
        }
    }

    /// Closes a connection that is to go elsewhere, when nothing is in flight on it.
    pub(crate) fn leave(&mut self, registry: &Registry, now_ns: u64) {
        if self.moves && self.slots.waiting == 0 {
            self.close(registry);
            self.state = State::Down { again_ns: now_ns };
            self.attempts = 0;
        }
    }

    fn close(&mut self, registry: &Registry) {
        if let Some(mut socket) = self.socket.take() {
            // It is closed right away, which takes it out of the poll as well.
            let _ = registry.deregister(&mut socket);
        }
        self.slots.reset();
        self.out.clear();
        self.sent = 0;
        self.unflushed = false;
        self.moves = false;
    }

    /// Starts to connect when it is time to.
    pub(crate) fn try_connect(&mut self, registry: &Registry, now_ns: u64) -> Result<(), TargetError> {
        let State::Down { again_ns } = self.state else { return Ok(()) };
        if now_ns < again_ns {
            return Ok(());
        }
        let address = self.route.address;
        let connect = |source| TargetError::Connect { address, source };
        // Load machines, threads and attempts begin at different ports.
        let seed = now_ns ^ u64::from(std::process::id()) << 32;
        let made = socket::connect(&self.route, self.attempts, seed.wrapping_add(self.token.0 as u64)).and_then(|mut socket| {
            registry.register(&mut socket, self.token, Interest::READABLE | Interest::WRITABLE)?;
            Ok(socket)
        });
        match made {
            Ok(socket) => {
                self.socket = Some(socket);
                self.state = State::Connecting { since_ns: now_ns };
                Ok(())
            }
            Err(source) => {
                self.pause(now_ns);
                Err(connect(source))
            }
        }
    }

    fn pause(&mut self, now_ns: u64) {
        self.state = State::Down { again_ns: now_ns + (PAUSE_NS_MIN << self.attempts.min(PAUSE_DOUBLINGS_MAX)) };
        self.attempts += 1;
    }

    /// The connection is of no use any more: what is in flight is lost.
    pub(crate) fn go_down(&mut self, registry: &Registry, traffic: &mut Traffic<'_>, now_ns: u64, why: &str) {
        for slot in &self.slots.slots {
            if let Slot::Waiting(pending) = slot {
                traffic.failed(pending, "connection lost", why);
            }
        }
        self.close(registry);
        if self.is_up() {
            self.reconnects += 1;
            self.attempts = 0;
        }
        self.pause(now_ns);
    }

    /// The socket can be written to: it is connected, or has room again.
    pub(crate) fn writable(&mut self, now_ns: u64) -> Result<(), TargetError> {
        let address = self.route.address;
        if let (State::Connecting { .. }, Some(socket)) = (self.state, &self.socket) {
            let connect = |source| TargetError::Connect { address, source };
            if let Some(source) = socket.take_error().map_err(connect)? {
                return Err(connect(source));
            }
            match socket.peer_addr() {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(()),
                Err(source) => return Err(connect(source)),
            }
            socket.set_nodelay(true).map_err(connect)?;
            self.state = State::Handshake { since_ns: now_ns };
            self.session.open(&mut self.out);
        }
        // What has been appended in this turn is completed and sent at its end.
        if self.unflushed { Ok(()) } else { self.flush() }
    }

    /// Hands to the kernel what it takes.
    pub(crate) fn flush(&mut self) -> Result<(), TargetError> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        if matches!(self.state, State::Connecting { .. }) {
            return Ok(());
        }
        while self.sent < self.out.len() {
            // Directly: the C library makes `send` and `recv` points of cancellation, which costs as much as what is done with a reply.
            match net::send(&*socket, &self.out[self.sent..], SendFlags::NOSIGNAL).map_err(io::Error::from) {
                Ok(length) => {
                    self.sent += length;
                    self.bytes_sent += length as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(TargetError::Broken { address: self.route.address, source }),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Reads once into `buffer`; the number of bytes that came, none when nothing is there.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, TargetError> {
        let Some(socket) = &mut self.socket else { return Ok(None) };
        let broken = |source| TargetError::Broken { address: self.route.address, source };
        loop {
            match net::recv(&*socket, &mut *buffer, RecvFlags::empty()).map_err(io::Error::from).map(|(length, _)| length) {
                Ok(0) => return Err(broken(ErrorKind::UnexpectedEof.into())),
                Ok(length) => {
                    self.bytes_received += length as u64;
                    return Ok(Some(length));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(broken(source)),
            }
        }
    }

    /// Settles the replies in `bytes`, which came at `now_ns`, and appends second halves to what is to be sent.
    pub(crate) fn take(&mut self, bytes: &[u8], traffic: &mut Traffic<'_>, now_ns: u64) -> Result<(), TargetError> {
        let mut settling = Settling { slots: &mut self.slots, traffic, now_ns, stray: None };
        self.session.receive(bytes, &mut self.out, &mut settling)?;
        if let Some(stream) = settling.stray {
            let what = format!("a reply on stream {stream}, on which nothing was asked").into();
            return Err(TargetError::Protocol { protocol: "its protocol", what });
        }
        if matches!(self.state, State::Handshake { .. }) && self.session.is_ready() {
            self.state = State::Up;
            self.attempts = 0;
        }
        while let Some(stream) = self.slots.second_halves.pop() {
            let Slot::Waiting(pending) = self.slots.slots[usize::from(stream)] else { continue };
            traffic.send(self.session.as_mut(), stream, &pending, &mut [], &mut self.out);
        }
        Ok(())
    }

    /// Appends a request. Only when there is room.
    #[inline]
    pub(crate) fn send(&mut self, pending: Pending, traffic: &mut Traffic<'_>) {
        let stream = self.slots.take_stream();
        traffic.send(self.session.as_mut(), stream, &pending, self.slots.known(stream), &mut self.out);
        self.slots.slots[usize::from(stream)] = Slot::Waiting(pending);
        self.slots.waiting += 1;
    }

    /// Says that [`Connection::send_all`] is due; whether it was not already.
    #[inline]
    pub(crate) fn mark_unflushed(&mut self) -> bool {
        !std::mem::replace(&mut self.unflushed, true)
    }

    /// Completes and sends what was appended.
    pub(crate) fn send_all(&mut self) -> Result<(), TargetError> {
        self.unflushed = false;
        self.session.flush(&mut self.out);
        self.flush()
    }

    /// Gives up requests, and a handshake, that take longer than `limits` allow.
    pub(crate) fn give_up(&mut self, traffic: &mut Traffic<'_>, now_ns: u64, limits: Limits) -> Result<(), TargetError> {
        let since = |seconds: f64| now_ns.saturating_sub((seconds * 1e9) as u64);
        let silent = |seconds| Err(TargetError::Silent { address: self.route.address, seconds });
        let sent_before_ns = since(limits.request_s);
        match self.state {
            State::Connecting { since_ns } | State::Handshake { since_ns } if since_ns < since(limits.connect_s) => {
                return silent(limits.connect_s);
            }
            _ => {}
        }
        if self.slots.waiting == 0 {
            return Ok(());
        }
        for slot in &mut self.slots.slots {
            if let Slot::Waiting(pending) = slot
                && pending.sent_ns < sent_before_ns
            {
                traffic.failed(pending, "timeout", "no reply in time");
                *slot = Slot::GivenUp;
                self.slots.waiting -= 1;
                self.slots.given_up += 1;
            }
        }
        if self.slots.given_up > GIVEN_UP_MAX {
            return Err(TargetError::Silent { address: self.route.address, seconds: limits.request_s });
        }
        Ok(())
    }

    /// The load is over: what is in flight is not counted.
    pub(crate) fn forget_all(&mut self, traffic: &mut Traffic<'_>) {
        for slot in &self.slots.slots {
            if let Slot::Waiting(pending) = slot {
                traffic.forget(pending);
            }
        }
        self.slots.reset();
    }
}
