//! CQL frames in, CQL frames out, on one core without sockets: what a request costs a node beside the kernel.
//!
//! A whole [`node::Core`] with one shard runs over a fake machine: outputs are buffers, the disk is memory that completes at once. Requests
//! are EXECUTE frames as drivers send them, of uniformly random keys that all exist; each connection delivers a batch of them, the core
//! takes its turn after all connections have, as under a busy event loop. Every reply is checked by its length, and a sample in full.

mod disk;
mod failure;
mod machine;
mod options;
mod reactor;
mod report;
mod rounds;
mod stable;

use clap::Parser;
use options::Options;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: io_linux::Allocator = io_linux::Allocator;

fn main() -> ExitCode {
    match rounds::run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("microbench: {failure}");
            ExitCode::FAILURE
        }
    }
}
