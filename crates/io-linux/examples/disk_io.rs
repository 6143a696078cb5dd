//! Random 4 KiB direct reads through one core's reactor: operations a second and CPU time an operation, by depth, through the ring and
//! through threads. Compare with
//! `fio --name=r --filename=FILE --direct=1 --rw=randread --bs=4k --ioengine=io_uring --iodepth=32 --runtime=5 --time_based`.
//!
//! `cargo run --release -p tarndb-io-linux --example disk_io -- FILE`, where FILE is large and not sparse; it is only read.
#![allow(clippy::unwrap_used, missing_docs)]

use base::{AlignedBuffer, BLOCK_BYTES, CoreId, Rng};
use io::{ConnectionId, DiskCompletion, DiskRequest, DiskTag, FileId, Handler, ListenerId, Reactor, Turn};
use io_linux::{CoreEnv, DiskPath, LinuxReactor, Options, Pinning, start};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;

const SECONDS: u64 = 5;

/// Keeps a number of reads in flight until its time is over.
struct Reads {
    depth: u64,
    blocks: u64,
    rng: Rng,
    started_us: Option<u64>,
    done: u64,
    report: mpsc::Sender<(u64, u64)>,
}

impl Reads {
    fn read(&mut self, reactor: &mut LinuxReactor<()>, buffer: AlignedBuffer) {
        let offset = self.rng.below(self.blocks) * BLOCK_BYTES as u64;
        reactor.submit(DiskTag(0), DiskRequest::Read { file: FileId(0), offset, buffer });
    }
}

impl Handler<LinuxReactor<()>> for Reads {
    fn accepted(&mut self, _: &mut LinuxReactor<()>, _: ConnectionId, _: ListenerId, _: SocketAddr) {}
    fn received(&mut self, _: &mut LinuxReactor<()>, _: ConnectionId, _: &[u8]) {}
    fn drained(&mut self, _: &mut LinuxReactor<()>, _: ConnectionId) {}
    fn closed(&mut self, _: &mut LinuxReactor<()>, _: ConnectionId) {}
    fn completed(&mut self, reactor: &mut LinuxReactor<()>, completion: DiskCompletion) {
        completion.result.unwrap();
        self.done += 1;
        let elapsed_us = reactor.now().monotonic_us - self.started_us.unwrap();
        if elapsed_us < SECONDS * 1_000_000 {
            self.read(reactor, completion.buffer.unwrap());
        } else {
            let _ = self.report.send((self.done, elapsed_us));
            reactor.stop();
        }
    }
    fn message(&mut self, _: &mut LinuxReactor<()>, _: CoreId, (): ()) {}
    fn stopping(&mut self, reactor: &mut LinuxReactor<()>) {
        reactor.stop();
    }
    fn turn(&mut self, reactor: &mut LinuxReactor<()>) -> Turn {
        if self.started_us.is_none() {
            self.started_us = Some(reactor.now().monotonic_us);
            for _ in 0..self.depth {
                self.read(reactor, AlignedBuffer::zeroed(BLOCK_BYTES));
            }
        }
        Turn::Idle
    }
}

/// The CPU time of this process so far, in nanoseconds.
fn cpu_ns() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let time = |folder: PathBuf| -> Option<u64> {
        std::fs::read_to_string(folder.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    threads.filter_map(|thread| time(thread.ok()?.path())).sum()
}

fn main() {
    let path = PathBuf::from(std::env::args().nth(1).expect("usage: disk_io FILE"));
    let blocks = std::fs::metadata(&path).unwrap().len() / BLOCK_BYTES as u64;
    println!("{:<8} {:>5} {:>12} {:>14}", "path", "depth", "reads/s", "CPU µs/read");
    for disk_path in [DiskPath::Ring, DiskPath::Threads] {
        for depth in [1, 8, 32, 128] {
            let (report, reports) = mpsc::channel();
            let files = vec![vec![path.clone().into()]];
            let options = Options { files, disk_path, pinning: Pinning::Off, ..Options::default() };
            let make = move |_: &mut CoreEnv| Reads { depth, blocks, rng: Rng::new(depth), started_us: None, done: 0, report };
            let machine = start(options, vec![make]).unwrap();
            let (done, elapsed_us) = reports.recv().unwrap();
            // Before the threads end and take their figures with them.
            let cpu = cpu_ns();
            machine.join();
            let (rate, cpu_us) = (done as f64 / (elapsed_us as f64 / 1e6), cpu as f64 / 1000.0 / done as f64);
            println!("{:<8} {depth:>5} {rate:>12.0} {cpu_us:>14.2}", format!("{disk_path:?}"));
        }
    }
}
