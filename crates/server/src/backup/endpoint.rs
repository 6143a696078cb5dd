//! What `tarndb backup` and `tarndb restore` ask a node over its HTTP port. All of it takes a superuser, where clients have to log in.
//!
//! | request | answers |
//! |---|---|
//! | `POST /backup/schema` | the schema without roles, as `schema.json` |
//! | `POST /backup/start?session=S&keyspaces=A,B&buffer=BYTES` | the slots that this node is primary of: [`Places`] |
//! | `POST /backup/rows?session=S&core=N` | the stream of a core, until its end |
//! | `POST /backup/cut`, `/backup/release?session=S&number=N` | 200, or 409 when there is no such cut |
//! | `POST /backup/end?session=S` | 200 |
//! | `POST /restore/places?keyspaces=A,B` | as of `/backup/start` |
//! | `POST /restore/tables`, a schema as body | 200 once they are there, or 409 and why not |
//! | `POST /restore/rows`, rows as body | 200 once they are stored on all replicas, 503: try again |

use ::node::{BackupPort, BackupRequest, Board, CreateTables, FrameReceiver, PlaceReport, Started, frames};
use base::TableId;
use engine::ReceivedRows;
use model::{Schema, schema_blob};
use serde::{Deserialize, Serialize};
use shard::ShardError;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const CORE_TIMEOUT: Duration = Duration::from_secs(5);
const CREATE_TIMEOUT: Duration = Duration::from_secs(12);
const ROWS_TIMEOUT: Duration = Duration::from_secs(30);
const STREAM_TIMEOUT: Duration = Duration::from_secs(5);
/// A request's body may have so many bytes: more than the largest row.
pub(crate) const BODY_BYTES_MAX: usize = 64 << 20;
const BUFFER_BYTES: usize = 64 << 20;

/// The slots that each core of a node is the primary of.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Places {
    /// How many cores it has.
    pub(crate) cores: u16,
    /// By keyspace.
    pub(crate) slots: BTreeMap<String, Vec<u16>>,
}

/// The backup that is under way: what cores send and nobody reads yet.
#[derive(Default)]
pub(crate) struct Streams(Mutex<BTreeMap<(u64, u16), FrameReceiver>>);

/// An answer: status, text.
pub(crate) type Answer = Result<Vec<u8>, (&'static str, String)>;

const CONFLICT: &str = "409 Conflict";
const UNAVAILABLE: &str = "503 Service Unavailable";
const BAD: &str = "400 Bad Request";

/// A request's target.
pub(crate) struct Target<'a> {
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
}

impl Target<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, (&'static str, String)> {
        let number = self.text(name).and_then(|text| text.parse().ok());
        number.ok_or_else(|| (BAD, format!("`{name}` is missing or no number")))
    }

    fn keyspaces(&self) -> Vec<String> {
        self.text("keyspaces").unwrap_or("").split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

/// Whether it is one of these.
pub(crate) fn is_endpoint(path: &str) -> bool {
    path.starts_with("/backup/") || path.starts_with("/restore/")
}

/// Answers all but the stream.
pub(crate) fn answer(board: &Board, streams: &Streams, target: &Target<'_>, body: Vec<u8>) -> Answer {
    let port = board.backup();
    match target.path {
        "/backup/schema" => Ok(schema_blob::encode(&Schema { roles: BTreeMap::new(), ..Schema::clone(&board.schema()) })),
        "/backup/start" => start(port, streams, target),
        "/backup/cut" | "/backup/release" => {
            let (session, number) = (target.number("session")?, target.number("number")?);
            let is_cut = target.path == "/backup/cut";
            let is_done = ask_all(port, |answer| match is_cut {
                true => BackupRequest::Cut { session, number, answer },
                false => BackupRequest::Release { session, number, answer },
            })?;
            if is_done.iter().all(|done| *done) { Ok(Vec::new()) } else { Err((CONFLICT, "the cut does not hold".to_owned())) }
        }
        "/backup/end" => {
            let session = target.number("session")?;
            (0..port.cores()).for_each(|core| port.ask(core, BackupRequest::End { session }));
            streams.forget_all();
            Ok(Vec::new())
        }
        "/restore/places" => {
            let keyspaces = target.keyspaces();
            places(port, ask_all(port, |answer| BackupRequest::Places { keyspaces: keyspaces.clone(), answer })?)
        }
        "/restore/tables" => create(board, &body),
        "/restore/rows" => restore(port, &body),
        _ => Err(("404 Not Found", "there is no such request".to_owned())),
    }
}

impl Streams {
    /// Takes a core's stream.
    pub(crate) fn take(&self, target: &Target<'_>) -> Result<FrameReceiver, (&'static str, String)> {
        let key = (target.number("session")?, target.number("core")?);
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        stream.ok_or_else(|| (CONFLICT, "there is no such stream: another backup has begun, or the node has restarted".to_owned()))
    }

    fn forget_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Sends a stream to its end.
pub(crate) fn send(stream: &FrameReceiver, out: &mut impl Write) -> std::io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\r\n")?;
    while let Ok(frame) = stream.next(STREAM_TIMEOUT) {
        if let Some(frame) = frame {
            out.write_all(&frame)?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Asks every core, and waits for all answers.
fn ask_all<T>(port: &BackupPort, request: impl Fn(std::sync::mpsc::Sender<T>) -> BackupRequest) -> Result<Vec<T>, (&'static str, String)> {
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

fn start(port: &BackupPort, streams: &Streams, target: &Target<'_>) -> Answer {
    let (session, keyspaces) = (target.number("session")?, target.keyspaces());
    let buffer_bytes = target.number("buffer").unwrap_or(BUFFER_BYTES) / usize::from(port.cores().max(1));
    streams.forget_all();
    let answers: Vec<Receiver<Started>> = (0..port.cores())
        .map(|core| {
            let ((frames, stream), (answer, receiver)) = (frames(), channel());
            streams.0.lock().unwrap_or_else(PoisonError::into_inner).insert((session, core), stream);
            port.ask(core, BackupRequest::Start { session, keyspaces: keyspaces.clone(), buffer_bytes, frames, answer });
            receiver
        })
        .collect();
    let started = answers.into_iter().map(|answer| answer.recv_timeout(CORE_TIMEOUT).ok()).collect::<Option<Vec<_>>>();
    let started = started.ok_or_else(|| (UNAVAILABLE, "a core does not answer".to_owned()))?;
    places(port, started.into_iter().map(|started| started.places).collect())
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
    board.backup().ask(0, BackupRequest::Create(CreateTables { schema: schema.clone(), refused }));
    let deadline = Instant::now() + CREATE_TIMEOUT;
    while Instant::now() < deadline {
        if let Ok(why) = refusal.recv_timeout(Duration::from_millis(20)) {
            return Err((CONFLICT, why));
        }
        std::thread::sleep(Duration::from_millis(5));
        let known = board.schema();
        let is_there = |table: &model::Table| {
            known.table(&table.keyspace, &table.name).is_some_and(|known| known.uuid == table.uuid && known.views == table.views)
        };
        if schema.tables().all(|table| is_there(table)) {
            return Ok(Vec::new());
        }
    }
    Err((UNAVAILABLE, "the tables are not there in time; they may still come: ask again, which does no harm".to_owned()))
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
    Ok(Vec::new())
}
