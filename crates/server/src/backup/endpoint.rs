//! What `tarndb backup` and `tarndb restore` ask a node over its HTTP port. All of it takes a superuser, where clients have to log in.
//!
//! | request | answers |
//! |---|---|
//! | `POST /backup/schema` | the schema without roles, as `schema.json` |
//! | `POST /backup/roles` | the same with roles |
//! | `POST /backup/start?session=S&buffer=BYTES`, keyspaces as body | the slots that this node is primary of: [`Places`] |
//! | `POST /backup/rows?session=S&core=N` | the stream of a core, until its end |
//! | `POST /backup/cut`, `/backup/release?session=S&number=N` | 200, or 409 when there is no such cut |
//! | `POST /backup/end?session=S[&whole=1]` | 200; without a session any backup ends |
//! | `POST /restore/places`, keyspaces as body | as of `/backup/start` |
//! | `POST /restore/tables`, a schema as body | 200 once they are there, or 409 and why not |
//! | `POST /restore/roles`, a schema as body | 200 once roles of all its names are there, or 409 and why not |
//! | `POST /restore/rows`, rows as body | 200 once they are stored on all replicas, 503: try again |
//!
//! Keyspaces are a JSON list of names.

use super::request::{BAD, CONFLICT, Refusal, Target, UNAVAILABLE};
use super::streams::{Running, Streams};
use ::node::{BackupPort, BackupRequest, Board, FrameReceiver, PlaceReport, frames};
use base::TableId;
use engine::ReceivedRows;
use model::{Schema, schema_blob};
use serde::{Deserialize, Serialize};
use shard::ShardError;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CORE_TIMEOUT: Duration = Duration::from_secs(5);
const CREATE_TIMEOUT: Duration = Duration::from_secs(12);
const ROWS_TIMEOUT: Duration = Duration::from_secs(30);
const STREAM_TIMEOUT: Duration = Duration::from_secs(5);
const BUFFER_BYTES: usize = 64 << 20;

/// The slots that each core of a node is the primary of.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Places {
    /// How many cores it has.
    pub(crate) cores: u16,
    /// By keyspace.
    pub(crate) slots: BTreeMap<String, Vec<u16>>,
}

pub(crate) type Answer = Result<Vec<u8>, Refusal>;

/// Answers all but the stream.
pub(crate) fn answer(board: &Board, streams: &Streams, target: &Target<'_>, body: &[u8], asker: String) -> Answer {
    let port = board.backup();
    match target.path {
        "/backup/schema" => Ok(schema_blob::encode(&Schema { roles: BTreeMap::new(), ..Schema::clone(&board.schema()) })),
        "/backup/roles" => Ok(schema_blob::encode(&board.schema())),
        "/backup/start" => start(port, streams, target, keyspaces(body)?, asker),
        "/backup/cut" | "/backup/release" => {
            let (session, number) = (target.number("session")?, target.number("number")?);
            let is_cut = target.path == "/backup/cut";
            let is_done = ask_all(port, |answer| match is_cut {
                true => BackupRequest::Cut { session, number, answer },
                false => BackupRequest::Release { session, number, answer },
            })?;
            if is_done.iter().all(|done| *done) { Ok(Vec::new()) } else { Err((CONFLICT, "the cut does not hold".to_owned())) }
        }
        "/backup/end" => Ok(end(port, streams, target)),
        "/restore/places" => {
            let keyspaces = keyspaces(body)?;
            places(port, ask_all(port, |answer| BackupRequest::Places { keyspaces: keyspaces.clone(), answer })?)
        }
        "/restore/tables" => create(board, body),
        "/restore/roles" => create_roles(board, body),
        "/restore/rows" => restore(port, body),
        _ => Err(("404 Not Found", "there is no such request".to_owned())),
    }
}

fn keyspaces(body: &[u8]) -> Result<Vec<String>, Refusal> {
    serde_json::from_slice(body).map_err(|error| (BAD, format!("the body is no list of keyspaces: {error}")))
}

/// Takes a core's stream.
pub(crate) fn take_stream(streams: &Streams, target: &Target<'_>) -> Result<FrameReceiver, Refusal> {
    let stream = streams.take(target.number("session")?, target.number("core")?);
    stream.ok_or_else(|| (CONFLICT, "there is no such stream: the backup was ended, or the node has restarted".to_owned()))
}

