//! Starts a node's cores: binds listeners, opens files, pins one thread a core, runs its loop.
//!
//! Everything that can fail for reasons of the environment fails before the first handler is made, as a typed error.

use crate::blobs::{self, BlobStore};
use crate::clock;
use crate::control::{Accepting, Control};
use crate::cpus::{available_cpus, pin_this_thread};
use crate::descriptors::{connections_each, descriptors_max, descriptors_open};
use crate::disk::{DiskPath, DiskQueue};
use crate::entropy::fill_with_entropy;
use crate::event_loop::EventLoop;
use crate::files::FileError;
use crate::helper;
use crate::listener::{Listener, ListenerOptions};
use crate::mailbox::{Mailbox, mailboxes};
use crate::reactor::{Envelope, Helpers, LinuxReactor};
use crate::signals::{SignalSource, exit_now};
use crate::volume::{FileLayout, Volume};
use base::CoreId;
use io::{Handler, Now};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

/// The exit code of a bug: a core panicked.
const EXIT_BUG: i32 = 70;

/// Whether threads are bound to CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// Core `n` runs on the `n`th CPU of the process's affinity mask, if there are as many.
    InOrder,
    /// The kernel decides.
    Off,
}

/// Whether the node listens to SIGTERM and SIGINT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// The first drains, the second ends the process at once.
    Drain,
    /// They are left alone: several machines in one process, as in tests.
    Ignore,
}

/// What a machine is made of, besides its handlers.
#[derive(Clone, Debug)]
pub struct Options {
    /// Listening sockets; their order gives them their [`io::ListenerId`].
    pub listeners: Vec<ListenerOptions>,
    /// For each core the files whose order gives them their [`io::FileId`]. May be shorter than the number of cores.
    pub files: Vec<Vec<FileLayout>>,
    /// Where blobs are kept. Without it, replacing a blob is an error.
    pub blob_store: Option<BlobStore>,
    /// How many connections one core serves; more are accepted and closed at once. Fewer if this process may not have so many descriptors.
    pub connections_max: u32,
    /// How many descriptors stay free of connections, for what the process opens later.
    pub descriptors_kept: u64,
    /// How many disk operations of one core the kernel has at once, 1 to 4,096; more wait.
    pub disk_in_flight_max: u32,
    /// Who carries disk operations out.
    pub disk_path: DiskPath,
    /// Whether threads are bound to CPUs.
    pub pinning: Pinning,
    /// Whether signals drain the node.
    pub signals: Signals,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listeners: Vec::new(),
            files: Vec::new(),
            blob_store: None,
            connections_max: 10_000,
            descriptors_kept: 8,
            disk_in_flight_max: 128,
            disk_path: DiskPath::Ring,
            pinning: Pinning::InOrder,
            signals: Signals::Drain,
        }
    }
}

/// Why a machine could not start. All are of the environment.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address could not be bound or listened on.
    #[error("cannot listen on {address}: {source}{}", remedy_of_listening(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A data file could not be opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// A thread, an event queue or the blob directory could not be made.
    #[error("the operating system refuses what a core needs: {source}{}", remedy_of_opening(source))]
    Core {
        /// Why.
        source: std::io::Error,
    },
    /// Nothing is left for connections.
    #[error(
        "this process may have {max} files and sockets open (`ulimit -n`) and needs {needed} before the first connection: allow 65536, with \
         `ulimit -n`, LimitNOFILE= of systemd or --ulimit nofile= of a container"
    )]
    Descriptors {
        /// How many it may have.
        max: u64,
        /// How many it needs.
        needed: u64,
    },
}

fn remedy_of_listening(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => "; another server has this port: stop it or choose another port",
        std::io::ErrorKind::PermissionDenied => "; ports below 1024 need privileges: choose another port",
        std::io::ErrorKind::AddrNotAvailable => "; this machine has no such address: choose one of its own",
        _ => "",
    }
}

fn remedy_of_opening(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; allow this process more, with `ulimit -n`, LimitNOFILE= of systemd or --ulimit nofile= of a container",
        Some(libc::ENFILE) => "; allow this machine more, with `sysctl fs.file-max`",
        _ => "",
    }
}

/// What a core's handler is made with, on its own thread.
#[derive(Debug)]
pub struct CoreEnv {
    /// This core.
    pub core: CoreId,
    /// How many cores the node has.
    pub cores: u16,
    /// The time.
    pub now: Now,
    /// This core's files.
    pub files: Vec<OpenFile>,
    /// The addresses of the listeners, with the ports that were chosen.
    pub addresses: Vec<SocketAddr>,
}

/// One of a core's files.
#[derive(Clone, Copy, Debug)]
pub struct OpenFile {
    /// How long it is.
    pub bytes: u64,
    /// Offsets and lengths of reads must be multiples of it: 512 to 4096.
    pub read_unit: usize,
}

