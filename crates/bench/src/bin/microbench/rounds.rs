//! Loads the rows, then runs rounds of requests and times the core.

use crate::failure::Failure;
use crate::machine::{Machine, ROLE};
use crate::options::{Options, Shape, Workload};
use crate::report::{self, Line};
use base::Rng;
use bench::requests::Template;
use bench::rows::{KeyNumber, RowShape};
use bench::statistics::Summary;
use cql::wire::{
    CompressionWorkspace, Direction, FRAME_BODY_BYTES_MAX, FrameDecoder, FrameEncoder, ProtocolVersion, Response, ResultResponse, StreamId,
};
use std::time::{Duration, Instant};

/// Memory enough for all rows, garbage not yet reclaimed included.
const MEMORY_BYTES: usize = 8 << 30;
/// What a record takes in the log besides its blobs, roughly: key, header, cells.
const RECORD_BYTES_EXTRA: u64 = 96;
const LOG_BYTES_LEAST: u64 = 256 << 20;
/// Shorter rounds are taken to be undisturbed.
const ROUND_MIN: Duration = Duration::from_millis(200);
const TABLE: &str = "microbench.rows";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut lines = Vec::new();
    if !options.json && options.callgrind.is_none() {
        report::print_head();
    }
    for shape in options.shapes() {
        let mut rounds = Rounds::set_up(options, *shape)?;
        rounds.load(options.rows)?;
        if let Some(workload) = options.callgrind {
            rounds.run_for_callgrind(workload, options)?;
            continue;
        }
        // Rows are not found by what they had at first once that has changed.
        for workload in [Workload::Reads, Workload::Writes, Workload::Changes].into_iter().take(if options.index { 3 } else { 2 }) {
            for batch in &options.batches {
                let line = rounds.measure(workload, *batch, options)?;
                if !options.json {
                    report::print(&line);
                }
                lines.push(line);
            }
        }
    }
    if options.json {
        println!("{}", serde_json::json!(lines));
    }
    Ok(())
}

/// A node with a table of one shape.
struct Rounds {
    machine: Machine,
    shape: RowShape,
    read: Template,
    write: Template,
    version: ProtocolVersion,
    /// Wraps requests as the connections of v5 have them.
    encoder: FrameEncoder,
    workspace: CompressionWorkspace,
    inputs: Vec<Vec<u8>>,
    frame: Vec<u8>,
    first_keys: Vec<u64>,
    rng: Rng,
    rows: u64,
    timestamp_us: i64,
    delayed: u64,
}

/// What is looked at besides the length of replies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    Length,
    FirstRow,
}

impl Rounds {
    fn set_up(options: &Options, shape: Shape) -> Result<Self, Failure> {
        let (columns, column_bytes) = shape.columns();
        let shape = RowShape::new(columns, column_bytes);
        let log_bytes = options.rows * (shape.value_bytes() as u64 + RECORD_BYTES_EXTRA);
        let capacity = ((log_bytes as f64 * options.capacity_times) as u64).max(LOG_BYTES_LEAST);
        let mut machine = Machine::start(options, capacity, MEMORY_BYTES)?;
        let version = options.version();
        let mut schema = vec![
            "CREATE KEYSPACE microbench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}".to_owned(),
            shape.create_table(TABLE),
        ];
        let mut select = shape.select(TABLE);
        if options.index {
            schema.push(shape.create_index(TABLE));
            select = shape.select_by_value(TABLE);
        }
        if options.cdc {
            schema.push(format!("ALTER TABLE {TABLE} WITH cdc = {{'enabled': true}}"));
        }
        if options.login {
            schema.push(format!("CREATE ROLE {ROLE} WITH PASSWORD = '{ROLE}' AND LOGIN = true"));
            schema.push(format!("GRANT SELECT, MODIFY ON KEYSPACE microbench TO {ROLE}"));
        }
        let (select, insert) = machine.set_up(version, &schema, &select, &shape.insert(TABLE))?;
        let mut encoder = FrameEncoder::new(Direction::Request);
        encoder.startup_agreed(version, None)?;
        Ok(Self {
            machine,
            read: if options.index { Template::read_by_value(version, &select, &shape)? } else { Template::read(version, &select)? },
            write: Template::write(version, &insert, &shape)?,
            shape,
            version,
            encoder,
            workspace: CompressionWorkspace::new(),
            inputs: vec![Vec::new(); usize::from(options.connections)],
            frame: Vec::new(),
            first_keys: vec![0; usize::from(options.connections)],
            rng: Rng::new(options.rows),
            rows: options.rows,
            timestamp_us: 1_700_000_000_000_000,
            delayed: 0,
        })
    }

