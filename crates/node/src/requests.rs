//! Requests that wait: their reply comes later.

use crate::cluster::{Asker, NOBODY, Place, Route};
use crate::protocol::{AnyCoordinator, Reply};
use crate::request_figures::{Measured, RequestMeter};
pub(crate) use crate::request_id::RequestId;
use crate::slow::{About, Watch};
use crate::traces::TracedRequest;
use base::TableId;
use io::ConnectionId;
use model::operation::Part;
use shard::ShardError;

/// A request that waits.
pub(crate) struct Request {
    /// Who asked.
    pub(crate) connection: ConnectionId,
    /// How it is answered.
    pub(crate) reply: Reply,
    /// Who has forwarded it, if its client is at another core or member.
    pub(crate) asker: Option<Asker>,
    /// In a cluster: how it, or each part that is out, runs on another member.
    pub(crate) route: Option<(Route, Vec<Place>)>,
    /// Whether its client, which asked the wrong member or core, is told where the partition is.
    pub(crate) tells_tablet: bool,
    /// What it waits for.
    pub(crate) work: Work,
    /// Bytes of memory it holds while it waits.
    pub(crate) bytes: usize,
    /// What it counts as, and since when; none if no client of this core has asked.
    pub(crate) measured: Option<Measured>,
    /// Its trace, if its client has asked for one.
    pub(crate) traced: Option<Box<TracedRequest>>,
    /// What its reply warns of besides.
    pub(crate) warnings: Option<Box<[String]>>,
    /// What is told of it if it is slow.
    pub(crate) about: About,
}

/// What a waiting request costs besides its values and results.
pub(crate) const REQUEST_BYTES: usize = 1 << 10;

/// What a waiting request over several partitions costs besides.
pub(crate) const COORDINATED_REQUEST_BYTES: usize = 4 << 10;

/// What a request waits for.
pub(crate) enum Work {
    /// One reply, which is whole.
    Single,
    /// A change of the schema; then it is started again from these bytes.
    Restart(Box<[u8]>),
    /// Parts that a coordinator asked for.
    Coordinated(Coordinated),
}

/// A request that takes several steps.
pub(crate) struct Coordinated {
    /// Knows the next step.
    pub(crate) coordinator: AnyCoordinator,
    /// The table of the first part that is out.
    pub(crate) table: Option<TableId>,
    /// The result of each part.
    pub(crate) results: Vec<Vec<u8>>,
    /// The first failure of a part. The client is told when all parts have ended, and the request has no more effects.
    pub(crate) failure: Option<ShardError>,
    /// How many parts are still out.
    pub(crate) left: usize,
    /// Whether a piece of the reply has gone to the client already.
    pub(crate) has_sent: bool,
    /// Parts that run once the client has taken the reply so far.
    pub(crate) pending: Vec<Part>,
    /// Bytes of memory it holds besides results.
    pub(crate) bytes: usize,
}

impl Request {
    /// A request that one whole reply ends.
    pub(crate) fn single(connection: ConnectionId, reply: Reply, bytes: usize) -> Self {
        Self {
            connection,
            reply,
            asker: None,
            route: None,
            tells_tablet: false,
            work: Work::Single,
            bytes,
            measured: None,
            traced: None,
            warnings: None,
            about: About::default(),
        }
    }
}

impl Coordinated {
    pub(crate) fn new(coordinator: AnyCoordinator, bytes: usize) -> Self {
        Self { coordinator, table: None, results: Vec::new(), failure: None, left: 0, has_sent: false, pending: Vec::new(), bytes }
    }

    /// A part has ended. Gives the bytes of its result.
    pub(crate) fn take(&mut self, part: u16, outcome: Result<Vec<u8>, ShardError>) -> usize {
        let mut bytes = 0;
        match outcome.or_else(|error| self.coordinator.part_failed(part, error)) {
            Ok(reply) => {
                bytes = reply.len();
                if let Some(result) = self.results.get_mut(usize::from(part)) {
                    *result = reply;
                }
            }
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
        self.left = self.left.saturating_sub(1);
        bytes
    }
}

/// All requests of a core that wait.
#[derive(Default)]
pub(crate) struct Requests {
    slots: Vec<(u32, Option<Request>)>,
    free: Vec<u32>,
    bytes: usize,
    pub(crate) meter: RequestMeter,
    pub(crate) watch: Watch,
    /// The trace of the request that is being started: it goes with the first one that waits.
    pub(crate) traced: Option<Box<TracedRequest>>,
    /// What the reply of that request warns of: likewise.
    pub(crate) warnings: Option<Box<[String]>>,
}

impl Requests {
    /// Keeps a request.
    pub(crate) fn insert(&mut self, mut request: Request) -> RequestId {
        let is_a_clients = request.connection != NOBODY && request.asker.is_none();
        request.measured = is_a_clients.then(|| self.meter.waits());
        if is_a_clients {
            request.traced = self.traced.take();
            request.warnings = self.warnings.take();
            request.about = self.watch.waits();
        }
        self.bytes += request.bytes;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        let (generation, slot) = &mut self.slots[index as usize];
        let id = RequestId { index, generation: *generation };
        if let Some(traced) = &mut request.traced {
            traced.waits(id);
        }
        *slot = Some(request);
        id
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The request, if it still waits.
    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        let (generation, slot) = self.slots.get_mut(id.index as usize)?;
        if *generation == id.generation { slot.as_mut() } else { None }
    }

    /// Ends the wait.
    pub(crate) fn remove(&mut self, id: RequestId) -> Option<Request> {
        let mut request = self.discard(id)?;
        if let Some(measured) = request.measured {
            self.meter.ended(measured);
            let began = (measured.class, measured.began_us);
            self.watch.ended(request.connection, std::mem::take(&mut request.about), began, self.meter.now_us());
        }
        Some(request)
    }

    /// A turn ends; `now_us` reads the clock anew.
    #[inline]
    pub(crate) fn end_turn(&mut self, now_us: impl FnOnce() -> u64) {
        if self.meter.has_at_once() || self.watch.minds_turn() {
            let (began_us, now_us) = (self.meter.now_us(), now_us());
            self.watch.turn_ended(began_us, now_us, || self.meter.at_once());
            self.meter.end_turn(now_us);
        }
    }

    /// As [`Requests::remove`], of one that is not answered by that: its client is gone, or has its reply already, or it starts again.
    pub(crate) fn discard(&mut self, id: RequestId) -> Option<Request> {
        let (generation, slot) = self.slots.get_mut(id.index as usize)?;
        if *generation != id.generation {
            return None;
        }
        let request = slot.take()?;
        self.bytes -= request.bytes;
        *generation = generation.wrapping_add(1);
        self.free.push(id.index);
        Some(request)
    }

    /// Notes that a request holds `bytes` more.
    pub(crate) fn grow(&mut self, id: RequestId, bytes: usize) {
        if let Some(request) = self.get_mut(id) {
            request.bytes += bytes;
            self.bytes += bytes;
        }
    }

    /// Notes that a request holds `bytes` now.
    pub(crate) fn set_bytes(&mut self, id: RequestId, bytes: usize) {
        if let Some(request) = self.get_mut(id) {
            let before = std::mem::replace(&mut request.bytes, bytes);
            self.bytes = self.bytes - before + bytes;
        }
    }

    /// Memory they hold, in bytes.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
