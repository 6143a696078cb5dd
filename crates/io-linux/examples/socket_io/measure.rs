//! Runs the loops in turn under redis-benchmark and prints medians with their spread.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const LOOPS: [&str; 3] = ["epoll", "uring", "reactor"];
/// Requests in flight on each of 50 connections, and how many requests a run has.
const DEPTHS: [(u32, u64); 2] = [(1, 150_000), (16, 1_500_000)];

pub(crate) fn run(rounds: usize) {
    println!("{:<10} {:>5}  {:>28}  {:>20}", "loop", "depth", "server CPU µs/request", "requests/s");
    for (depth, requests) in DEPTHS {
        let mut figures: Vec<Vec<(f64, f64)>> = vec![Vec::new(); LOOPS.len()];
        // Interleaved, so that a disturbance of the machine meets all.
        for _ in 0..rounds {
            for (index, name) in LOOPS.iter().enumerate() {
                figures[index].push(one_run(name, depth, requests));
            }
        }
        for (name, runs) in LOOPS.iter().zip(figures) {
            let (cpu, cpu_least, cpu_most) = median(runs.iter().map(|run| run.0));
            let (rate, _, _) = median(runs.iter().map(|run| run.1));
            println!("{name:<10} {depth:>5}  {cpu:>10.2} ({cpu_least:>6.2} – {cpu_most:>6.2})  {rate:>20.0}");
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

/// Server CPU microseconds a request, and requests a second.
fn one_run(name: &str, depth: u32, requests: u64) -> (f64, f64) {
    let mut server = start_server(name);
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().to_owned();
    load(&port, depth, requests / 10);
    let (before, started) = (cpu_ns(&server), std::time::Instant::now());
    load(&port, depth, requests);
    let (after, took) = (cpu_ns(&server), started.elapsed());
    server.kill().unwrap();
    server.wait().unwrap();
    ((after - before) as f64 / 1000.0 / requests as f64, requests as f64 / took.as_secs_f64())
}

fn start_server(name: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new("taskset").args(["-c", "0"]).arg(program).arg(name).stdout(Stdio::piped()).spawn().unwrap()
}

fn load(port: &str, depth: u32, requests: u64) {
    let (depth, requests) = (depth.to_string(), requests.to_string());
    let status = Command::new("taskset")
        .args(["-c", "1", "redis-benchmark", "-p", port, "-c", "50", "-P", &depth, "-n", &requests, "-t", "get", "-r", "100000", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

/// The CPU time of all threads of a process, in nanoseconds.
fn cpu_ns(process: &Child) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.id())).unwrap();
    let time = |folder: std::path::PathBuf| -> Option<u64> {
        std::fs::read_to_string(folder.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    threads.filter_map(|thread| time(thread.ok()?.path())).sum()
}
