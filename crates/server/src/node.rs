//! The parts of a node that come from the data directory: identity, schema, and each core's shard.

use crate::at_rest::AtRest;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::layout::Losses;
use crate::listeners::{self, Port};
use crate::memory_shares::MemoryShares;
use crate::{identity, settings};
use base::{CoreId, TableId};
use engine::{Engine, LogKey, OpenError, Sequence};
use io_linux::{CoreEnv, FileLayout, MappedMemory, MappedMemoryError};
use model::Schema;
use model::schema_blob::{self, SchemaBlobError};
use node::{
    AerospikeConfig, AuditConfig, Board, CertificateLogins, ClientTlsConfig, ClusterConfig, Core, CoreParts, FirstSuperuser, IdentityKind,
    LOG_BLOB, LiveSettings, MetadataBlobs, NodeConfig, SCHEMA_BLOB, SNAPSHOT_BLOB, SharedStatements, Versions, replication_blob,
    take_vector_images, truncations_blob,
};
use node_linux::CoreFactory;
use shard::{Durability, Shard, VectorImages, decode_truncations};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

/// Open and not yet durable segments that a shard may have.
pub(crate) const MIRRORS: usize = 3;

/// A connection may have this many bytes of replies that its client has not taken.
const UNSENT_BYTES_MAX: usize = 1 << 20;

const HOUR_US: u64 = 3600 * 1_000_000;

/// Why the parts do not fit together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeError {
    /// The schema's blob.
    #[error("the schema cannot be read: {0}")]
    Schema(#[from] SchemaBlobError),
    /// A blob of our own.
    #[error("the file `{name}` in the data directory is damaged; restore it from a backup")]
    Damaged {
        /// Its name.
        name: String,
    },
    /// The stable memory.
    #[error(transparent)]
    Memory(#[from] MappedMemoryError),
    /// Too little memory for so many cores.
    #[error("a memory limit of {limit_mib} MiB is too little for {cores} cores: give at least {needed_mib} MiB, or fewer --cores")]
    MemoryLimit {
        /// What was given.
        limit_mib: u64,
        /// How many cores.
        cores: u16,
        /// What is needed.
        needed_mib: u64,
    },
}

/// A shard's files.
#[derive(Clone, Debug)]
pub(crate) struct ShardFiles {
    data: String,
    buffer: PathBuf,
    /// How long the second one was before this start.
    buffer_bytes_found: usize,
}

impl ShardFiles {
    pub(crate) fn of(data_dir: &DataDir, core: u16, memory: &MappedMemory) -> Self {
        let data = match data_dir.file(core) {
            FileLayout::Whole(path) => path.display().to_string(),
            FileLayout::Striped { .. } => format!("the area of shard {core} on the devices"),
        };
        Self { data, buffer: data_dir.shard_buffer(core), buffer_bytes_found: memory.found_bytes() }
    }
}

/// How a node with so many cores divides its memory.
pub(crate) fn memory_shares(config: &Config, cores: u16) -> Result<MemoryShares, NodeError> {
    let stable_bytes = engine::Config::new(0, 0, 0, 0, 0).stable_bytes(MIRRORS);
    MemoryShares::of(config.memory_limit.0, cores, stable_bytes as u64).map_err(|needed| NodeError::MemoryLimit {
        limit_mib: config.memory_limit.0 >> 20,
        cores,
        needed_mib: (needed >> 20) + 1,
    })
}

/// What a core has stored: up to where tables are empty, and what it keeps for replicas that are away.
type CoreBlobs = ((BTreeMap<TableId, Sequence>, Option<Vec<u8>>), VectorImages);

/// By what this node, its peers and its clients know each other.
pub(crate) struct Secrets {
    /// Of links between nodes.
    pub(crate) tls: Option<tls::Config>,
    /// Of clients' connections.
    pub(crate) client_tls: Option<ClientTlsConfig>,
    /// Who can log in first.
    pub(crate) superuser: Option<Arc<FirstSuperuser>>,
}

/// What the cores share with the rest of the process.
pub(crate) struct SharedParts {
    /// Where operators read figures and leave orders.
    pub(crate) board: Arc<Board>,
    /// Where they change settings.
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) secrets: Secrets,
    /// How requests are audited, if they are.
    pub(crate) audit: Option<AuditConfig>,
}

