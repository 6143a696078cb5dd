//! Disk operations on real files.

use crate::scripted::{Event, Folder, Node};
use base::{AlignedBuffer, BLOCK_BYTES, Rng};
use io::{
    BlobOwner, DiskCompletion, DiskError, DiskRequest, DiskTag, FileId, Reactor, RecoveredBlobs, Sealed, Turn, Work, WriteSource, open_blob,
};
use io_linux::{BlobStore, DiskPath, Extent, FileLayout, Options};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, OnceLock, mpsc};

const FILE: FileId = FileId(0);

/// A way to make requests on the core's thread, where their buffers live.
type Step = Box<dyn FnMut(&mut io_linux::LinuxReactor<()>, Option<DiskCompletion>) -> bool>;

/// Runs `step` with nothing once and then with each completion, until it says that it is done; through the ring and through threads.
fn run(options: Options, step: impl Fn() -> Step + Clone + Send + 'static) {
    for disk_path in [DiskPath::Ring, DiskPath::Threads] {
        run_once(Options { disk_path, ..options.clone() }, step.clone());
    }
}

fn run_once(options: Options, step: impl Fn() -> Step + Clone + Send + 'static) {
    let (report, reports) = mpsc::channel();
    let node = Node::start::<()>(1, options, move |_| {
        let (mut step, report) = (step(), report.clone());
        let mut started = false;
        Box::new(move |reactor, event| {
            let done = match event {
                Event::Turn if !started => {
                    started = true;
                    step(reactor, None)
                }
                Event::Completed(completion) => step(reactor, Some(completion)),
                _ => false,
            };
            if done {
                report.send(()).unwrap();
            }
            Turn::Idle
        })
    });
    reports.recv().unwrap();
    drop(node);
}

fn one_file(path: PathBuf) -> Options {
    Options { files: vec![vec![path.into()]], ..Options::default() }
}

fn filled(seed: u64, bytes: usize) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(bytes);
    Rng::new(seed).fill(&mut buffer);
    buffer
}

#[test]
fn what_is_written_is_read_back_after_extend_and_sync() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    run(one_file(path.clone()), || {
        Box::new(|reactor, completion| {
            let Some(DiskCompletion { tag, result, buffer }) = completion else {
                reactor.submit(DiskTag(1), DiskRequest::Extend { file: FILE, length: 1 << 20 });
                return false;
            };
            assert_eq!(result, Ok(()), "{tag:?}");
            match tag.0 {
                1 => {
                    let source = WriteSource::Owned(filled(1, 4 * BLOCK_BYTES), 2 * BLOCK_BYTES);
                    reactor.submit(DiskTag(2), DiskRequest::Write { file: FILE, offset: 8192, source });
                }
                2 => {
                    assert_eq!(buffer.unwrap().len(), 4 * BLOCK_BYTES, "the buffer comes back");
                    let shared = Rc::new(filled(2, 4 * BLOCK_BYTES));
                    let source = WriteSource::Shared(shared, BLOCK_BYTES..3 * BLOCK_BYTES);
                    reactor.submit(DiskTag(3), DiskRequest::Write { file: FILE, offset: 8192 + 2 * 4096, source });
                }
                3 => reactor.submit(DiskTag(4), DiskRequest::Sync { file: FILE }),
                4 => {
                    let buffer = AlignedBuffer::zeroed(5 * BLOCK_BYTES);
                    reactor.submit(DiskTag(5), DiskRequest::Read { file: FILE, offset: 8192, buffer });
                }
                _ => {
                    let read = buffer.unwrap();
                    assert!(read[..2 * BLOCK_BYTES] == filled(1, 4 * BLOCK_BYTES)[..2 * BLOCK_BYTES]);
                    assert!(read[2 * BLOCK_BYTES..4 * BLOCK_BYTES] == filled(2, 4 * BLOCK_BYTES)[BLOCK_BYTES..3 * BLOCK_BYTES]);
                    assert!(read[4 * BLOCK_BYTES..].iter().all(|byte| *byte == 0));
                    return true;
                }
            }
            false
        })
    });
    assert_eq!(std::fs::metadata(path).unwrap().len(), 1 << 20);
}

