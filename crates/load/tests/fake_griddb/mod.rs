//! A GridDB server in memory, as its own makers' would be, that does what a test wants at a certain request about rows.

use griddb::client::partition_of;
use griddb::row::{Layout, RowReader};
use griddb::schema::{ColumnDefinition, Kind, read_columns, write_columns};
use griddb::wire::{FrameHeader, Options, Reader, Statement, Status, put_i32, put_i64, put_var_bytes, put_var_size, statement};
use griddb::{ContainerName, ErrorCode, GridError};
use load::griddb::GridDbSettings;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PARTITIONS: u32 = 64;
const USER: &str = "admin";
/// SHA-256 of `admin`.
const DIGEST: &str = "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918";
const CLUSTER: &str = "myCluster";

/// What the server does with a request about rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Serve,
    /// After a pause.
    Pause(Duration),
    /// Refuses it for want of memory.
    Refuse,
    /// Ends the connection.
    Cut,
    /// Acknowledges a write and forgets it.
    Forget,
    /// Acknowledges a write and removes the rows.
    Remove,
    /// Writes something else than it was told.
    Corrupt,
}

/// Decides by the number of the request, from 0.
pub(crate) type Script = Box<dyn Fn(u64) -> Act + Send + Sync>;

/// What each column holds, as it was sent.
type Row = Vec<Option<Vec<u8>>>;

struct Stored {
    id: i64,
    columns: Vec<ColumnDefinition>,
    rows: BTreeMap<Vec<u8>, Row>,
}

struct State {
    script: Script,
    /// How it wants clients to log in.
    mode: u8,
    requests: AtomicU64,
    containers: Mutex<BTreeMap<String, Stored>>,
    /// How many requests came about how many rows, by statement.
    seen: Mutex<BTreeMap<(i32, usize), u64>>,
}

/// The server; it ends with the process.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

impl Fake {
    pub(crate) fn start(script: Script) -> Self {
        Self::start_with(script, 0)
    }

    pub(crate) fn start_with(script: Script, mode: u8) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State { script, mode, requests: AtomicU64::new(0), containers: Mutex::default(), seen: Mutex::default() });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&state, &mut socket.unwrap()));
            }
        });
        Self { address, state }
    }

    pub(crate) fn settings(&self) -> GridDbSettings {
        GridDbSettings { addresses: vec![self.address.to_string()], cluster: CLUSTER.to_owned(), ..GridDbSettings::default() }
    }

    /// Rows of each container.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.state.containers.lock().unwrap().iter().map(|(name, stored)| (name.clone(), stored.rows.len() as u64)).collect()
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts().values().sum()
    }

    /// How many requests came with a statement, by how many rows they were about. Forgets them.
    pub(crate) fn seen(&self, number: i32) -> BTreeMap<usize, u64> {
        let mut seen = self.state.seen.lock().unwrap();
        let of = seen.iter().filter(|((seen, _), _)| *seen == number).map(|((_, rows), count)| (*rows, *count)).collect();
        seen.retain(|(seen, _), _| *seen != number);
        of
    }
}

fn serve(state: &State, socket: &mut TcpStream) {
    socket.set_nodelay(true).unwrap();
    let mut header = [0; 20];
    while socket.read_exact(&mut header).is_ok() {
        let Ok(Some(header)) = FrameHeader::read(&header, false, 1 << 20) else { return };
        let mut body = vec![0; header.body_bytes];
        socket.read_exact(&mut body).unwrap();
        let statement = Statement::read(&body, false).unwrap();
        let mut out = Vec::new();
        match answer(state, &statement, &mut out) {
            Ok(true) => {}
            Ok(false) => return drop(socket.shutdown(Shutdown::Both)),
            Err(error) => {
                out.clear();
                statement.reply.write_error(Status::StatementError, &error, &mut out);
            }
        }
        // In two pieces, neither of which need be a whole frame.
        let (head, tail) = out.split_at(out.len() / 3);
        if socket.write_all(head).and_then(|()| socket.write_all(tail)).is_err() {
            return;
        }
    }
}

