//! Another number of cores: a data directory's rows are copied to shards for it, before anything listens.
//!
//! 1. Each former core's shard is opened and recovered, and what a copy needs is compared with what is there.
//! 2. A thread for each former core reads its rows by slot (`reader`), one for each new core writes those of its slots (`writer`), into files beside.
//! 3. When all is on the device, the layout is replaced: from here on the data is the copy.
//! 4. The copy's files take the places of the former ones (`finish`), or are written to devices (`onto`).
//!
//! Invariants: until step 3 no file or device of the former layout is changed but by its own engine, and whatever a cut-off copy has left is removed; after step
//! 3 every start ends step 4 before it opens a shard. Rows keep their bytes, and so their timestamps and times to live; deleted rows are rows.
//!
//! `docs/decisions/0045-another-number-of-cores.md` says why.

mod error;
mod files;
mod finish;
mod onto;
mod progress;
mod reader;
mod room;
mod store;
mod writer;

pub(crate) use error::RelayoutError;

use crate::at_rest::AtRest;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::identity;
use crate::layout::{Onto, Relaid};
use crate::node::{self, MIRRORS, ShardFiles};
use ::node::{SCHEMA_BLOB, committed_sequence, replication_blob, truncations_blob};
use base::{CoreId, TableId};
use engine::Sequence;
use io_linux::{FileLayout, MappedMemory, free_bytes};
use model::Schema;
use model::schema_blob;
use progress::Progress;
use reader::{Reader, Rows};
use room::{Room, Use};
use shard::decode_truncations;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Scope};
use store::Store;

/// Batches that wait for one writer.
const BATCHES_WAITING: usize = 8;
/// A shard gets at least so much memory.
const MEMORY_LEAST: u64 = 48 << 20;

/// What the threads go by.
struct Plan<'a> {
    data_dir: &'a DataDir,
    flush_us: u64,
    former: u16,
    cores: u16,
    memory_limit: u64,
    stable_bytes: usize,
    boot: u64,
    schema: Schema,
    /// Tables and indexes.
    tables: BTreeSet<TableId>,
    /// By former core.
    truncations: Vec<BTreeMap<TableId, Sequence>>,
    /// Where the new shards' files are made if not in the data directory.
    beyond: Option<&'a Path>,
    /// How devices will be cut; `None` where the data is in files.
    area_segments: Option<Vec<u64>>,
    progress: Progress,
}

/// Lays the data out for the number of cores that is asked for, and ends what an earlier start has begun.
pub(crate) fn run(config: &Config, data_dir: &mut DataDir) -> Result<(), RelayoutError> {
    finish::finish(data_dir)?;
    let beyond = beyond(config, data_dir)?;
    finish::remove_unfinished(data_dir.path(), beyond.as_deref())?;
    let Some(cores) = data_dir.cores_asked else { return Ok(()) };
    beyond.as_deref().and_then(Path::parent).map_or(Ok(()), finish::check_lasts)?;
    let former = data_dir.cores;
    tracing::info!(former, cores, "the data is laid out for another number of cores: it is copied before the node serves clients");
    // What the node could not start with must not be made.
    node::memory_shares(config, cores)?;
    let area_segments = data_dir.devices().map(|devices| devices.cut_for(cores)).transpose()?;
    let committed = Plan::new(config, data_dir, cores, beyond.as_deref(), area_segments.clone())?.copy()?;
    finish::sync(data_dir.path())?;
    beyond.as_deref().map_or(Ok(()), finish::sync)?;
    let onto = area_segments.map(|area_segments| Onto { directory: beyond, area_segments });
    data_dir.set_cores(cores, Some(Relaid { former_cores: former, committed, onto }))?;
    finish::finish(data_dir)?;
    tracing::info!(former, cores, "the data is laid out for the new number of cores");
    Ok(())
}

/// Where new shards' files are made if not in the data directory: for devices, if another directory has the room, in one of this node's own there.
fn beyond(config: &Config, data_dir: &DataDir) -> Result<Option<PathBuf>, RelayoutError> {
    let (Some(directory), Some(_)) = (&config.relayout_dir, data_dir.devices()) else { return Ok(None) };
    let path = directory.join(format!("tarndb-relayout-{:032x}", identity::host_id(data_dir.identity)));
    std::path::absolute(&path).map(Some).map_err(|source| RelayoutError::NoDirectory { path, source })
}