#[test]
fn more_operations_than_fit_in_flight_all_complete_once() {
    const COUNT: u64 = 500;
    let folder = Folder::new();
    let options = Options { disk_in_flight_max: 5, ..one_file(folder.0.join("data")) };
    run(options, || {
        let (mut written, mut read) = (vec![false; COUNT as usize], vec![false; COUNT as usize]);
        Box::new(move |reactor, completion| {
            let Some(DiskCompletion { tag, result, buffer }) = completion else {
                for number in 0..COUNT {
                    let source = WriteSource::Owned(filled(number, BLOCK_BYTES), BLOCK_BYTES);
                    reactor.submit(DiskTag(number), DiskRequest::Write { file: FILE, offset: number * 4096, source });
                }
                return false;
            };
            assert_eq!(result, Ok(()));
            let number = tag.0 % COUNT;
            let seen = if tag.0 < COUNT { &mut written } else { &mut read };
            assert!(!std::mem::replace(&mut seen[number as usize], true), "{tag:?} completed twice");
            if tag.0 < COUNT {
                let buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
                reactor.submit(DiskTag(COUNT + number), DiskRequest::Read { file: FILE, offset: number * 4096, buffer });
            } else {
                assert!(buffer.unwrap()[..] == filled(number, BLOCK_BYTES)[..]);
            }
            read.iter().all(|seen| *seen)
        })
    });
}

#[test]
fn stripes_lie_where_the_format_says_and_one_sync_reaches_all_devices() {
    const STRIPE: usize = 2 * BLOCK_BYTES;
    let folder = Folder::new();
    let paths = [folder.0.join("a"), folder.0.join("b")];
    // The first has room for two stripes, the second for one.
    std::fs::write(&paths[0], vec![0; 4096 + 2 * STRIPE]).unwrap();
    std::fs::write(&paths[1], vec![0; 8192 + STRIPE]).unwrap();
    let extents = [Extent { start: 4096, bytes: 2 * STRIPE as u64 }, Extent { start: 8192, bytes: STRIPE as u64 }];
    let layout = FileLayout::Striped { stripe_bytes: STRIPE as u64, areas: paths.iter().cloned().zip(extents).collect() };
    run(Options { files: vec![vec![layout]], ..Options::default() }, || {
        let mut left = 3;
        Box::new(move |reactor, completion| {
            let Some(DiskCompletion { tag, result, buffer }) = completion else {
                for stripe in 0..3 {
                    let source = WriteSource::Owned(filled(stripe, STRIPE), STRIPE);
                    reactor.submit(DiskTag(stripe), DiskRequest::Write { file: FILE, offset: stripe * STRIPE as u64, source });
                }
                return false;
            };
            assert!(tag.0 == 11 || result == Ok(()), "{tag:?} {result:?}");
            match tag.0 {
                10 => reactor.submit(DiskTag(11), DiskRequest::Extend { file: FILE, length: 4 * STRIPE as u64 }),
                11 => {
                    assert_eq!(result, Err(DiskError::Full), "areas do not grow");
                    let buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
                    let offset = (2 * STRIPE + BLOCK_BYTES) as u64;
                    reactor.submit(DiskTag(12), DiskRequest::Read { file: FILE, offset, buffer });
                }
                12 => {
                    assert!(buffer.unwrap()[..] == filled(2, STRIPE)[BLOCK_BYTES..]);
                    return true;
                }
                _ => {
                    left -= 1;
                    if left == 0 {
                        reactor.submit(DiskTag(10), DiskRequest::Sync { file: FILE });
                    }
                }
            }
            false
        })
    });
    let (first, second) = (std::fs::read(&paths[0]).unwrap(), std::fs::read(&paths[1]).unwrap());
    assert!(first[4096..4096 + STRIPE] == filled(0, STRIPE)[..]);
    assert!(first[4096 + STRIPE..] == filled(2, STRIPE)[..]);
    assert!(second[8192..] == filled(1, STRIPE)[..]);
    assert!(first[..4096].iter().chain(&second[..8192]).all(|byte| *byte == 0));
}

#[test]
fn reading_past_the_end_says_how_much_there_was() {
    let folder = Folder::new();
    let path = folder.0.join("data");
    std::fs::write(&path, vec![7; 2 * BLOCK_BYTES + 100]).unwrap();
    run(one_file(path), || {
        Box::new(|reactor, completion| {
            let Some(completion) = completion else {
                reactor.submit(DiskTag(1), DiskRequest::Read { file: FILE, offset: 0, buffer: AlignedBuffer::zeroed(4 * BLOCK_BYTES) });
                return false;
            };
            assert_eq!(completion.result, Err(DiskError::Short { got: 2 * BLOCK_BYTES + 100, wanted: 4 * BLOCK_BYTES }));
            assert!(completion.buffer.is_some());
            true
        })
    });
}

