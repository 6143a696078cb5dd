//! The board: cores write their figures there and find orders.
//!
//! ```text
//! cores ── figures, about once a second ──► Board ◄── Board::report ── whoever serves operators, on a thread of its own
//! core 0 ◄── orders, in its turns ────────── Board ◄── Board::order
//! ```
//!
//! Invariant: a core never waits for the board. What it cannot write at once it writes a little later.

use crate::backup::BackupPort;
use crate::cluster::membership::orders::{Answer, Order};
use crate::cluster::operations::reports::{ClusterReport, CoreReport, Report};
use crate::hot;
use crate::limits::RoleUses;
use crate::represented::RepresentedClients;
use crate::slow::SlowLog;
use crate::table_figures::{TableLatencies, TableRequest, by_table};
use crate::traces::Traces;
use base::{CoreId, TableId};
use cql::system::HotPartition;
use cql::{ConnectedClient, SlowRequest};
use engine::TableSizes;
use model::Schema;
use shard::HotPartitions;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Orders that wait to be taken up, at most.
const ORDERS_MAX: usize = 64;
/// Clients that are gone are not looked for among fewer.
const CLIENTS_MIN: usize = 64;

/// Where cores write what operators read, and find what operators ask for.
#[derive(Debug, Default)]
pub struct Board {
    clustered: bool,
    has_orders: AtomicBool,
    inner: Mutex<Inner>,
    /// Clients of CQL, and some that are gone.
    clients: Mutex<Clients>,
    /// Whose roles operators log in as.
    schema: Mutex<Option<Arc<Schema>>>,
    backup: BackupPort,
    traces: Arc<Traces>,
    slow: SlowLog,
    role_uses: Arc<RoleUses>,
    represented: Arc<RepresentedClients>,
    /// Of each core.
    hot: Mutex<Vec<(u16, Arc<HotPartitions>)>>,
}

#[derive(Debug, Default)]
struct Inner {
    cluster: Option<ClusterReport>,
    cores: BTreeMap<u16, CoreReport>,
    /// How often each core has reported.
    reports: BTreeMap<u16, u64>,
    orders: VecDeque<(Order, Sender<Answer>)>,
}

/// Clients as long as their connections hold them.
#[derive(Debug, Default)]
struct Clients {
    all: Vec<Weak<ConnectedClient>>,
    /// How many may be there before those that are gone are looked for.
    cleaned_at: usize,
}

impl Clients {
    /// Forgets those that are gone when there may be as many of them as of others, so that each new one costs little.
    fn add(&mut self, client: &Arc<ConnectedClient>) {
        if self.all.len() >= self.cleaned_at {
            self.all.retain(|client| client.strong_count() > 0);
            self.cleaned_at = 2 * self.all.len() + CLIENTS_MIN;
        }
        self.all.push(Arc::downgrade(client));
    }
}

impl Board {
    /// An empty one, of a node that takes part in a cluster or does not.
    #[must_use]
    pub fn new(clustered: bool) -> Self {
        Self { clustered, ..Self::default() }
    }

    /// What is known of the node.
    #[must_use]
    pub fn report(&self) -> Report {
        let inner = self.lock();
        Report { clustered: self.clustered, cluster: inner.cluster.clone(), cores: inner.cores.values().cloned().collect() }
    }

    /// The traces of requests.
    pub(crate) fn traces(&self) -> &Arc<Traces> {
        &self.traces
    }

    /// Requests that took long.
    pub(crate) fn slow(&self) -> &SlowLog {
        &self.slow
    }

    /// Requests that took long: of each core the latest, and of those before them the slowest.
    #[must_use]
    pub fn slow_requests(&self) -> Vec<SlowRequest> {
        self.slow.all()
    }

    /// For cores, at their start: which partitions operations ask for most.
    pub(crate) fn add_hot(&self, core: CoreId, hot: &Arc<HotPartitions>) {
        self.hot.lock().unwrap_or_else(PoisonError::into_inner).push((core.0, Arc::clone(hot)));
    }

    /// Which partitions operations ask for most, by core; `now_us` is the monotonic time of cores.
    #[must_use]
    pub fn hot_partitions(&self, now_us: u64) -> Vec<HotPartition> {
        let schema = self.schema();
        let hot = self.hot.lock().unwrap_or_else(PoisonError::into_inner);
        hot.iter().flat_map(|(core, hot)| hot::told(*core, &hot.report(now_us), &schema)).collect()
    }

    /// What limited roles use of the node.
    #[must_use]
    pub fn role_uses(&self) -> &Arc<RoleUses> {
        &self.role_uses
    }

    /// Whose connections are that the process makes to its own ports.
    #[must_use]
    pub fn represented(&self) -> &Arc<RepresentedClients> {
        &self.represented
    }

    /// Where backups and restores are asked for.
    #[must_use]
    pub fn backup(&self) -> &BackupPort {
        &self.backup
    }

