//! How a machine starts: on nothing, or on what another one left.

use super::{Machine, Station};
use crate::durable_state::DurableState;
use crate::planted::Planted;
use crate::reactor::SimReactor;
use crate::setup::Setup;
use crate::sim_core::SimCore;
use base::{CoreId, NodeId, Rng, TableId};
use engine::Engine;
use io::{Handler, Now, Turn};
use model::{Schema, schema_blob};
use node::{
    Core, CoreParts, LOG_BLOB, MetadataBlobs, Order, Report, SCHEMA_BLOB, SNAPSHOT_BLOB, SharedStatements, replication_blob,
    take_vector_images, truncations_blob,
};
use shard::{Shard, decode_truncations};
use sim_disk::{Disk, Fault, Faults, Stable};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What a core's handler is made with.
pub struct CoreEnv<'a> {
    /// Which core.
    pub core: CoreId,
    /// The time.
    pub now: Now,
    /// Its disk.
    pub disk: &'a Disk,
    /// Its stable memory.
    pub stable: &'a Stable,
    /// The machine's die.
    pub rng: &'a mut Rng,
}

impl<H: Handler<SimReactor>> Machine<H> {
    /// A machine whose cores are `make`'s.
    pub fn assemble(setup: &Setup, remains: DurableState, mut make: impl FnMut(CoreEnv<'_>) -> H) -> Self {
        let DurableState { disks, stables, blobs, boot, now, mut trace } = remains;
        trace.add("start", &[now.monotonic_us, now.wall_us as u64]);
        let mut rng = Rng::new(setup.seed ^ now.monotonic_us);
        let stations = disks.into_iter().zip(stables).enumerate().map(|(core, (mut disk, stable))| {
            if setup.planted == Some(Planted::SkippedFlush) {
                disk.faults = Faults::none().with(Fault::LyingSync, Faults::ALWAYS);
            }
            stable.reopen();
            let core = CoreId(core as u16);
            let handler = make(CoreEnv { core, now, disk: &disk, stable: &stable, rng: &mut rng });
            let reactor = SimReactor::new(core, setup.cores, now, disk, Rng::new(rng.next_u64()));
            Station { core: handler, reactor, stable, turn: Turn::Again }
        });
        let stations = stations.collect();
        Self {
            stations,
            mail: BTreeMap::new(),
            blob_queue: VecDeque::new(),
            blobs,
            boot,
            now,
            rng,
            dead: false,
            step_us: setup.step_us,
            blob_failures: 0,
            planted: setup.planted,
            trace,
            arrivals: VecDeque::new(),
            accepted: Vec::new(),
            board: None,
        }
    }
}

impl Machine {
    /// A node with empty data that accepts clients.
    pub fn start(setup: &Setup) -> Self {
        Self::restart(setup, DurableState::none(setup))
    }

    /// A node on what another left; ready once it has recovered.
    pub fn restart(setup: &Setup, remains: DurableState) -> Self {
        let mut machine = Self::boot(setup, remains);
        let ready = machine.run_until(|machine| machine.is_accepting());
        assert!(ready, "the node does not become ready");
        machine
    }

