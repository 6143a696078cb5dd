//! A client of the node's own port for GridDB: as whoever has logged in over SQL, so that what it does is permitted, routed, audited and bounded as any
//! client's.

pub(crate) use crate::node::lock;
use crate::node::{Connected, SqlNode, SqlTls};
use crate::transport::{Input, Output, split};
use griddb::wire::{FrameHeader, Options, Reader, ReplyBody, ReplyHeader, Status, statement};
use griddb::{ErrorCode, GridError, PUBLIC_DATABASE};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tls::{CertificateNeed, Session};

/// Bytes of a reply: what rows have at most, and some.
const REPLY_BYTES_MAX: usize = 64 << 20;
/// How long an answer is waited for without a look at whether the statement was cancelled.
const POLL: Duration = Duration::from_millis(50);
/// How far a time zone is from UTC.
const ZONE_MS_MAX: i64 = 24 * 60 * 60_000;
/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(320);

/// Why the node did not do it.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(crate) struct Refusal {
    pub(crate) status: Status,
    pub(crate) error: GridError,
    /// Whether nothing was done, surely.
    pub(crate) is_undone: bool,
}

impl From<GridError> for Refusal {
    fn from(error: GridError) -> Self {
        Self { status: Status::StatementError, error, is_undone: true }
    }
}

/// A connection to the node.
pub(crate) struct Client {
    /// Dropped before the connection is closed.
    _connected: Connected,
    input: Input,
    output: Arc<Mutex<Output>>,
    is_ipv6: bool,
    last_id: i64,
    uuid: [u8; 16],
    last_session: i64,
    request: Vec<u8>,
    /// Whether an answer was given up: what comes next is not what was asked for.
    is_broken: bool,
    is_cancelled: Arc<AtomicBool>,
    /// What it has logged in to.
    database: Box<str>,
    /// Its time zone: how many milliseconds later its clocks are than those of UTC.
    zone_ms: i64,
    node: SqlNode,
    /// What it has logged in with.
    login: Vec<u8>,
    /// Others that have logged in as it has, and have nothing to do.
    idle: Idle,
}

/// Clients that have nothing to do.
type Idle = Arc<Mutex<Vec<Client>>>;
/// So many are kept.
const IDLE_MAX: usize = 8;

/// What makes clients that log in as another one has.
#[derive(Clone)]
pub(crate) struct Others {
    node: SqlNode,
    login: Vec<u8>,
    is_cancelled: Arc<AtomicBool>,
    idle: Idle,
}

impl Others {
    /// A client that had nothing to do, if there is one.
    pub(crate) fn idle(&self) -> Option<Client> {
        lock(&self.idle).pop()
    }

    /// A new one.
    ///
    /// # Errors
    /// What the node says: whoever it is may have as many as are allowed.
    pub(crate) fn connect(&self) -> Result<Client, Refusal> {
        let mut client = Client::connect(&self.node, Arc::clone(&self.is_cancelled))?;
        client.log_in(&self.login)?;
        Ok(client)
    }

