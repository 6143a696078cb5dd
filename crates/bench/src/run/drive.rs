//! Sends a phase's load to the target, watches both, disturbs the target when the study says so.
//!
//! The load runs on threads of its own, bound to their CPUs. Meanwhile the caller's thread shows progress, passes on Ctrl-C, takes readings of
//! the target every second, and carries out events: a node that it starts is bound to the life of the thread that started it.

mod attendant;

use super::console::Progress;
use super::error::TargetError;
use super::options::{Agents, Options};
use super::watch::Reading;
use crate::report::model::Event as EventReport;
use crate::study::{Phase, Study};
use crate::target::{Access, MetricsError, Protocol, System, SystemError, TargetSpec};
use attendant::{Attendant, Attended};
use load::aerospike::AerospikeSettings;
use load::cql::CqlSettings;
use load::griddb::GridDbSettings;
use load::latency::histogram;
use load::tables::Tables;
use load::workload::{End, Mix, OperationKind, Pace, Rows};
use load::{
    Control, Dataset, Histogram, HistogramLog, Limits, LoadError, Observer, Outcome, Plan, Routing, Second, Share, Target, TargetSettings,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock};
use std::time::{Instant, SystemTime};

/// Silence after which a target is given up, where nobody has killed it.
const SILENCE_S: f64 = 20.0;

/// A load on the dataset.
pub(super) struct Load<'a> {
    pub(super) mix: &'a Mix,
    pub(super) phase: &'a Phase,
    pub(super) pace: Pace,
    pub(super) end: End,
    /// Share of its operations that may fail.
    pub(super) failed_max: f64,
}

/// What came of it.
pub(super) struct Measured {
    pub(super) outcome: Outcome,
    pub(super) plan: Plan,
    pub(super) readings: Vec<Reading>,
    pub(super) events: Vec<EventReport>,
    /// Why an event could not be carried out, which ended the load.
    pub(super) failure: Option<SystemError>,
    /// Why the histogram log is not whole.
    pub(super) log_failure: Option<std::io::Error>,
    /// Why readings of the target are missing.
    pub(super) metrics_failure: Option<MetricsError>,
}

/// The client side of a target.
pub(super) struct Driver {
    settings: TargetSettings,
    target: Box<dyn Target>,
    clients: load::workload::Clients,
    agents: Agents,
    /// From the phase that makes the schema on.
    sender: RefCell<Option<Sender>>,
}

/// Who sends, and which rows are there.
enum Sender {
    Here(Dataset),
    Agents(load::Agents, Rows),
}

impl Driver {
    pub(super) fn new(spec: &TargetSpec, system: &dyn System, study: &Study, agents: &Agents) -> Result<Self, TargetError> {
        let settings = match spec.protocol() {
            Protocol::Cql => TargetSettings::Cql(cql_settings(spec, system, study)?),
            Protocol::Aerospike | Protocol::GridDb if !study.cql.is_empty() => {
                let protocol = if spec.protocol() == Protocol::Aerospike { "aerospike" } else { "griddb" };
                return Err(load::target::TargetError::Unsupported { protocol, why: "the study has CQL statements of its own" }.into());
            }
            Protocol::Aerospike => TargetSettings::Aerospike(aerospike_settings(spec, system)),
            Protocol::GridDb => TargetSettings::GridDb(griddb_settings(spec, system, study)),
        };
        let target = settings.open()?;
        Ok(Self { settings, target, clients: study.clients, agents: agents.clone(), sender: RefCell::new(None) })
    }

    /// Connects from now on to the nodes that the system has by now.
    pub(super) fn follow(&mut self, system: &dyn System) -> Result<(), TargetError> {
        let now = addresses(system);
        let known = match &mut self.settings {
            TargetSettings::Cql(settings) => &mut settings.addresses,
            TargetSettings::Aerospike(settings) => &mut settings.addresses,
            TargetSettings::GridDb(settings) => &mut settings.addresses,
        };
        if *known != now {
            *known = now;
            self.target = self.settings.open()?;
        }
        Ok(())
    }

    /// Product and version.
    pub(super) fn check(&self) -> Result<String, TargetError> {
        let info = self.target.check()?;
        Ok(format!("{} {}", info.product, info.version))
    }

