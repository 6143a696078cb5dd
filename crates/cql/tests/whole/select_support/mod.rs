//! A node in miniature: a schema, rows in a map, and statements that run as they do on shards. It can pretend that no row is in memory,
//! and shows each core only its own rows.
#![allow(dead_code, clippy::unwrap_used)]

use base::{Now, TableId, Token};
use cql::exec::{Execution, Options, Work, part_of_modification, part_of_select, start};
use cql::plan::{Prepared, Statement, prepare};
use cql::value::text::to_literal;
use cql::wire::{Consistency, Frame, FrameHeader, ProtocolVersion, Response, ResultResponse, StreamId, Value, ValuesBuffer};
use cql::{CqlError, ddl};
use model::operation::{Context, Direction, Operation, PartitionKey, Position, RowStore, ScannedRow, Step, Stop, Visit, WriteSet};
use model::record_set::{self, DIGEST_BYTES, NewBin};
use model::row::{RowWriter, Stamp};
use model::{DataType, Schema};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

type Key = (TableId, Token, Vec<u8>, Vec<u8>);

/// What stands for a request in the log of batches.
const REQUEST: &[u8] = b"request";

/// Whether rows are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// All are.
    All,
    /// Each must be asked for once in each operation.
    Nothing,
}

pub(crate) struct Node {
    pub(crate) schema: Arc<Schema>,
    pub(crate) cores: u16,
    pub(crate) memory: Memory,
    pub(crate) version: ProtocolVersion,
    pub(crate) wall_us: i64,
    /// What requests take for the present time, if not the clock.
    pub(crate) now_s: Option<u32>,
    pub(crate) operations: usize,
    /// How often a statement let others have their turn.
    pub(crate) waits: usize,
    /// What others do before each operation of a statement that has several.
    pub(crate) meanwhile: Option<fn(&mut Node)>,
    /// Whether statements are those of somebody who may not see masked columns.
    pub(crate) sees_masks: bool,
    rows: BTreeMap<Key, Vec<u8>>,
    runs: u64,
}

/// A page of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) names: Vec<String>,
    /// Values as CQL literals.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) state: Option<Vec<u8>>,
}

/// The rows of one core.
struct Store<'a> {
    rows: &'a BTreeMap<Key, Vec<u8>>,
    core: u16,
    cores: u16,
    memory: Memory,
    loaded: RefCell<BTreeSet<Key>>,
    wanted: RefCell<Option<Key>>,
}

impl Store<'_> {
    fn owns(&self, token: Token) -> bool {
        token.slot().core(self.cores).0 == self.core
    }

    fn load(&self, key: &Key) -> Result<(), Stop> {
        if self.memory == Memory::All || self.loaded.borrow().contains(key) {
            return Ok(());
        }
        *self.wanted.borrow_mut() = Some(key.clone());
        Err(Stop::Miss)
    }
}

impl RowStore for Store<'_> {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        assert!(self.owns(partition.token), "an operation came to a core that does not own its partition");
        let key = (partition.table, partition.token, partition.bytes.to_vec(), clustering.to_vec());
        let Some(row) = self.rows.get(&key) else { return Ok(None) };
        self.load(&key)?;
        Ok(Some(row))
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        assert!(self.owns(partition.token), "an operation came to a core that does not own its partition");
        let key = |clustering: &[u8]| (partition.table, partition.token, partition.bytes.to_vec(), clustering.to_vec());
        let end = match to {
            Some(to) if to <= from => return Ok(()),
            Some(to) => Bound::Excluded(key(to)),
            None => Bound::Excluded((partition.table, partition.token, [partition.bytes, &[0]].concat(), Vec::new())),
        };
        let range = self.rows.range((Bound::Included(key(from)), end));
        let rows: Box<dyn Iterator<Item = (&Key, &Vec<u8>)>> = match direction {
            Direction::Forward => Box::new(range),
            Direction::Reverse => Box::new(range.rev()),
        };
        for (key, row) in rows {
            self.load(key)?;
            if visit(&key.3, row) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }

    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        assert!(self.owns(from.token) && self.owns(until) && from.token <= until, "a scan goes beyond its core: {from:?} to {until:?}");
        let start = (table, from.token, from.partition.to_vec(), from.clustering.to_vec());
        for (key, row) in self.rows.range(start..).take_while(|((of, token, _, _), _)| *of == table && *token <= until) {
            self.load(key)?;
            let partition = PartitionKey { table, token: key.1, bytes: &key.2 };
            if visit(ScannedRow { partition, clustering: &key.3, row }) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }
}

