//! Places of a scan that are read at the same time, each by a client of its own: so cores and members work at once. Memory is bounded, as one who reads waits
//! until what it has read is taken.

use crate::client::lock;
use crate::client::{Client, Others, Refusal};
use crate::container::Container;
use crate::parts::Place;
use crate::rows::Rows;
use griddb::{ErrorCode, GridError};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// How many read at once for a scan, at most, besides who reads the first place.
const READERS_MAX: usize = 7;
/// How many read at once for all scans: a result that its client leaves open may hold some for long.
const ALL_READERS_MAX: usize = 64;
/// Parts of a place that were read and not taken.
const PARTS_AHEAD: usize = 1;

static READERS: AtomicUsize = AtomicUsize::new(0);

/// One of those who read for all scans.
struct Permit;

impl Permit {
    fn take() -> Option<Self> {
        let more = |readers: usize| Some(readers + 1).filter(|readers| *readers <= ALL_READERS_MAX);
        READERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok().map(|_| Self)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// None after the last one.
type Part = Result<Option<Rows>, Refusal>;

/// A place that nobody reads yet, and where its parts go.
struct Task {
    at: usize,
    place: Place,
    parts: SyncSender<Part>,
}

/// Places that are read by others.
pub(crate) struct Readers {
    tasks: Arc<Mutex<VecDeque<Task>>>,
    /// Each place and its parts, in their order.
    places: VecDeque<(Container, Receiver<Part>)>,
    /// Which one is the first of them.
    at: usize,
    /// The first one, if it is read here.
    own: Option<Place>,
}

impl Readers {
    /// Begins to read.
    pub(crate) fn start(places: VecDeque<Place>, others: &Others) -> Self {
        let count = places.len();
        let (mut tasks, mut receivers) = (VecDeque::with_capacity(count), VecDeque::with_capacity(count));
        for (at, place) in places.into_iter().enumerate() {
            let (parts, receiver) = sync_channel(PARTS_AHEAD);
            receivers.push_back((place.container.clone(), receiver));
            tasks.push_back(Task { at, place, parts });
        }
        let tasks = Arc::new(Mutex::new(tasks));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..count.min(cores).clamp(1, READERS_MAX) {
            // Without it the others read all.
            let Some(permit) = Permit::take() else { break };
            let (tasks, others) = (Arc::clone(&tasks), others.clone());
            let reader = std::thread::Builder::new().name("tarndb-sql-read".to_owned());
            let read = move || {
                read_all(&tasks, &others);
                drop(permit);
            };
            if reader.spawn(read).is_err() {
                break;
            }
        }
        Self { tasks, places: receivers, at: 0, own: None }
    }

    /// The next part of any place, and the place; none after the last one.
    pub(crate) fn next(&mut self, client: &Mutex<Client>) -> Result<Option<(Container, Rows)>, Refusal> {
        while let Some((container, parts)) = self.places.front() {
            if self.own.is_none() {
                let mut tasks = lock(&self.tasks);
                if tasks.front().is_some_and(|task| task.at == self.at) {
                    self.own = tasks.pop_front().map(|task| task.place);
                }
            }
            let part = match &mut self.own {
                Some(place) => place.fetch(&mut lock(client)),
                None => parts.recv().unwrap_or_else(|_| Err(stopped())),
            };
            if let Some(rows) = part? {
                return Ok(Some((container.clone(), rows)));
            }
            self.places.pop_front();
            (self.own, self.at) = (None, self.at + 1);
        }
        Ok(None)
    }
}

/// Why there are no more parts of a place: the one who reads it has panicked.
fn stopped() -> Refusal {
    GridError::new(ErrorCode::DS_DS_STATEMENT_FAILED, "rows of a data partition could not be read to their end").into()
}

impl Drop for Readers {
    fn drop(&mut self) {
        // Who reads ends with what it does not get rid of.
        lock(&self.tasks).clear();
    }
}

/// Reads places until there are none.
fn read_all(tasks: &Mutex<VecDeque<Task>>, others: &Others) {
    let (mut client, mut is_old) = (others.idle(), true);
    if client.is_none() {
        // Whoever may not have another client reads all with the one that it has.
        let Ok(new) = others.connect() else { return };
        (client, is_old) = (Some(new), false);
    }
    let Some(mut client) = client else { return };
    loop {
        let Some(Task { mut place, parts, .. }) = lock(tasks).pop_front() else { break };
        loop {
            let mut part = place.fetch(&mut client);
            if part.is_err() && client.is_broken() && is_old {
                // The node may have closed it while it had nothing to do.
                if let Ok(new) = others.connect() {
                    client = new;
                    part = place.fetch(&mut client);
                }
            }
            is_old = false;
            let is_over = !matches!(part, Ok(Some(_)));
            if parts.send(part).is_err() || is_over {
                break;
            }
        }
        if client.is_broken() {
            return;
        }
    }
    others.keep(client);
}