    /// As [`Machine::restart`], without waiting until it is ready.
    pub fn boot(setup: &Setup, mut remains: DurableState) -> Self {
        let mut blobs = remains.blobs.restart(setup.planted);
        let mut vectors = take_vector_images(&mut blobs, setup.cores);
        let schema = Arc::new(blobs.get(SCHEMA_BLOB).map_or_else(Schema::empty, |bytes| schema_blob::decode(bytes).unwrap()));
        let statements = Arc::new(SharedStatements::new(1 << 20));
        // Another one with each start: time goes on between any two.
        let incarnation = Rng::new(setup.seed ^ remains.now.monotonic_us ^ remains.now.wall_us as u64).next_u64().max(1);
        let config = Arc::new(setup.node_config(remains.now, incarnation, remains.boot));
        let replication: Vec<_> = (0..setup.cores).map(|core| blobs.get(&replication_blob(CoreId(core))).cloned()).collect();
        let metadata = MetadataBlobs { log: blobs.get(LOG_BLOB).cloned(), snapshot: blobs.get(SNAPSHOT_BLOB).cloned() };
        let tables: BTreeSet<TableId> = schema.tables().flat_map(|table| table.stored()).collect();
        let truncations = |core| blobs.get(&truncations_blob(core)).map_or_else(BTreeMap::new, |blob| decode_truncations(blob).unwrap());
        let mut all_truncations: Vec<_> = (0..setup.cores).map(|core| truncations(CoreId(core))).collect();
        let boot = remains.boot;
        let mut machine = Self::assemble(setup, remains, |CoreEnv { core, now, disk, stable, rng }| {
            let truncations = std::mem::take(&mut all_truncations[usize::from(core.0)]);
            let stored = shard::stored_tables(tables.iter().copied());
            let marks = stored.iter().map(|table| (*table, truncations.get(table).copied().unwrap_or_default())).collect();
            let stable = Planted::stable(setup.planted, stable.clone());
            let engine_config =
                engine::Config { next_table: schema.next_table, boot, accepts_loss: true, ..setup.engine_config(core.0, disk.len()) };
            let engine = Engine::open(engine_config, stable, &marks, now).unwrap();
            let nonce = (rng.next_u64() >> 16) | (u64::from(core.0) << 48);
            let mut shard = Shard::new(engine, setup.durability, tables.clone(), truncations, nonce);
            shard.set_vector_images(std::mem::take(&mut vectors[usize::from(core.0)]));
            SimCore::from(Core::new(CoreParts {
                core,
                cores: setup.cores,
                config: Arc::clone(&config),
                schema: Arc::clone(&schema),
                shard,
                statements: Arc::clone(&statements),
                replication: replication[usize::from(core.0)].clone(),
                metadata: metadata.clone(),
                on_ready: None,
            }))
        });
        machine.board.clone_from(&config.board);
        machine
    }

    /// An operator asks for something, and does not wait for the answer.
    pub fn order(&self, order: Order) {
        let _ = self.board.as_ref().map(|board| board.order(order));
    }

    /// What operators are shown.
    #[must_use]
    pub fn report(&self) -> Report {
        self.board.as_ref().map(|board| board.report()).unwrap_or_default()
    }

    /// What the node knows of its cluster.
    #[must_use]
    pub fn cluster_state(&self) -> Option<Arc<cluster::State>> {
        self.stations[0].core.cluster_state()
    }

    /// Who votes on the cluster's metadata, as far as the node knows.
    #[must_use]
    pub fn cluster_voters(&self) -> Vec<NodeId> {
        self.stations[0].core.cluster_voters()
    }

    /// Whether its cluster knows of its process.
    #[must_use]
    pub fn takes_part(&self) -> bool {
        self.stations[0].core.takes_part()
    }

    /// Who leads their group, as far as the node knows.
    #[must_use]
    pub fn cluster_leader(&self) -> Option<NodeId> {
        self.stations[0].core.cluster_leader()
    }

    /// How many logged batches the node has found, of those that were under way when it ended, and could not bring to their end yet.
    #[must_use]
    pub fn unfinished_batches(&self) -> u64 {
        self.stations.iter().map(|station| station.core.unfinished_batches()).sum()
    }

    /// The engine of a core, to look at.
    #[must_use]
    pub fn engine(&self, core: u16) -> &Engine {
        self.stations[usize::from(core)].core.shard().engine()
    }

    /// For messages: how each core's engine is doing.
    #[must_use]
    pub fn describe(&self) -> String {
        let describe = |station: &Station<SimCore>| {
            let engine = station.core.shard().engine();
            let (writable, full, poisoned) = (engine.writable(), engine.is_full(), engine.poisoned());
            format!(
                "{}; writable {writable}, full {full}, poisoned {poisoned:?}, disk idle {}, {:?}",
                station.core.describe_cluster(),
                station.reactor.disk.next_us(0).is_none(),
                engine.stats()
            )
        };
        self.stations.iter().map(describe).collect::<Vec<_>>().join("; ")
    }
}
