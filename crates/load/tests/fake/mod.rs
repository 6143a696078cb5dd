//! A CQL server in memory that serves the statements of a load and does what a test wants at a certain request: pause, err, lose, die.

use cql::wire::{
    CompressionWorkspace, Direction, ErrorKind, ErrorResponse, Execute, FRAME_BODY_BYTES_MAX, FrameDecoder, FrameEncoder, FrameFlags,
    Opcode, Prepared, ProtocolVersion, Request, ResultMetadata, StreamId, Value, write_auth_token, write_authenticate, write_supported,
    write_void, writer,
};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
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

struct State {
    script: Script,
    credentials: Option<(&'static str, &'static str)>,
    requests: AtomicU64,
    rows: Mutex<BTreeMap<Vec<u8>, Row>>,
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
        Self::start_all(script, credentials, None)
    }

    pub(crate) fn start_with_cores(script: Script, cores: u16) -> Self {
        Self::start_all(script, None, Some(cores))
    }

    fn start_all(script: Script, credentials: Option<(&'static str, &'static str)>, cores: Option<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let aware = cores.map(|cores| (cores, TcpListener::bind("127.0.0.1:0").unwrap()));
        let state = Arc::new(State {
            script,
            credentials,
            requests: AtomicU64::new(0),
            rows: Mutex::default(),
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
        self.state.rows.lock().unwrap().len()
    }
}

fn accept(shared: &Arc<State>, listener: &TcpListener) {
    for socket in listener.incoming() {
        let socket = socket.unwrap();
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

/// The opcode of the reply; none when there is to be no reply.
fn execute_it(state: &State, execute: &Execute<'_>, reply: &mut Vec<u8>, version: ProtocolVersion) -> Option<Opcode> {
    let act = (state.script)(state.requests.fetch_add(1, Relaxed));
    match act {
        Act::Pause(pause) => std::thread::sleep(pause),
        Act::Refuse => return Some(error(ErrorKind::Overloaded, reply, version)),
        Act::Ignore => return None,
        Act::Cut => {
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
    let mut rows = state.rows.lock().unwrap();
    if let Some(fields) = text.strip_prefix("INSERT") {
        assert_eq!(fields.matches('?').count(), values.len());
        write_row(&mut rows, act, &values[0], |row| *row = values[1..].to_vec());
    } else if let Some(rest) = text.split_once("SET field") {
        let field: usize = rest.1.split(' ').next().unwrap().parse().unwrap();
        write_row(&mut rows, act, &values[1], |row| row[field] = values[0].clone());
    } else {
        let found: Vec<Row> = if text.contains("LIMIT") {
            let limit = i32::from_be_bytes(values[1].as_slice().try_into().unwrap());
            rows.range(values[0].clone()..).take(limit as usize).map(|(_, row)| row.clone()).collect()
        } else {
            rows.get(&values[0]).cloned().into_iter().collect()
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

fn write_row(rows: &mut BTreeMap<Vec<u8>, Row>, act: Act, key: &[u8], change: impl FnOnce(&mut Row)) {
    match act {
        Act::Forget => {}
        Act::Remove => {
            rows.remove(key);
        }
        _ => {
            let row = rows.entry(key.to_vec()).or_default();
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
