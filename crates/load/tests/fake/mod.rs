//! A CQL server in memory that serves the statements of a load and does what a test wants at a certain request: pause, err, lose, die. Several
//! can be members of a cluster, which serve the same rows and tell clients which of them has which tokens.

use cql::wire::{
    CompressionWorkspace, Direction, ErrorKind, ErrorResponse, Execute, FRAME_BODY_BYTES_MAX, FrameDecoder, FrameEncoder, FrameFlags,
    Opcode, Prepared, ProtocolVersion, Request, ResultMetadata, StreamId, Value, write_auth_token, write_authenticate, write_supported,
    write_void, writer,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does with an EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// What it should.
    Serve,
    /// After a pause, in which it does nothing else.
    Pause(Duration),
    /// Refuses it as overloaded.
    Refuse,
    /// Never answers it.
    Ignore,
    /// Ends all connections.
    Cut,
    /// Ends all connections and takes no further ones.
    Die,
    /// Acknowledges a write and forgets it.
    Forget,
    /// Acknowledges a write, forgets it, and removes the row.
    Remove,
    /// Writes something else than it was told.
    Corrupt,
}

/// Decides by the number of the request, from 0.
pub(crate) type Script = Box<dyn Fn(u64) -> Act + Send + Sync>;

type Row = Vec<Vec<u8>>;
/// By table and key.
type Rows = BTreeMap<(String, Vec<u8>), Row>;

/// What all members of a cluster know; of a server by itself nobody is told of any.
#[derive(Default)]
pub(crate) struct Shared {
    rows: Mutex<Rows>,
    /// Names of the tables that were made.
    pub(crate) tables: Mutex<BTreeSet<String>>,
    /// Members by address, with their tokens.
    pub(crate) members: Mutex<BTreeMap<SocketAddr, Vec<i64>>>,
    /// Requests that came to another member than the one that has the token.
    pub(crate) misplaced: AtomicU64,
}

impl Shared {
    fn owner(&self, token: i64) -> Option<SocketAddr> {
        let members = self.members.lock().unwrap();
        let mut ring: Vec<(i64, SocketAddr)> =
            members.iter().flat_map(|(member, tokens)| tokens.iter().map(|token| (*token, *member))).collect();
        ring.sort_unstable();
        Some(ring.iter().find(|(last, _)| *last >= token).or(ring.first())?.1)
    }
}

struct State {
    script: Script,
    credentials: Option<(&'static str, &'static str)>,
    requests: AtomicU64,
    is_dead: AtomicBool,
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Ids are places in it.
    statements: Mutex<Vec<String>>,
    sockets: Mutex<Vec<TcpStream>>,
    /// The cores that it says it has, and the port that tells them.
    cores: Option<(u16, u16)>,
    /// From which ports clients that sent STARTUP have come there.
    client_ports: Mutex<Vec<u16>>,
}

/// The server; it ends with the process.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

impl Fake {
    pub(crate) fn start(script: Script) -> Self {
        Self::start_with(script, None)
    }

    pub(crate) fn start_with(script: Script, credentials: Option<(&'static str, &'static str)>) -> Self {
        Self::start_all(script, credentials, None, Arc::default())
    }

    /// A server that serves the rows of a cluster, and is a member of it when it is among those that the test names.
    pub(crate) fn start_in(shared: &Arc<Shared>, script: Script) -> Self {
        Self::start_all(script, None, None, Arc::clone(shared))
    }

    pub(crate) fn start_with_cores(script: Script, cores: u16) -> Self {
        Self::start_all(script, None, Some(cores), Arc::default())
    }