/// What all cores are made from.
pub(crate) struct NodeParts {
    node: EveryCore,
    // Of each core, by its number:
    truncations: Vec<BTreeMap<TableId, Sequence>>,
    replication: Vec<Option<Vec<u8>>>,
    vectors: Vec<VectorImages>,
    memory: Vec<MappedMemory>,
    files: Vec<ShardFiles>,
}

/// What is the same for every core.
#[derive(Clone)]
struct EveryCore {
    config: Arc<NodeConfig>,
    metadata: MetadataBlobs,
    schema: Arc<Schema>,
    statements: Arc<SharedStatements>,
    losses: Losses,
    log_key: Option<LogKey>,
    store: u64,
    shard_bytes: u64,
    shard_capacity: u64,
    intervals: Intervals,
    durability: Durability,
    cores: u16,
    ports: Arc<[Port]>,
}

/// What one core has for itself.
struct OwnParts {
    truncations: BTreeMap<TableId, Sequence>,
    replication: Option<Vec<u8>>,
    vectors: VectorImages,
    memory: MappedMemory,
    files: ShardFiles,
}

/// The engine's configuration without what only the machine knows.
fn engine_config(store: u64, core: u16, file_bytes: u64, capacity: u64, memory: u64, intervals: Intervals) -> engine::Config {
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let Intervals { flush_us: flush_interval_us, scrub_us: scrub_interval_us } = intervals;
    engine::Config { flush_interval_us, scrub_interval_us, ..engine::Config::new(store, u32::from(core), file_bytes, capacity, memory) }
}

/// How often engines do what they do by themselves, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Intervals {
    flush_us: u64,
    scrub_us: u64,
}

impl NodeParts {
    /// Reads the parts, making what is missing in a new data directory.
    pub(crate) fn open(config: &Config, data_dir: &mut DataDir, losses: Losses, shared: SharedParts) -> Result<Self, NodeError> {
        let cores = data_dir.cores;
        // They are large, and nobody else needs them.
        let vectors = take_vector_images(&mut data_dir.blobs, cores);
        let blobs = &data_dir.blobs;
        let schema = match blobs.get(SCHEMA_BLOB) {
            Some(bytes) => schema_blob::decode(bytes)?,
            None => Schema::empty(),
        };
        let mut truncations = Vec::new();
        for core in 0..cores {
            let name = truncations_blob(CoreId(core));
            truncations.push(match blobs.get(&name) {
                Some(bytes) => decode_truncations(bytes).ok_or(NodeError::Damaged { name })?,
                None => BTreeMap::new(),
            });
        }
        let probe = engine_config(0, 0, 0, 0, 0, Intervals::default());
        let stable_bytes = probe.stable_bytes(MIRRORS);
        let shares = memory_shares(config, cores)?;
        let memory =
            (0..cores).map(|core| MappedMemory::open(&data_dir.shard_buffer(core), stable_bytes)).collect::<Result<Vec<_>, _>>()?;
        let files = (0..cores).zip(&memory).map(|(core, memory)| ShardFiles::of(data_dir, core, memory)).collect();
        let replication = (0..cores).map(|core| blobs.get(&replication_blob(CoreId(core))).cloned()).collect();
        let node = EveryCore {
            config: Arc::new(node_config(config, data_dir, shared, &shares)),
            metadata: MetadataBlobs { log: blobs.get(LOG_BLOB).cloned(), snapshot: blobs.get(SNAPSHOT_BLOB).cloned() },
            schema: Arc::new(schema),
            statements: Arc::new(SharedStatements::new(usize::try_from(shares.statements_bytes).unwrap_or(usize::MAX))),
            losses,
            log_key: data_dir.at_rest.as_ref().map(AtRest::log_key),
            store: data_dir.identity as u64,
            shard_bytes: shares.shard_bytes,
            shard_capacity: data_dir.capacity.0 / u64::from(cores),
            intervals: Intervals { flush_us: config.flush_interval_ms * 1_000, scrub_us: config.scrub_interval_hours * HOUR_US },
            durability: match config.durability {
                settings::Durability::Memory => Durability::Memory,
                settings::Durability::Device => Durability::Device,
            },
            cores,
            ports: listeners::ports(config).into(),
        };
        Ok(Self { node, truncations, replication, vectors, memory, files })
    }

