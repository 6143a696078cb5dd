//! One thread of a load: an event loop over its connections.
//!
//! A closed loop answers each reply with the next request; an open loop sends what is due, on whichever connection has room, and what finds
//! none waits while its latency runs. The clock is read once for each piece of bytes that came: a reply's latency is good to the time that it
//! takes to decode the replies that came with it.
//!
//! Where keys choose the connection, the thread has as many requests in flight as all its connections may have, whichever they are on, and what
//! a turn appends to a connection is sent at the turn's end.

mod issue;

use crate::collector::Tail;
use crate::connection::Connection;
use crate::outcome::ThreadUse;
use crate::pacer::{Schedule, Timer};
use crate::recorder::Part;
use crate::router::Router;
use crate::target::TargetError;
use crate::traffic::{Common, Traffic};
use crate::workload::Pace;
use mio::{Events, Poll, Token};
use rustix::time::{ClockId, clock_gettime};
use std::io::ErrorKind;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Acquire;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

const RECEIVE_BYTES: usize = 256 << 10;
const EVENTS_MAX: usize = 1_024;
const TIMER: Token = Token(usize::MAX);
const S: u64 = 1_000_000_000;
/// How often a thread looks for timeouts, connections to be made, the end.
const LOOK_NS: u64 = 50_000_000;
/// As often before the load starts: threads should start together.
const LOOK_STARTING_NS: u64 = 1_000_000;
/// How long a stopped load waits for replies.
const STOP_NS: u64 = S;

/// What a thread tells the one that runs the load.
#[derive(Debug)]
pub(crate) enum Message {
    /// All its connections can be used.
    Ready,
    /// It cannot start.
    Failed(TargetError),
    /// A second is past.
    Part(usize, Part),
    /// It has ended.
    Ended(usize, Tail),
}