    fn start_all(script: Script, credentials: Option<(&'static str, &'static str)>, cores: Option<u16>, shared: Arc<Shared>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let aware = cores.map(|cores| (cores, TcpListener::bind("127.0.0.1:0").unwrap()));
        let state = Arc::new(State {
            script,
            credentials,
            requests: AtomicU64::new(0),
            is_dead: AtomicBool::new(false),
            address,
            shared,
            statements: Mutex::default(),
            sockets: Mutex::default(),
            cores: aware.as_ref().map(|(cores, listener)| (*cores, listener.local_addr().unwrap().port())),
            client_ports: Mutex::default(),
        });
        for listener in [Some(listener), aware.map(|(_, listener)| listener)].into_iter().flatten() {
            let shared = Arc::clone(&state);
            std::thread::spawn(move || accept(&shared, &listener));
        }
        Self { address, state }
    }

    pub(crate) fn client_ports(&self) -> Vec<u16> {
        self.state.client_ports.lock().unwrap().clone()
    }

    pub(crate) fn requests(&self) -> u64 {
        self.state.requests.load(Relaxed)
    }

    pub(crate) fn row_count(&self) -> usize {
        self.state.shared.rows.lock().unwrap().len()
    }

    /// Of each table that has any.
    pub(crate) fn row_counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (table, _) in self.state.shared.rows.lock().unwrap().keys() {
            *counts.entry(table.clone()).or_default() += 1;
        }
        counts
    }

    /// The tables that there are.
    pub(crate) fn tables(&self) -> BTreeSet<String> {
        self.state.shared.tables.lock().unwrap().clone()
    }
}

fn accept(shared: &Arc<State>, listener: &TcpListener) {
    for socket in listener.incoming() {
        let socket = socket.unwrap();
        if shared.is_dead.load(Relaxed) {
            continue;
        }
        shared.sockets.lock().unwrap().push(socket.try_clone().unwrap());
        let state = Arc::clone(shared);
        std::thread::spawn(move || serve(&state, socket));
    }
}

/// A connection, until either side ends it.
fn serve(state: &State, mut socket: TcpStream) {
    let mut decoder = FrameDecoder::new(Direction::Request, FRAME_BODY_BYTES_MAX);
    let mut encoder = FrameEncoder::new(Direction::Response);
    let (mut reading, mut writing) = (CompressionWorkspace::new(), CompressionWorkspace::new());
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(length @ 1..) = socket.read(&mut buffer) else { return };
        let mut out = Vec::new();
        let mut frames = decoder.feed(&buffer[..length], &mut reading);
        while let Some(frame) = frames.next_frame().unwrap() {
            let (version, stream) = (frame.header.version, frame.header.stream);
            let (_, request) = Request::decode(&frame).unwrap();
            let mut reply = Vec::new();
            let mut agreed = false;
            let opcode = match request {
                Request::Startup(_) if state.credentials.is_some() => {
                    agreed = true;
                    write_authenticate(&mut reply, "PasswordAuthenticator");
                    Opcode::Authenticate
                }
                Request::Startup(_) => {
                    agreed = true;
                    if state.cores.is_some_and(|(_, port)| port == socket.local_addr().unwrap().port()) {
                        state.client_ports.lock().unwrap().push(socket.peer_addr().unwrap().port());
                    }
                    Opcode::Ready
                }
                Request::Options => {
                    let (cores, port) = state.cores.unzip();
                    let options = [("SCYLLA_NR_SHARDS", cores), ("SCYLLA_SHARD_AWARE_PORT", port)];
                    let told: Vec<_> = options.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?.to_string()))).collect();
                    write_supported(&mut reply, told.iter().map(|(name, value)| (*name, [value.as_str()])));
                    Opcode::Supported
                }
                Request::Query(query) if query.text.contains(" TABLE ") => change_tables(state, query.text, &mut reply),
                Request::Query(query) if query.text.starts_with("SELECT table_name") => tell_tables(state, &mut reply),
                Request::Query(query) if query.text.starts_with("SELECT") && !state.shared.members.lock().unwrap().is_empty() => {
                    tell_members(state, query.text, &mut reply)
                }
                Request::AuthResponse(token) => log_in(state, token, &mut reply, version),
                Request::Prepare(prepare) => self::prepare(state, prepare.text, &mut reply, version),
                Request::Execute(execute) => match execute_it(state, &execute, &mut reply, version) {
                    Some(opcode) => opcode,
                    None => continue,
                },
                _ => {
                    write_void(&mut reply);
                    Opcode::Result
                }
            };
            append(&mut encoder, &mut out, version, stream, opcode, &reply, &mut writing);
            if agreed {
                frames.startup_agreed(version, None).unwrap();
                encoder.startup_agreed(version, None).unwrap();
            }
        }
        encoder.flush(&mut out, &mut writing);
        if socket.write_all(&out).is_err() {
            return;
        }
    }
}