impl<'a> Plan<'a> {
    fn new(
        config: &Config,
        data_dir: &'a DataDir,
        cores: u16,
        beyond: Option<&'a Path>,
        area_segments: Option<Vec<u64>>,
    ) -> Result<Self, RelayoutError> {
        let former = data_dir.cores;
        let schema = match data_dir.blobs.get(SCHEMA_BLOB) {
            Some(bytes) => schema_blob::decode(bytes).map_err(node::NodeError::from)?,
            None => Schema::empty(),
        };
        let truncations = (0..former).map(|core| {
            let name = truncations_blob(CoreId(core));
            let marks = data_dir.blobs.get(&name).map_or(Some(BTreeMap::new()), |bytes| decode_truncations(bytes));
            marks.ok_or(node::NodeError::Damaged { name })
        });
        Ok(Self {
            data_dir,
            flush_us: config.flush_interval_ms * 1_000,
            former,
            cores,
            memory_limit: config.memory_limit.0,
            stable_bytes: engine::Config::new(0, 0, 0, 0, 0).stable_bytes(MIRRORS),
            boot: node::boot_number(),
            tables: schema.tables().flat_map(|table| table.stored()).collect(),
            schema,
            truncations: truncations.collect::<Result<_, _>>()?,
            beyond,
            area_segments,
            progress: Progress::default(),
        })
    }

    /// Copies everything to files beside. Returns for each new core up to which sequence all replicas have its rows.
    fn copy(&self) -> Result<Vec<u64>, RelayoutError> {
        thread::scope(|scope| {
            scope.spawn(|| self.progress.teller.tell(|seconds| self.progress.log(self.former, self.cores, seconds)));
            let copied = self.copy_in(scope);
            self.progress.teller.end();
            copied
        })
    }