    /// How often each core has reported, in the order of cores: a core that lives reports about once a second.
    #[must_use]
    pub fn reports(&self) -> Vec<u64> {
        self.lock().reports.values().copied().collect()
    }

    /// The schema as core 0 knows it; an empty one before it does.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        self.schema.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_else(|| Arc::new(Schema::empty()))
    }

    /// For core 0: the schema is this from now on. Whoever reads holds the lock for a copy of the pointer.
    pub fn set_schema(&self, schema: &Arc<Schema>) {
        *self.schema.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(schema));
    }

    /// Asks core 0 for something; the answer comes when the cluster has decided. `None` if too many wait.
    #[must_use]
    pub fn order(&self, order: Order) -> Option<Receiver<Answer>> {
        let (sender, receiver) = channel();
        let mut inner = self.lock();
        if inner.orders.len() >= ORDERS_MAX {
            return None;
        }
        inner.orders.push_back((order, sender));
        self.has_orders.store(true, Ordering::Release);
        Some(receiver)
    }

    /// Indexes that all of so many cores have completely.
    pub(crate) fn indexes_built(&self, cores: u16) -> Vec<TableId> {
        let inner = self.lock();
        let mut reports = inner.cores.values();
        let Some(first) = reports.next().filter(|_| inner.cores.len() == usize::from(cores)) else { return Vec::new() };
        let others: Vec<&CoreReport> = reports.collect();
        let everywhere = |index: &&u32| others.iter().all(|report| report.indexes_built.contains(index));
        first.indexes_built.iter().filter(everywhere).map(|index| TableId(*index)).collect()
    }

    /// For cores: a client of CQL is connected. Whoever reads holds the lock for a copy of the pointers.
    pub(crate) fn add_client(&self, client: &Arc<ConnectedClient>) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).add(client);
    }

    /// Clients of CQL that are connected to any core.
    #[must_use]
    pub fn clients(&self) -> Vec<Arc<ConnectedClient>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).all.iter().filter_map(Weak::upgrade).collect()
    }

    /// The sizes of tables on all cores together, as they were about a second ago.
    pub(crate) fn table_sizes(&self) -> BTreeMap<TableId, TableSizes> {
        let inner = self.lock();
        let mut sums: BTreeMap<TableId, TableSizes> = BTreeMap::new();
        for (table, sizes) in inner.cores.values().flat_map(|report| &report.tables) {
            sums.entry(*table).or_default().add(*sizes);
        }
        sums
    }

    /// Requests of a kind by table, on all cores together, as they were about a second ago.
    pub(crate) fn table_latencies(&self, request: TableRequest) -> BTreeMap<TableId, TableLatencies> {
        by_table(self.lock().cores.values().map(|core| &core.requests.tables), request)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For cores: takes what was ordered.
    pub(crate) fn take_orders(&self) -> VecDeque<(Order, Sender<Answer>)> {
        if !self.has_orders.load(Ordering::Acquire) {
            return VecDeque::new();
        }
        let Ok(mut inner) = self.inner.try_lock() else { return VecDeque::new() };
        self.has_orders.store(false, Ordering::Release);
        std::mem::take(&mut inner.orders)
    }

    /// For cores: whether it could be written.
    pub(crate) fn write(&self, core: CoreReport, cluster: Option<ClusterReport>) -> bool {
        let Ok(mut inner) = self.inner.try_lock() else { return false };
        if cluster.is_some() {
            inner.cluster = cluster;
        }
        *inner.reports.entry(core.core).or_default() += 1;
        inner.cores.insert(core.core, core);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_taken_once_and_answered() {
        let board = Board::new(true);
        assert!(board.take_orders().is_empty());
        let answers = board.order(Order::Drain { node: 2 });
        let mut orders = board.take_orders();
        assert!(board.take_orders().is_empty());
        let (order, sender) = orders.pop_front().expect("one was ordered");
        assert_eq!(order, Order::Drain { node: 2 });
        sender.send(Answer::Unknown).expect("it is waited for");
        assert_eq!(answers.expect("there is room").recv(), Ok(Answer::Unknown));
    }

    #[test]
    fn orders_that_nobody_takes_are_bounded() {
        let board = Board::new(true);
        let kept: Vec<_> = (0..ORDERS_MAX).map(|_| board.order(Order::Drain { node: 1 })).collect();
        assert!(kept.iter().all(Option::is_some));
        assert!(board.order(Order::Drain { node: 1 }).is_none());
    }

    #[test]
    fn a_core_does_not_wait_for_whoever_reads() {
        let board = Board::new(true);
        let _answers = board.order(Order::Drain { node: 1 });
        let reading = board.lock();
        assert!(!board.write(CoreReport::default(), None));
        assert!(board.take_orders().is_empty());
        drop(reading);
        assert!(board.write(CoreReport::default(), None));
        assert_eq!(board.take_orders().len(), 1, "the order is still there");
        assert_eq!(board.report().cores.len(), 1);
        assert_eq!(board.reports(), [1], "what could not be written does not count");
    }
}