    /// Writes every row once.
    fn load(&mut self, rows: u64) -> Result<(), Failure> {
        let batch = 16;
        let wanted = self.reply_bytes(Workload::Writes, batch)?;
        let mut next = 0;
        while next < rows {
            // The last batches begin again with the first rows.
            self.prepare(Workload::Writes, batch, |_| {
                next += 1;
                (next - 1) % rows
            });
            self.machine.serve(&self.inputs);
            self.machine.serve_disk();
            self.take_replies(Workload::Writes, batch, wanted, Check::Length)?;
        }
        Ok(())
    }

    /// Several rounds of one workload.
    fn measure(&mut self, workload: Workload, batch: u16, options: &Options) -> Result<Line, Failure> {
        let wanted = self.reply_bytes(workload, batch)?;
        let (mut net, mut wall, mut gross, mut rate, mut on_cpu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.round(workload, batch, options.requests, wanted)?;
        (self.delayed, self.machine.reactor.disk.bytes_written) = (0, 0);
        let mut total = 0;
        for _ in 0..options.rounds {
            let round = self.round(workload, batch, options.requests, wanted)?;
            let requests = round.requests as f64;
            let core_s = round.core.as_secs_f64() * round.on_cpu;
            net.push(core_s * 1e9 / requests);
            rate.push(requests / core_s);
            wall.push(round.core.as_nanos() as f64 / requests);
            gross.push(round.all.as_nanos() as f64 / requests);
            on_cpu.push(round.on_cpu);
            total += round.requests;
        }
        let summary = |values: Vec<f64>| Summary::of(values).unwrap_or(Summary { median: 0.0, least: 0.0, most: 0.0 });
        Ok(Line {
            shape: format!(
                "{}x{}{}",
                self.shape.columns(),
                self.shape.value_bytes() / self.shape.columns(),
                if options.index { "i" } else { "" }
            ),
            workload: workload.name(),
            batch,
            ns_per_request: summary(net),
            requests_per_second: summary(rate),
            wall_ns_per_request: summary(wall),
            gross_ns_per_request: summary(gross),
            on_cpu: summary(on_cpu),
            delayed: self.delayed,
            disk_bytes_per_request: self.machine.reactor.disk.bytes_written as f64 / total.max(1) as f64,
        })
    }

    fn round(&mut self, workload: Workload, batch: u16, requests: u64, wanted: usize) -> Result<Round, Failure> {
        let per_turn = u64::from(batch) * self.inputs.len() as u64;
        let turns = requests.div_ceil(per_turn);
        let mut core = Duration::ZERO;
        let (started, cpu_before) = (Instant::now(), thread_cpu());
        for turn in 0..turns {
            self.prepare_random(workload, batch);
            let disk_before = self.machine.disk_time;
            let serving = Instant::now();
            self.machine.serve(&self.inputs);
            self.machine.serve_disk();
            core += serving.elapsed().saturating_sub(self.machine.disk_time - disk_before);
            let check = if turn % 1024 == 0 { Check::FirstRow } else { Check::Length };
            self.take_replies(workload, batch, wanted, check)?;
        }
        let all = started.elapsed();
        let on_cpu = match cpu_before.zip(thread_cpu()) {
            // The kernel brings its account up to date at each tick: it says nothing about a few of them.
            Some((before, after)) if all > ROUND_MIN => ((after - before).as_secs_f64() / all.as_secs_f64()).min(1.0),
            _ => 1.0,
        };
        Ok(Round { requests: turns * per_turn, core, all, on_cpu })
    }

    /// A warm-up, then exactly as many requests as asked for within `serve_measured`.
    fn run_for_callgrind(&mut self, workload: Workload, options: &Options) -> Result<(), Failure> {
        let batch = options.batches.last().copied().unwrap_or(1);
        let wanted = self.reply_bytes(workload, batch)?;
        self.round(workload, batch, options.requests / 10, wanted)?;
        let per_turn = u64::from(batch) * self.inputs.len() as u64;
        for _ in 0..options.requests / per_turn {
            self.prepare_random(workload, batch);
            self.machine.serve_measured(&self.inputs);
            self.machine.serve_disk();
            self.take_replies(workload, batch, wanted, Check::Length)?;
        }
        // One that scripts read.
        println!("measured={}", options.requests / per_turn * per_turn);
        Ok(())
    }

    fn prepare_random(&mut self, workload: Workload, batch: u16) {
        let rows = self.rows;
        let mut rng = self.rng.clone();
        self.prepare(workload, batch, |_| rng.below(rows));
        self.rng = rng;
    }

    /// Fills each connection's input with a batch of requests.
    fn prepare(&mut self, workload: Workload, batch: u16, mut key: impl FnMut(u16) -> u64) {
        let template = match workload {
            Workload::Reads => &self.read,
            Workload::Writes | Workload::Changes => &self.write,
        };
        let segments = self.version >= ProtocolVersion::V5;
        for (input, first_key) in self.inputs.iter_mut().zip(&mut self.first_keys) {
            input.clear();
            for stream in 0..batch {
                let key = key(stream);
                if stream == 0 {
                    *first_key = key;
                }
                let target = if segments { &mut self.frame } else { &mut *input };
                let of = if workload == Workload::Changes {
                    self.rows + Rng::new(self.timestamp_us.cast_unsigned()).below(self.rows)
                } else {
                    key
                };
                template.append_of(target, StreamId(stream.cast_signed()), (KeyNumber(key), KeyNumber(of)), self.timestamp_us);
                self.timestamp_us += 1;
                if segments {
                    self.encoder.append(input, &self.frame, &mut self.workspace);
                    self.frame.clear();
                }
            }
            self.encoder.flush(input, &mut self.workspace);
        }
    }

    /// Checks and discards what each connection was answered.
    fn take_replies(&mut self, workload: Workload, batch: u16, wanted: usize, check: Check) -> Result<(), Failure> {
        if self.machine.reactor.outputs.iter().any(|output| output.len() < wanted) {
            self.delayed += 1;
            self.machine.wait_for_output(wanted);
        }
        if self.machine.reactor.outputs.iter().any(|output| output.len() != wanted) {
            return Err(self.wrong_replies(workload, batch, wanted));
        }
        if check == Check::FirstRow && workload == Workload::Reads {
            self.check_first_row()?;
        }
        for output in &mut self.machine.reactor.outputs {
            output.clear();
        }
        Ok(())
    }

    /// Writes a few rows, has a batch of the workload answered, and gives the length of the replies: all of a kind have the same.
    fn reply_bytes(&mut self, workload: Workload, batch: u16) -> Result<usize, Failure> {
        let rows = self.rows;
        let mut length = 0;
        for step in [Workload::Writes, workload] {
            self.prepare(step, batch, |stream| u64::from(stream) % rows);
            self.machine.serve(&self.inputs);
            self.machine.wait_for_output(1);
            // The filter of an index fills: its first queries take several turns.
            self.machine.wait_until_quiet();
            length = self.machine.reactor.outputs.first().map_or(0, Vec::len);
            if let Some(text) = self.error_text() {
                return Err(Failure::Replies { kind: step.name(), frames: batch, got: length, wanted: length, text: Some(text) });
            }
            if step == Workload::Reads {
                self.check_first_row()?;
            }
            self.machine.reactor.outputs.iter_mut().for_each(Vec::clear);
        }
        Ok(length)
    }

    fn wrong_replies(&self, workload: Workload, batch: u16, wanted: usize) -> Failure {
        let wrong = self.machine.reactor.outputs.iter().find(|output| output.len() != wanted);
        Failure::Replies { kind: workload.name(), frames: batch, got: wrong.map_or(0, Vec::len), wanted, text: self.error_text() }
    }

    /// The text of the first ERROR among the replies.
    fn error_text(&self) -> Option<String> {
        self.machine.reactor.outputs.iter().find_map(|output| {
            let mut decoder = self.decoder();
            let mut workspace = CompressionWorkspace::new();
            let mut frames = decoder.feed(output, &mut workspace);
            while let Ok(Some(frame)) = frames.next_frame() {
                if let Ok((_, Response::Error(error))) = Response::decode(&frame) {
                    return Some(error.message.to_owned());
                }
            }
            None
        })
    }

    /// The reply to the first request of each connection is the row that was asked for. Replies come in any order.
    fn check_first_row(&self) -> Result<(), Failure> {
        for (output, key) in self.machine.reactor.outputs.iter().zip(&self.first_keys) {
            let mut decoder = self.decoder();
            let mut workspace = CompressionWorkspace::new();
            let mut frames = decoder.feed(output, &mut workspace);
            let mut right = false;
            while let Some(frame) = frames.next_frame()? {
                if let Response::Result(ResultResponse::Rows(rows)) = Response::decode(&frame)?.1
                    && frame.header.stream == StreamId(0)
                {
                    right = rows.len() == 1 && self.shape.matches(KeyNumber(*key).key(), rows.cells());
                }
            }
            if !right {
                return Err(Failure::WrongRow { key: *key });
            }
        }
        Ok(())
    }

    fn decoder(&self) -> FrameDecoder {
        let mut decoder = FrameDecoder::new(Direction::Response, FRAME_BODY_BYTES_MAX);
        decoder.startup_agreed(self.version, None).expect("no compression is agreed to in every version");
        decoder
    }
}

/// One round.
struct Round {
    requests: u64,
    core: Duration,
    all: Duration,
    /// How much of it the thread was on a CPU; 1 where the kernel does not tell.
    on_cpu: f64,
}

/// How long this thread has been on a CPU; `None` where the kernel does not tell.
fn thread_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
