//! Devices: formatted only when empty, refused when they are not what they should be, used by all cores.

use crate::harness::{Folder, Server, end, kill, refused, start};
use crate::rows::{check_rows, write_rows};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEAD_BYTES: u64 = 1 << 20;
const SEGMENT_BYTES: u64 = 8 << 20;

/// A loop device over a file; detached when it goes out of scope.
struct LoopDevice(PathBuf);

impl LoopDevice {
    /// `None`, with a message, where loop devices cannot be made.
    fn new(file: &Path, bytes: u64) -> Option<Self> {
        File::create(file).unwrap().set_len(bytes).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        match output {
            Ok(output) if output.status.success() => Some(Self(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()))),
            other => {
                eprintln!("SKIPPED: no loop device can be made here ({other:?}): the test of block devices needs losetup and root");
                None
            }
        }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// Whether a device has a used segment in the area of a core.
fn has_segments(device: &Path, area_segments: u64, core: u64) -> bool {
    let file = File::open(device).unwrap();
    (0..area_segments).any(|segment| {
        let mut magic = [0; 8];
        file.read_exact_at(&mut magic, HEAD_BYTES + (core * area_segments + segment) * SEGMENT_BYTES).unwrap();
        &magic == b"TARNSEG1"
    })
}

#[test]
fn rows_on_several_devices_survive_restarts_and_kills() {
    let folder = Folder::new("several");
    let (one, two) = (folder.0.join("one"), folder.0.join("two"));
    let list = format!("{}=130MiB,{}=70MiB", one.display(), two.display());
    let flags = ["--devices", &list, "--cores", "2"];
    let server = Server::start(start(&folder, &flags));
    write_rows(&server, 1);
    kill(server);
    let server = Server::start(start(&folder, &flags));
    check_rows(&server, 1);
    write_rows(&server, 2);
    end(server);
    // The list is remembered.
    let server = Server::start(start(&folder, &[]));
    check_rows(&server, 2);
    end(server);
    assert!(!folder.0.join("data/shard-0.data").exists());
    assert!([0, 1].into_iter().all(|core| has_segments(&one, 8, core)), "both cores use the first device");
    assert_eq!((fs::metadata(&one).unwrap().len(), fs::metadata(&two).unwrap().len()), (130 << 20, 70 << 20));
}

#[test]
fn a_block_device_is_shared_by_cores_and_kept_from_others() {
    let folder = Folder::new("loop");
    let Some(device) = LoopDevice::new(&folder.0.join("image"), 200 << 20) else { return };
    let file = folder.0.join("file");
    let list = format!("{},{}=100MiB", device.0.display(), file.display());
    let flags = ["--devices", &list, "--cores", "2"];
    let server = Server::start(start(&folder, &flags));
    write_rows(&server, 1);
    let other = Folder::new("loop-other");
    let (code, message) = refused(start(&other, &["--devices", device.0.to_str().unwrap()]));
    assert!(code == 3 && message.contains("in use"), "{message}");
    kill(server);
    let server = Server::start(start(&folder, &flags));
    check_rows(&server, 1);
    end(server);
    assert!([0, 1].into_iter().all(|core| has_segments(&device.0, 12, core)), "both cores use the block device");
    let (code, message) = refused(start(&other, &["--devices", device.0.to_str().unwrap(), "--cores", "2"]));
    assert!(code == 3 && message.contains("device 0 of 2 of another store") && message.contains("blkdiscard -z"), "{message}");
    let formatted = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&device.0).status();
    if formatted.is_ok_and(|status| status.success()) {
        let (code, message) = refused(start(&folder, &flags));
        assert!(code == 3 && message.contains("holds an ext2, ext3 or ext4 file system"), "{message}");
    }
}

#[test]
fn what_is_not_empty_is_never_formatted() {
    let folder = Folder::new("foreign");
    let path = folder.0.join("device");
    let spec = format!("{}=100MiB", path.display());
    // A byte in the head, one where a segment would begin, one at the end.
    for offset in [5000, HEAD_BYTES + 3 * SEGMENT_BYTES + 17, (100 << 20) - 1] {
        let file = File::create(&path).unwrap();
        file.set_len(100 << 20).unwrap();
        file.write_all_at(&[1], offset).unwrap();
        drop(file);
        let (code, message) = refused(start(&folder, &["--devices", &spec, "--cores", "1"]));
        assert!(code == 3 && message.contains(&format!("unknown kind at offset {offset}")), "{message}");
        assert!(fs::read(&path).unwrap()[..4096].iter().all(|byte| *byte == 0), "nothing was written");
    }
    fs::remove_file(&path).unwrap();
    end(Server::start(start(&folder, &["--devices", &spec, "--cores", "1"])));
}