fn append(
    encoder: &mut FrameEncoder,
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    stream: StreamId,
    opcode: Opcode,
    body: &[u8],
    workspace: &mut CompressionWorkspace,
) {
    let mark = encoder.begin(out, version, FrameFlags::NONE, stream, opcode);
    out.extend_from_slice(body);
    encoder.end(out, mark, workspace).unwrap();
}

fn error(kind: ErrorKind<'_>, reply: &mut Vec<u8>, version: ProtocolVersion) -> Opcode {
    ErrorResponse { message: "as the test wants it", kind }.write(reply, version);
    Opcode::Error
}

fn log_in(state: &State, token: Option<&[u8]>, reply: &mut Vec<u8>, version: ProtocolVersion) -> Opcode {
    let (user, password) = state.credentials.unwrap();
    if token == Some(format!("\0{user}\0{password}").as_bytes()) {
        write_auth_token(reply, None);
        Opcode::AuthSuccess
    } else {
        error(ErrorKind::BadCredentials, reply, version)
    }
}

fn prepare(state: &State, text: &str, reply: &mut Vec<u8>, version: ProtocolVersion) -> Opcode {
    let mut statements = state.statements.lock().unwrap();
    let place = statements.iter().position(|known| known == text).unwrap_or_else(|| {
        statements.push(text.to_owned());
        statements.len() - 1
    });
    let none = ResultMetadata::none();
    let id = (place as u32).to_be_bytes();
    let prepared = Prepared { id: &id, result_metadata_id: &id, markers: &none, key_indexes: &[], result: &none, extra_flags: 0 };
    prepared.write(reply, version);
    Opcode::Result
}

/// The table that a statement is about: the second of its quoted names.
fn table_of(text: &str) -> String {
    text.split('"').nth(3).unwrap().to_owned()
}

fn change_tables(state: &State, text: &str, reply: &mut Vec<u8>) -> Opcode {
    let (table, mut tables) = (table_of(text), state.shared.tables.lock().unwrap());
    if text.starts_with("CREATE") {
        tables.insert(table);
    } else {
        state.shared.rows.lock().unwrap().retain(|(other, _), _| *other != table);
        assert!(tables.remove(&table), "nobody made {table}");
    }
    write_void(reply);
    Opcode::Result
}

fn tell_tables(state: &State, reply: &mut Vec<u8>) -> Opcode {
    let rows: Vec<Row> = state.shared.tables.lock().unwrap().iter().map(|table| vec![table.clone().into_bytes()]).collect();
    write_rows(&rows, 1, reply);
    Opcode::Result
}

