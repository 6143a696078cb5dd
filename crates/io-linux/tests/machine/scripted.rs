//! A node whose handlers are closures over events, started on free ports without pinning or signals.

use base::CoreId;
use io::{ConnectionId, DiskCompletion, Handler, ListenerId, Placement, Reactor, Turn};
use io_linux::{LinuxReactor, ListenerOptions, Machine, Options, Pinning, Signals, start};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What happened on a core.
#[derive(Debug)]
pub(crate) enum Event<'a, M> {
    Accepted(ConnectionId, ListenerId, SocketAddr),
    Connected(ConnectionId),
    Received(ConnectionId, &'a [u8]),
    Drained(ConnectionId),
    Closed(ConnectionId),
    Completed(DiskCompletion),
    Message(CoreId, M),
    Stopping,
    Turn,
}

/// A core's behaviour; the answer counts for `Event::Turn` only.
pub(crate) type Script<M> = Box<dyn FnMut(&mut LinuxReactor<M>, Event<'_, M>) -> Turn>;

struct Scripted<M> {
    script: Script<M>,
    accepts: bool,
    ends: Ends,
}

impl<M: Send + 'static> Handler<LinuxReactor<M>> for Scripted<M> {
    fn accepted(&mut self, reactor: &mut LinuxReactor<M>, connection: ConnectionId, listener: ListenerId, peer: SocketAddr) {
        (self.script)(reactor, Event::Accepted(connection, listener, peer));
    }
    fn connected(&mut self, reactor: &mut LinuxReactor<M>, connection: ConnectionId) {
        (self.script)(reactor, Event::Connected(connection));
    }
    fn received(&mut self, reactor: &mut LinuxReactor<M>, connection: ConnectionId, bytes: &[u8]) {
        (self.script)(reactor, Event::Received(connection, bytes));
    }
    fn drained(&mut self, reactor: &mut LinuxReactor<M>, connection: ConnectionId) {
        (self.script)(reactor, Event::Drained(connection));
    }
    fn closed(&mut self, reactor: &mut LinuxReactor<M>, connection: ConnectionId) {
        (self.script)(reactor, Event::Closed(connection));
    }
    fn completed(&mut self, reactor: &mut LinuxReactor<M>, completion: DiskCompletion) {
        (self.script)(reactor, Event::Completed(completion));
    }
    fn message(&mut self, reactor: &mut LinuxReactor<M>, from: CoreId, message: M) {
        (self.script)(reactor, Event::Message(from, message));
    }
    fn stopping(&mut self, reactor: &mut LinuxReactor<M>) {
        (self.script)(reactor, Event::Stopping);
        if self.ends == Ends::WhenAsked {
            reactor.stop();
        }
    }
    fn turn(&mut self, reactor: &mut LinuxReactor<M>) -> Turn {
        if !self.accepts {
            self.accepts = true;
            reactor.start_accepting();
        }
        (self.script)(reactor, Event::Turn)
    }
}

/// What a node does when it is asked to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    WhenAsked,
    Never,
}

/// A running node.
pub(crate) struct Node {
    machine: Option<Machine>,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Node {
    /// Starts `cores` cores; `script` makes each one's behaviour on its own thread.
    pub(crate) fn start<M: Send + 'static>(
        cores: u16,
        options: Options,
        script: impl Fn(CoreId) -> Script<M> + Clone + Send + 'static,
    ) -> Self {
        let options = Options { signals: Signals::Ignore, ..options };
        Self::start_ending(cores, options, Ends::WhenAsked, script)
    }

    /// The same with signals as the options say, and with a say in how it ends.
    pub(crate) fn start_ending<M: Send + 'static>(
        cores: u16,
        options: Options,
        ends: Ends,
        script: impl Fn(CoreId) -> Script<M> + Clone + Send + 'static,
    ) -> Self {
        let options = Options { pinning: Pinning::Off, ..options };
        let factory = |_| {
            let script = script.clone();
            move |env: &mut io_linux::CoreEnv| Scripted { script: script(env.core), accepts: false, ends }
        };
        let machine = start(options, (0..cores).map(factory).collect()).unwrap();
        assert!(machine.wait_accepting().unwrap());
        Self { addresses: machine.addresses(), machine: Some(machine) }
    }

    /// A new connection to the first listener.
    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addresses[0]).unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(machine) = self.machine.take() {
            machine.terminate();
            machine.join();
        }
    }
}

/// Options with one listener on a free port of loopback.
pub(crate) fn listening(placement: Placement) -> Options {
    let address = "127.0.0.1:0".parse().unwrap();
    Options { listeners: vec![ListenerOptions { address, placement }], ..Options::default() }
}

/// A behaviour that sends everything back.
pub(crate) fn echo<M>(reactor: &mut LinuxReactor<M>, event: Event<'_, M>) -> Turn
where
    M: Send + 'static,
{
    if let Event::Received(connection, bytes) = event {
        reactor.output(connection).unwrap().extend_from_slice(bytes);
    }
    Turn::Idle
}

/// A test that is ignored by itself, run alone in a process of its own.
pub(crate) fn child_test(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A directory of this test's own on the build's filesystem (the system's temporary directory may have no direct I/O).
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("folder-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