#[test]
fn extending_beyond_the_filesystem_is_full_and_the_file_still_works() {
    let folder = Folder::new();
    run(one_file(folder.0.join("data")), || {
        Box::new(|reactor, completion| {
            match completion {
                None => reactor.submit(DiskTag(1), DiskRequest::Extend { file: FILE, length: 1 << 43 }),
                Some(DiskCompletion { tag: DiskTag(1), result, .. }) => {
                    assert_eq!(result, Err(DiskError::Full));
                    let source = WriteSource::Owned(filled(1, BLOCK_BYTES), BLOCK_BYTES);
                    reactor.submit(DiskTag(2), DiskRequest::Write { file: FILE, offset: 0, source });
                }
                Some(completion) => {
                    assert_eq!(completion.result, Ok(()));
                    return true;
                }
            }
            false
        })
    });
}

#[test]
fn a_filesystem_without_direct_io_is_used_through_its_cache() {
    let path = PathBuf::from(format!("/dev/shm/tarndb-direct-{}", std::process::id()));
    run(one_file(path.clone()), || {
        Box::new(|reactor, completion| {
            let Some(completion) = completion else {
                let source = WriteSource::Owned(filled(1, BLOCK_BYTES), BLOCK_BYTES);
                reactor.submit(DiskTag(1), DiskRequest::Write { file: FILE, offset: 0, source });
                return false;
            };
            assert_eq!(completion.result, Ok(()));
            true
        })
    });
    assert!(std::fs::read(&path).unwrap() == filled(1, BLOCK_BYTES)[..]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn memory_that_is_asked_for_comes_back_as_zeros() {
    run(Options::default(), || {
        Box::new(|reactor, completion| {
            let Some(completion) = completion else {
                reactor.submit(DiskTag(1), DiskRequest::Populate { buffer: AlignedBuffer::zeroed(8 << 20) });
                return false;
            };
            assert_eq!((completion.tag, completion.result), (DiskTag(1), Ok(())));
            let buffer = completion.buffer.unwrap();
            assert!(buffer.len() == 8 << 20 && buffer.iter().all(|byte| *byte == 0));
            true
        })
    });
}

#[test]
fn work_is_done_on_another_thread_before_it_completes() {
    run(Options::default(), || {
        let who = Arc::new(OnceLock::new());
        Box::new(move |reactor, completion| {
            let Some(completion) = completion else {
                let who = Arc::clone(&who);
                reactor.submit(DiskTag(1), DiskRequest::Compute { work: Work::new(move || who.set(std::thread::current().id()).unwrap()) });
                return false;
            };
            assert_eq!((completion.tag, completion.result), (DiskTag(1), Ok(())));
            assert!(*who.get().unwrap() != std::thread::current().id());
            true
        })
    });
}

#[test]
fn a_replaced_blob_is_there_when_it_completes() {
    let folder = Folder::new();
    let directory = folder.0.join("blobs");
    let directories = [directory.clone(), folder.0.join("blobs-copy")];
    let owner = BlobOwner(1);
    let store = BlobStore::open(directories, owner, &RecoveredBlobs::default()).unwrap();
    run(Options { blob_store: Some(store), ..Options::default() }, move || {
        let directory = directory.clone();
        Box::new(move |reactor, completion| {
            match completion {
                None => {
                    for (tag, bytes) in [(1, "one"), (2, "two")] {
                        let (name, bytes) = ("schema".to_owned(), bytes.as_bytes().to_vec());
                        reactor.submit(DiskTag(tag), DiskRequest::ReplaceBlob { name, bytes });
                    }
                    reactor.submit(DiskTag(3), DiskRequest::ReplaceBlob { name: "../escape".to_owned(), bytes: vec![] });
                }
                Some(DiskCompletion { tag: DiskTag(3), result, .. }) => {
                    assert!(matches!(result, Err(DiskError::Device { .. })));
                    return true;
                }
                Some(ref completion) => assert_eq!(completion.result, Ok(())),
            }
            if matches!(&completion, Some(DiskCompletion { tag: DiskTag(2), .. })) {
                let bytes = std::fs::read(directory.join("schema")).unwrap();
                assert_eq!(open_blob("schema", &bytes).unwrap(), Sealed { owner, generation: 2, content: b"two" });
                let mode = std::fs::metadata(directory.join("schema")).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "for nobody else to read");
            }
            false
        })
    });
}
