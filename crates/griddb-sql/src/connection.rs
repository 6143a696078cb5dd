//! A connection: one thread reads what arrives, answers heartbeats and takes cancellations; another one does the statements, in their order.

use crate::node::{SqlNode, SqlTls, lock};
use crate::pending::Pending;
use crate::request::{SQL_CANCEL, read_cancel};
use crate::running::Running;
use crate::session::Session;
use crate::transport::{Input, Output, split};
use griddb::session::{Transports, asks_for_tls, partition_address};
use griddb::wire::{FrameHeader, Reader, ReplyHeader, Statement, Status, put_i32, statement};
use griddb::{ErrorCode, GridError};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The version of the protocol of SQL that is spoken.
const VERSION: i32 = -9;
/// Bytes of a request.
const BODY_BYTES_MAX: usize = 64 << 20;
/// The same before it has logged in.
const LOGIN_BYTES_MAX: usize = 64 << 10;
/// What a client has to have logged in after.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);
/// The same of the handshake of TLS.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a statement's deadline is looked at.
const TICK: Duration = Duration::from_millis(20);
/// The same while none runs: of log-ins, which have a deadline as well.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// How long a client may take to read a reply.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Statements that wait for the one that runs: drivers send none before they have its reply.
const WAITING_MAX: usize = 4;

/// Serves a client until it goes.
pub(crate) fn serve(stream: TcpStream, node: &SqlNode, pending: &Pending) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE_TICK))?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let running = Arc::new(Running::default());
    let client = stream.peer_addr()?.ip().to_canonical();
    let is_ipv6 = client.is_ipv6();
    let address = stream.local_addr()?;
    let (input, output) = split(stream)?;
    let tls = node.tls.clone();
    let (sender, bodies) = sync_channel(WAITING_MAX);
    let has_logged_in = Arc::new(AtomicBool::new(false));
    pending.came(&output, &has_logged_in);
    let worker = Worker {
        session: Session::new(node.for_client(client), Arc::clone(&running)),
        output: Arc::clone(&output),
        is_ipv6,
        has_logged_in: Arc::clone(&has_logged_in),
        running: Arc::clone(&running),
    };
    let thread = std::thread::Builder::new().name("tarndb-sql".to_owned()).spawn(move || worker.work(&bodies))?;
    let mut reader = FrameReader {
        input,
        tls,
        is_ipv6,
        address,
        output,
        running: Arc::clone(&running),
        has_logged_in,
        began: Instant::now(),
        handshake_began: Instant::now(),
        tick: IDLE_TICK,
    };
    let read = reader.read_all(&sender);
    // Nobody waits for what runs.
    running.cancel_all();
    drop(sender);
    reader.input.shutdown();
    // Its panic was told by its own thread.
    let _ = thread.join();
    read
}

/// Does the statements.
struct Worker {
    session: Session,
    output: Arc<Mutex<Output>>,
    is_ipv6: bool,
    has_logged_in: Arc<AtomicBool>,
    running: Arc<Running>,
}

impl Worker {
    fn work(mut self, bodies: &Receiver<Vec<u8>>) {
        let mut out = Vec::new();
        while let Ok(body) = bodies.recv() {
            out.clear();
            let Ok(statement) = Statement::read(&body, self.is_ipv6) else { break };
            self.session.answer(&statement, &mut out);
            self.has_logged_in.store(self.session.has_logged_in(), Ordering::Release);
            self.running.answered();
            let mut output = lock(&self.output);
            if output.send(&out).is_err() {
                output.shutdown();
                break;
            }
            if out.capacity() > 4 << 20 {
                out = Vec::new();
            }
        }
    }
}

/// Reads what arrives.
struct FrameReader {
    input: Input,
    tls: Option<SqlTls>,
    is_ipv6: bool,
    address: SocketAddr,
    output: Arc<Mutex<Output>>,
    running: Arc<Running>,
    has_logged_in: Arc<AtomicBool>,
    began: Instant,
    handshake_began: Instant,
    tick: Duration,
}

impl FrameReader {
    fn read_all(&mut self, bodies: &SyncSender<Vec<u8>>) -> std::io::Result<()> {
        let header_bytes = if self.is_ipv6 { 32 } else { 20 };
        loop {
            let mut header = [0; 32];
            if !self.fill(&mut header[..header_bytes])? {
                return Ok(());
            }
            let bytes_max = if self.has_logged_in.load(Ordering::Acquire) { BODY_BYTES_MAX } else { LOGIN_BYTES_MAX };
            let Ok(Some(read)) = FrameHeader::read(&header[..header_bytes], self.is_ipv6, bytes_max) else { return Ok(()) };
            let mut body = Vec::new();
            if !self.take(&mut body, read.body_bytes)? || !self.received(body, bodies)? {
                return Ok(());
            }
        }
    }

