//! A copy in files is written to devices, which are cut for the new number of cores.
//!
//! The layout names the copy already: it is the data, and nothing on the devices counts any more. Each segment goes to its place, what else could be
//! taken for a segment goes, and the superblocks are written when the devices have all that. A start that finds a superblock with the former number does
//! everything again; one that finds none has nothing to do. The files stay until then.

use super::error::{RelayoutError, reason};
use super::files::new_file;
use super::progress::Teller;
use crate::devices::Devices;
use crate::service_manager;
use crate::size::Size;
use base::{AlignedBuffer, BLOCK_BYTES};
use io_linux::{Access, Device, DeviceError, Stripes};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// How much is read and written at once.
const PART_BYTES: usize = 1 << 20;

/// What threads go by.
struct Writing<'a> {
    devices: &'a [Device],
    segment_bytes: u64,
    segments: u64,
    done: AtomicU64,
    has_failed: AtomicBool,
}

/// Writes the copy to the devices, unless they have it.
pub(super) fn write(devices: &mut Devices, cores: u16, directory: &Path, area_segments: &[u64]) -> Result<(), RelayoutError> {
    if devices.are_cut_for(cores) {
        return Ok(());
    }
    // All files are there before anything is written.
    let open = |core| open_copy(directory, core, &devices.stripes(cores, area_segments, core));
    let files = (0..cores).map(open).collect::<Result<Vec<_>, _>>()?;
    let bytes = files.iter().map(Device::bytes).sum::<u64>();
    tracing::info!(cores, bytes = %Size(bytes), directory = %directory.display(), "the copy is written to the devices");
    let writing = Writing {
        devices: devices.claimed(),
        segment_bytes: devices.segment_bytes(),
        segments: area_segments.iter().sum::<u64>() * u64::from(cores),
        done: AtomicU64::new(0),
        has_failed: AtomicBool::new(false),
    };
    let (writing, teller) = (&writing, &Teller::default());
    thread::scope(|scope| {
        scope.spawn(|| teller.tell(|seconds| writing.log(cores, seconds)));
        let of_core = |(core, file)| {
            let stripes = devices.stripes(cores, area_segments, core as u16);
            scope.spawn(move || writing.note(writing.write_core(file, &stripes)))
        };
        let threads: Vec<_> = files.iter().enumerate().map(of_core).collect();
        let written: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a panic ends the process")).collect();
        teller.end();
        reason(written.into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })?;
    devices.claimed().iter().try_for_each(Device::sync)?;
    Ok(devices.write_superblocks(cores, area_segments)?)
}

/// Opens the copy of a new core's file.
fn open_copy(directory: &Path, core: u16, stripes: &Stripes) -> Result<Device, RelayoutError> {
    let path = new_file(directory, core);
    let file = Device::open(&path, Access::Read).map_err(|source| RelayoutError::CopyLost { path: path.clone(), source })?;
    let (bytes, most) = (Size(file.bytes()), Size(stripes.bytes()));
    if bytes > most { Err(RelayoutError::CopyTooLong { path, bytes, most }) } else { Ok(file) }
}

impl Writing<'_> {
    /// One new core's thread.
    fn write_core(&self, file: &Device, stripes: &Stripes) -> Result<(), RelayoutError> {
        let mut buffer = AlignedBuffer::zeroed(PART_BYTES);
        for start in (0..stripes.bytes()).step_by(self.segment_bytes as usize) {
            let (device, place) = stripes.locate(start);
            let device = &self.devices[device];
            // A file grows ahead of need: what has no header in it was never used.
            let is_used = start < file.bytes() && has_header(file, start, &mut buffer)?;
            let end = if is_used { file.bytes().min(start + self.segment_bytes) } else { start };
            for offset in (start..end).step_by(PART_BYTES) {
                let length = PART_BYTES.min((end - offset) as usize);
                file.read(offset, &mut buffer, length).map_err(failed(file))?;
                device.write_without_sync(place + (offset - start), &buffer, length)?;
            }
            // What cannot be read may be a header, and nothing that was there counts.
            if !is_used && has_header(device, place, &mut buffer).unwrap_or(true) {
                buffer[..BLOCK_BYTES].fill(0);
                device.write_without_sync(place, &buffer, BLOCK_BYTES)?;
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            if self.has_failed.load(Ordering::Relaxed) {
                return Err(RelayoutError::GivenUp);
            }
        }
        Ok(())
    }

    /// The others need not go on if this has failed.
    fn note(&self, result: Result<(), RelayoutError>) -> Result<(), RelayoutError> {
        if result.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        result
    }

    fn log(&self, cores: u16, seconds: u64) {
        let percent = self.done.load(Ordering::Relaxed) * 100 / self.segments;
        tracing::info!(cores, percent, seconds, "writing the copy to the devices");
        service_manager::starting(&format!("writing the data of {cores} cores to the devices: {percent} %"), 10 * Teller::EVERY);
    }
}

/// Whether there is anything where a segment has its header. Without, it was never used, whatever is behind it.
fn has_header(device: &Device, place: u64, buffer: &mut AlignedBuffer) -> Result<bool, DeviceError> {
    device.read(place, buffer, BLOCK_BYTES).map_err(failed(device))?;
    Ok(buffer[..BLOCK_BYTES].iter().any(|byte| *byte != 0))
}

fn failed(device: &Device) -> impl Fn(std::io::Error) -> DeviceError {
    |source| DeviceError::Io { path: device.path().to_owned(), source }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::{Config, Host};
    use crate::data_dir::{DataDir, shard_buffer};
    use crate::layout::{Losses, Onto, Relaid};
    use crate::relayout::files::new_buffer;
    use crate::relayout::finish::{finish, make};
    use crate::settings::Settings;
    use crate::testing::Folder;
    use std::fs::{self, File, OpenOptions};
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;

    const MIB: u64 = 1 << 20;
    const SEGMENT: u64 = 8 * MIB;
    /// Of two devices for two cores: 12 + 7 segments, with three cores 8 + 5.
    const AREAS: [u64; 2] = [8, 5];

    struct Node {
        folder: Folder,
        beyond: PathBuf,
    }

    impl Node {
        fn new() -> Self {
            let folder = Folder::made("relayout-onto");
            let beyond = folder.join("beyond");
            Self { folder, beyond }
        }

        fn device(&self, number: usize) -> PathBuf {
            self.folder.join(["one", "two"][number])
        }

        fn open(&self) -> DataDir {
            let sizes = ["200MiB", "125MiB"].iter().enumerate();
            let devices = sizes.map(|(number, size)| format!("{}={size}", self.device(number).display()).parse().unwrap());
            let data_dir = Some(self.folder.join("data"));
            let settings = Settings { data_dir, cores: Some(2), devices: Some(devices.collect()), ..Settings::default() };
            let config = Config::new(settings, Host { memory: io_linux::Memory::OfMachine(1 << 30) }).unwrap();
            DataDir::open(&config, Losses::Refused, 1).unwrap()
        }

        /// A node of two cores with devices full of old segments, and a copy for three that is the data now. Its files have three segments, two and none.
        fn relaid(&self) -> DataDir {
            let mut data_dir = self.open();
            for number in 0..2 {
                let file = OpenOptions::new().write(true).open(self.device(number)).unwrap();
                (MIB..fs::metadata(self.device(number)).unwrap().len() - 4096).step_by(SEGMENT as usize).for_each(|place| {
                    file.write_all_at(b"TARNSEG1 old", place).unwrap();
                });
            }
            make(&self.beyond).unwrap();
            for core in 0..3 {
                let file = File::create(new_file(&self.beyond, core)).unwrap();
                let segments = [3, 2, 0][usize::from(core)];
                file.set_len(segments * SEGMENT).unwrap();
                for segment in 0..segments {
                    for (at, what) in [(0, "head"), (SEGMENT - 4096, "tail")] {
                        file.write_all_at(format!("{what} {core} {segment}").as_bytes(), segment * SEGMENT + at).unwrap();
                    }
                }
                fs::write(new_buffer(data_dir.path(), core), "new").unwrap();
            }
            let onto = Some(Onto { directory: Some(self.beyond.clone()), area_segments: AREAS.to_vec() });
            assert_eq!(data_dir.devices().unwrap().cut_for(3).unwrap(), AREAS);
            data_dir.set_cores(3, Some(Relaid { former_cores: 2, committed: vec![1, 2, 3], onto })).unwrap();
            data_dir
        }

        fn text(&self, number: usize, place: u64) -> String {
            let mut bytes = [0; 12];
            File::open(self.device(number)).unwrap().read_exact_at(&mut bytes, place).unwrap();
            String::from_utf8(bytes.to_vec()).unwrap().trim_end_matches('\0').to_owned()
        }

        /// The devices hold the copy and nothing else.
        fn check(&self) {
            let data_dir = self.open();
            assert_eq!((data_dir.cores, data_dir.relaid(), data_dir.cores_asked), (3, None, Some(2)));
            assert_eq!(data_dir.capacity, Size(3 * 13 * SEGMENT));
            assert!(!self.beyond.exists());
            let devices = data_dir.devices().unwrap();
            assert!(devices.are_cut_for(3));
            assert_eq!(devices.cut_for(2).unwrap(), [12, 7], "what rounding took is not lost");
            for core in 0..3u16 {
                assert_eq!(fs::read_to_string(shard_buffer(data_dir.path(), core)).unwrap(), "new");
                let segments = [3, 2, 0][usize::from(core)];
                for segment in 0..13 {
                    let (number, place) = devices.stripes(3, &AREAS, core).locate(segment * SEGMENT);
                    let expected = |what| if segment < segments { format!("{what} {core} {segment}") } else { String::new() };
                    assert_eq!(self.text(number, place), expected("head"));
                    assert_eq!(self.text(number, place + SEGMENT - 4096), expected("tail"));
                }
            }
        }
    }

    #[test]
    fn writing_that_was_cut_off_anywhere_is_ended_at_the_next_start() {
        for cut in 0..6 {
            let node = Node::new();
            let mut data_dir = node.relaid();
            let heads = [0, 1].map(|number| fs::read(node.device(number)).unwrap()[..MIB as usize].to_vec());
            let write_head = |number: usize, part: std::ops::Range<usize>| {
                let file = OpenOptions::new().write(true).open(node.device(number)).unwrap();
                file.write_all_at(&heads[number][part.clone()], part.start as u64).unwrap();
            };
            if cut > 0 {
                write(data_dir.devices_mut().unwrap(), 3, &node.beyond, &AREAS).unwrap();
            }
            match cut {
                // The segments are there, and no superblock says so.
                1 => (0..2).for_each(|number| write_head(number, 0..MIB as usize)),
                // One device has its superblock, or half of it.
                2 => write_head(1, 0..MIB as usize),
                3 => {
                    write_head(0, MIB as usize / 2..MIB as usize);
                    write_head(1, 0..MIB as usize);
                }
                // Files of the copy have begun to go.
                4 => fs::remove_file(new_file(&node.beyond, 0)).unwrap(),
                5 => {
                    fs::rename(new_buffer(data_dir.path(), 0), shard_buffer(data_dir.path(), 0)).unwrap();
                    fs::remove_dir_all(&node.beyond).unwrap();
                }
                _ => {}
            }
            drop(data_dir);
            let mut data_dir = node.open();
            assert_eq!((data_dir.cores, data_dir.relaid().is_some()), (3, true));
            finish(&mut data_dir).unwrap();
            drop(data_dir);
            node.check();
        }
    }

    #[test]
    fn a_copy_that_is_not_there_is_asked_for_and_nothing_is_written() {
        let node = Node::new();
        drop(node.relaid());
        let away = node.folder.join("away");
        fs::rename(&node.beyond, &away).unwrap();
        let error = finish(&mut node.open()).unwrap_err().to_string();
        assert!(error.contains("relayout-0.data until it is on the devices") && error.contains("mounting the file system"), "{error}");
        fs::rename(&away, &node.beyond).unwrap();
        let file = OpenOptions::new().write(true).open(new_file(&node.beyond, 1)).unwrap();
        file.set_len(14 * SEGMENT).unwrap();
        let error = finish(&mut node.open()).unwrap_err().to_string();
        assert!(error.contains("has 112 MiB, and its core has 104 MiB on the devices"), "{error}");
        assert_eq!(node.text(0, MIB), "TARNSEG1 old");
        file.set_len(2 * SEGMENT).unwrap();
        finish(&mut node.open()).unwrap();
        node.check();
    }
}