    /// One factory a core, to be called on its thread. `ready` is told when the node serves clients, and dropped when it ends before.
    pub(crate) fn into_factories(self, ready: Sender<()>) -> Vec<CoreFactory> {
        let Self { node, truncations, replication, vectors, memory, files } = self;
        let boot = boot_number();
        let make = move |((((truncations, replication), vectors), memory), files): ((CoreBlobs, MappedMemory), ShardFiles)| {
            let (node, ready) = (node.clone(), ready.clone());
            let own = OwnParts { truncations, replication, vectors, memory, files };
            Box::new(move |environment: &mut CoreEnv| own.into_core(node, boot, ready, environment)) as CoreFactory
        };
        truncations.into_iter().zip(replication).zip(vectors).zip(memory).zip(files).map(make).collect()
    }
}

impl OwnParts {
    /// The core, on its thread. Ends the process if its shard cannot be opened.
    fn into_core(self, node: EveryCore, boot: u64, ready: Sender<()>, environment: &mut CoreEnv) -> Core {
        let core = environment.core;
        let Self { truncations, replication, vectors, memory, files } = self;
        // Every core says the same.
        if let Some(listening) = listeners::listening(&node.ports, &environment.addresses) {
            let _ = node.config.listening.set(listening);
        }
        let file = *environment.files.first().expect("a core has a file");
        let engine_config = engine::Config {
            read_unit: file.read_unit,
            next_table: node.schema.next_table,
            stable_bytes_found: files.buffer_bytes_found,
            boot,
            accepts_loss: node.losses == Losses::Accepted,
            has_run: !node.schema.keyspaces.is_empty(),
            log_key: node.log_key,
            ..engine_config(node.store, core.0, file.bytes, node.shard_capacity, node.shard_bytes, node.intervals)
        };
        let tables: BTreeSet<TableId> = node.schema.tables().flat_map(|table| table.stored()).collect();
        let stored = shard::stored_tables(tables.iter().copied());
        let marks = stored.iter().map(|table| (*table, truncations.get(table).copied().unwrap_or_default())).collect();
        let engine = match Engine::open(engine_config, Box::new(memory), &marks, environment.now) {
            Ok(engine) => engine,
            Err(error) => fail(core, &files, &error),
        };
        let mut nonce = [0; 8];
        environment.entropy(&mut nonce);
        // The core's number in the top bits keeps the numbers of one start apart.
        let nonce = (u64::from_le_bytes(nonce) >> 16) | (u64::from(core.0) << 48);
        let mut shard = Shard::new(engine, node.durability, tables, truncations, nonce);
        shard.set_vector_images(vectors);
        let tell = move || {
            // Whoever waits may have been told to end.
            let _ = ready.send(());
        };
        let on_ready = (core == CoreId(0)).then(|| Box::new(tell) as node::OnReady);
        let EveryCore { config, schema, statements, metadata, cores, .. } = node;
        Core::new(CoreParts { core, cores, config, schema, shard, statements, replication, metadata, on_ready })
            .with_on_failure(Box::new(move |error| fail(core, &files, error)))
    }
}