impl Node {
    pub(crate) fn new(cores: u16) -> Self {
        let mut node = Self {
            schema: Arc::new(Schema::empty()),
            cores,
            memory: Memory::All,
            version: ProtocolVersion::V5,
            wall_us: 1_700_000_000_000_000,
            now_s: None,
            operations: 0,
            waits: 0,
            meanwhile: None,
            sees_masks: false,
            rows: BTreeMap::new(),
            runs: 0,
        };
        node.define("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        node
    }

    /// Runs a schema statement.
    pub(crate) fn define(&mut self, text: &str) {
        let parsed = cql::language::parse(text).unwrap();
        let environment = ddl::Environment {
            table_uuid: u128::from(self.schema.next_table.0),
            now_us: self.wall_us,
            data_center: "dc",
            nodes: 1,
            role: None,
            checks_permissions: false,
        };
        let outcome = ddl::apply(&self.schema, Some("ks"), &parsed.statement, &environment).unwrap();
        self.schema = outcome.change.unwrap().schema;
    }

    /// Stores a record of a set in namespace `ks`, with bins whose values are strings.
    pub(crate) fn put_record(&mut self, set: &str, digest: [u8; DIGEST_BYTES], bins: &[(&str, &str)]) {
        const STRING: u8 = 3;
        let needed: Vec<NewBin> = bins
            .iter()
            .map(|(name, _)| NewBin { name: (*name).to_owned(), kind: STRING, kind_name: "string", data_type: DataType::Text })
            .collect();
        if let Some(declared) = self.schema.declare_bins("ks", set, &needed, 0).unwrap() {
            self.schema = Arc::new(declared.schema);
        }
        let table = Arc::clone(self.schema.record_set("ks", set).unwrap().unwrap());
        let records = table.records.as_ref().unwrap();
        let mut cells: BTreeMap<_, Vec<u8>> =
            bins.iter().map(|(name, value)| (records.column(name.as_bytes(), STRING).unwrap(), value.as_bytes().to_vec())).collect();
        cells.insert(record_set::GENERATION, 1i32.to_be_bytes().to_vec());
        let mut row = Vec::new();
        let stamp = Stamp::at(self.wall_us);
        let mut writer = RowWriter::new(&mut row, stamp, true, None);
        cells.iter().for_each(|(column, value)| writer.value(*column, stamp, value));
        writer.finish();
        self.rows.insert((table.id, record_set::token(&digest), digest.to_vec(), Vec::new()), row);
    }

    pub(crate) fn prepare(&self, text: &str) -> Result<Arc<Prepared>, CqlError> {
        prepare(&self.schema, Some("ks"), text).map(Arc::new)
    }

    /// How many rows are stored, deletions among them.
    pub(crate) fn stored(&self) -> usize {
        self.rows.len()
    }

    /// Runs a statement that writes.
    pub(crate) fn write(&mut self, text: &str) {
        self.run(text, &[], None, None).unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    /// Runs a SELECT without pages: its rows, values separated by spaces.
    pub(crate) fn select(&mut self, text: &str) -> Vec<String> {
        self.select_with(text, &[])
    }

    pub(crate) fn select_with(&mut self, text: &str, values: &[Value<'_>]) -> Vec<String> {
        let page = self.run(text, values, None, None).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(page.state, None, "{text}");
        lines(&page)
    }

    /// Pages through a SELECT and checks that every page but the last is full.
    pub(crate) fn paged(&mut self, text: &str, page_size: u32) -> Vec<String> {
        let (mut all, mut state) = (Vec::new(), None);
        for pages in 0.. {
            assert!(pages < 5_000, "{text} has no last page");
            let page = self.run(text, &[], Some(page_size), state.as_deref()).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(page.rows.len() <= page_size as usize, "{text}: a page of {} rows", page.rows.len());
            all.extend(lines(&page));
            if page.state.is_none() {
                return all;
            }
            if !text.contains("FILTERING") {
                assert_eq!(page.rows.len(), page_size as usize, "{text}: a short page before the last");
            }
            state = page.state;
        }
        all
    }

    /// The error of a statement.
    pub(crate) fn error(&mut self, text: &str) -> String {
        match self.run(text, &[], None, None) {
            Ok(page) => panic!("{text} gave {page:?}"),
            Err(error) => error.to_string(),
        }
    }

    pub(crate) fn names(&mut self, text: &str) -> Vec<String> {
        self.run(text, &[], None, None).unwrap_or_else(|error| panic!("{text}: {error}")).names
    }

    pub(crate) fn run(&mut self, text: &str, values: &[Value<'_>], page_size: Option<u32>, state: Option<&[u8]>) -> Result<Page, CqlError> {
        let mut prepared = self.prepare(text)?;
        if self.sees_masks
            && let Some(masked) = prepared.masking.as_ref().and_then(|masking| masking.masked.clone())
        {
            prepared = masked;
        }
        let mut buffer = ValuesBuffer::new();
        values.iter().for_each(|value| buffer.push(*value));
        let context = self.context();
        let options = Options {
            version: self.version,
            stream: StreamId(7),
            consistency: Consistency::One,
            page_size,
            timestamp: None,
            skip_metadata: false,
            now_s: self.now_s,
            started: context.now,
            nonce: context.nonce,
            cores: self.cores,
            result_bytes_max: u32::MAX,
        };
        let values = buffer.as_values(self.version);
        let mut execution = Execution::new(&prepared, options, state);
        execution.bindings.bind(&prepared.markers, &values)?;
        let mut reply = Vec::new();
        let work = match start(&execution, &context)? {
            Work::Batch(mut batch) => {
                if batch.needs_log() {
                    batch.log(REQUEST.into(), &context);
                }
                Work::Coordinate(batch)
            }
            work => work,
        };
        match work {
            Work::Partition(token) => self.run_operation(token, &execution, &mut reply),
            Work::Coordinate(mut coordinator) => {
                let mut results = Vec::new();
                let mut steps = 0;
                loop {
                    let parts = match coordinator.step(std::mem::take(&mut results), &mut reply)? {
                        Step::Run(parts) => parts,
                        Step::Wait { .. } => {
                            self.waits += 1;
                            continue;
                        }
                        Step::Done => break,
                    };
                    steps += 1;
                    assert!(steps < 100_000, "{text} does not come to an end");
                    assert!(!parts.is_empty(), "{text} waits for nothing");
                    for part in parts {
                        if let Some(others) = self.meanwhile.take() {
                            others(self);
                            self.meanwhile = Some(others);
                        }
                        let mut result = Vec::new();
                        // As on another node: made again from the request and what the part says of itself.
                        let mut description = Vec::new();
                        assert!(part.operation.describe(&mut description), "{text}: a part that cannot travel");
                        let again = match &prepared.statement {
                            Statement::Select(_) => part_of_select(&execution, &description, &self.context()),
                            _ => part_of_modification(&execution, &description, REQUEST, &self.context()),
                        };
                        self.run_operation(part.token, &*again?, &mut result);
                        results.push(result);
                    }
                }
            }
            Work::Batch(_) | Work::Other => panic!("{text} is not about rows"),
        }
        decode(&reply, &prepared)
    }

    fn context(&mut self) -> Context {
        self.runs += 1;
        let now = Now { monotonic_us: 0, wall_us: self.wall_us };
        Context { now, timestamp_us: self.wall_us + self.runs as i64, nonce: self.runs }
    }

    /// Runs an operation on the core that owns `token`, as often as it misses rows.
    fn run_operation(&mut self, token: Token, operation: &dyn Operation, reply: &mut Vec<u8>) {
        let context = self.context();
        let mut writes = WriteSet::default();
        let core = token.slot().core(self.cores).0;
        let store = Store {
            rows: &self.rows,
            core,
            cores: self.cores,
            memory: self.memory,
            loaded: RefCell::default(),
            wanted: RefCell::default(),
        };
        for round in 0.. {
            assert!(round < 100_000, "an operation misses rows for ever");
            self.operations += 1;
            match operation.run(&context, &store, &mut writes, reply) {
                Ok(()) => break,
                Err(Stop::Miss) => {
                    writes.clear();
                    reply.clear();
                    let wanted = store.wanted.take().unwrap();
                    assert!(store.loaded.borrow_mut().insert(wanted), "an operation misses a row that it was given");
                }
                Err(stop) => panic!("{stop}"),
            }
        }
        for row in writes.rows() {
            let key = (row.partition.table, row.partition.token, row.partition.bytes.to_vec(), row.clustering.to_vec());
            self.rows.insert(key, row.row.to_vec());
        }
    }
}

fn decode(reply: &[u8], prepared: &Prepared) -> Result<Page, CqlError> {
    let header = FrameHeader::parse(reply).unwrap().unwrap();
    assert_eq!(reply.len(), 9 + header.body_bytes as usize, "a reply is one frame");
    assert_eq!(header.stream, StreamId(7));
    let frame = Frame { header, body: &reply[9..] };
    let rows = match Response::decode(&frame).unwrap().1 {
        Response::Error(error) => return Err(CqlError::Invalid(error.message.to_owned())),
        Response::Result(ResultResponse::Rows(rows)) => rows,
        Response::Result(ResultResponse::Void) => return Ok(Page { names: Vec::new(), rows: Vec::new(), state: None }),
        other => panic!("{other:?}"),
    };
    let columns = rows.metadata.columns.unwrap();
    let names = columns.iter().map(|column| column.name.to_owned()).collect();
    let types: Vec<DataType> = match &prepared.statement {
        Statement::Select(plan) if plan.json => vec![DataType::Text],
        Statement::Select(plan) => plan.outputs.iter().map(|output| output.data_type.clone()).collect(),
        // The outcome of a condition describes itself.
        _ => columns.iter().map(|column| column.data_type.to_data_type()).collect(),
    };
    let literal = |(cell, index): (Option<&[u8]>, usize)| to_literal(&types[index], cell);
    let rows_of = rows.iter().map(|row| row.zip(0..).map(literal).collect()).collect();
    Ok(Page { names, rows: rows_of, state: rows.metadata.paging_state.map(<[u8]>::to_vec) })
}

pub(crate) fn lines(page: &Page) -> Vec<String> {
    page.rows.iter().map(|row| row.join(" ")).collect()
}