/// What drivers ask for to know the members.
fn tell_members(state: &State, text: &str, reply: &mut Vec<u8>) -> Opcode {
    let members = state.shared.members.lock().unwrap().clone();
    let tokens = |tokens: &[i64]| {
        let mut set = (tokens.len() as u32).to_be_bytes().to_vec();
        for token in tokens.iter().map(ToString::to_string) {
            set.extend_from_slice(&(token.len() as u32).to_be_bytes());
            set.extend_from_slice(token.as_bytes());
        }
        set
    };
    let ip = |address: &SocketAddr| match address.ip() {
        std::net::IpAddr::V4(ip) => ip.octets().to_vec(),
        std::net::IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let rows: Vec<Row> = match text {
        "SELECT partitioner, rpc_address, tokens FROM system.local" => {
            let own = members.get(&state.address).map_or(&[][..], Vec::as_slice);
            vec![vec![b"org.apache.cassandra.dht.Murmur3Partitioner".to_vec(), ip(&state.address), tokens(own)]]
        }
        "SELECT native_address, native_port, tokens FROM system.peers_v2" => {
            let peers = members.iter().filter(|(address, _)| **address != state.address);
            peers.map(|(address, own)| vec![ip(address), u32::from(address.port()).to_be_bytes().to_vec(), tokens(own)]).collect()
        }
        other => panic!("nobody asks `{other}`"),
    };
    write_rows(&rows, 3, reply);
    Opcode::Result
}

/// The opcode of the reply; none when there is to be no reply.
fn execute_it(state: &State, execute: &Execute<'_>, reply: &mut Vec<u8>, version: ProtocolVersion) -> Option<Opcode> {
    let act = (state.script)(state.requests.fetch_add(1, Relaxed));
    match act {
        Act::Pause(pause) => std::thread::sleep(pause),
        Act::Refuse => return Some(error(ErrorKind::Overloaded, reply, version)),
        Act::Ignore => return None,
        Act::Cut | Act::Die => {
            state.is_dead.fetch_or(act == Act::Die, Relaxed);
            for socket in state.sockets.lock().unwrap().drain(..) {
                let _ = socket.shutdown(Shutdown::Both);
            }
            return None;
        }
        _ => {}
    }
    let place = u32::from_be_bytes(execute.id.try_into().unwrap()) as usize;
    let text = state.statements.lock().unwrap()[place].clone();
    let values: Row = execute.parameters.values.iter().map(bytes).collect();
    let key = if text.starts_with("UPDATE") { &values[1] } else { &values[0] };
    if state.shared.owner(cql::value::token(key).0).is_some_and(|owner| owner != state.address) {
        state.shared.misplaced.fetch_add(1, Relaxed);
    }
    let table = table_of(&text);
    let at = |key: &[u8]| (table.clone(), key.to_vec());
    let mut rows = state.shared.rows.lock().unwrap();
    if let Some(fields) = text.strip_prefix("INSERT") {
        assert_eq!(fields.matches('?').count(), values.len());
        write_row(&mut rows, act, at(&values[0]), |row| *row = values[1..].to_vec());
    } else if let Some(rest) = text.split_once("SET field") {
        let field: usize = rest.1.split(' ').next().unwrap().parse().unwrap();
        write_row(&mut rows, act, at(&values[1]), |row| row[field] = values[0].clone());
    } else {
        let found: Vec<Row> = if text.contains("LIMIT") {
            let limit = i32::from_be_bytes(values[1].as_slice().try_into().unwrap());
            let of_table = rows.range(at(&values[0])..).take_while(|((other, _), _)| *other == table);
            of_table.take(limit as usize).map(|(_, row)| row.clone()).collect()
        } else {
            rows.get(&at(&values[0])).cloned().into_iter().collect()
        };
        write_rows(&found, text.matches("field").count(), reply);
        return Some(Opcode::Result);
    }
    write_void(reply);
    Some(Opcode::Result)
}

fn bytes(value: Value<'_>) -> Vec<u8> {
    let Value::Bytes(bytes) = value else { panic!("a load binds no nulls") };
    bytes.to_vec()
}

fn write_row(rows: &mut Rows, act: Act, at: (String, Vec<u8>), change: impl FnOnce(&mut Row)) {
    match act {
        Act::Forget => {}
        Act::Remove => {
            rows.remove(&at);
        }
        _ => {
            let row = rows.entry(at).or_default();
            change(row);
            if act == Act::Corrupt {
                row[0].reverse();
            }
        }
    }
}

fn write_rows(rows: &[Row], columns: usize, reply: &mut Vec<u8>) {
    // Kind, flags (no metadata), number of columns, number of rows, cells.
    for number in [2, 4, columns as i32, rows.len() as i32] {
        writer::write_int(reply, number);
    }
    for cell in rows.iter().flatten() {
        writer::write_bytes(reply, Some(cell));
    }
}