    /// Settings of the client, and of what it makes, for the report.
    pub(super) fn settings(&self, rows: &Rows) -> BTreeMap<String, String> {
        let mut told = match &self.settings {
            TargetSettings::Cql(settings) => {
                let mut told = BTreeMap::from([
                    ("client: consistency".to_owned(), settings.consistency.to_string()),
                    ("client: native protocol".to_owned(), format!("v{}", settings.protocol_version)),
                    ("client: requests go to".to_owned(), routing(settings.routing).to_owned()),
                    ("replication factor".to_owned(), settings.replication_factor.to_string()),
                ]);
                if !settings.table_options.is_empty() {
                    told.insert("table options".to_owned(), settings.table_options.clone());
                }
                told
            }
            TargetSettings::Aerospike(settings) => BTreeMap::from([
                ("client: namespace".to_owned(), settings.namespace.clone()),
                ("client: set".to_owned(), settings.set.clone()),
                ("client: policies".to_owned(), "create only, update only (one field), replace only (all); key not sent".to_owned()),
            ]),
            TargetSettings::GridDb(settings) => BTreeMap::from([
                ("client: container".to_owned(), settings.container.clone()),
                ("client: rows of a request".to_owned(), settings.batch.to_string()),
            ]),
        };
        if rows.tables != Tables::ONE {
            told.insert("tables".to_owned(), rows.tables.count().to_string());
        }
        if !self.agents.addresses.is_empty() {
            told.insert("load machines".to_owned(), self.agents.addresses.join(", "));
        }
        told
    }

    /// An empty dataset: what was there of an earlier run is gone.
    pub(super) fn create(&self, rows: &Rows) -> Result<(), TargetError> {
        self.target.drop_dataset()?;
        self.target.create(rows)?;
        self.send_from(rows, 0)
    }

    fn send_from(&self, rows: &Rows, there: u64) -> Result<(), TargetError> {
        // Agents serve one controller at a time: those of an earlier dataset are let go first.
        *self.sender.borrow_mut() = None;
        let sender = if self.agents.addresses.is_empty() {
            Sender::Here(Dataset::with_rows(rows.clone(), Share::ALL, there))
        } else {
            Sender::Agents(load::Agents::connect(&self.agents.addresses, &self.agents.secret, there)?, rows.clone())
        };
        *self.sender.borrow_mut() = Some(sender);
        Ok(())
    }

    /// The dataset that an earlier attempt has filled.
    pub(super) fn resume(&self, rows: &Rows, inserted: u64) -> Result<(), TargetError> {
        self.send_from(rows, rows.count + inserted)
    }

    pub(super) fn drop_dataset(&self) -> Result<(), TargetError> {
        *self.sender.borrow_mut() = None;
        Ok(self.target.drop_dataset()?)
    }

    /// Carries out a load; what stops it early is in what it returns.
    pub(super) fn drive(
        &self,
        load: &Load<'_>,
        system: &mut dyn System,
        options: &Options,
        stop: &AtomicBool,
        log: &Path,
        progress: &mut Progress,
    ) -> Result<Measured, TargetError> {
        let mut sender = self.sender.borrow_mut();
        let sender = sender.as_mut().expect("a phase that sends a load comes after one that makes the dataset");
        let disturbed = load.phase.events.last().map_or(0.0, |event| event.at_s);
        let plan = Plan {
            mix: load.mix.clone(),
            clients: self.target.clients(load.phase.clients.unwrap_or(self.clients)),
            pace: self.target.pace(load.pace),
            end: load.end,
            seed: options.seed,
            limits: Limits { silence_s: SILENCE_S + disturbed, ..Limits::default() },
        };
        let control = Control::new();
        let (began, over, recent) = (OnceLock::new(), AtomicBool::new(false), Mutex::new(histogram()));
        let what = format!("{} {}", env!("CARGO_PKG_NAME"), load.phase.name());
        let file = BufWriter::new(File::create(log)?);
        let mut hear = Hear { began: &began, recent: &recent, log: Log::Closed { file: Some(file), what } };
        let (outcome, attended) = std::thread::scope(|scope| {
            let (target, settings, over, control, plan, hear) = (&*self.target, &self.settings, &over, &control, &plan, &mut hear);
            let sender = scope.spawn(move || {
                // Threads that it starts inherit its CPUs; whoever starts servers must not be bound to them.
                let pinned = if options.load_cpus.is_empty() { Ok(()) } else { io_linux::run_on_cpus(&options.load_cpus) };
                let outcome = pinned.map_err(|error| TargetError::from(LoadError::from(error))).and_then(|()| match sender {
                    Sender::Here(dataset) => Ok(load::run(target, dataset, plan, control, hear)?),
                    Sender::Agents(agents, rows) => Ok(agents.run(settings, rows, plan, control, hear)?),
                });
                over.store(true, Relaxed);
                outcome
            });
            let attendant = Attendant { control, began: &began, recent: &recent, over, stop, progress, system, events: &load.phase.events };
            let attended = attendant.attend();
            (sender.join().expect("it has no reason to panic"), attended)
        });
        let Attended { readings, events, failure, metrics_failure } = attended;
        let (outcome, failure) = match (outcome, failure) {
            // Why no load could be sent to it.
            (Err(_), Some(failure)) => return Err(failure.into()),
            (outcome, failure) => (outcome?, failure),
        };
        let log_failure = hear.finish().err();
        Ok(Measured { outcome, plan, readings, events, failure, log_failure, metrics_failure })
    }
}

