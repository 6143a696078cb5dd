//! How a process ends: by signals, by a bug, and how it goes on without descriptors. Each in a process of its own.

use crate::scripted::{Ends, Event, Node, child_test, echo, listening};
use io::{Placement, Turn};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command};

const CHILD: &str = "TARNDB_TEST_CHILD";

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
fn the_first_signal_drains_and_the_second_ends_at_once() {
    let (mut child, mut output, _) = spawn(child_test("ending::child_that_never_ends"));
    signal(&child, "TERM");
    wait_for(&mut output, "stopping 0");
    assert!(child.try_wait().unwrap().is_none(), "still draining");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 2));
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
fn without_descriptors_clients_wait_and_are_served_later() {
    let inner = child_test("ending::child_that_never_ends");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    limited.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let (mut child, _output, address) = spawn(limited);
    let mut streams: Vec<_> = (0..60).map(|_| TcpStream::connect(&address).unwrap()).collect();
    for stream in &mut streams {
        stream.write_all(b"x").unwrap();
    }
    // In order: each one that is served makes room for another.
    for mut stream in streams {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
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
fn child_that_panics() {
    run_child(|_, event| {
        assert!(!matches!(event, Event::Received(..)), "a planted bug");
        Turn::Idle
    });
}

fn run_child(script: fn(&mut io_linux::LinuxReactor<()>, Event<'_, ()>) -> Turn) {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let node = Node::start_ending::<()>(2, listening(Placement::Spread), Ends::Never, move |_| Box::new(script));
    println!("\nlistening on {}", node.addresses[0]);
    loop {
        std::thread::park();
    }
}