/// A thread's loop.
pub(crate) struct Worker<'a> {
    common: &'a Common<'a>,
    index: usize,
    zero: Instant,
    poll: Poll,
    timer: Option<Timer>,
    connections: Vec<Connection>,
    traffic: Traffic<'a>,
    schedule: Option<Schedule>,
    /// Where keys choose the connection.
    router: Option<Router<'a>>,
    /// With a router: how many more requests may be in flight; those that were given up are counted with the next look.
    room: usize,
    /// With a router: connections that something was appended to, or that got replies.
    unflushed: Vec<usize>,
    /// With a router: whether requests were appended since connections took turns last.
    has_appended: bool,
    /// The connection that the next due request is offered first.
    turn: usize,
    /// When the current second ends.
    second_ends_ns: u64,
    /// From here on nothing is due.
    end_ns: u64,
    last_reply_ns: u64,
    /// No operation is left.
    is_out_of_tickets: bool,
    /// When the timer wakes the loop.
    timer_ns: u64,
    messages: Sender<Message>,
}

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issue {
    /// Requests are sent.
    Open,
    /// Only replies are waited for, until then.
    Closed { until_ns: u64 },
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        common: &'a Common<'a>,
        index: usize,
        zero: Instant,
        mut connections: Vec<Connection>,
        poll: Poll,
        messages: Sender<Message>,
    ) -> std::io::Result<Self> {
        let timer = match common.plan.pace {
            Pace::Open(_) => Some(Timer::new(poll.registry(), TIMER)?),
            Pace::Closed | Pace::Batches => None,
        };
        let router = common.newest_ring.as_ref().map(|newest| Router::new(newest, &mut connections));
        Ok(Self {
            common,
            index,
            zero,
            poll,
            timer,
            connections,
            traffic: Traffic::new(common, index as u64),
            schedule: None,
            router,
            room: 0,
            unflushed: Vec::new(),
            has_appended: false,
            turn: 0,
            second_ends_ns: u64::MAX,
            end_ns: u64::MAX,
            last_reply_ns: 0,
            is_out_of_tickets: false,
            timer_ns: 0,
            messages,
        })
    }

    /// Runs until the load is over.
    pub(crate) fn run(mut self) {
        let mut buffer = vec![0; RECEIVE_BYTES];
        let mut events = Events::with_capacity(EVENTS_MAX);
        match self.connect_all(&mut events, &mut buffer) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                let _ = self.messages.send(Message::Failed(error));
                return;
            }
        }
        let Some(start_ns) = self.wait_for_start(&mut events, &mut buffer) else { return };
        let cpu_before = cpu_s();
        self.drive(start_ns, &mut events, &mut buffer);
        let now_ns = self.now_ns();
        for connection in &mut self.connections {
            connection.forget_all(&mut self.traffic);
        }
        self.traffic.batch_ended(self.last_reply_ns);
        let last_reply_ns = self.last_reply_ns.saturating_sub(start_ns);
        if let Some(part) = self.traffic.recorder.take_last(last_reply_ns) {
            let _ = self.messages.send(Message::Part(self.index, part));
        }
        let sum = |of: fn(&Connection) -> u64| self.connections.iter().map(of).sum();
        let tail = Tail {
            last_reply_ns,
            verified: self.traffic.verified(),
            bytes_sent: sum(|connection| connection.bytes_sent),
            bytes_received: sum(|connection| connection.bytes_received),
            reconnects: sum(|connection| connection.reconnects),
            threads: vec![ThreadUse { cpu_s: cpu_s() - cpu_before, wall_s: (now_ns - start_ns) as f64 / S as f64 }],
        };
        let _ = self.messages.send(Message::Ended(self.index, tail));
    }

    fn now_ns(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64
    }

    /// Until every connection can be used; `false` when the load was stopped first.
    fn connect_all(&mut self, events: &mut Events, buffer: &mut [u8]) -> Result<bool, TargetError> {
        let give_up_ns = self.now_ns() + ns(self.common.plan.limits.connect_s);
        let mut fault = None;
        while !self.connections.iter().all(Connection::is_up) {
            if self.common.control.is_stopped() || self.common.given_up.load(Acquire) {
                return Ok(false);
            }
            let now_ns = self.now_ns();
            for index in 0..self.connections.len() {
                if let Err(error) = self.connections[index].try_connect(self.poll.registry(), now_ns) {
                    fault = Some(error);
                }
            }
            for (_, error) in self.turn(events, buffer, LOOK_NS) {
                match error {
                    // Nothing that time mends.
                    TargetError::Credentials { .. } | TargetError::Refused { .. } | TargetError::Protocol { .. } => return Err(error),
                    _ => fault = Some(error),
                }
            }
            if now_ns > give_up_ns {
                let address = self.common.addresses[0];
                return Err(fault.unwrap_or(TargetError::Silent { address, seconds: self.common.plan.limits.connect_s }));
            }
        }
        let _ = self.messages.send(Message::Ready);
        Ok(true)
    }

    /// Until all threads are ready; none when the load was given up before.
    fn wait_for_start(&mut self, events: &mut Events, buffer: &mut [u8]) -> Option<u64> {
        loop {
            let start_ns = self.common.start_ns.load(Acquire);
            if start_ns > 0 {
                return Some(start_ns);
            }
            if self.common.given_up.load(Acquire) {
                return None;
            }
            self.turn(events, buffer, LOOK_STARTING_NS);
        }
    }

    fn drive(&mut self, start_ns: u64, events: &mut Events, buffer: &mut [u8]) {
        let plan = self.common.plan;
        self.second_ends_ns = start_ns + S;
        self.last_reply_ns = start_ns;
        self.end_ns = plan.end.seconds.map_or(u64::MAX, |seconds| start_ns + ns(seconds));
        if let Pace::Open(rate) = plan.pace {
            self.schedule = Some(Schedule::new(start_ns, rate, self.index as u64, u64::from(plan.clients.threads.max(1))));
        }
        let mut issue = Issue::Open;
        let mut look_ns = 0;
        loop {
            let now_ns = self.now_ns();
            self.end_seconds(now_ns);
            // In a closed loop replies bring the next requests; only what begins, comes back or times out is looked for.
            let mut look_for_room = self.schedule.is_some() || self.is_out_of_tickets;
            if now_ns >= look_ns {
                look_ns = now_ns + LOOK_NS;
                look_for_room = true;
                self.look(now_ns, &mut issue);
            }
            if issue == Issue::Open && look_for_room {
                issue = self.issue(now_ns);
            }
            if let Issue::Closed { until_ns } = issue
                && (now_ns >= until_ns || self.connections.iter().all(|connection| connection.in_flight() == 0))
            {
                break;
            }
            let wait_ns = look_ns.min(self.second_ends_ns).saturating_sub(now_ns);
            let closed_loop = issue == Issue::Open && self.schedule.is_none();
            for (index, error) in self.turn_with(events, buffer, wait_ns, closed_loop) {
                self.lose(index, &error);
            }
            self.traffic.batch_ended(self.last_reply_ns);
        }
        self.count_unsent(start_ns);
    }

    /// Requests of an open loop that were due and found no room until the end.
    fn count_unsent(&mut self, start_ns: u64) {
        let stopped = self.common.control.is_stopped() || self.common.given_up.load(Acquire);
        let (Some(schedule), Some(seconds), false) = (&self.schedule, self.common.plan.end.seconds, stopped) else { return };
        let left = schedule.left_before(start_ns + ns(seconds));
        if left > 0 && self.traffic.has_tickets() {
            self.traffic.recorder.count("not sent", "no connection had room before the load ended", left);
        }
    }

    /// Timeouts, connections that are to be made again, nodes that come and go, orders to stop.
    fn look(&mut self, now_ns: u64, issue: &mut Issue) {
        let limits = self.common.plan.limits;
        if let Some(router) = &mut self.router {
            router.follow(&mut self.connections);
        }
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            let outcome = connection.give_up(&mut self.traffic, now_ns, limits);
            connection.leave(self.poll.registry(), now_ns);
            let outcome = outcome.and_then(|()| connection.try_connect(self.poll.registry(), now_ns));
            if let Err(error) = outcome {
                self.lose(index, &error);
            }
        }
        let may_have = self.connections.len() * self.common.plan.clients.in_flight as usize;
        self.room = may_have.saturating_sub(self.connections.iter().map(Connection::in_flight).sum());
        if self.common.given_up.load(Acquire) {
            *issue = Issue::Closed { until_ns: 0 };
        } else if self.common.control.is_stopped() && *issue == Issue::Open {
            *issue = Issue::Closed { until_ns: now_ns + STOP_NS };
        }
    }

    fn turn(&mut self, events: &mut Events, buffer: &mut [u8], wait_ns: u64) -> Vec<(usize, TargetError)> {
        let failed = self.turn_with(events, buffer, wait_ns, false);
        let now_ns = self.now_ns();
        for (index, error) in &failed {
            self.connections[*index].go_down(self.poll.registry(), &mut self.traffic, now_ns, &error.to_string());
        }
        failed
    }

    /// Waits for events and handles them. Connections that broke, with why; no memory is taken when none did.
    fn turn_with(&mut self, events: &mut Events, buffer: &mut [u8], wait_ns: u64, closed_loop: bool) -> Vec<(usize, TargetError)> {
        let mut broken = Vec::new();
        match self.poll.poll(events, Some(Duration::from_nanos(wait_ns))) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return broken,
            // A poll of our own sockets fails only when memory is out.
            outcome => outcome.expect("epoll_wait on sockets of our own"),
        }
        for event in events.iter() {
            if event.token() == TIMER {
                continue;
            }
            let index = event.token().0;
            let mut outcome = Ok(());
            if event.is_writable() || event.is_error() {
                let now_ns = self.now_ns();
                outcome = self.connections[index].writable(now_ns);
            }
            if outcome.is_ok() && event.is_readable() {
                outcome = self.receive(index, buffer, closed_loop);
            }
            if let Err(error) = outcome {
                broken.push((index, error));
            }
        }
        self.flush_appended(&mut broken);
        broken
    }

    /// Takes all that has come on a connection, and in a closed loop sends what comes next.
    fn receive(&mut self, index: usize, buffer: &mut [u8], closed_loop: bool) -> Result<(), TargetError> {
        loop {
            let Some(length) = self.connections[index].read(buffer)? else { return Ok(()) };
            let now_ns = self.now_ns();
            self.end_seconds(now_ns);
            let before = self.traffic.recorder.batch();
            let in_flight = self.connections[index].in_flight();
            let outcome = self.connections[index].take(&buffer[..length], &mut self.traffic, now_ns);
            self.room += in_flight - self.connections[index].in_flight();
            if self.traffic.recorder.batch() > before {
                self.last_reply_ns = now_ns;
            }
            outcome?;
            let fills = closed_loop && now_ns < self.end_ns;
            if self.router.is_some() {
                if fills {
                    self.fill_by_key(now_ns);
                }
                self.mark_unflushed(index);
            } else {
                if fills {
                    self.fill(index, now_ns);
                }
                self.connections[index].send_all()?;
            }
            // Less than there was room for: the next byte is a new event.
            if length < buffer.len() {
                return Ok(());
            }
        }
    }

    /// Hands over the seconds that are past.
    #[inline]
    fn end_seconds(&mut self, now_ns: u64) {
        while now_ns >= self.second_ends_ns {
            self.second_ends_ns += S;
            let part = self.traffic.recorder.take();
            let _ = self.messages.send(Message::Part(self.index, part));
        }
    }

    fn lose(&mut self, index: usize, error: &TargetError) {
        let now_ns = self.now_ns();
        self.connections[index].go_down(self.poll.registry(), &mut self.traffic, now_ns, &error.to_string());
        *self.common.last_fault.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * S as f64) as u64
}

/// CPU seconds of this thread.
fn cpu_s() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / S as f64
}
