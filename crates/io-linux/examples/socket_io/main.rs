//! What a request costs in server CPU time when the server does nothing but sockets: three loops under redis-benchmark.
//!
//! Each loop counts requests in what it receives and sends a fixed 1,000-byte reply for each. `epoll` and `uring` are bare, without
//! handlers, ids or output buffers; `reactor` is this crate. The figures of `docs/decisions/0002-socket-io.md` come from
//! `cargo run --release -p tarndb-io-linux --example socket_io -- measure [rounds]`, which needs redis-benchmark and taskset.
#![allow(unsafe_code, clippy::unwrap_used, missing_docs, reason = "bare system calls, as the yardstick of the safe ones")]

mod epoll_loop;
mod measure;
mod reactor_loop;
mod uring_loop;

/// The reply to every request.
fn reply() -> Vec<u8> {
    let mut reply = b"$1000\r\n".to_vec();
    reply.resize(reply.len() + 1000, b'x');
    reply.extend_from_slice(b"\r\n");
    reply
}

/// How many requests `bytes` begin: a request of redis-benchmark has one asterisk.
fn requests(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'*').count()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["measure"] => measure::run(5),
        ["measure", rounds] => measure::run(rounds.parse().unwrap()),
        ["epoll"] => epoll_loop::run(),
        ["uring"] => uring_loop::run(),
        ["reactor"] => reactor_loop::run(),
        _ => eprintln!("socket_io measure [rounds] | epoll | uring | reactor"),
    }
}
