//! One client connection: from received bytes to statements, one at a time and in order; from replies to bytes to send. No I/O.
//!
//! Here are the statements about the connection itself: CONNECT, which is a client's heartbeat as well and is answered at once, LOGIN, LOGOUT,
//! DISCONNECT, and where partitions are. All others need a login and go to the [`Server`].

use crate::transaction::{Followed, OpenTransaction, OpenTransactions};
use crate::wire::{FrameHeader, Options, Reader, ReplyHeader, Statement, Status, put_i32, put_i64, statement};
use crate::{ErrorCode, GridError, PARTITION_COUNT, PUBLIC_DATABASE};
use std::net::{IpAddr, SocketAddr};

/// The version that is spoken, and the oldest that is.
const VERSION: i32 = 15;
const VERSION_MIN: i32 = 14;
/// The features that clients may use: those of 5.6.
const FEATURES: i32 = 7;
/// Partition = CRC-32 of the name, not its MD5.
const HASH_MODE: u8 = 0;
/// How long a transaction lasts, and may last.
const TRANSACTION_TIMEOUT_S: u32 = 300;
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

    /// Whether clients have to say who they are, which they cannot do yet.
    fn requires_login(&self) -> bool;

    /// The number of a database; none if there is no such.
    fn database(&self, name: &str) -> Option<i64>;

    /// Where clients of this node connect.
    fn address(&self) -> SocketAddr;

    /// A statement of a client that has logged in, and the frame's body. Appends the whole reply, unless that comes later.
    fn statement(&mut self, statement: &Statement<'_>, body: &[u8], client: &Client, out: &mut Vec<u8>) -> Progress;
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
    /// What was written must still be sent, then it ends.
    Close,
}

/// What a client has said as it logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The database that it wants.
    pub database: Box<str>,
    /// How long its transactions last.
    pub transaction_timeout_s: u32,
}

/// A connection's state.
#[derive(Debug)]
pub struct Session {
    is_ipv6: bool,
    body_bytes_max: usize,
    /// What has arrived and not been served.
    buffer: Vec<u8>,
    /// How much is still to come of a frame that is too long.
    skipped_bytes: usize,
    in_flight: bool,
    /// Once it has logged in.
    client: Option<Client>,
    transactions: OpenTransactions,
    /// How large replies that came later have been: decays towards those of late.
    reply_bytes: usize,
}

impl Session {
    /// A new connection whose statements have at most `body_bytes_max`.
    #[must_use]
    pub fn new(peer: SocketAddr, body_bytes_max: u32) -> Self {
        Self {
            is_ipv6: matches!(peer.ip().to_canonical(), IpAddr::V6(_)),
            body_bytes_max: (body_bytes_max as usize).max(HEAD_BYTES),
            buffer: Vec::new(),
            skipped_bytes: 0,
            in_flight: false,
            client: None,
            transactions: OpenTransactions::default(),
            reply_bytes: REPLY_BYTES_FIRST,
        }
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

    /// Bytes of memory the session holds for what has arrived and is not served.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Whether [`Session::receive`] would serve another statement.
    #[must_use]
    pub fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        !self.in_flight && unsent_bytes_max > 0 && (unsent_bytes == 0 || unsent_bytes < unsent_bytes_max)
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
                kept.extend_from_slice(&bytes[served..]);
            } else {
                kept.drain(..served);
            }
            self.buffer = kept;
        }
        verdict
    }

    /// Appends the reply of the statement that was in flight.
    pub fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>) {
        self.in_flight = false;
        self.reply_bytes = reply.len().max(self.reply_bytes - self.reply_bytes / 16);
        out.extend_from_slice(reply);
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
            let start = out.len();
            if let Err(error) = self.answer(&statement, body, out, server) {
                out.truncate(start);
                statement.reply.write_error(Status::StatementError, &error, out);
            }
        }
    }

    fn answer(&mut self, statement: &Statement<'_>, body: &[u8], out: &mut Vec<u8>, server: &mut impl Server) -> Result<(), GridError> {
        let mut arguments = statement.arguments;
        match statement.number() {
            statement::CONNECT => connect(statement.reply, &mut arguments, out),
            statement::LOGIN => {
                // Who fails to log in again is not logged in any more.
                self.client = None;
                let (client, number) = log_in(&mut arguments, server)?;
                self.client = Some(client);
                let reply = statement.reply.begin(Status::Success, out);
                out.push(0);
                put_i64(out, number);
                put_i32(out, FEATURES);
                reply.end(out);
                Ok(())
            }
            statement::LOGOUT => {
                self.client = None;
                statement.reply.write_done(out);
                Ok(())
            }
            number => {
                let required = || GridError::new(ErrorCode::TXN_AUTH_REQUIRED, "log in first");
                let client = self.client.as_ref().ok_or_else(required)?;
                if number == statement::GET_PARTITION_ADDRESS {
                    return partition_address(statement, &mut arguments, self.is_ipv6, server.address(), out);
                }
                if !statement::ALL.contains(&number) {
                    return Err(GridError::new(ErrorCode::TXN_STATEMENT_TYPE_UNKNOWN, format!("there is no statement {number}")));
                }
                match self.transactions.follow(statement, &client.database)? {
                    Followed::Serve => self.in_flight = server.statement(statement, body, client, out) == Progress::Waiting,
                    Followed::Done => statement.reply.write_done(out),
                }
                Ok(())
            }
        }
    }
}

