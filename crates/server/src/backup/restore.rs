//! `tarndb restore`: tables, rows, unfinished batches, views, roles, in this order; each step may be done twice.

use super::chain::{Chain, Met};
use super::client::{Nodes, Roles};
use super::earlier::is_void;
use super::error::BackupError;
use super::location::Location;
use super::progress::{PROGRESS, RestoreProgress, Step};
use super::rate_limit::throttle;
use super::roles::restore_roles;
use super::verify::verify;
use crate::cli::RestoreArguments;
use crate::meter::{Meter, Unit};
use crate::operate::OperateError;
use crate::throttle::Throttle;
use base::TableId;
use cql::cdc;
use engine::{Key, ReceivedRows, WriteBatch};
use model::operation::batch_log;
use model::{Keyspace, Schema, Table, schema_blob};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A node that does not take rows is tried again for so long.
const PATIENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(200);
/// Progress is stored this often.
const STORED_EVERY: Duration = Duration::from_millis(500);
/// Entries of views that wait in a log have longer keys; the views are built anew.
const BATCH_KEY_BYTES: usize = 2;

struct Restore {
    nodes: Nodes,
    chain: Chain,
    /// What is restored; its tables have the uuids that they get.
    schema: Schema,
    progress: RestoreProgress,
    path: PathBuf,
    stored: Instant,
    /// By the backup's id: the table's id here, and its keyspace.
    ids: BTreeMap<TableId, (TableId, String)>,
    /// By keyspace and slot: the node that is its primary.
    primaries: BTreeMap<String, BTreeMap<u16, usize>>,
    throttle: Throttle,
    meter: Meter,
    /// Those that are restored, too.
    roles: Option<Roles>,
}

