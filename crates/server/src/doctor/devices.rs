//! Devices that a node is to have (setting `devices`): whether it can have them, and what is on them. Nothing is written to one.

use super::checks::Finding;
use crate::devices::DeviceSpec;
use crate::devices::superblock::{self, Head};
use base::format_size;
use io_linux::{Access, Device, DeviceError};
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

const WHAT: &str = "device";

/// What was found where a device is to be.
pub(super) enum Found {
    Nothing,
    Refused(DeviceError),
    Unreadable(Error),
    There {
        bytes: u64,
        head: Head,
        /// `queue/rotational`, of a block device.
        rotational: Option<String>,
    },
}

/// Looks at a device.
pub(super) fn look(path: &Path) -> Found {
    // As a node opens it, so that what would refuse a node is found.
    let device = match Device::open(path, Access::Write) {
        Ok(device) => device,
        Err(DeviceError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Found::Nothing,
        Err(error) => return Found::Refused(error),
    };
    match superblock::read(&device) {
        Ok(head) => Found::There { bytes: device.bytes(), head, rotational: rotational(path).filter(|_| device.is_block()) },
        Err(error) => Found::Unreadable(error),
    }
}

fn rotational(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let name = path.file_name()?.to_str()?;
    // Of a partition the queue is its disk's.
    let places = ["queue", "../queue"].map(|place| format!("/sys/class/block/{name}/{place}/rotational"));
    places.iter().find_map(|place| fs::read_to_string(place).ok()).map(|text| text.trim().to_owned())
}

/// What follows from it.
pub(super) fn finding(spec: &DeviceSpec, found: &Found) -> Finding {
    let path = spec.path.display();
    let empty_it = format!("another device, or, if nothing on it is needed: blkdiscard -z {path}");
    match found {
        Found::Nothing => match spec.size {
            Some(size) if !spec.path.starts_with("/dev") => Finding::good(WHAT, format!("{path}, a file of {size} that is to be made")),
            _ => Finding::bad(
                WHAT,
                format!("there is no {path}"),
                "names like /dev/sdb can change: give those in /dev/disk/by-id; a file that is to be made takes a size, PATH=SIZE",
            ),
        },
        Found::Refused(DeviceError::InUse { .. }) => Finding::advice(
            WHAT,
            format!("{path} is in use: it is mounted, or a process has it"),
            "nothing, if that is the node; else unmount it, or end that process",
        ),
        Found::Refused(error) => Finding::bad(
            WHAT,
            error.to_string(),
            "whom the node runs as needs to read and write it, for instance by the group of /dev's disks",
        ),
        Found::Unreadable(error) => Finding::bad(WHAT, format!("{path} cannot be read: {error}"), "another device: this one fails"),
        Found::There { bytes, .. } if spec.size.is_some_and(|size| size.0 > *bytes) && spec.path.starts_with("/dev") => Finding::bad(
            WHAT,
            format!("{path} has {}, and more than that is to be used", format_size(*bytes)),
            "a smaller size, or none to use all of it",
        ),
        Found::There { head: Head::Foreign(what), .. } => Finding::bad(WHAT, format!("{path} holds {what}"), empty_it),
        Found::There { head: Head::Damaged, .. } => Finding::bad(
            WHAT,
            format!("both copies of the superblock of {path} are damaged"),
            "restore the node from the other members or a backup, onto an empty device",
        ),
        Found::There { head: Head::Version(version), .. } => {
            Finding::bad(WHAT, format!("{path} has device format {version}"), "the version of this program that made it, or a newer one")
        }
        Found::There { rotational: Some(turns), .. } if turns == "1" => Finding::advice(
            WHAT,
            format!("{path} says that it turns: reads of rows that are not in memory take milliseconds each"),
            "flash; virtual disks may say so wrongly",
        ),
        Found::There { bytes, head: Head::Superblock { superblock, .. }, .. } => Finding::good(
            WHAT,
            format!(
                "{path}, {}, device {} of {} of a node with {} cores",
                format_size(*bytes),
                superblock.number + 1,
                superblock.area_segments.len(),
                superblock.cores
            ),
        ),
        Found::There { bytes, head: Head::Blank, .. } => {
            Finding::good(WHAT, format!("{path}, {}, empty at its beginning", format_size(*bytes)))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::doctor::checks::Verdict;
    use crate::testing::Folder;
    use std::os::unix::fs::FileExt;

    fn verdict(spec: &str) -> (Verdict, String) {
        let spec: DeviceSpec = spec.parse().unwrap();
        let found = finding(&spec, &look(&spec.path));
        (found.verdict, found.says)
    }

    #[test]
    fn what_is_on_a_device_is_told_and_left() {
        let folder = Folder::made("doctor-devices");
        let path = folder.join("device");
        let text = path.to_str().unwrap();
        assert_eq!(verdict(text).0, Verdict::Bad, "a file needs a size");
        assert_eq!(verdict(&format!("{text}=1GiB")), (Verdict::Good, format!("{text}, a file of 1 GiB that is to be made")));
        assert!(!path.exists());
        assert_eq!(verdict("/dev/no-such-device=1GiB").0, Verdict::Bad);
        assert_eq!(verdict("/dev/null").0, Verdict::Bad);
        let file = fs::File::create(&path).unwrap();
        file.set_len(100 << 20).unwrap();
        assert_eq!(verdict(text), (Verdict::Good, format!("{text}, 100 MiB, empty at its beginning")));
        file.write_all_at(b"LUKS\xBA\xBE", 0).unwrap();
        assert_eq!(verdict(text), (Verdict::Bad, format!("{text} holds an encrypted volume (LUKS)")));
        let held = Device::open(&path, Access::Write).unwrap();
        assert_eq!(verdict(text).0, Verdict::Advice, "somebody has it");
        drop(held);
        let golden = include_bytes!("../../tests/golden/superblock-v1.bin");
        for copy in superblock::COPY_OFFSETS {
            file.write_all_at(golden, copy).unwrap();
        }
        assert_eq!(verdict(text), (Verdict::Good, format!("{text}, 100 MiB, device 2 of 2 of a node with 3 cores")));
        for copy in superblock::COPY_OFFSETS {
            file.write_all_at(&[0xFF; 8], copy + 20).unwrap();
        }
        assert_eq!(verdict(text).0, Verdict::Bad);
    }
}