impl CoreEnv {
    /// Fills `bytes` with entropy.
    pub fn entropy(&mut self, bytes: &mut [u8]) {
        fill_with_entropy(bytes);
    }
}

/// A running node.
pub struct Machine {
    control: Arc<Control>,
    threads: Vec<JoinHandle<()>>,
}

/// Starts one core for each of `factories`, which make the cores' handlers on the cores' threads.
///
/// Clients are refused until a handler calls [`io::Reactor::start_accepting`].
///
/// # Errors
/// When a socket, file, ring or thread cannot be had.
///
/// # Panics
/// When there is no factory or more than 65,535, or more file lists than cores.
pub fn start<M, H, F>(options: Options, factories: Vec<F>) -> Result<Machine, StartError>
where
    M: Send + 'static,
    H: Handler<LinuxReactor<M>> + 'static,
    F: FnOnce(&mut CoreEnv) -> H + Send + 'static,
{
    let cores = u16::try_from(factories.len()).expect("a node has at most 65,535 cores");
    assert!(cores > 0, "a node has at least one core");
    assert!(options.files.len() <= factories.len(), "each core has one list of files");
    let descriptors_max = descriptors_max();
    let core_error = |source: std::io::Error| StartError::Core { source };
    let mut signals = match options.signals {
        Signals::Drain => Some(SignalSource::open().map_err(|errno| core_error(errno.into()))?),
        Signals::Ignore => None,
    };
    let control = Arc::new(Control::new(factories.len(), bind(&options.listeners)?).map_err(|errno| core_error(errno.into()))?);
    let (blobs, blob_thread) = blobs::start_writer(options.blob_store.clone(), Arc::clone(&control)).map_err(core_error)?;
    let (new_memory, memory_thread) = helper::start(helper::MEMORY, Arc::clone(&control)).map_err(core_error)?;
    let (computing, computing_thread) = helper::start(helper::COMPUTING, Arc::clone(&control)).map_err(core_error)?;
    let helpers = Helpers { blobs, new_memory, computing };
    let cpus = choose_cpus(options.pinning, factories.len());
    let (report, reports) = mpsc::channel();
    let mut threads = vec![blob_thread, memory_thread, computing_thread];
    let mut go_ahead = Vec::new();
    for (factory, mailbox) in factories.into_iter().zip(mailboxes(cores)) {
        let number = usize::from(mailbox.core().0);
        let (go, wait_for_go) = mpsc::channel::<()>();
        go_ahead.push(go);
        let core = Core {
            mailbox,
            control: Arc::clone(&control),
            helpers: helpers.clone(),
            files: options.files.get(number).cloned().unwrap_or_default(),
            cpu: cpus.as_ref().map(|cpus| cpus[number]),
            signals: signals.take(),
            disk_in_flight_max: options.disk_in_flight_max.clamp(1, 4096),
            disk_path: options.disk_path,
        };
        let report = report.clone();
        let run = move || run_core(core, number, factory, report, &wait_for_go);
        let thread = thread::Builder::new().name(format!("tarndb-core-{number}")).spawn(run);
        threads.push(thread.map_err(core_error)?);
    }
    drop(report);
    for result in reports {
        result?;
    }
    let (connections_max, surplus_max) = bound_connections(descriptors_max, &options, go_ahead.len())?;
    control.bound_connections(connections_max, surplus_max);
    for go in go_ahead {
        let _ = go.send(());
    }
    Ok(Machine { control, threads })
}

/// The life of a core's thread. It reports whether the core could be opened, and runs it once all others were, too.
fn run_core<M, H, F>(
    core: Core<M>,
    number: usize,
    factory: F,
    report: mpsc::Sender<Result<(), StartError>>,
    wait_for_go: &mpsc::Receiver<()>,
) where
    M: Send + 'static,
    H: Handler<LinuxReactor<M>> + 'static,
    F: FnOnce(&mut CoreEnv) -> H,
{
    let _guard = EndProcessOnPanic { core: number };
    match core.open() {
        Ok((event_loop, mut env)) => {
            let _ = report.send(Ok(()));
            drop(report);
            // An error here is another core's failure to start.
            if wait_for_go.recv().is_ok() {
                let handler = factory(&mut env);
                event_loop.run(handler);
            }
        }
        Err(error) => {
            let _ = report.send(Err(error));
        }
    }
}