    /// Keeps one for others, if it can be asked any more.
    pub(crate) fn keep(&self, client: Client) {
        let mut idle = lock(&self.idle);
        if !client.is_broken && idle.len() < IDLE_MAX {
            idle.push(client);
        }
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// The node does not answer.
    pub(crate) fn connect(node: &SqlNode, is_cancelled: Arc<AtomicBool>) -> Result<Self, Refusal> {
        let (input, output, connected) = open(node)?;
        let mut client = Self {
            _connected: connected,
            input,
            output,
            is_ipv6: node.is_ipv6,
            last_id: 0,
            uuid: random_uuid(),
            last_session: 0,
            request: Vec::new(),
            is_broken: false,
            is_cancelled,
            database: PUBLIC_DATABASE.into(),
            zone_ms: 0,
            node: node.clone(),
            login: Vec::new(),
            idle: Idle::default(),
        };
        client.ask(statement::CONNECT, 0, griddb::client::connect)?;
        Ok(client)
    }

    /// Logs in with a client's arguments of LOGIN; gives what the node answers.
    ///
    /// # Errors
    /// What the node says.
    pub(crate) fn log_in(&mut self, arguments: &[u8]) -> Result<Vec<u8>, Refusal> {
        let answer = self.ask(statement::LOGIN, 0, |out| out.extend_from_slice(arguments))?.bytes().to_vec();
        let options = Options::read(&mut Reader::new(arguments))?;
        self.zone_ms = checked_zone(options.time_zone_ms.unwrap_or(0))?;
        self.database = options.database.filter(|name| !name.is_empty()).unwrap_or(PUBLIC_DATABASE).into();
        self.login = arguments.to_vec();
        Ok(answer)
    }

    /// How many milliseconds later its clocks are than those of UTC.
    pub(crate) fn zone_ms(&self) -> i64 {
        self.zone_ms
    }

    /// What makes others that log in as it has.
    pub(crate) fn others(&self) -> Others {
        let (login, is_cancelled, idle) = (self.login.clone(), Arc::clone(&self.is_cancelled), Arc::clone(&self.idle));
        Others { node: self.node.clone(), login, is_cancelled, idle }
    }

    /// What it has logged in to.
    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    /// How its transactions name it.
    pub(crate) fn uuid(&self) -> [u8; 16] {
        self.uuid
    }

    /// A number that none of its transactions has had.
    pub(crate) fn next_session(&mut self) -> i64 {
        self.last_session += 1;
        self.last_session
    }

    /// Whether it can be asked any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Sends a statement and waits for what it answers.
    ///
    /// # Errors
    /// What the node says, or that it says nothing.
    pub(crate) fn ask(&mut self, number: i32, partition: i32, write: impl FnOnce(&mut Vec<u8>)) -> Result<Answer, Refusal> {
        if self.is_broken {
            return Err(unreachable_node(&"the connection to it was lost"));
        }
        self.last_id += 1;
        self.request.clear();
        // A request has the same head as a reply, with a partition in it and without a status.
        let header = ReplyHeader { statement: number, id: self.last_id, is_ipv6: self.is_ipv6, is_repeatable: false };
        header.write_request(partition, &mut self.request, write);
        let answered = self.exchange();
        self.is_broken = answered.is_err();
        let body = answered?;
        let (status, error) = match ReplyBody::read(&body)?.outcome {
            Ok(results) => {
                let start = body.len() - results.rest().len();
                return Ok(Answer { bytes: body, start });
            }
            Err(failed) => failed,
        };
        let is_undone = status == Status::StatementError || error.code == ErrorCode::TXN_PARTITION_STATE_UNMATCH;
        Err(Refusal { status, error, is_undone })
    }

    /// Sends the request, and takes the body of the reply.
    fn exchange(&mut self) -> Result<Vec<u8>, Refusal> {
        lock(&self.output).send(&self.request).map_err(|error| unreachable_node(&error))?;
        let header_bytes = if self.is_ipv6 { 32 } else { 20 };
        let mut header = [0; 32];
        self.fill(&mut header[..header_bytes])?;
        let read = FrameHeader::read(&header[..header_bytes], self.is_ipv6, REPLY_BYTES_MAX);
        let length = read.ok().flatten().ok_or_else(|| unreachable_node(&"its reply cannot be read"))?.body_bytes;
        let mut body = vec![0; length];
        self.fill(&mut body)?;
        Ok(body)
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> Result<(), Refusal> {
        let began = Instant::now();
        while !bytes.is_empty() {
            match self.input.read(bytes) {
                Ok(0) => return Err(unreachable_node(&"it has closed the connection")),
                Ok(read) => bytes = &mut bytes[read..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                    if self.is_cancelled.load(Ordering::Acquire) {
                        return Err(cancelled().into());
                    }
                    if began.elapsed() > TIMEOUT {
                        return Err(unreachable_node(&"it does not answer"));
                    }
                }
                Err(error) => return Err(unreachable_node(&error)),
            }
        }
        Ok(())
    }
}

/// A time zone as texts of times tell it.
fn checked_zone(zone_ms: i64) -> Result<i64, GridError> {
    if !(-ZONE_MS_MAX..=ZONE_MS_MAX).contains(&zone_ms) {
        return Err(GridError::malformed("a time zone that is more than a day from UTC"));
    }
    if zone_ms % 60_000 != 0 {
        return Err(GridError::malformed("a time zone that is no whole number of minutes from UTC"));
    }
    Ok(zone_ms)
}

/// A connection in plain, or by TLS from its first byte where clients have to.
fn open(node: &SqlNode) -> Result<(Input, Arc<Mutex<Output>>, Connected), Refusal> {
    let unreachable = |error| unreachable_node(&error);
    let (stream, connected) = node.connect().map_err(unreachable)?;
    stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(POLL))).map_err(unreachable)?;
    let (mut input, output) = split(stream).map_err(unreachable)?;
    if let Some(SqlTls { tls, is_required: true }) = &node.tls {
        if tls.certificate_need() == Some(CertificateNeed::ToLogIn) {
            return Err(unreachable_node(&"clients log in by certificates alone, which those of GridDB cannot"));
        }
        let session = Session::to_itself(tls).map_err(|error| unreachable_node(&error))?;
        input.begin_tls(session).map_err(unreachable)?;
    }
    Ok((input, output, connected))
}

/// What the node has answered.
pub(crate) struct Answer {
    bytes: Vec<u8>,
    start: usize,
}

impl Answer {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// All of the reply's body, and where the results begin in it.
    pub(crate) fn into_bytes(self) -> (Vec<u8>, usize) {
        (self.bytes, self.start)
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader::new(self.bytes())
    }
}

/// A number that no other client has: the standard library's hashes are keyed at random.
fn random_uuid() -> [u8; 16] {
    let mut uuid = [0; 16];
    for half in uuid.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
    }
    uuid
}

/// Why a statement ends that was cancelled, or has taken too long.
pub(crate) fn cancelled() -> GridError {
    GridError::new(ErrorCode::SQL_CANCELLED, "the statement was cancelled, or has taken longer than it may")
}

fn unreachable_node(why: &dyn std::fmt::Display) -> Refusal {
    let error = GridError::new(ErrorCode::TXN_PARTITION_STATE_UNMATCH, format!("the node cannot be asked for rows: {why}"));
    Refusal { status: Status::NodeError, error, is_undone: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_zone_is_of_whole_minutes() {
        for right in [0, 9 * 60 * 60_000, -90 * 60_000, ZONE_MS_MAX] {
            assert!(checked_zone(right).is_ok_and(|zone_ms| zone_ms == right), "{right}");
        }
        for wrong in [1, -1, 59_999, 30_000, ZONE_MS_MAX + 60_000, i64::MIN] {
            assert!(checked_zone(wrong).is_err(), "{wrong}");
        }
    }
}