    fn copy_in<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<Vec<u64>, RelayoutError> {
        let (opened, all_opened) = channel();
        let (mut goes, mut readers) = (Vec::new(), Vec::new());
        for core in 0..self.former {
            let (go, may_go) = channel();
            let opened = opened.clone();
            goes.push(go);
            readers.push(scope.spawn(move || self.read(core, &opened, &may_go)));
        }
        let mut used = Use::default();
        for _ in 0..self.former {
            used.add(all_opened.recv().expect("each reader says whether it has opened its shard")?);
        }
        used.check(&self.room()?)?;
        self.beyond.map_or(Ok(()), finish::make)?;
        let (mut senders, mut writers) = (Vec::new(), Vec::new());
        for core in 0..self.cores {
            let (sender, rows) = sync_channel(BATCHES_WAITING);
            senders.push(sender);
            writers.push(scope.spawn(move || self.write(core, rows)));
        }
        for go in goes {
            // Each reader waits for this.
            let _ = go.send(senders.clone());
        }
        drop(senders);
        let read: Vec<_> = readers.into_iter().map(|reader| reader.join().expect("a panic ends the process")).collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join().expect("a panic ends the process")).collect();
        outcome(read, written)
    }

    fn room(&self) -> Result<Room<'_>, RelayoutError> {
        let free = |path: &Path| free_bytes(path).map_err(|source| RelayoutError::NoDirectory { path: path.to_owned(), source });
        let own = self.data_dir.path();
        // The node's own directory there is not made yet. What is on the same file system is counted together.
        let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
        let beyond = self.beyond.and_then(Path::parent).filter(|beyond| device(beyond) != device(own));
        Ok(Room {
            directory: beyond.unwrap_or(own),
            free: free(beyond.unwrap_or(own))?,
            own: if beyond.is_some() { Some((own, free(own)?)) } else { None },
            is_for_devices: self.area_segments.is_some(),
            former: self.former,
            cores: self.cores,
            capacity: self.capacity_of_core(self.cores) * u64::from(self.cores),
            memory_limit: self.memory_limit,
            segment_bytes: segment_bytes(),
            stable_bytes: self.stable_bytes as u64,
        })
    }

    /// One former core's thread.
    fn read(
        &self,
        core: u16,
        opened: &Sender<Result<Use, RelayoutError>>,
        may_go: &Receiver<Vec<SyncSender<Rows>>>,
    ) -> Result<(), RelayoutError> {
        let mut store = match self.open_former(core) {
            Ok(store) => store,
            Err(error) => {
                let _ = opened.send(Err(error));
                return Err(RelayoutError::GivenUp);
            }
        };
        let engine = store.shard.engine();
        let (stats, last) = (engine.stats(), engine.last_sequence().0);
        let _ = opened.send(Ok(Use { live_bytes: stats.live_bytes, index_bytes: stats.index_bytes }));
        let Ok(writers) = may_go.recv() else { return Err(RelayoutError::GivenUp) };
        let blob = self.data_dir.blobs.get(&replication_blob(CoreId(core)));
        let committed = blob.and_then(|blob| committed_sequence(blob)).map(|committed| committed.min(last));
        let reader = Reader { core, former_cores: self.former, tables: &self.tables, committed, writers, progress: &self.progress };
        self.note(reader.copy(&mut store))
    }

    /// Opens a shard as it is, and reads its log.
    fn open_former(&self, core: u16) -> Result<Store, RelayoutError> {
        let memory = MappedMemory::open(&self.data_dir.shard_buffer(core), self.stable_bytes)?;
        let files = ShardFiles::of(self.data_dir, core, &memory);
        let stable_bytes_found = memory.found_bytes();
        let configure = |file_bytes, read_unit| engine::Config {
            read_unit,
            stable_bytes_found,
            has_run: !self.schema.keyspaces.is_empty(),
            ..self.engine_config(core, self.former, file_bytes)
        };
        let opened = Store::open(&self.data_dir.file(core), memory, &self.tables, self.truncations[usize::from(core)].clone(), configure)?;
        let recovered = opened.and_then(|mut store| store.recover().map(|()| store));
        let store = recovered.unwrap_or_else(|error| node::fail(CoreId(core), &files, &error));
        let engine = store.shard.engine();
        if engine.may_lack_rows() || !engine.damage_reports().is_empty() {
            return Err(RelayoutError::Damaged { core, places: engine.damage_reports().len() as u64 });
        }
        Ok(store)
    }

    /// One new core's thread.
    fn write(&self, core: u16, rows: Receiver<Rows>) -> Result<u64, RelayoutError> {
        let make = || {
            let memory = MappedMemory::open(&files::new_buffer(self.data_dir.path(), core), self.stable_bytes)?;
            let configure = |file_bytes, read_unit| engine::Config {
                read_unit,
                stable_bytes_found: 0,
                ..self.engine_config(core, self.cores, file_bytes)
            };
            let file = FileLayout::Whole(files::new_file(self.beyond.unwrap_or(self.data_dir.path()), core));
            let opened = Store::open(&file, memory, &self.tables, BTreeMap::new(), configure)?;
            let recovered = opened.and_then(|mut store| store.recover().map(|()| store));
            let mut store = recovered.map_err(|error| RelayoutError::Open { core, error })?;
            writer::write(&mut store, core, &rows)
        };
        let written = make();
        // Readers that wait for this thread must not wait for ever.
        drop(rows);
        self.note(written)
    }

    /// How much a core's data may take if there are so many.
    fn capacity_of_core(&self, cores: u16) -> u64 {
        match &self.area_segments {
            Some(segments) if cores == self.cores => segments.iter().sum::<u64>() * segment_bytes(),
            _ => self.data_dir.capacity.0 / u64::from(cores),
        }
    }

    fn engine_config(&self, core: u16, cores: u16, file_bytes: u64) -> engine::Config {
        let (store, capacity) = (self.data_dir.identity as u64, self.capacity_of_core(cores));
        let memory = (self.memory_limit / 2 / u64::from(cores)).max(MEMORY_LEAST);
        engine::Config {
            next_table: self.schema.next_table,
            boot: self.boot,
            flush_interval_us: self.flush_us,
            scrub_interval_us: 0,
            log_key: self.data_dir.at_rest.as_ref().map(AtRest::log_key),
            ..engine::Config::new(store, u32::from(core), file_bytes, capacity, usize::try_from(memory).unwrap_or(usize::MAX))
        }
    }

    /// The others need not go on if this has failed.
    fn note<T>(&self, result: Result<T, RelayoutError>) -> Result<T, RelayoutError> {
        if result.is_err() {
            self.progress.fail();
        }
        result
    }
}

/// What all have come to: the reason of the first failure, not what followed from it.
fn outcome(read: Vec<Result<(), RelayoutError>>, written: Vec<Result<u64, RelayoutError>>) -> Result<Vec<u64>, RelayoutError> {
    let (mut committed, mut errors) = (Vec::new(), Vec::new());
    errors.extend(read.into_iter().filter_map(Result::err));
    for written in written {
        match written {
            Ok(sequence) => committed.push(sequence),
            Err(error) => errors.push(error),
        }
    }
    error::reason(errors).map_or(Ok(committed), Err)
}

fn segment_bytes() -> u64 {
    u64::from(engine::Config::new(0, 0, 0, 0, 0).segment_bytes)
}