/// CONNECT: the version, and whether TLS may follow. Later it is a heartbeat.
fn connect(reply: ReplyHeader, arguments: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), GridError> {
    let version = arguments.i32()?;
    if !(VERSION_MIN..=VERSION).contains(&version) {
        let message = format!("clients of versions {VERSION_MIN} to {VERSION} of the protocol are served, not of {version}");
        return Err(GridError::new(ErrorCode::TXN_CLIENT_VERSION_NOT_ACCEPTABLE, message));
    }
    let reply = reply.begin(Status::Success, out);
    // How to authenticate: by name and password.
    out.push(0);
    put_i32(out, version);
    // Users are the database's own.
    out.push(0);
    put_i32(out, 2);
    out.extend_from_slice(&[1, 0]);
    reply.end(out);
    Ok(())
}

/// LOGIN: what the client says of itself, and its database's number.
fn log_in(arguments: &mut Reader<'_>, server: &impl Server) -> Result<(Client, i64), GridError> {
    let options = Options::read(arguments)?;
    let (user, _digest) = (arguments.string()?, arguments.string()?);
    let (_timeout_s, _is_owner) = (arguments.i32()?, arguments.bool()?);
    let cluster_name = arguments.string()?;
    if server.requires_login() {
        let message =
            format!("{user} cannot log in: GridDB clients send digests of passwords, which the stored hashes cannot be compared with");
        return Err(GridError::new(ErrorCode::TXN_AUTH_FAILED, message));
    }
    if !cluster_name.is_empty() && cluster_name != server.cluster_name() {
        let message = format!("the cluster is called {}, not {cluster_name}", server.cluster_name());
        return Err(GridError::new(ErrorCode::TXN_CLUSTER_NAME_INVALID, message));
    }
    let database = options.database.filter(|name| !name.is_empty()).unwrap_or(PUBLIC_DATABASE);
    let unknown = || GridError::new(ErrorCode::TXN_DATABASE_NOT_EXIST, format!("there is no database {database}"));
    let number = server.database(database).ok_or_else(unknown)?;
    let timeout_s = options.transaction_timeout_s.and_then(|timeout_s| u32::try_from(timeout_s).ok()).filter(|timeout_s| *timeout_s > 0);
    let transaction_timeout_s = timeout_s.map_or(TRANSACTION_TIMEOUT_S, |timeout_s| timeout_s.min(TRANSACTION_TIMEOUT_S));
    Ok((Client { database: database.into(), transaction_timeout_s }, number))
}

/// GET_PARTITION_ADDRESS: who is the master, or who owns a partition. This node is both, and sends on what others have to do.
fn partition_address(
    statement: &Statement<'_>,
    arguments: &mut Reader<'_>,
    is_ipv6: bool,
    address: SocketAddr,
    out: &mut Vec<u8>,
) -> Result<(), GridError> {
    Options::read(arguments)?;
    let is_about_master = !arguments.rest().is_empty() && arguments.bool()?;
    if !u32::try_from(statement.partition).is_ok_and(|partition| partition < PARTITION_COUNT) {
        let message = format!("there is no partition {}", statement.partition);
        return Err(GridError::new(ErrorCode::TXN_PARTITION_ID_INVALID, message));
    }
    let reply = statement.reply.begin(Status::Success, out);
    put_i32(out, PARTITION_COUNT as i32);
    if is_about_master {
        out.extend_from_slice(&[0, 0, 1, HASH_MODE]);
        put_address(address, is_ipv6, out);
    } else {
        out.push(1);
        put_address(address, is_ipv6, out);
        out.push(0);
    }
    reply.end(out);
    Ok(())
}

fn put_address(address: SocketAddr, is_ipv6: bool, out: &mut Vec<u8>) {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) if is_ipv6 => out.extend_from_slice(&ip.to_ipv6_mapped().octets()),
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) if is_ipv6 => out.extend_from_slice(&ip.octets()),
        // A client over IPv4 cannot be told.
        IpAddr::V6(_) => out.extend_from_slice(&[0; 4]),
    }
    put_i32(out, i32::from(address.port()));
}

#[cfg(test)]
mod tests;