fn addresses(system: &dyn System) -> Vec<String> {
    system.address().split(',').map(str::to_owned).collect()
}

fn routing(routing: Routing) -> &'static str {
    match routing {
        Routing::Primary => "the node, and core, that serves the row, if the server tells which",
        Routing::Any => "any node",
    }
}

fn cql_settings(spec: &TargetSpec, system: &dyn System, study: &Study) -> Result<CqlSettings, TargetError> {
    let mut settings = CqlSettings {
        addresses: addresses(system),
        replication_factor: study.replication.min(spec.nodes()),
        table_options: system.table_options().unwrap_or_default().to_owned(),
        // Who asks by something else than the key cannot know who serves the row.
        routing: if study.cql.reads_by_key() { study.routing } else { Routing::Any },
        own: study.cql.clone(),
        ..CqlSettings::default()
    };
    let mut consistency = study.consistency.clone();
    if let TargetSpec::Server { access: Access::Cql { credentials, consistency: of_target, table }, .. } = spec {
        if let Some((user, password)) = credentials {
            (settings.user, settings.password) = (Some(user.clone()), Some(password.clone()));
        }
        settings.table_options = table.clone().unwrap_or_default();
        consistency = of_target.clone().or(consistency);
    }
    if let Some(name) = consistency {
        settings.consistency = name.parse()?;
    }
    Ok(settings)
}

fn aerospike_settings(spec: &TargetSpec, system: &dyn System) -> AerospikeSettings {
    let settings = AerospikeSettings { addresses: addresses(system), ..AerospikeSettings::default() };
    match spec {
        TargetSpec::Server { access: Access::Aerospike { namespace }, .. } => {
            AerospikeSettings { namespace: namespace.clone(), ..settings }
        }
        _ => settings,
    }
}

fn griddb_settings(spec: &TargetSpec, system: &dyn System, study: &Study) -> GridDbSettings {
    let batch = spec.batch().unwrap_or(study.batch);
    let mut settings = GridDbSettings { addresses: addresses(system), batch, ..GridDbSettings::default() };
    if let TargetSpec::Server { access: Access::GridDb { credentials, cluster, .. }, .. } = spec {
        settings.cluster.clone_from(cluster);
        if let Some((user, password)) = credentials {
            (settings.user, settings.password) = (user.clone(), password.clone());
        }
    }
    settings
}

/// Hears of the load on the load's thread.
struct Hear<'a> {
    began: &'a OnceLock<Instant>,
    recent: &'a Mutex<Histogram>,
    log: Log,
}

/// The histogram log: its header has the time at which the load starts.
enum Log {
    Closed {
        file: Option<BufWriter<File>>,
        what: String,
    },
    Open(HistogramLog<BufWriter<File>>),
    /// The measurement goes on without it.
    Failed(std::io::Error),
}

impl Hear<'_> {
    fn finish(self) -> std::io::Result<()> {
        match self.log {
            Log::Closed { .. } => Ok(()),
            Log::Open(log) => log.finish()?.flush(),
            Log::Failed(error) => Err(error),
        }
    }
}

impl Observer for Hear<'_> {
    fn ready(&mut self) {
        self.began.get_or_init(Instant::now);
        if let Log::Closed { file, what } = &mut self.log
            && let Some(file) = file.take()
        {
            self.log = HistogramLog::new(file, what, SystemTime::now()).map_or_else(Log::Failed, Log::Open);
        }
    }

    fn second(&mut self, second: &Second, latencies: &BTreeMap<OperationKind, Histogram>) {
        let mut recent = self.recent.lock().expect("whoever holds it does not panic");
        latencies.values().for_each(|latencies| recent.add(latencies).expect("all histograms have one shape"));
        drop(recent);
        if let Log::Open(log) = &mut self.log
            && let Err(error) = log.second(second, latencies)
        {
            self.log = Log::Failed(error);
        }
    }
}