impl Machine {
    /// The addresses of the listeners, with the ports that were chosen.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.control.addresses()
    }

    /// Blocks until clients are accepted. `false`: the node ended before.
    ///
    /// # Errors
    /// When a listener could not be opened; the node ends then.
    pub fn wait_accepting(&self) -> Result<bool, StartError> {
        match self.control.wait_accepting() {
            Accepting::Open => Ok(true),
            Accepting::NotYet | Accepting::Closed => Ok(false),
            Accepting::Failed { listener, code } => Err(StartError::Listen {
                address: self.control.listeners[listener].address,
                source: std::io::Error::from_raw_os_error(code),
            }),
        }
    }

    /// What wakes all cores, each for a turn at least: for threads that leave something where cores look in their turns.
    pub fn waker(&self) -> impl Fn() + Send + Sync + use<> {
        let control = Arc::clone(&self.control);
        move || control.wake_all()
    }

    /// Asks the node to drain and end, as SIGTERM does.
    pub fn terminate(&self) {
        self.control.ask_to_stop();
    }

    /// Blocks until all cores have ended.
    pub fn join(self) {
        for thread in self.threads {
            // A core that panics ends the process; the other threads cannot.
            let _ = thread.join();
        }
    }
}

/// What a core's thread starts from.
struct Core<M> {
    mailbox: Mailbox<Envelope<M>>,
    control: Arc<Control>,
    helpers: Helpers,
    files: Vec<FileLayout>,
    cpu: Option<usize>,
    signals: Option<SignalSource>,
    disk_in_flight_max: u32,
    disk_path: DiskPath,
}

impl<M: Send + 'static> Core<M> {
    /// Opens what the core needs, on its thread.
    fn open(self) -> Result<(EventLoop<M>, CoreEnv), StartError> {
        let (core, cores) = (self.mailbox.core(), self.mailbox.cores());
        if let Some(cpu) = self.cpu
            && let Err(errno) = pin_this_thread(cpu)
        {
            tracing::warn!(core = core.0, cpu, errno = errno.0, "cannot pin a core to its CPU");
        }
        let volumes = self.files.iter().map(Volume::open).collect::<Result<Vec<_>, _>>()?;
        let files = volumes.iter().map(|volume| OpenFile { bytes: volume.length(), read_unit: volume.read_unit() }).collect();
        let disk = DiskQueue::new(volumes, self.disk_in_flight_max, self.disk_path).map_err(|source| StartError::Core { source })?;
        let addresses = self.control.addresses();
        let reactor = LinuxReactor::new(self.control, self.mailbox, disk, self.helpers);
        let event_loop = EventLoop::new(reactor, self.signals);
        let event_loop = event_loop.map_err(|errno| StartError::Core { source: errno.into() })?;
        Ok((event_loop, CoreEnv { core, cores, now: clock::read(), files, addresses }))
    }
}

fn bind(listeners: &[ListenerOptions]) -> Result<Vec<Listener>, StartError> {
    let bind = |options: &ListenerOptions| {
        Listener::bind(options).map_err(|errno| StartError::Listen { address: options.address, source: errno.into() })
    };
    listeners.iter().map(bind).collect()
}

fn choose_cpus(pinning: Pinning, cores: usize) -> Option<Vec<usize>> {
    if pinning == Pinning::Off {
        return None;
    }
    let cpus = available_cpus();
    if cores > cpus.len() {
        tracing::warn!(cores, cpus = cpus.len(), "more cores than CPUs: threads are not pinned");
        return None;
    }
    Some(cpus)
}

/// An eighth of a core's connections, between these, may wait for one.
const SURPLUS_LEAST: u32 = 2;
const SURPLUS_MOST: u32 = 64;

/// Bounds connections of a core, and clients that wait for one, by the descriptors that are left, now that everything else is open.
fn bound_connections(max: u64, options: &Options, cores: usize) -> Result<(u32, u32), StartError> {
    let open = descriptors_open();
    let allowed = connections_each(max, open, options.descriptors_kept, cores);
    if allowed == 0 {
        return Err(StartError::Descriptors { max, needed: open + options.descriptors_kept + cores as u64 });
    }
    let surplus = (allowed / 8).clamp(SURPLUS_LEAST, SURPLUS_MOST);
    let allowed = allowed.saturating_sub(surplus).max(1);
    if allowed < options.connections_max {
        tracing::warn!(
            descriptors_max = max,
            open,
            kept_free = options.descriptors_kept,
            connections_per_core = allowed,
            asked = options.connections_max,
            "`ulimit -n` allows fewer connections than connections_per_core asks for: further clients are refused; raise it, with `ulimit -n`, \
             LimitNOFILE= of systemd or --ulimit nofile= of a container"
        );
    }
    Ok((allowed.min(options.connections_max), surplus))
}

/// A node without one of its cores must not go on: its slots would hang.
struct EndProcessOnPanic {
    core: usize,
}

impl Drop for EndProcessOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("tarndb: core {} panicked (above): this is a bug; the process ends", self.core);
            exit_now(EXIT_BUG);
        }
    }
}