/// Appends the whole reply; false when the connection is to end.
fn answer(state: &State, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<bool, GridError> {
    let mut reader = statement.arguments;
    let mut containers = state.containers.lock().unwrap();
    let reply = statement.reply.begin(Status::Success, out);
    match statement.number() {
        statement::CONNECT => {
            assert_eq!(reader.i32()?, 15);
            out.push(state.mode);
            put_i32(out, 15);
            out.push(0);
            put_i32(out, 2);
            out.extend_from_slice(&[1, 0]);
        }
        statement::LOGIN => {
            Options::read(&mut reader)?;
            if (reader.string()?, reader.string()?) != (USER, DIGEST) {
                return Err(GridError::new(ErrorCode::TXN_AUTH_FAILED, "invalid user or password"));
            }
            let (_timeout_s, _is_owner) = (reader.i32()?, reader.u8()?);
            if ![CLUSTER, ""].contains(&reader.string()?) {
                return Err(GridError::new(ErrorCode::TXN_CLUSTER_NAME_INVALID, "cluster name invalid"));
            }
            out.push(0);
            put_i64(out, 0);
        }
        statement::GET_PARTITION_ADDRESS => {
            put_i32(out, PARTITIONS as i32);
            out.extend_from_slice(&[0, 0, 1, 0, 127, 0, 0, 1]);
            put_i32(out, 10_001);
        }
        statement::PUT_CONTAINER | statement::GET_CONTAINER | statement::DROP_CONTAINER => {
            Options::read(&mut reader)?;
            let name = ContainerName::read(&mut reader)?;
            assert_eq!(statement.partition, partition_of(&name, PARTITIONS), "{name}");
            of_container(&mut containers, statement.number(), &name, &mut reader, out)?;
        }
        statement::GET_PARTITION_CONTAINER_NAMES => {
            Options::read(&mut reader)?;
            // One at a time, so that clients have to go on.
            let start = reader.i64()? as usize;
            let names: Vec<ContainerName> = containers.keys().map(|name| ContainerName::parse(name)).collect();
            let names: Vec<&ContainerName> = names.iter().filter(|name| partition_of(name, PARTITIONS) == statement.partition).collect();
            put_i64(out, names.len() as i64);
            put_i32(out, names.iter().skip(start).take(1).len() as i32);
            names.iter().skip(start).take(1).for_each(|name| name.write(out));
        }
        statement::PUT_ROW
        | statement::PUT_MULTIPLE_ROWS
        | statement::GET_ROW
        | statement::GET_MULTIPLE_CONTAINER_ROWS
        | statement::QUERY_TQL => {
            let act = (state.script)(state.requests.fetch_add(1, Relaxed));
            match act {
                Act::Cut => return Ok(false),
                Act::Refuse => return Err(GridError::new(ErrorCode::CM_NO_MEMORY, "memory limit exceeded")),
                _ => {
                    if let Act::Pause(pause) = act {
                        drop(containers);
                        std::thread::sleep(pause);
                        containers = state.containers.lock().unwrap();
                    }
                    let rows = of_rows(&mut containers, statement, act, out)?;
                    *state.seen.lock().unwrap().entry((statement.number(), rows)).or_default() += 1;
                }
            }
        }
        number => return Err(GridError::new(ErrorCode::TXN_STATEMENT_TYPE_UNKNOWN, format!("unknown statement type {number}"))),
    }
    reply.end(out);
    Ok(true)
}

fn of_container(
    containers: &mut BTreeMap<String, Stored>,
    number: i32,
    name: &ContainerName,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
) -> Result<(), GridError> {
    assert_eq!(Kind::of_wire(reader.u8()?)?, Some(Kind::Collection));
    if number == statement::DROP_CONTAINER {
        containers.remove(&name.to_string());
        return Ok(());
    }
    if number == statement::PUT_CONTAINER {
        assert!(!reader.bool()?, "it is made as it is to be");
        let (columns, key_len) = read_columns(reader)?;
        assert_eq!(key_len, 1);
        let id = 100 + containers.len() as i64;
        containers.entry(name.to_string()).or_insert(Stored { id, columns, rows: BTreeMap::new() });
    }
    let stored = containers.get(&name.to_string());
    if number == statement::GET_CONTAINER {
        out.push(u8::from(stored.is_some()));
    }
    if let Some(Stored { id, columns, .. }) = stored {
        put_i32(out, 7);
        put_i64(out, *id);
        name.write(out);
        write_columns(columns.iter(), 1, out);
    }
    Ok(())
}

/// Serves a request about rows; says how many it was about.
fn of_rows(containers: &mut BTreeMap<String, Stored>, statement: &Statement<'_>, act: Act, out: &mut Vec<u8>) -> Result<usize, GridError> {
    let mut reader = statement.arguments;
    if statement.number() == statement::GET_MULTIPLE_CONTAINER_ROWS {
        return many(containers, &mut reader, statement.partition, out);
    }
    let id = reader.i64()?;
    let (name, stored) = containers.iter_mut().find(|(_, stored)| stored.id == id).expect("a container that was made");
    assert_eq!(statement.partition, partition_of(&ContainerName::parse(name), PARTITIONS));
    let _session = (reader.i64()?, reader.uuid()?);
    assert_eq!(reader.i32()?, 7, "the version of the schema");
    let _modes = (reader.u8()?, reader.u8()?);
    Options::read(&mut reader)?;
    match statement.number() {
        statement::GET_ROW => {
            let key = key_of(&stored.columns, &mut reader)?;
            let row = stored.rows.get(&key);
            out.push(u8::from(row.is_some()));
            write_rows(&stored.columns, &row.into_iter().collect::<Vec<_>>(), out);
            Ok(1)
        }
        statement::QUERY_TQL => {
            let limit = reader.i64()? as usize;
            let _fetch = (reader.i64()?, reader.bool()?, reader.i32()?);
            let text = reader.string()?;
            let from = text.strip_prefix("SELECT * WHERE id >= '").and_then(|rest| rest.strip_suffix('\'')).expect("a range of keys");
            let found: Vec<&Row> = stored.rows.range(from.as_bytes().to_vec()..).take(limit).map(|(_, row)| row).collect();
            put_i32(out, 1);
            out.push(0);
            let mut rows = Vec::new();
            put_i64(&mut rows, found.len() as i64);
            write_rows(&stored.columns, &found, &mut rows);
            put_i32(out, rows.len() as i32);
            out.extend_from_slice(&rows);
            Ok(found.len())
        }
        number => {
            let count = if number == statement::PUT_ROW { 1 } else { reader.i64()? };
            let (mut rows, mut values) = (RowReader::new(&stored.columns, count, &mut reader)?, Vec::new());
            while rows.next_into(&mut values)? {
                let mut row: Row = values.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
                let key = row[0].clone().expect("a row has a key");
                match act {
                    Act::Forget => {}
                    Act::Remove => drop(stored.rows.remove(&key)),
                    _ => {
                        if act == Act::Corrupt {
                            row[1..].iter_mut().flatten().for_each(|value| value.reverse());
                        }
                        stored.rows.insert(key, row);
                    }
                }
            }
            out.push(0);
            Ok(count as usize)
        }
    }
}

/// Rows of one container by their keys, in another order than they were asked for.
fn many(containers: &mut BTreeMap<String, Stored>, reader: &mut Reader<'_>, partition: i32, out: &mut Vec<u8>) -> Result<usize, GridError> {
    reader.uuid()?;
    Options::read(reader)?;
    assert_eq!((reader.i32()?, reader.u8()?, reader.u8()?), (1, 0, 1), "the distinct keys of one predicate, which are texts");
    let count = reader.i32()?;
    let keys = (0..count).map(|_| Ok(reader.var_bytes()?.to_vec())).collect::<Result<Vec<_>, GridError>>()?;
    assert_eq!(reader.i32()?, 1);
    Options::read(reader)?;
    let name = ContainerName::read(reader)?;
    assert_eq!((reader.i32()?, partition), (0, partition_of(&name, PARTITIONS)));
    let stored = &containers[&name.to_string()];
    let mut distinct = keys.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), keys.len(), "a key is asked for once");
    let found: Vec<&Row> = keys.iter().rev().filter_map(|key| stored.rows.get(key)).collect();
    put_i32(out, 1);
    out.push(Kind::Collection as u8);
    write_columns(stored.columns.iter(), 1, out);
    put_i32(out, 1);
    name.write(out);
    put_i32(out, 0);
    put_i64(out, found.len() as i64);
    write_rows(&stored.columns, &found, out);
    Ok(keys.len())
}

fn key_of(columns: &[ColumnDefinition], reader: &mut Reader<'_>) -> Result<Vec<u8>, GridError> {
    Ok(match columns[0].fixed_bytes() {
        Some(bytes) => reader.take(bytes)?,
        None => reader.var_bytes()?,
    }
    .to_vec())
}

/// Appends rows as a collection has them in replies: with a number each.
fn write_rows(columns: &[ColumnDefinition], rows: &[&Row], out: &mut Vec<u8>) {
    let (layout, mut variable) = (Layout::of(columns), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        put_i64(out, number as i64);
        put_i64(out, variable.len() as i64);
        put_var_size(&mut variable, layout.variable_columns);
        out.resize(out.len() + layout.null_bytes, 0);
        for (column, value) in columns.iter().zip(*row) {
            let value = value.as_deref().expect("nothing is null");
            if column.fixed_bytes().is_some() { out.extend_from_slice(value) } else { put_var_bytes(&mut variable, value) }
        }
    }
    out.extend_from_slice(&variable);
}
