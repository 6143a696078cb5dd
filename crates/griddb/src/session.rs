//! One client connection: from received bytes to statements, one at a time and in order; from replies to bytes to send. No I/O.
//!
//! Here are the statements about the connection itself: CONNECT, which is a client's heartbeat as well and is answered at once, LOGIN, LOGOUT,
//! DISCONNECT, where partitions are, and what version this is. The first CONNECT is in plaintext, and agrees on whether TLS follows. All others need a login and go to the [`Server`], which also says whether a client may log in.

mod addresses;
mod login;
mod row_sets;

pub use addresses::partition_address;
pub use login::{Client, Login};

use self::login::{LoginRequest, PendingLogin};
use self::row_sets::RowSets;
use crate::client::{AUTHENTICATION_MODE, VERSION};
use crate::transaction::{Followed, OpenTransaction, OpenTransactions};
use crate::wire::{FrameHeader, Reader, ReplyHeader, Statement, Status, put_i32, put_string, statement};
use crate::{ErrorCode, GridError};
use base::BufferPool;
use std::net::{IpAddr, SocketAddr};

/// The oldest version that is spoken.
const VERSION_MIN: i32 = 14;
/// A frame that is longer ends the connection; one up to here that is longer than is taken is skipped.
const SKIPPED_BYTES_MAX: usize = 128 << 20;
/// Of a statement that is skipped, what its refusal needs.
const HEAD_BYTES: usize = 16;
/// The size that a connection's first late reply is taken to have.
const REPLY_BYTES_FIRST: usize = 16 << 10;

/// What the session cannot answer itself.
pub trait Server {
    /// The cluster's name; a client that expects another one is refused.
    fn cluster_name(&self) -> &str;

    /// What clients may speak by.
    fn transports(&self) -> Transports;

    /// Whether a client may log in. If the outcome comes later, [`Session::finish_login`] is told.
    ///
    /// # Errors
    /// Why it may not.
    fn log_in(&mut self, login: Login<'_>) -> Result<Progress, GridError>;

    /// The client is nobody any more: it has logged out, or asks to be somebody else.
    fn log_out(&mut self);

    /// The number of a database; none if there is no such.
    fn database(&self, name: &str) -> Option<i64>;

    /// Where clients of this node connect.
    fn address(&self) -> SocketAddr;

    /// Where clients reach who serves a partition of `database`: it is below [`crate::PARTITION_COUNT`]. Who is asked another one's partition sends it on, so any node is right, but this one is fastest.
    fn owner(&self, database: &str, partition: u32) -> SocketAddr;

    /// Buffers for frames that come in several pieces.
    fn buffers(&mut self) -> &mut BufferPool;

    /// A statement of a client that has logged in, and the frame's body. Appends the whole reply, unless that comes later.
    fn statement(&mut self, statement: &Statement<'_>, body: &[u8], client: &Client, out: &mut Vec<u8>) -> Progress;
}

/// By what bytes pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transports {
    /// As they are.
    pub plain: bool,
    /// TLS.
    pub tls: bool,
}

/// Whether a statement has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has.
    Replied,
    /// Its reply comes later.
    Waiting,
}

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a broken connection must be closed"]
pub enum Verdict {
    /// It does.
    Continue,
    /// There is more to serve, once the statement in flight is answered and the client has taken what there is to send: call again with no
    /// bytes then.
    Pause,
    /// What was written is sent as it is; all that comes after it, from either side, is TLS.
    StartTls,
    /// What was written must still be sent, then it ends.
    Close,
}

/// A connection's state.
#[derive(Debug)]
pub struct Session {
    is_ipv6: bool,
    is_encrypted: bool,
    body_bytes_max: usize,
    /// What has arrived and not been served.
    buffer: Vec<u8>,
    /// How much is still to come of a frame that is too long.
    skipped_bytes: usize,
    in_flight: bool,
    /// Once it has logged in.
    client: Option<Client>,
    /// While the server decides whether it may.
    pending: Option<PendingLogin>,
    transactions: OpenTransactions,
    row_sets: RowSets,
    /// How large replies that came later have been: decays towards those of late.
    reply_bytes: usize,
}