    /// Takes so many bytes; memory is had as they come, not as they are promised.
    fn take(&mut self, body: &mut Vec<u8>, length: usize) -> std::io::Result<bool> {
        const AT_ONCE: usize = 64 << 10;
        while body.len() < length {
            let start = body.len();
            body.resize(length.min(start + AT_ONCE), 0);
            if !self.fill(&mut body[start..])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Fills a buffer; false if the client has gone, or does not log in.
    fn fill(&mut self, mut bytes: &mut [u8]) -> std::io::Result<bool> {
        while !bytes.is_empty() {
            // However slowly bytes come.
            if !self.has_logged_in.load(Ordering::Acquire) && self.is_late() {
                return Ok(false);
            }
            self.set_tick()?;
            match self.input.read(bytes) {
                Ok(0) => return Ok(false),
                Ok(read) => bytes = &mut bytes[read..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                    self.running.check_deadline();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Whether a client that has not logged in has had its time.
    fn is_late(&self) -> bool {
        self.began.elapsed() > LOGIN_TIMEOUT
            || self.handshake_began.elapsed() > HANDSHAKE_TIMEOUT && self.input.is_handshaking().unwrap_or(!self.offered().plain)
    }

    /// A statement; false if it ends the connection.
    fn received(&mut self, body: Vec<u8>, bodies: &SyncSender<Vec<u8>>) -> std::io::Result<bool> {
        let Ok(statement) = Statement::read(&body, self.is_ipv6) else { return Ok(false) };
        let mut arguments = statement.arguments;
        let offered = self.offered();
        if !self.input.is_secured()
            && let Some(goes_on) = self.agree_on_transport(&statement, offered)?
        {
            return Ok(goes_on);
        }
        match statement.number() {
            statement::CONNECT => {
                self.reply(statement.reply, |out| connect(statement.reply, &mut arguments, offered, out))?;
                Ok(true)
            }
            statement::DISCONNECT => Ok(false),
            statement::GET_PARTITION_ADDRESS => {
                // A session is its connection's: it stays where it was made.
                let owner = |_| self.address;
                self.reply(statement.reply, |out| partition_address(&statement, &mut arguments, self.is_ipv6, self.address, owner, out))?;
                Ok(true)
            }
            SQL_CANCEL => {
                if let Ok(query) = read_cancel(arguments) {
                    self.running.cancel(query);
                }
                Ok(true)
            }
            _ => match self.send(bodies, body) {
                Ok(()) => Ok(true),
                // Who sends more than it may wait for has not read the protocol.
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Ok(false),
            },
        }
    }

    fn send(&self, bodies: &SyncSender<Vec<u8>>, body: Vec<u8>) -> Result<(), TrySendError<Vec<u8>>> {
        self.running.arrived();
        bodies.try_send(body).inspect_err(|_| self.running.answered())
    }

    /// Waits as long as the statement that runs, or that there is none, allows.
    fn set_tick(&mut self) -> std::io::Result<()> {
        let tick = if self.running.is_busy() { TICK } else { IDLE_TICK };
        if tick != self.tick {
            self.input.set_read_timeout(tick)?;
            self.tick = tick;
        }
        Ok(())
    }

    /// By what bytes may pass.
    fn offered(&self) -> Transports {
        Transports { plain: self.tls.as_ref().is_none_or(|tls| !tls.is_required), tls: self.tls.is_some() }
    }

    /// Answers a statement in plaintext after which the connection does not go on as it is: it goes over to TLS, or ends.
    fn agree_on_transport(&mut self, statement: &Statement<'_>, offered: Transports) -> std::io::Result<Option<bool>> {
        let is_connect = statement.number() == statement::CONNECT;
        let session = match &self.tls {
            Some(tls) if is_connect && asks_for_tls(statement.arguments) => {
                Some(tls::Session::with_client(&tls.tls).map_err(std::io::Error::other)?)
            }
            _ if offered.plain => return Ok(None),
            _ => None,
        };
        let is_done = self.reply(statement.reply, |out| {
            let required =
                || GridError::new(ErrorCode::TXN_AUTH_FAILED, "this server is to be spoken to by TLS: switch it on in the client");
            if is_connect { connect(statement.reply, &mut { statement.arguments }, offered, out) } else { Err(required()) }
        })?;
        let Some(session) = session.filter(|_| is_done) else { return Ok(Some(false)) };
        if offered.plain {
            self.handshake_began = Instant::now();
        }
        self.input.begin_tls(session)?;
        Ok(Some(true))
    }

    /// Sends a reply; whether it says that the statement was done.
    fn reply(&self, header: ReplyHeader, write: impl FnOnce(&mut Vec<u8>) -> Result<(), GridError>) -> std::io::Result<bool> {
        let mut out = Vec::new();
        let done = write(&mut out);
        if let Err(error) = &done {
            out.clear();
            header.write_error(Status::StatementError, error, &mut out);
        }
        lock(&self.output).send(&out)?;
        Ok(done.is_ok())
    }
}

/// CONNECT: the version, which of SQL is negative, and what is offered. Later it is a heartbeat.
fn connect(reply: ReplyHeader, arguments: &mut Reader<'_>, offered: Transports, out: &mut Vec<u8>) -> Result<(), GridError> {
    let version = arguments.i32()?;
    if version != VERSION {
        let message = format!("clients of version {VERSION} of the protocol of SQL are served, not of {version}");
        return Err(GridError::new(ErrorCode::TXN_CLIENT_VERSION_NOT_ACCEPTABLE, message));
    }
    let reply = reply.begin(Status::Success, out);
    // Clients send the digest of their password.
    out.push(0);
    put_i32(out, version);
    // Users are the database's own.
    out.push(0);
    put_i32(out, 2);
    out.extend_from_slice(&[u8::from(offered.plain), u8::from(offered.tls)]);
    reply.end(out);
    Ok(())
}

/// Tells a client that there are too many, as the reply to its first statement.
pub(crate) fn refuse(mut stream: TcpStream, most: usize) -> std::io::Result<()> {
    stream.set_write_timeout(Some(TICK))?;
    let is_ipv6 = stream.peer_addr()?.ip().to_canonical().is_ipv6();
    let header = ReplyHeader { statement: statement::CONNECT, id: 1, is_ipv6, is_repeatable: false };
    let mut out = Vec::new();
    let error = GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, format!("at most {most} clients of SQL are served at once"));
    header.write_error(Status::StatementError, &error, &mut out);
    stream.write_all(&out)
}
