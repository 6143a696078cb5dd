//! `tarndb start`: settings → data directory → listeners, files and cores → ready.

use crate::audit_writer::AuditWriter;
use crate::cli::StartArguments;
use crate::client_tls::ClientTlsSource;
use crate::config::{Config, Host};
use crate::console::Console;
use crate::data_dir::DataDir;
use crate::exit::Failure;
use crate::first_superuser::Superuser;
use crate::http::{Http, HttpOptions};
use crate::layout::Losses;
use crate::limits::{self, Cpus};
use crate::listeners;
use crate::live_settings::SettingsControl;
use crate::logging::{self, LogFilter};
use crate::node::{NodeParts, Secrets, SharedParts, certificate_logins};
use crate::node_tls;
use crate::own_connection::{self, reachable};
use crate::private_files;
use crate::relayout;
use crate::service_manager;
use crate::settings::{Authentication, Pin};
use crate::settings_file;
use crate::sql_spill;
use ::node::{Board, ClientTlsConfig, LiveSettings};
use griddb_sql::{Connected, Connector, SqlNode, SqlPort, SqlTls};
use io_linux::{Machine, Options, Pinning, Signals};
use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tls::ClientCertificate;

/// Runs a node until it is asked to end. `from_variables` are the settings that environment variables gave.
pub(crate) fn run(arguments: StartArguments, from_variables: &[String]) -> Result<(), Failure> {
    let losses = if arguments.accept_data_loss { Losses::Accepted } else { Losses::Refused };
    let (config, log) = configure(arguments, from_variables)?;
    if !limits::is_own(config.listen) {
        return Err(Failure::NotHere { address: config.listen });
    }
    limits::warn_of_exposure(&config);
    let descriptors_max = io_linux::descriptors_max();
    let cpus = Cpus::read();
    let client_tls = config.client_tls.clone().map(ClientTlsSource::open).transpose()?;
    let tls = config.node_tls.as_ref().map(|files| node_tls::read(files, config.listen)).transpose()?;
    io_linux::make_files_private();
    let mut data_dir = DataDir::open(&config, losses, cpus.cores())?;
    private_files::take_from_others(&config.data_dir);
    sql_spill::prepare(data_dir.path(), config.sql_spill_limit);
    if let Some(at_rest) = &data_dir.at_rest {
        at_rest.follow();
    }
    cpus.warn(data_dir.cores_asked.unwrap_or(data_dir.cores));
    let superuser = Superuser::prepare(&config, &data_dir.blobs)?;
    relayout::run(&config, &mut data_dir)?;
    let audit = config.audit.as_ref().map(AuditWriter::start).transpose()?;
    let board = Arc::new(Board::new(config.node_port.is_some()));
    let settings = live_settings(&config, &data_dir);
    let http = HttpOptions {
        address: SocketAddr::new(config.listen, config.http_port),
        connections_max: limits::http_connections(descriptors_max),
        requires_login: config.authentication != Authentication::None,
        tls: client_tls.as_ref().map(ClientTlsSource::config),
        certificate_identity: certificate_logins(&config).map(|logins| logins.identity),
        node_certificate_end: tls.as_ref().and_then(tls::Config::not_after_s),
        console: Console::new(&config, client_tls.as_ref().map(ClientTlsSource::config)),
        settings: SettingsControl { settings: Arc::clone(&settings), log },
        audit: audit.as_ref().map(AuditWriter::config),
    };
    let http = Http::start(http, Arc::clone(&board))?;
    let sql = bind_sql(&config)?;
    let sql_tls = client_tls.as_ref().map(ClientTlsSource::config);
    let reports = Arc::clone(&board);
    let (ready, is_ready) = channel();
    let secrets = Secrets { tls, client_tls: client_tls.as_ref().map(ClientTlsSource::config), superuser: superuser.first.clone() };
    let audit_config = audit.as_ref().map(AuditWriter::config);
    let shared = SharedParts { board: Arc::clone(&board), settings, secrets, audit: audit_config };
    let machine = start_cores(&config, &mut data_dir, losses, shared, ready)?;
    board.backup().set_waker(data_dir.cores, machine.waker());
    if let Some(source) = client_tls {
        source.follow();
    }
    // A member of a cluster listens before it is taken in: others have to reach it.
    if machine.wait_accepting()? && is_ready.recv().is_ok() {
        http.ready(machine.addresses().first().copied());
        superuser.ready();
        let addresses = machine.addresses();
        let sql = start_sql(sql, &config, sql_tls, &addresses, Arc::clone(&board))?;
        announce(&config, &data_dir, &addresses, sql, http.address);
        service_manager::ready(reports);
    }
    machine.join();
    if let Some(audit) = audit {
        audit.finish();
    }
    tracing::info!("ended");
    Ok(())
}

