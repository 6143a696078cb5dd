//! Prepared statements: one table for the node, and a copy on each core that needs no lock.

use super::figures::figures_of;
use crate::request_figures::RequestKind;
use crate::table_figures::TableUse;
use cql::CqlError;
use cql::plan::Prepared;
use model::Schema;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// The assumed memory of a statement: its plan takes a few times its text.
pub(crate) fn weight(prepared: &Prepared) -> usize {
    2_048 + 4 * prepared.text.len()
}

/// An MD5 is a hash already.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(head) = bytes.first_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*head);
        }
    }
}

type ById<V> = HashMap<[u8; 16], V, BuildHasherDefault<IdHasher>>;

/// All prepared statements of a node. Beyond `bytes_max` the oldest are evicted; drivers prepare them again.
pub struct SharedStatements {
    bytes_max: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    statements: ById<Arc<Prepared>>,
    /// Each id of `statements` once, oldest first.
    order: VecDeque<[u8; 16]>,
    bytes: usize,
}

impl SharedStatements {
    /// An empty table, which may take about `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, inner: Mutex::default() }
    }

    fn get(&self, id: &[u8; 16]) -> Option<Arc<Prepared>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).statements.get(id).cloned()
    }

    fn insert(&self, prepared: &Arc<Prepared>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.bytes += weight(prepared);
        match inner.statements.insert(prepared.id, Arc::clone(prepared)) {
            None => inner.order.push_back(prepared.id),
            Some(before) => inner.bytes -= weight(&before),
        }
        while inner.bytes > self.bytes_max
            && let Some(oldest) = inner.order.pop_front()
        {
            if let Some(forgotten) = inner.statements.remove(&oldest) {
                inner.bytes -= weight(&forgotten);
            }
        }
    }

    fn remove(&self, id: &[u8; 16]) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(forgotten) = inner.statements.remove(id) {
            inner.bytes -= weight(&forgotten);
            inner.order.retain(|other| other != id);
        }
    }
}

/// One core's prepared statements. All were planned against the core's current schema, or about tables that have not changed since.
pub(crate) struct CoreStatements {
    shared: Arc<SharedStatements>,
    kept: Vec<Kept>,
    /// Where in `kept` each is.
    places: ById<u32>,
    bytes: usize,
}

/// A statement of a core, and what it counts as in figures.
pub(crate) struct Kept {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) figures: (RequestKind, TableUse),
}

impl CoreStatements {
    /// None yet.
    #[must_use]
    pub(crate) fn new(shared: Arc<SharedStatements>) -> Self {
        Self { shared, kept: Vec::new(), places: ById::default(), bytes: 0 }
    }

    /// The statement of this id; `None` when the driver must prepare it again.
    #[inline]
    pub(crate) fn get(&mut self, id: &[u8], schema: &Schema) -> Option<&Kept> {
        let id = <&[u8; 16]>::try_from(id).ok()?;
        let place = match self.places.get(id) {
            Some(place) => *place as usize,
            None => self.fetch(id, schema)?,
        };
        self.kept.get(place)
    }

    /// As [`CoreStatements::get`], the statement alone.
    pub(crate) fn prepared(&mut self, id: &[u8], schema: &Schema) -> Option<&Arc<Prepared>> {
        self.get(id, schema).map(|kept| &kept.prepared)
    }

    /// Keeps what was prepared on another core.
    #[cold]
    fn fetch(&mut self, id: &[u8; 16], schema: &Schema) -> Option<usize> {
        let prepared = self.shared.get(id)?;
        if !is_current(&prepared, schema) {
            self.shared.remove(id);
            return None;
        }
        Some(self.keep(prepared))
    }

    /// Keeps a statement for all cores.
    ///
    /// # Errors
    /// A statement that alone would take too much of the memory for prepared statements.
    pub(crate) fn insert(&mut self, prepared: Arc<Prepared>) -> Result<(), CqlError> {
        if weight(&prepared) > self.shared.bytes_max / 4 {
            return Err(CqlError::Invalid(format!("a text of {} bytes is too long to be prepared; bind its values", prepared.text.len())));
        }
        self.shared.insert(&prepared);
        self.keep(prepared);
        Ok(())
    }

    fn keep(&mut self, prepared: Arc<Prepared>) -> usize {
        if self.bytes > self.shared.bytes_max {
            self.kept.clear();
            self.places.clear();
            self.bytes = 0;
        }
        self.bytes += weight(&prepared);
        let (id, figures) = (prepared.id, figures_of(&prepared.statement));
        let kept = Kept { prepared, figures };
        if let Some(place) = self.places.get(&id).map(|place| *place as usize) {
            self.bytes -= weight(&std::mem::replace(&mut self.kept[place], kept).prepared);
            return place;
        }
        let place = self.kept.len();
        self.kept.push(kept);
        self.places.insert(id, place as u32);
        place
    }

    /// Forgets statements whose table has changed, or a function that they call.
    pub(crate) fn schema_changed(&mut self, schema: &Schema) {
        self.kept.retain(|kept| is_current(&kept.prepared, schema));
        self.places = self.kept.iter().enumerate().map(|(place, kept)| (kept.prepared.id, place as u32)).collect();
        self.bytes = self.kept.iter().map(|kept| weight(&kept.prepared)).sum();
    }
}

/// Whether the plan's tables and functions are those of `schema`.
fn is_current(prepared: &Prepared, schema: &Schema) -> bool {
    if prepared.schema_version == schema.version {
        return true;
    }
    let masked = prepared.masking.iter().filter_map(|masking| masking.masked.as_ref());
    let are_current = prepared.called.iter().chain(masked.flat_map(|masked| &masked.called)).all(|called| called.is_of(schema));
    are_current
        && prepared.tables().all(|table| match schema.table(&table.keyspace, &table.name) {
            Some(current) => Arc::ptr_eq(current, table),
            None => cql::system::is_system_keyspace(&table.keyspace),
        })
}
