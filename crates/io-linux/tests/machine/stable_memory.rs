//! Stable memory survives its process.

use crate::scripted::{Folder, child_test};
use io::StableMemory;
use io_linux::{MappedMemory, MappedMemoryError};
use std::io::{BufRead, BufReader};

const BYTES: usize = 3 << 20;
const CHILD: &str = "TARNDB_TEST_STABLE_MEMORY";

#[test]
fn a_killed_process_leaves_every_byte_it_wrote() {
    let folder = Folder::new();
    let path = folder.0.join("stable");
    let mut child = child_test("stable_memory::child_writes_and_waits_to_be_killed").env(CHILD, &path).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("written")));
    child.kill().unwrap();
    child.wait().unwrap();
    let memory = MappedMemory::open(&path, BYTES).unwrap();
    let mut bytes = vec![0; BYTES];
    memory.read(0, &mut bytes);
    assert!(bytes == pattern());
}

fn pattern() -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    base::Rng::new(5).fill(&mut bytes);
    bytes
}

#[test]
#[ignore = "the other half of a_killed_process_leaves_every_byte_it_wrote, which runs it"]
fn child_writes_and_waits_to_be_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let mut memory = MappedMemory::open(path.as_ref(), BYTES).unwrap();
    for (number, chunk) in pattern().chunks(1000).enumerate() {
        memory.write(number * 1000, chunk);
    }
    println!("\nwritten");
    loop {
        std::thread::park();
    }
}

#[test]
fn new_memory_is_zero_and_has_real_blocks() {
    let folder = Folder::new();
    let path = folder.0.join("stable");
    let memory = MappedMemory::open(&path, BYTES).unwrap();
    assert_eq!(memory.len(), BYTES);
    let mut bytes = vec![1; BYTES];
    memory.read(0, &mut bytes);
    assert!(bytes.iter().all(|byte| *byte == 0));
    use std::os::unix::fs::MetadataExt;
    assert!(std::fs::metadata(&path).unwrap().blocks() * 512 >= BYTES as u64);
}

#[test]
fn a_file_of_another_length_is_extended_or_refused() {
    let folder = Folder::new();
    let path = folder.0.join("stable");
    std::fs::write(&path, b"begun").unwrap();
    let memory = MappedMemory::open(&path, BYTES).unwrap();
    let mut bytes = [1; 8];
    memory.read(0, &mut bytes);
    assert_eq!(&bytes, b"begun\0\0\0");
    drop(memory);
    assert!(matches!(MappedMemory::open(&path, BYTES - 1), Err(MappedMemoryError::Length { .. })));
}

#[test]
#[should_panic(expected = "leave a stable memory")]
fn writing_outside_is_a_bug() {
    let folder = Folder::new();
    let mut memory = MappedMemory::open(&folder.0.join("stable"), 4096).unwrap();
    memory.write(4090, &[0; 7]);
}