/// Starts the log, and checks what the command line, variables and the file say.
fn configure(arguments: StartArguments, from_variables: &[String]) -> Result<(Config, LogFilter), Failure> {
    let StartArguments { config, settings, .. } = arguments;
    let settings = match config {
        Some(path) => settings.or(settings_file::read(&path)?),
        None => settings,
    };
    let log = logging::start(settings.log.as_deref(), settings.log_format.unwrap_or_default())?;
    let config = Config::new(settings, Host { memory: io_linux::memory() }).map_err(|error| {
        let keys = error.keys().into_iter().filter(|key| from_variables.iter().any(|from| from == key));
        let variables = keys.map(|key| format!("TARNDB_{}", key.to_uppercase())).collect();
        Failure::Config { error, variables }
    })?;
    Ok((config, log))
}

/// The settings that can be changed while the node runs.
fn live_settings(config: &Config, data_dir: &DataDir) -> Arc<LiveSettings> {
    let settings = LiveSettings::new(&config.batch_limits(), config.shown(data_dir.cores, data_dir.capacity));
    settings.set_slow_query_threshold_ms(config.slow_query_threshold_ms);
    settings.guardrails().set(&config.guardrails);
    Arc::new(settings)
}

/// Wires a node's cores to this machine.
fn start_cores(
    config: &Config,
    data_dir: &mut DataDir,
    losses: Losses,
    shared: SharedParts,
    ready: Sender<()>,
) -> Result<Machine, Failure> {
    tracing::info!(cores = data_dir.cores, capacity = %data_dir.capacity, memory_limit = %config.memory_limit, blobs = data_dir.blobs.len(), "starting");
    let options = Options {
        listeners: listeners::ports(config).iter().map(|port| port.options(config)).collect(),
        files: (0..data_dir.cores).map(|core| vec![data_dir.file(core)]).collect(),
        blob_store: Some(data_dir.blob_store.clone()),
        connections_max: config.connections_per_core,
        descriptors_kept: limits::descriptors_kept(io_linux::descriptors_max(), config.griddb_sql_port.is_some()),
        pinning: match config.pin {
            Pin::Cpus => Pinning::InOrder,
            Pin::Off => Pinning::Off,
        },
        signals: Signals::Drain,
        ..Options::default()
    };
    let parts = NodeParts::open(config, data_dir, losses, shared)?;
    Ok(node_linux::start(options, parts.into_factories(ready))?)
}

/// Binds the port for SQL, if there is one.
fn bind_sql(config: &Config) -> Result<Option<SqlPort>, Failure> {
    let Some(port) = config.griddb_sql_port else { return Ok(None) };
    let address = SocketAddr::new(config.listen, port);
    SqlPort::bind(address).map(Some).map_err(|source| Failure::Sql { address, source })
}

/// Serves clients of SQL, with what those of GridDB see; says where.
fn start_sql(
    port: Option<SqlPort>,
    config: &Config,
    tls: Option<ClientTlsConfig>,
    addresses: &[SocketAddr],
    board: Arc<Board>,
) -> Result<Option<SocketAddr>, Failure> {
    let Some(port) = port else { return Ok(None) };
    let address = port.address();
    let griddb = listeners::address(&listeners::ports(config), addresses, listeners::GRIDDB).expect("SQL needs GridDB's port");
    let tls = tls.map(|ClientTlsConfig { tls, is_required }| SqlTls { tls, is_required });
    let node = SqlNode::new(reachable(griddb), tls, Arc::new(OwnPort { board, port: griddb }));
    port.start(node, limits::sql_connections(io_linux::descriptors_max())).map_err(|source| Failure::Sql { address, source })?;
    Ok(Some(address))
}

/// Says that the node is ready: one line for programs, one for people.
fn announce(config: &Config, data_dir: &DataDir, addresses: &[SocketAddr], sql: Option<SocketAddr>, http: SocketAddr) {
    let ports = listeners::ports(config);
    let cql = listeners::address(&ports, addresses, listeners::CQL).expect("CQL has a port");
    let mut opened: String = ports.iter().zip(addresses).map(|(port, address)| format!(" {}={address}", port.name)).collect();
    if let Some(sql) = sql {
        opened += &format!(" griddb-sql={sql}");
    }
    let ready = format!(
        "tarndb ready version={}{opened} http={http} data={} cores={} memory_limit={}",
        env!("CARGO_PKG_VERSION"),
        config.data_dir.display(),
        data_dir.cores,
        config.memory_limit.to_string().replace(' ', ""),
    );
    // Nobody may be reading any more, which is no reason to end.
    let ssl = if config.client_tls.is_some() { "--ssl " } else { "" };
    let _ = writeln!(std::io::stdout(), "{ready}\nconnect with:  cqlsh {ssl}{} {}", reachable(cql).ip(), cql.port());
}

/// The node's port for clients of GridDB, as that for SQL connects to it.
#[derive(Debug)]
struct OwnPort {
    board: Arc<Board>,
    port: SocketAddr,
}

impl Connector for OwnPort {
    fn connect(&self, client: IpAddr) -> std::io::Result<(TcpStream, Connected)> {
        let (stream, representation) = own_connection::connect(&self.board, self.port, client, ClientCertificate::None)?;
        Ok((stream, Box::new(representation)))
    }
}