/// What all cores of the node go by.
fn node_config(config: &Config, data_dir: &DataDir, shared: SharedParts, shares: &MemoryShares) -> NodeConfig {
    let SharedParts { board, settings: live, secrets, audit } = shared;
    let Secrets { tls, client_tls, superuser } = secrets;
    NodeConfig {
        cluster_name: config.cluster_name.clone(),
        data_center: config.data_center.clone(),
        rack: config.rack.clone(),
        live,
        host_id: identity::host_id(data_dir.identity),
        requires_login: config.authentication != settings::Authentication::None,
        certificates: certificate_logins(config),
        first_superuser: superuser,
        checks_permissions: config.authorization == settings::Authorization::Permissions,
        client_tls,
        audit,
        listeners: listeners::ports(config).iter().map(|port| port.speaks).collect(),
        cluster: config.node_port.map(|_| ClusterConfig {
            join: config.join.clone(),
            replaces: config.replaces,
            incarnation: random_number(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol_versions: Versions::KNOWN,
            boot: io_linux::boot_id(),
            migration_latency_us: config.migration_latency_ms * 1_000,
            tls: tls.map(Arc::new),
            planted: None,
        }),
        role_uses: Arc::clone(board.role_uses()),
        board: Some(board),
        aerospike: AerospikeConfig::new(
            identity::host_id(data_dir.identity),
            config.aerospike_namespaces.clone(),
            config.aerospike_replication_factor,
        ),
        listening: OnceLock::new(),
        started_s: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs() as u32),
        frame_body_bytes_max: 16 << 20,
        unsent_bytes_max: UNSENT_BYTES_MAX,
        requests_bytes_max: usize::try_from(shares.requests_bytes).unwrap_or(usize::MAX),
    }
}

/// How clients' certificates log them in.
pub(crate) fn certificate_logins(config: &Config) -> Option<CertificateLogins> {
    let identity = match config.certificate_identity {
        settings::CertificateIdentity::Spiffe => IdentityKind::Spiffe,
        settings::CertificateIdentity::CommonName => IdentityKind::CommonName,
    };
    match config.authentication {
        settings::Authentication::None | settings::Authentication::Password => None,
        settings::Authentication::Certificate => Some(CertificateLogins { identity, or_password: false }),
        settings::Authentication::CertificateOrPassword => Some(CertificateLogins { identity, or_password: true }),
    }
}

/// The file behind the stable memory as it was before this start, which is about to end.
fn undo_buffer(files: &ShardFiles) {
    let ShardFiles { buffer, buffer_bytes_found, .. } = files;
    let undone = match buffer_bytes_found {
        0 => std::fs::remove_file(buffer),
        bytes => std::fs::OpenOptions::new().write(true).open(buffer).and_then(|file| file.set_len(*bytes as u64)),
    };
    if let Err(error) = undone {
        tracing::warn!(file = %buffer.display(), %error, "the file could not be made as long as it was before");
    }
}

/// A number of this start of the machine.
pub(crate) fn boot_number() -> u64 {
    let boot = io_linux::boot_id();
    (boot >> 64) as u64 ^ boot as u64
}

fn random_number() -> u64 {
    let mut bytes = [0; 8];
    io_linux::fill_with_entropy(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A shard that cannot be opened ends the process: serving without its rows would be wrong.
pub(crate) fn fail(core: CoreId, files: &ShardFiles, error: &OpenError) -> ! {
    const ACCEPT: &str = "`tarndb start --accept-data-loss` starts with what is left; a member of a cluster gets the rest from others";
    let buffer = files.buffer.display();
    let (file, remedy) = match error {
        OpenError::Stable { .. } => {
            // It must not look whole at the next start.
            undo_buffer(files);
            (buffer.to_string(), format!("put {buffer} back as it was when the node ended; or {ACCEPT}"))
        }
        OpenError::Data { .. } => (files.data.clone(), format!("put {} back as it was when the node ended; or {ACCEPT}", files.data)),
        OpenError::Foreign { .. } => (files.data.clone(), "put this node's own file back".to_owned()),
        OpenError::UnknownTables { .. } => (files.data.clone(), "put both copies of schema.json back".to_owned()),
        _ => (files.data.clone(), "docs/reference/operations.md says more".to_owned()),
    };
    tracing::error!(core = core.0, file, %error, remedy, "the shard cannot be opened");
    io_linux::exit_now(4)
}
