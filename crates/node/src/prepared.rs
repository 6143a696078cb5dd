//! Prepared statements: one table for the node, and a copy on each core that needs no lock.

use cql::plan::Prepared;
use model::Schema;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// The node forgets the oldest beyond this many; drivers prepare again.
const STATEMENTS_MAX: usize = 65_536;

/// An MD5 is a hash already.
#[derive(Default)]
pub struct IdHasher(u64);

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

/// All prepared statements of a node.
#[derive(Default)]
pub struct SharedStatements {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    statements: ById<Arc<Prepared>>,
    order: VecDeque<[u8; 16]>,
}

impl SharedStatements {
    fn get(&self, id: &[u8; 16]) -> Option<Arc<Prepared>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).statements.get(id).cloned()
    }

    fn insert(&self, prepared: Arc<Prepared>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.statements.insert(prepared.id, Arc::clone(&prepared)).is_none() {
            inner.order.push_back(prepared.id);
        }
        if inner.order.len() > STATEMENTS_MAX
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.statements.remove(&oldest);
        }
    }

    fn remove(&self, id: &[u8; 16]) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).statements.remove(id);
    }
}

/// One core's prepared statements. All were planned against the core's current schema, or about tables that have not changed since.
pub struct CoreStatements {
    shared: Arc<SharedStatements>,
    statements: ById<Arc<Prepared>>,
}

impl CoreStatements {
    /// None yet.
    #[must_use]
    pub fn new(shared: Arc<SharedStatements>) -> Self {
        Self { shared, statements: ById::default() }
    }

    /// The statement of this id; `None` when the driver must prepare it again.
    #[inline]
    pub fn get(&mut self, id: &[u8], schema: &Schema) -> Option<&Arc<Prepared>> {
        let id = <&[u8; 16]>::try_from(id).ok()?;
        if !self.statements.contains_key(id) {
            let prepared = self.shared.get(id)?;
            if !is_current(&prepared, schema) {
                self.shared.remove(id);
                return None;
            }
            if self.statements.len() >= STATEMENTS_MAX {
                self.statements.clear();
            }
            self.statements.insert(*id, prepared);
        }
        self.statements.get(id)
    }

    /// Keeps a statement for all cores.
    pub fn insert(&mut self, prepared: Arc<Prepared>) {
        self.shared.insert(Arc::clone(&prepared));
        self.statements.insert(prepared.id, prepared);
    }

    /// Forgets statements whose table has changed.
    pub fn schema_changed(&mut self, schema: &Schema) {
        self.statements.retain(|_, prepared| is_current(prepared, schema));
    }
}

/// Whether the plan's tables are those of `schema`.
fn is_current(prepared: &Prepared, schema: &Schema) -> bool {
    prepared.schema_version == schema.version
        || prepared.tables().all(|table| match schema.table(&table.keyspace, &table.name) {
            Some(current) => Arc::ptr_eq(current, table),
            None => cql::system::is_system_keyspace(&table.keyspace),
        })
}
