//! How a process ends: by signals, by a bug, and how it goes on without descriptors. Each in a process of its own.

use crate::scripted::{Ends, Event, Node, child_test, echo, listening};
use io::{Placement, Turn};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

const CHILD: &str = "TARNDB_TEST_CHILD";
const CHILD_CORES: u16 = 2;

/// A node in another process, and the lines it prints.
fn spawn(mut command: Command) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = command.env(CHILD, "1").spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let address = wait_for(&mut output, "listening on ");
    (child, output, address)
}

/// The rest of the first line that contains `text`.
fn wait_for(output: &mut BufReader<ChildStdout>, text: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "the process ended before it said `{text}`");
        if let Some((_, rest)) = line.split_once(text) {
            return rest.trim().to_owned();
        }
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
    assert!(status.success());
}

#[test]
fn the_first_signal_drains_and_one_that_comes_a_second_later_ends_at_once() {
    let (mut child, mut output, _) = spawn(child_test("ending::child_that_never_ends"));
    let before = Instant::now();
    signal(&child, "TERM");
    wait_for(&mut output, "stopping 0");
    assert!(child.try_wait().unwrap().is_none(), "still draining");
    while child.try_wait().unwrap().is_none() {
        signal(&child, "INT");
    }
    assert_eq!(child.wait().unwrap().code(), Some(128 + 2));
    assert!(before.elapsed() >= Duration::from_secs(1), "what comes within a second of the first is the same order");
}

#[test]
fn a_terminal_that_goes_away_drains() {
    let (mut child, mut output, _) = spawn(with_hangups("ending::child_that_never_ends"));
    signal(&child, "HUP");
    wait_for(&mut output, "stopping 0");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_panic_of_one_core_ends_the_process_as_a_bug() {
    let (mut child, _output, address) = spawn(child_test("ending::child_that_panics"));
    TcpStream::connect(address).unwrap().write_all(b"x").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(70));
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(message.contains("a planted bug") && message.contains("panicked (above): this is a bug"), "{message}");
}

#[test]
fn clients_beyond_the_descriptors_that_are_left_are_refused_at_once() {
    let (mut child, _output, address) = spawn(with_descriptors(40, "ending::child_that_never_ends"));
    let streams: Vec<_> = (0..60).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let served: Vec<bool> = streams.iter().map(is_served).collect();
    let count = served.iter().filter(|is_served| **is_served).count();
    assert!((2..40).contains(&count), "{served:?}");
    drop(streams);
    // The core hears of it some time later.
    let started = Instant::now();
    while !is_served(&TcpStream::connect(&address).unwrap()) {
        assert!(started.elapsed() < Duration::from_secs(60), "who has gone makes room");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn clients_are_refused_at_once_when_no_descriptor_is_left_but_spare_ones() {
    let (mut child, _output, address) = spawn(with_descriptors(100, "ending::child_that_has_no_descriptors_left"));
    let streams: Vec<_> = (0..20).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let served = streams.iter().filter(|stream| is_served(stream)).count();
    // A core may take a client by the descriptor that the other one has just given up.
    assert!(served <= usize::from(CHILD_CORES), "{served} clients are served");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A child that a hangup reaches even if these tests were started with `nohup`.
fn with_hangups(name: &str) -> Command {
    let inner = child_test(name);
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(inner.get_program()).args(inner.get_args());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command
}

/// A child that may have so many descriptors.
fn with_descriptors(count: u32, name: &str) -> Command {
    let inner = child_test(name);
    let mut limited = Command::new("sh");
    let script = format!("ulimit -n {count}; exec \"$0\" \"$@\"");
    limited.args(["-c", &script]).arg(inner.get_program()).args(inner.get_args());
    limited.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    limited
}

/// Whether a client gets its byte back, or is refused. One of both must happen.
fn is_served(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // Who is refused may hear of it here already.
    let _ = stream.write_all(b"x");
    match stream.read(&mut [0]) {
        Ok(count) => count == 1,
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::WouldBlock, "neither served nor refused");
            false
        }
    }
}

#[test]
#[ignore = "run by the tests above in a process of its own"]
fn child_that_never_ends() {
    run_child(|reactor, event| {
        if let Event::Stopping = event {
            println!("stopping {}", io::Reactor::core(reactor).0);
        }
        echo(reactor, event)
    });
}

#[test]
#[ignore = "run by the tests above in a process of its own"]
fn child_that_has_no_descriptors_left() {
    run_child_after(take_all_descriptors, echo);
}

fn take_all_descriptors() {
    while let Ok(file) = std::fs::File::open("/dev/null") {
        std::mem::forget(file);
    }
}

#[test]
#[ignore = "run by the tests above in a process of its own"]
fn child_that_panics() {
    run_child(|_, event| {
        assert!(!matches!(event, Event::Received(..)), "a planted bug");
        Turn::Idle
    });
}

fn run_child(script: fn(&mut io_linux::LinuxReactor<()>, Event<'_, ()>) -> Turn) {
    run_child_after(|| {}, script);
}

/// Does something between the start of the node and the line that says where it listens.
fn run_child_after(prepare: fn(), script: fn(&mut io_linux::LinuxReactor<()>, Event<'_, ()>) -> Turn) {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let node = Node::start_ending::<()>(CHILD_CORES, listening(Placement::Spread), Ends::Never, move |_| Box::new(script));
    prepare();
    println!("\nlistening on {}", node.addresses[0]);
    loop {
        std::thread::park();
    }
}