#[test]
fn wrong_lists_of_devices_are_refused_with_what_is_right() {
    let folder = Folder::new("wrong");
    let path = |name: &str| folder.0.join(name).display().to_string();
    let (one, two) = (path("one"), path("two"));
    let both = format!("{one}=100MiB,{two}=100MiB");
    let refuses = |flags: &[&str], code: i32, words: &str| {
        let (found, message) = refused(start(&folder, flags));
        assert!(found == code && message.contains(words), "{flags:?}: {found} {message}");
    };
    refuses(&["--devices", &one], 2, "needs a size");
    refuses(&["--devices", &format!("{one}=lots")], 2, "is not a size");
    refuses(&["--devices", &format!("{one}=9MiB"), "--cores", "2"], 2, "give at least 17 MiB");
    refuses(&["--devices", &format!("{one}=60MiB"), "--cores", "1"], 2, "it needs 64 MiB");
    refuses(&["--devices", &format!("{one}=100MiB"), "--capacity", "1GiB"], 2, "leave capacity away");
    refuses(&["--devices", "/dev/no-such-device"], 3, "there is no /dev/no-such-device");
    refuses(&["--devices", "/dev/null"], 3, "neither a file nor a block device");
    refuses(&["--devices", &format!("{one}=1000TiB"), "--cores", "1"], 3, "cannot use");
    assert!(!folder.0.join("one").exists(), "nothing was made by a start that failed");
    end(Server::start(start(&folder, &["--devices", &both, "--cores", "2"])));
    refuses(&["--devices", &format!("{two},{one}")], 2, "stands at place 0 of the list");
    refuses(&["--devices", &one], 2, "is one of 2 devices, and 1 are given");
    refuses(&["--devices", &format!("{one}=50MiB,{two}")], 2, "cannot be resized");
    refuses(&["--cores", "20"], 2, "each of 20 cores needs a segment of it");
    refuses(&["--capacity", "1GiB"], 2, "start without --capacity");
    fs::rename(folder.0.join("two"), folder.0.join("moved")).unwrap();
    refuses(&[], 3, "there is no");
    end(Server::start(start(&folder, &["--devices", &format!("{one},{}", path("moved"))])));
    File::create(folder.0.join("moved")).unwrap().set_len(100 << 20).unwrap();
    refuses(&[], 3, "is new or empty, but it should hold device 1");
    let files = Folder::new("wrong-files");
    end(Server::start(start(&files, &["--cores", "1"])));
    let (code, message) = refused(start(&files, &["--devices", &format!("{}=100MiB", path("three"))]));
    assert!(code == 2 && message.contains("cannot move to devices"), "{message}");
}

#[test]
fn a_damaged_copy_of_the_superblock_is_repaired_and_two_are_refused() {
    let folder = Folder::new("superblock");
    let path = folder.0.join("device");
    let spec = format!("{}=100MiB", path.display());
    end(Server::start(start(&folder, &["--devices", &spec, "--cores", "1"])));
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let superblock = |offset| {
        let mut bytes = vec![0; 4096];
        file.read_exact_at(&mut bytes, offset).unwrap();
        bytes
    };
    let good = superblock(0);
    for offset in [0, HEAD_BYTES / 2] {
        file.write_all_at(&[0xFF; 100], offset + 20).unwrap();
        end(Server::start(start(&folder, &[])));
        assert!(superblock(offset) == good, "written anew");
    }
    for offset in [0, HEAD_BYTES / 2] {
        file.write_all_at(&[0xFF; 100], offset + 20).unwrap();
    }
    let (code, message) = refused(start(&folder, &[]));
    assert!(code == 4 && message.contains("both copies of the superblock"), "{message}");
    let mut newer = good.clone();
    newer[12] = 9;
    let checksum = crc32(&newer[12..640]);
    newer[8..12].copy_from_slice(&checksum.to_le_bytes());
    file.write_all_at(&newer, 0).unwrap();
    let (code, message) = refused(start(&folder, &[]));
    assert!(code == 3 && message.contains("device format 9"), "{message}");
}

#[test]
fn a_first_start_that_was_cut_off_goes_on_at_the_next() {
    let folder = Folder::new("cut-off");
    let (one, two) = (folder.0.join("one"), folder.0.join("two"));
    let list = format!("{}=100MiB,{}=100MiB", one.display(), two.display());
    let flags = ["--devices", &list, "--cores", "1"];
    let server = Server::start(start(&folder, &flags));
    end(server);
    // As if the first device alone had been formatted.
    let remove_layout = || {
        fs::remove_file(folder.0.join("data/layout.toml")).unwrap();
        fs::remove_file(folder.0.join("data/layout-copy.toml")).unwrap();
    };
    let remove_buffer = || fs::remove_file(folder.0.join("data/shard-0.buffer")).unwrap();
    remove_layout();
    remove_buffer();
    fs::remove_file(&two).unwrap();
    let server = Server::start(start(&folder, &flags));
    write_rows(&server, 1);
    end(server);
    // The same with data: the second device is not new but lost.
    remove_layout();
    let (code, message) = refused(start(&folder, &flags));
    assert!(code == 4 && message.contains("neither layout.toml nor layout-copy.toml is there"), "{message}");
    // And as if nothing but the devices were there.
    remove_buffer();
    for directory in ["blobs", "blobs-copy"] {
        fs::remove_file(folder.0.join("data").join(directory).join("schema.json")).unwrap();
    }
    fs::remove_file(&two).unwrap();
    let (code, message) = refused(start(&folder, &flags));
    assert!(code == 3 && message.contains("is new or empty, but it should hold device 1"), "{message}");
}

/// CRC-32 (IEEE), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes
        .iter()
        .fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 }))
}