impl Session {
    /// A new connection whose statements have at most `body_bytes_max`.
    #[must_use]
    pub fn new(peer: SocketAddr, body_bytes_max: u32) -> Self {
        Self {
            is_ipv6: matches!(peer.ip().to_canonical(), IpAddr::V6(_)),
            is_encrypted: false,
            body_bytes_max: (body_bytes_max as usize).max(HEAD_BYTES),
            buffer: Vec::new(),
            skipped_bytes: 0,
            in_flight: false,
            client: None,
            pending: None,
            transactions: OpenTransactions::default(),
            row_sets: RowSets::default(),
            reply_bytes: REPLY_BYTES_FIRST,
        }
    }

    /// Its client speaks TLS.
    pub fn set_encrypted(&mut self) {
        self.is_encrypted = true;
    }

    /// Statements whose reply has not been given yet: one at most.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        u32::from(self.in_flight)
    }

    /// How large the reply that is still to come may be.
    #[must_use]
    pub fn outstanding_bytes(&self) -> usize {
        if self.in_flight { self.reply_bytes } else { 0 }
    }

    /// Bytes of memory the session holds for what has arrived and is not served, and for row sets that go on.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.capacity() + self.row_sets.bytes()
    }

    /// Whether [`Session::receive`] would serve another statement.
    #[must_use]
    pub fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        !self.in_flight && unsent_bytes_max > 0 && (unsent_bytes == 0 || unsent_bytes < unsent_bytes_max)
    }

    /// Whether frames of the connection have addresses of IPv6.
    #[must_use]
    pub fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// The connection has ended: takes the transactions that have to be aborted.
    pub fn take_transactions(&mut self) -> impl Iterator<Item = OpenTransaction> + use<> {
        self.transactions.take()
    }

    /// Takes received bytes, serves the statements in them and appends to `out` what is to be sent; serves none but heartbeats while one is in
    /// flight, or once `out` has more than `out_bytes_max` bytes. With 0 it serves none.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>, out_bytes_max: usize, server: &mut impl Server) -> Verdict {
        let mut kept = std::mem::take(&mut self.buffer);
        let received = if kept.is_empty() {
            bytes
        } else {
            kept.extend_from_slice(bytes);
            &kept
        };
        let (served, verdict) = self.serve(received, out, out_bytes_max, server);
        if served < received.len() && verdict != Verdict::Close {
            if kept.is_empty() {
                let rest = &bytes[served..];
                kept = server.buffers().begin_message(rest, self.whole_bytes(rest));
            } else {
                kept.drain(..served);
            }
            self.buffer = kept;
        } else if kept.capacity() > 0 {
            server.buffers().end_message(kept);
        }
        verdict
    }

    /// Appends the reply of the statement that was in flight.
    pub fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>) {
        self.in_flight = false;
        self.reply_bytes = reply.len().max(self.reply_bytes - self.reply_bytes / 16);
        let start = out.len();
        out.extend_from_slice(reply);
        self.row_sets.follow(start, self.is_ipv6, out);
    }

    /// What came of the log-in that was in flight: appends the whole reply to it, which is then to be given to [`Session::append_late_reply`]. Says whether the
    /// client has logged in: it may have named a database that there is not.
    pub fn finish_login(&mut self, outcome: Result<(), GridError>, reply: &mut Vec<u8>) -> bool {
        self.client = self.pending.take().and_then(|pending| pending.finish(outcome, reply));
        self.client.is_some()
    }

    /// How long the frame is that begins so, as far as it is served.
    fn whole_bytes(&self, bytes: &[u8]) -> usize {
        let header = FrameHeader::read(bytes, self.is_ipv6, self.body_bytes_max).ok().flatten();
        header.map_or(0, |header| header.bytes + header.body_bytes)
    }

    /// Serves whole frames; says how many bytes they had.
    fn serve(&mut self, received: &[u8], out: &mut Vec<u8>, out_bytes_max: usize, server: &mut impl Server) -> (usize, Verdict) {
        let mut served = 0;
        loop {
            let skipped = self.skipped_bytes.min(received.len() - served);
            (served, self.skipped_bytes) = (served + skipped, self.skipped_bytes - skipped);
            let rest = &received[served..];
            let header = match FrameHeader::read(rest, self.is_ipv6, SKIPPED_BYTES_MAX) {
                Ok(Some(header)) => header,
                Ok(None) => return (served, Verdict::Continue),
                Err(_) => return (served, Verdict::Close),
            };
            let is_too_long = header.body_bytes > self.body_bytes_max;
            let needed = if is_too_long { HEAD_BYTES } else { header.body_bytes };
            let Some(body) = rest.get(header.bytes..header.bytes + needed) else { return (served, Verdict::Continue) };
            let Ok(statement) = Statement::read(body, self.is_ipv6) else { return (served, Verdict::Close) };
            let is_heartbeat = statement.number() == statement::CONNECT && self.in_flight && out_bytes_max > 0;
            if !is_heartbeat && !self.takes_requests(out.len(), out_bytes_max) {
                return (served, Verdict::Pause);
            }
            served += header.bytes + needed;
            if is_too_long {
                self.skipped_bytes = header.body_bytes - needed;
                let message = format!("a request has at most {} bytes: send fewer rows at a time", self.body_bytes_max);
                statement.reply.write_error(Status::StatementError, &GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message), out);
                continue;
            }
            if statement.number() == statement::DISCONNECT {
                return (served, Verdict::Close);
            }
            if !self.is_encrypted
                && let Some(verdict) = self.agree_on_transport(&statement, out, server.transports())
            {
                // What a client sends before it has the answer is neither statement nor TLS.
                let is_early = verdict == Verdict::StartTls && served < received.len();
                return (served, if is_early { Verdict::Close } else { verdict });
            }
            let start = out.len();
            if let Err(error) = self.answer(&statement, body, out, server) {
                out.truncate(start);
                statement.reply.write_error(status_of(&error), &error, out);
            }
        }
    }

    /// Answers a statement in plaintext after which the connection does not go on as it is.
    fn agree_on_transport(&self, statement: &Statement<'_>, out: &mut Vec<u8>, offered: Transports) -> Option<Verdict> {
        let is_connect = statement.number() == statement::CONNECT;
        let starts_tls = is_connect && offered.tls && asks_for_tls(statement.arguments);
        if offered.plain && !starts_tls {
            return None;
        }
        let start = out.len();
        let answered = if is_connect {
            connect(statement.reply, &mut { statement.arguments }, offered, out)
        } else {
            Err(GridError::new(ErrorCode::TXN_AUTH_FAILED, "this server is to be spoken to by TLS: switch it on in the client"))
        };
        if let Err(error) = &answered {
            out.truncate(start);
            statement.reply.write_error(Status::StatementError, error, out);
        }
        Some(if starts_tls && answered.is_ok() { Verdict::StartTls } else { Verdict::Close })
    }

    fn answer(&mut self, statement: &Statement<'_>, body: &[u8], out: &mut Vec<u8>, server: &mut impl Server) -> Result<(), GridError> {
        let mut arguments = statement.arguments;
        match statement.number() {
            statement::CONNECT => connect(statement.reply, &mut arguments, server.transports(), out),
            statement::LOGIN => {
                // Who fails to log in again is not logged in any more.
                self.client = None;
                self.row_sets.clear();
                server.log_out();
                let request = LoginRequest::read(&mut arguments)?;
                request.check_cluster(server.cluster_name())?;
                let progress = server.log_in(request.login)?;
                self.pending = Some(request.pending(statement.reply, server.database(request.database)));
                match progress {
                    Progress::Replied if self.finish_login(Ok(()), out) => {}
                    Progress::Replied => server.log_out(),
                    Progress::Waiting => self.in_flight = true,
                }
                Ok(())
            }
            statement::LOGOUT => {
                self.client = None;
                self.row_sets.clear();
                server.log_out();
                statement.reply.write_done(out);
                Ok(())
            }
            number => {
                let required = || GridError::new(ErrorCode::TXN_AUTH_REQUIRED, "log in first");
                let client = self.client.as_ref().ok_or_else(required)?;
                if number == statement::GET_PARTITION_ADDRESS {
                    let owner = |partition| server.owner(&client.database, partition);
                    return partition_address(statement, &mut arguments, self.is_ipv6, server.address(), owner, out);
                }
                if number == statement::TARNDB_VERSION {
                    let reply = statement.reply.begin(Status::Success, out);
                    put_string(out, env!("CARGO_PKG_VERSION"));
                    reply.end(out);
                    return Ok(());
                }
                if !statement::ALL.contains(&number) {
                    return Err(GridError::new(ErrorCode::TXN_STATEMENT_TYPE_UNKNOWN, format!("there is no statement {number}")));
                }
                if number == statement::CLOSE_ROW_SET {
                    self.row_sets.close(statement.arguments)?;
                    statement.reply.write_done(out);
                    return Ok(());
                }
                let part = if number == statement::FETCH_ROW_SET { Some(self.row_sets.fetch(statement, body)?) } else { None };
                let part = part.as_deref().map(|body| Ok((Statement::read(body, self.is_ipv6)?, body))).transpose()?;
                let (statement, body) = part.as_ref().map_or((statement, body), |(statement, body)| (statement, body));
                let start = out.len();
                match self.transactions.follow(statement, &client.database)? {
                    Followed::Serve => self.in_flight = server.statement(statement, body, client, out) == Progress::Waiting,
                    Followed::Done => statement.reply.write_done(out),
                }
                if !self.in_flight {
                    self.row_sets.follow(start, self.is_ipv6, out);
                }
                Ok(())
            }
        }
    }
}