/// Restores a backup.
pub(crate) fn restore(arguments: &RestoreArguments) -> Result<ExitCode, BackupError> {
    let place = &arguments.from;
    let path = match (&arguments.progress, place) {
        (Some(path), _) => path.clone(),
        (None, Location::Folder(folder)) => folder.join(PROGRESS),
        (None, Location::Bucket(_)) => return Err(BackupError::NoProgress { place: place.clone() }),
    };
    let chain = verify(place, &arguments.s3, &arguments.key)?;
    let roles = if arguments.roles { chain.newest().roles()? } else { None };
    if arguments.roles && roles.is_none() {
        return Err(BackupError::Unknown { what: "role in the backup: it was taken without --roles".to_owned() });
    }
    let backup = &chain.newest().digest;
    let found = RestoreProgress::read(&path)?;
    let is_new = found.is_none();
    let progress = match found {
        Some(progress) if !progress.is_of(backup, &arguments.table) => return Err(BackupError::OtherRestore { progress: path }),
        Some(progress) => {
            println!("going on with the restore that {} is of", path.display());
            progress
        }
        None => {
            let mut name = [0; 16];
            io_linux::fill_with_entropy(&mut name);
            let restore = format!("{:032x}", u128::from_le_bytes(name));
            let (backup, tables) = (backup.clone(), arguments.table.clone());
            RestoreProgress { restore, backup, tables, step: Step::Tables, file: 0, chunks: 0 }
        }
    };
    let throttle = throttle(arguments.rate_limit)?;
    let nodes = Nodes::new(&arguments.node)?;
    let meter = Meter::start(Unit::Bytes, 0, chain.files().iter().map(|(_, file)| file.chunks).sum(), "chunks");
    let schema = wanted(&chain.newest().schema()?, &progress)?;
    let (ids, primaries, begun) = (BTreeMap::new(), BTreeMap::new(), Instant::now());
    let mut restore = Restore { nodes, chain, schema, progress, path, stored: begun, ids, primaries, throttle, meter, roles };
    // Before anything is made: whoever goes on knows that it is his.
    restore.progress.write(&restore.path)?;
    if let Err(error) = restore.run() {
        if restore.has_made_nothing(&error, is_new) {
            RestoreProgress::remove(&restore.path)?;
        }
        return Err(error);
    }
    RestoreProgress::remove(&restore.path)?;
    drop(restore);
    println!("restored {place} in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// The part of a backup's schema that is restored.
fn wanted(schema: &Schema, progress: &RestoreProgress) -> Result<Schema, BackupError> {
    let names: Vec<String> = schema.tables().map(|table| format!("{}.{}", table.keyspace, table.name)).collect();
    if let Some(unknown) = progress.tables.iter().find(|name| !names.contains(name)) {
        return Err(BackupError::Unknown { what: format!("table {unknown} in the backup; it has {}", names.join(", ")) });
    }
    let restore = u128::from_str_radix(&progress.restore, 16).unwrap_or_default();
    let is_wanted = |keyspace: &str, name: &str| progress.tables.is_empty() || progress.tables.contains(&format!("{keyspace}.{name}"));
    let with_uuid = |table: &Table| {
        // Of version 4, as all are.
        let mixed = restore.wrapping_add(u128::from(table.id.0) << 80) & !(0xF << 76) & !(0x3 << 62);
        Arc::new(Table { uuid: mixed | 0x4 << 76 | 0x2 << 62, ..table.clone() })
    };
    let mut kept = BTreeMap::new();
    for (keyspace, declared) in &schema.keyspaces {
        // Its views and its log come with a table.
        let of = |table: &&Arc<Table>| {
            let followed = table.view.as_ref().map(|view| view.base.as_str()).or_else(|| cdc::base_of(table));
            is_wanted(keyspace, &table.name) || followed.is_some_and(|base| is_wanted(keyspace, base))
        };
        let tables: BTreeMap<_, _> = declared.tables.values().filter(of).map(|table| (table.name.clone(), with_uuid(table))).collect();
        if !tables.is_empty() || progress.tables.is_empty() {
            kept.insert(keyspace.clone(), Arc::new(Keyspace { tables, ..Keyspace::clone(declared) }));
        }
    }
    Ok(Schema { keyspaces: kept, ..schema.clone() })
}

/// The schema before views are built.
fn without_views(schema: &Schema) -> Schema {
    let plain = |keyspace: &Keyspace| {
        let tables = keyspace.tables.iter().filter(|(_, table)| table.view.is_none());
        let tables = tables.map(|(name, table)| (name.clone(), Arc::new(Table { views: Default::default(), ..Table::clone(table) })));
        Arc::new(Keyspace { tables: tables.collect(), ..keyspace.clone() })
    };
    let keyspaces = schema.keyspaces.iter().map(|(name, keyspace)| (name.clone(), plain(keyspace))).collect();
    Schema { keyspaces, ..schema.clone() }
}

/// The rows that no newer layer replaces, and that are there.
pub(super) fn newest(rows: &[u8], layer: usize, is_oldest: bool, met: &mut Met) -> Vec<u8> {
    let mut kept = Vec::with_capacity(rows.len());
    for row in ReceivedRows::new(rows).flatten() {
        if met.takes(layer, is_oldest, &row) && !is_void(&row) {
            kept.extend_from_slice(row.encoded);
        }
    }
    kept
}

impl Restore {
    fn run(&mut self) -> Result<(), BackupError> {
        loop {
            let next = match self.progress.step {
                Step::Tables => {
                    self.create(&without_views(&self.schema))?;
                    Step::Rows
                }
                Step::Rows => self.rows().map(|()| Step::Batches)?,
                Step::Batches => self.rows().map(|()| Step::Views)?,
                Step::Views => {
                    if self.schema.has_views() {
                        self.create(&self.schema)?;
                    }
                    // Last: nobody logs in by them before rows are there.
                    if let Some(roles) = &self.roles {
                        println!("{}", self.patiently(|| restore_roles(&self.nodes, roles))?);
                    }
                    return Ok(());
                }
            };
            self.progress = RestoreProgress { step: next, file: 0, chunks: 0, ..self.progress.clone() };
            self.progress.write(&self.path)?;
        }
    }

    /// Whether there is nothing to go on with: the step that makes all tables at once was refused, and none of them is there.
    fn has_made_nothing(&self, error: &BackupError, is_new: bool) -> bool {
        if self.progress.step != Step::Tables {
            return false;
        }
        match error {
            // Nobody was let in who could have made something.
            BackupError::Node(OperateError::Login { .. } | OperateError::Plaintext { .. }) => is_new,
            BackupError::Node(OperateError::Refused { .. }) => self.nodes.schema().is_ok_and(|here| !self.has_tables(&here)),
            _ => false,
        }
    }

    /// Whether a database has any of the tables that this restore makes.
    fn has_tables(&self, here: &Schema) -> bool {
        let is_made = |table: &Arc<Table>| here.table(&table.keyspace, &table.name).is_some_and(|known| known.uuid == table.uuid);
        self.schema.tables().any(is_made)
    }

    fn create(&self, schema: &Schema) -> Result<(), BackupError> {
        let blob = schema_blob::encode(schema);
        self.patiently(|| self.nodes.0[0].send("/restore/tables", &blob).map(drop).map_err(BackupError::from))
    }

    /// Tries again while nodes are away or slots move.
    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, BackupError>) -> Result<T, BackupError> {
        let begun = Instant::now();
        loop {
            match attempt() {
                Err(BackupError::Node(error @ (OperateError::Unreachable { .. } | OperateError::Unavailable { .. }))) => {
                    if begun.elapsed() > PATIENCE {
                        let file = self.chain.files().get(self.progress.file).map_or_else(String::new, |(_, file)| file.name.clone());
                        return Err(BackupError::Stopped { why: error.to_string(), at: (self.progress.chunks, file) });
                    }
                    std::thread::sleep(AGAIN);
                }
                outcome => return outcome,
            }
        }
    }

    /// Sends the rows of all files that are left, of this step.
    fn rows(&mut self) -> Result<(), BackupError> {
        let here = self.patiently(|| self.nodes.schema())?;
        if self.schema.tables().next().is_some() && !self.has_tables(&here) {
            return Err(BackupError::OtherDatabaseNow { progress: self.path.clone() });
        }
        let is_log = self.progress.step == Step::Batches;
        // A container's transactions that were open at the cut are aborted: what they have written is not the container's yet.
        let tables = self.schema.tables().filter(|table| table.view.is_none() && !(is_log && table.is_container()));
        for table in tables {
            let known = here.table(&table.keyspace, &table.name).filter(|known| known.uuid == table.uuid);
            let known = known.ok_or_else(|| BackupError::Unknown {
                what: format!("table {}.{} any more: it was dropped meanwhile", table.keyspace, table.name),
            })?;
            let id = |log: bool, id: TableId| if log { batch_log(id) } else { id };
            self.ids.insert(id(is_log, table.id), (id(is_log, known.id), table.keyspace.clone()));
        }
        let mut files = self.chain.files();
        // Entries of logs in older layers were done since.
        files.retain(|(layer, _)| *layer == 0 || !is_log);
        let (mut met, oldest) = (Met::default(), self.chain.layers().len() - 1);
        for (number, (layer, entry)) in files.into_iter().enumerate() {
            let is_done = number < self.progress.file;
            if is_done && layer == oldest {
                continue;
            }
            let mut chunks = self.chain.chunks(layer, &entry)?;
            let mut done = if is_done { entry.chunks } else { self.progress.chunks };
            while let Some(rows) = chunks.next()? {
                // Also of chunks that were sent before an interruption: what older layers have of their keys is passed over.
                let rows = if oldest == 0 { rows } else { newest(&rows, layer, layer == oldest, &mut met) };
                if done > 0 {
                    done -= 1;
                    continue;
                }
                self.send(&rows)?;
                self.meter.add_done(u64::from(!is_log));
                self.progress.chunks += 1;
                if self.stored.elapsed() >= STORED_EVERY {
                    self.stored = Instant::now();
                    self.progress.write(&self.path)?;
                }
            }
            if !is_done {
                self.progress = RestoreProgress { file: number + 1, chunks: 0, ..self.progress.clone() };
                self.progress.write(&self.path)?;
            }
        }
        self.ids.clear();
        Ok(())
    }

    /// Sends a chunk's rows to the primaries of their slots. All of it again if a part is refused: rows are written whole, so that does no harm.
    fn send(&mut self, rows: &[u8]) -> Result<(), BackupError> {
        let mut primaries = std::mem::take(&mut self.primaries);
        let sent = self.patiently(|| {
            if primaries.is_empty() {
                primaries = self.find_primaries()?;
            }
            let sent = self.try_send(rows, &primaries);
            if sent.is_err() {
                primaries.clear();
            }
            sent
        });
        self.primaries = primaries;
        sent
    }

    fn try_send(&self, rows: &[u8], primaries: &BTreeMap<String, BTreeMap<u16, usize>>) -> Result<(), BackupError> {
        let mut by_node: BTreeMap<usize, WriteBatch> = BTreeMap::new();
        for row in ReceivedRows::new(rows).flatten() {
            let Some((table, keyspace)) = self.ids.get(&row.key.table) else { continue };
            if self.progress.step == Step::Batches && row.key.partition.len() != BATCH_KEY_BYTES {
                continue;
            }
            let primary = primaries.get(keyspace).and_then(|slots| slots.get(&row.key.token.slot().0)).copied();
            let Some(node) = primary else {
                return Err(
                    OperateError::Unavailable { text: format!("no node asked is primary of slot {}", row.key.token.slot().0) }.into()
                );
            };
            let put = by_node.entry(node).or_default().put(&Key { table: *table, ..row.key }, row.kind, row.row);
            put.expect("a key that was stored is not too long");
        }
        for (node, batch) in by_node {
            self.throttle.pass(batch.bytes().len());
            self.nodes.0[node].send("/restore/rows", batch.bytes())?;
            self.meter.add(batch.bytes().len());
        }
        Ok(())
    }

    fn find_primaries(&self) -> Result<BTreeMap<String, BTreeMap<u16, usize>>, BackupError> {
        let places = self.nodes.places("/restore/places", self.schema.keyspaces.keys())?;
        let mut primaries: BTreeMap<String, BTreeMap<u16, usize>> = BTreeMap::new();
        for (node, places) in places.into_iter().enumerate() {
            for (keyspace, slots) in places.slots {
                primaries.entry(keyspace).or_default().extend(slots.into_iter().map(|slot| (slot, node)));
            }
        }
        Ok(primaries)
    }
}

#[cfg(test)]
mod tests {
    use super::super::earlier::tests::row;
    use super::super::earlier::void;
    use super::*;

    #[test]
    fn keys_that_are_gone_are_not_written() {
        let gone_row = row(b"a", b"1");
        let gone = ReceivedRows::new(&gone_row).flatten().next().map(|row| void(&row.key).bytes().to_vec()).unwrap_or_default();
        let (kept, mut met) = (row(b"b", b"1"), Met::default());
        assert_eq!(newest(&[&gone[..], &kept].concat(), 0, false, &mut met), kept);
        assert_eq!(newest(&gone_row, 1, true, &mut met), b"", "the older layer has it");
    }
}