/// Sends a stream to its end.
pub(crate) fn send(board: &Board, stream: &FrameReceiver, out: &mut impl Write) -> std::io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\r\n")?;
    while let Ok(frame) = stream.next(STREAM_TIMEOUT) {
        if let Some(frame) = frame {
            out.write_all(&frame)?;
            out.flush()?;
            board.backup().figures().sent_bytes.fetch_add(frame.len() as u64, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Asks every core, and waits for all answers.
fn ask_all<T>(port: &BackupPort, request: impl Fn(Sender<T>) -> BackupRequest) -> Result<Vec<T>, Refusal> {
    let answers: Vec<Receiver<T>> = (0..port.cores())
        .map(|core| {
            let (sender, receiver) = channel();
            port.ask(core, request(sender));
            receiver
        })
        .collect();
    let answers = answers.into_iter().map(|answer| answer.recv_timeout(CORE_TIMEOUT).ok()).collect::<Option<Vec<T>>>();
    answers.ok_or_else(|| (UNAVAILABLE, "a core does not answer".to_owned()))
}

fn start(port: &BackupPort, streams: &Streams, target: &Target<'_>, keyspaces: Vec<String>, asker: String) -> Answer {
    let session = target.number("session")?;
    let buffer_bytes = target.optional("buffer").unwrap_or(BUFFER_BYTES) / usize::from(port.cores().max(1));
    let _one_at_a_time = streams.lock_start();
    if port.figures().running.load(Ordering::Acquire) > 0 {
        return Err(streams.refusal());
    }
    streams.begin(Running { session, keyspaces: keyspaces.clone(), asker, begun: Instant::now() });
    let answers: Vec<Receiver<Option<Vec<PlaceReport>>>> = (0..port.cores())
        .map(|core| {
            let ((frames, stream), (answer, receiver)) = (frames(), channel());
            streams.insert(session, core, stream);
            port.ask(core, BackupRequest::Start { session, keyspaces: keyspaces.clone(), buffer_bytes, frames, answer });
            receiver
        })
        .collect();
    let started = answers.into_iter().map(|answer| answer.recv_timeout(CORE_TIMEOUT).ok()).collect::<Option<Vec<_>>>();
    let started = started.ok_or_else(|| (UNAVAILABLE, "a core does not answer".to_owned()))?;
    let started = started.into_iter().collect::<Option<Vec<_>>>();
    places(port, started.ok_or_else(|| (CONFLICT, "the backup before is still ending".to_owned()))?)
}

fn end(port: &BackupPort, streams: &Streams, target: &Target<'_>) -> Vec<u8> {
    let Some(session) = target.optional("session").or_else(|| streams.session()) else {
        return b"no backup runs\n".to_vec();
    };
    if target.optional("whole") == Some(1) {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        port.figures().last_success_s.store(now_s, Ordering::Relaxed);
    }
    (0..port.cores()).for_each(|core| port.ask(core, BackupRequest::End { session }));
    streams.end(session);
    b"ended\n".to_vec()
}

fn places(port: &BackupPort, reports: Vec<Vec<PlaceReport>>) -> Answer {
    let mut places = Places { cores: port.cores(), slots: BTreeMap::new() };
    for PlaceReport { keyspace, slot } in reports.into_iter().flatten() {
        places.slots.entry(keyspace).or_default().push(slot);
    }
    serde_json::to_vec(&places).map_err(|error| ("500 Internal Server Error", error.to_string()))
}

fn create(board: &Board, body: &[u8]) -> Answer {
    let schema = schema_blob::decode(body).map_err(|error| (BAD, error.to_string()))?;
    let (refused, refusal) = channel();
    board.backup().ask(0, BackupRequest::Create { schema: schema.clone(), refused });
    wait_for(board, &refusal, |known| {
        let is_there = |table: &model::Table| {
            known.table(&table.keyspace, &table.name).is_some_and(|known| known.uuid == table.uuid && known.views == table.views)
        };
        schema.keyspaces.keys().all(|name| known.keyspaces.contains_key(name)) && schema.tables().all(|table| is_there(table))
    })
}

fn create_roles(board: &Board, body: &[u8]) -> Answer {
    let roles = schema_blob::decode(body).map_err(|error| (BAD, error.to_string()))?.roles;
    let (refused, refusal) = channel();
    board.backup().ask(0, BackupRequest::CreateRoles { roles: roles.clone(), refused });
    wait_for(board, &refusal, |known| roles.keys().all(|name| known.roles.contains_key(name)))
}

/// Waits until what was asked for is in the schema, or refused.
fn wait_for(board: &Board, refusal: &Receiver<String>, is_there: impl Fn(&Schema) -> bool) -> Answer {
    let deadline = Instant::now() + CREATE_TIMEOUT;
    while Instant::now() < deadline {
        if let Ok(why) = refusal.recv_timeout(Duration::from_millis(20)) {
            return Err((CONFLICT, why));
        }
        // The other end is gone, and no refusal came: it is decided or under way.
        std::thread::sleep(Duration::from_millis(5));
        if is_there(&board.schema()) {
            return Ok(Vec::new());
        }
    }
    Err((UNAVAILABLE, "what was asked for is not there in time; it may still come: ask again, which does no harm".to_owned()))
}

fn restore(port: &BackupPort, body: &[u8]) -> Answer {
    let mut by_core: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
    for row in ReceivedRows::new(body) {
        let row = row.map_err(|error| (BAD, error.to_string()))?;
        if row.key.table == TableId(0) {
            return Err((BAD, "there is no table 0".to_owned()));
        }
        by_core.entry(row.key.token.slot().core(port.cores()).0).or_default().extend_from_slice(row.encoded);
    }
    let answers: Vec<Receiver<Result<(), ShardError>>> = by_core
        .into_iter()
        .map(|(core, rows)| {
            let (answer, receiver) = channel();
            port.ask(core, BackupRequest::Restore { rows, answer });
            receiver
        })
        .collect();
    let deadline = Instant::now() + ROWS_TIMEOUT;
    for answer in answers {
        match answer.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(())) => {}
            Ok(Err(
                error @ (ShardError::Full { .. } | ShardError::IndexFull { .. } | ShardError::TooLarge { .. } | ShardError::Poisoned),
            )) => {
                return Err(("507 Insufficient Storage", error.to_string()));
            }
            Ok(Err(error)) => return Err((UNAVAILABLE, error.to_string())),
            Err(_) => return Err((UNAVAILABLE, "a core does not answer".to_owned())),
        }
    }
    port.figures().restored_bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
    Ok(Vec::new())
}