/// The status that a refusal has. Clients of one process share connections: who meets one on which another one's log-in was refused connects again.
fn status_of(error: &GridError) -> Status {
    if error.code == ErrorCode::TXN_AUTH_REQUIRED { Status::NodeError } else { Status::StatementError }
}

/// Whether CONNECT says that its client would speak TLS: it does, if it is offered.
pub fn asks_for_tls(mut arguments: Reader<'_>) -> bool {
    let mut asks = || -> Result<bool, GridError> {
        arguments.i32()?;
        arguments.i32()?;
        arguments.bool()?;
        arguments.bool()
    };
    asks().unwrap_or(false)
}

/// CONNECT: the version, and what is offered. Later it is a heartbeat.
fn connect(reply: ReplyHeader, arguments: &mut Reader<'_>, offered: Transports, out: &mut Vec<u8>) -> Result<(), GridError> {
    let version = arguments.i32()?;
    if !(VERSION_MIN..=VERSION).contains(&version) {
        let message = format!("clients of versions {VERSION_MIN} to {VERSION} of the protocol are served, not of {version}");
        return Err(GridError::new(ErrorCode::TXN_CLIENT_VERSION_NOT_ACCEPTABLE, message));
    }
    let reply = reply.begin(Status::Success, out);
    out.push(AUTHENTICATION_MODE);
    put_i32(out, version);
    // Users are the database's own.
    out.push(0);
    put_i32(out, 2);
    out.extend_from_slice(&[u8::from(offered.plain), u8::from(offered.tls)]);
    reply.end(out);
    Ok(())
}

#[cfg(test)]
mod tests;
