//! Loads a CQL server over TCP with point reads and upserts, from one thread, and prints one line of JSON.
//!
//! It is made to need less CPU than the server: requests are encoded once and patched, replies are checked by their borders, and one
//! `epoll` serves all connections. In `batch` mode it behaves as redis-benchmark does with `-P`: a connection sends its requests in one
//! piece and the next ones when all replies are there.

mod connection;
mod failure;
mod options;
mod report;
mod run;
mod timeline;
mod traffic;

use clap::Parser;
use options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run::run(&Options::parse()) {
        Ok(report) => {
            println!("{}", serde_json::json!(report));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("loadgen: {failure}");
            ExitCode::FAILURE
        }
    }
}
