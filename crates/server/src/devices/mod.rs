//! The devices of a store: claimed, judged, formatted at the first start, and cut into areas for the shards.
//!
//! 1. Every device is opened and claimed, and its head read.
//! 2. What is ours must be what the data directory says; what is not must be empty, and that only at the first start. Nothing is written
//!    before every device has passed.
//! 3. Empty devices get a superblock. The data directory notes the devices afterwards, so a first start that was cut off goes on at the
//!    next one.
//!
//! Invariant: no byte is written to a device on which any byte that was looked at is neither zero nor ours.

mod anew;
mod blank;
mod error;
mod signature;
mod spec;
pub(crate) mod superblock;

pub(crate) use error::DevicesError;
pub(crate) use spec::DeviceSpec;
pub(crate) use superblock::DEVICES_MAX;

use base::{AlignedBuffer, BLOCK_BYTES};
use io_linux::{Access, Device, DeviceError, FileLayout};
use std::path::Path;
use superblock::{COPY_OFFSETS, HEAD_BYTES, Head, Superblock};

/// Segments that a shard needs over all its devices.
const SHARD_SEGMENTS_LEAST: u64 = 8;

/// What the devices shall be.
pub(crate) struct Wanted<'a> {
    pub(crate) specs: &'a [DeviceSpec],
    pub(crate) store: u128,
    pub(crate) cores: u16,
    /// The data has been copied for `cores`, and devices may still be cut for this number.
    pub(crate) former_cores: Option<u16>,
    pub(crate) segment_bytes: u32,
    /// The data directory says that they have been formatted.
    pub(crate) formatted: bool,
    pub(crate) now_s: i64,
}

/// The devices of a running node.
#[derive(Debug)]
pub(crate) struct Devices {
    /// In the order of the list.
    claimed: Vec<Device>,
    /// One each. All are cut for the same number of cores, except while they are cut anew.
    superblocks: Vec<Superblock>,
}

/// A device of the list as it was found.
enum Found {
    Ours {
        device: Device,
        superblock: Superblock,
    },
    Empty {
        device: Device,
    },
    /// A file to be made.
    Missing,
}

impl Devices {
    /// Claims and checks the devices, and formats those that are empty if this is the first start.
    pub(crate) fn open(wanted: &Wanted<'_>) -> Result<Self, DevicesError> {
        let mut found = Vec::new();
        for (number, spec) in wanted.specs.iter().enumerate() {
            found.push(find(wanted, number, spec)?);
        }
        let area_segments = match found.iter().find_map(Found::superblock) {
            Some(superblock) => superblock.area_segments.clone(),
            None => plan(wanted, &found)?,
        };
        check(wanted, &found, &area_segments)?;
        let formatted_s = found.iter().find_map(Found::superblock).map_or(wanted.now_s, |superblock| superblock.formatted_s);
        let superblock_of = |number: usize, given_bytes: u64| Superblock {
            store: wanted.store,
            cores: wanted.cores,
            number: number as u16,
            segment_bytes: wanted.segment_bytes,
            areas_start: HEAD_BYTES,
            formatted_s,
            given_bytes,
            area_segments: area_segments.clone(),
        };
        let (mut claimed, mut superblocks) = (Vec::new(), Vec::new());
        for (number, (found, spec)) in found.into_iter().zip(wanted.specs).enumerate() {
            let given = given_bytes(&found, spec);
            let (device, superblock) = match found {
                Found::Ours { device, superblock } => (device, superblock),
                Found::Empty { device } => format(device, superblock_of(number, given))?,
                Found::Missing => format(Device::create(&spec.path, given)?, superblock_of(number, given))?,
            };
            claimed.push(device);
            superblocks.push(superblock);
        }
        Ok(Self { claimed, superblocks })
    }

    /// What a core's file is made of.
    pub(crate) fn layout(&self, core: u16) -> FileLayout {
        let areas = self.claimed.iter().enumerate();
        let areas = areas.map(|(number, device)| (device.path().to_owned(), self.superblocks[0].area(number, core))).collect();
        FileLayout::Striped { stripe_bytes: u64::from(self.superblocks[0].segment_bytes), areas }
    }

    /// The bytes of all areas.
    pub(crate) fn bytes(&self) -> u64 {
        self.superblocks[0].stripes(0).bytes() * u64::from(self.superblocks[0].cores)
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.claimed.iter().map(Device::path)
    }
}

impl Found {
    fn superblock(&self) -> Option<&Superblock> {
        if let Self::Ours { superblock, .. } = self { Some(superblock) } else { None }
    }
}

/// Opens a device of the list and judges its head.
fn find(wanted: &Wanted<'_>, number: usize, spec: &DeviceSpec) -> Result<Found, DevicesError> {
    let path = || spec.path.clone();
    let device = match Device::open(&spec.path, Access::Write) {
        Err(DeviceError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            // A file in /dev would take memory and be gone after the next boot.
            return if wanted.formatted || spec.path.starts_with("/dev") {
                Err(DevicesError::Missing { path: path() })
            } else {
                spec.size.map(|_| Found::Missing).ok_or(DevicesError::SizeNeeded { path: path() })
            };
        }
        other => other?,
    };
    let head = superblock::read(&device).map_err(|source| DeviceError::Io { path: path(), source })?;
    match head {
        Head::Superblock { mut superblock, bad_copy } => {
            ours(wanted, number, spec, &device, &superblock)?;
            if let Some(offset) = bad_copy {
                tracing::warn!(device = %spec.path.display(), offset, "one copy of the superblock is damaged: written anew");
                device.write(offset, &block_of(&superblock))?;
            }
            if superblock.given_bytes == 0 {
                let given = spec.size.map(|size| size.0).filter(|given| *given <= device.bytes());
                superblock.given_bytes = given.unwrap_or(superblock.used_bytes());
            }
            Ok(Found::Ours { device, superblock })
        }
        Head::Blank if wanted.formatted => Err(DevicesError::Replaced { path: path(), number }),
        Head::Blank if !device.is_block() && device.bytes() == 0 && spec.size.is_none() => Err(DevicesError::SizeNeeded { path: path() }),
        Head::Blank => Ok(Found::Empty { device }),
        Head::Version(version) => Err(DevicesError::Version { path: path(), version }),
        Head::Damaged => Err(DevicesError::Damaged { path: path() }),
        Head::Foreign(what) => Err(DevicesError::Foreign { path: path(), what }),
    }
}

/// Refuses a device with a superblock that is not what is wanted.
fn ours(wanted: &Wanted<'_>, number: usize, spec: &DeviceSpec, device: &Device, found: &Superblock) -> Result<(), DevicesError> {
    let path = spec.path.clone();
    if found.store != wanted.store {
        return Err(DevicesError::OtherStore { path, number: found.number, devices: found.area_segments.len(), store: found.store });
    }
    if found.cores != wanted.cores && Some(found.cores) != wanted.former_cores {
        return Err(DevicesError::Cores { path, made: found.cores, asked: wanted.cores });
    }
    if found.area_segments.len() != wanted.specs.len() {
        return Err(DevicesError::Count { path, made: found.area_segments.len(), given: wanted.specs.len() });
    }
    if usize::from(found.number) != number {
        return Err(DevicesError::Order { path, made: found.number.into(), given: number });
    }
    if (found.segment_bytes, found.areas_start) != (wanted.segment_bytes, HEAD_BYTES) {
        return Err(DevicesError::Segments { path, made: found.segment_bytes, wanted: wanted.segment_bytes });
    }
    let (needed, there) = (found.used_bytes(), device.bytes());
    if there < needed {
        return Err(DevicesError::Shrunk { path, there: there.into(), needed: needed.into() });
    }
    match spec.size {
        Some(size) if !found.gives(size.0) => Err(DevicesError::Resized { path, made: needed.into(), asked: size }),
        _ => Ok(()),
    }
}

/// How much of a device may be used.
fn given_bytes(found: &Found, spec: &DeviceSpec) -> u64 {
    match found {
        Found::Ours { superblock, .. } => superblock.given_bytes,
        Found::Empty { device } => spec.size.map_or(device.bytes(), |size| size.0),
        Found::Missing => spec.size.map_or(0, |size| size.0),
    }
}

/// The segments that each core gets of each device, of which so many bytes are given.
fn cut(cores: u16, segment_bytes: u32, given: &[(&Path, u64)]) -> Result<Vec<u64>, DevicesError> {
    let (count, segment_bytes) = (u64::from(cores), u64::from(segment_bytes));
    let mut area_segments = Vec::new();
    for (path, bytes) in given {
        let segments = bytes.saturating_sub(HEAD_BYTES) / segment_bytes / count;
        if segments == 0 {
            let needed = (HEAD_BYTES + segment_bytes * count).into();
            return Err(DevicesError::TooSmall { path: (*path).to_owned(), bytes: (*bytes).into(), cores, needed });
        }
        area_segments.push(segments);
    }
    let each = area_segments.iter().sum::<u64>();
    if each < SHARD_SEGMENTS_LEAST {
        let (there, needed) = ((each * segment_bytes).into(), (SHARD_SEGMENTS_LEAST * segment_bytes).into());
        return Err(DevicesError::TooLittle { cores, there, needed });
    }
    Ok(area_segments)
}

/// Cuts new devices into areas.
fn plan(wanted: &Wanted<'_>, found: &[Found]) -> Result<Vec<u64>, DevicesError> {
    let mut given = Vec::new();
    for (found, spec) in found.iter().zip(wanted.specs) {
        let bytes = given_bytes(found, spec);
        if let Found::Empty { device } = found
            && device.is_block()
            && bytes > device.bytes()
        {
            return Err(DevicesError::Shrunk { path: spec.path.clone(), there: device.bytes().into(), needed: bytes.into() });
        }
        given.push((&*spec.path, bytes));
    }
    cut(wanted.cores, wanted.segment_bytes, &given)
}

/// All superblocks agree, and what will be formatted is empty wherever it will be read.
fn check(wanted: &Wanted<'_>, found: &[Found], area_segments: &[u64]) -> Result<(), DevicesError> {
    let fresh = found.iter().position(|found| found.superblock().is_none());
    let agree = |one: &Superblock| {
        let mut of_same_cores = found.iter().filter_map(Found::superblock).filter(|other| other.cores == one.cores);
        of_same_cores.all(|other| other.area_segments == one.area_segments)
    };
    for (number, (found, spec)) in found.iter().zip(wanted.specs).enumerate() {
        let segments = area_segments[number] * u64::from(wanted.cores);
        let blank = |device: &Device| {
            let headers = (0..segments).map(|segment| HEAD_BYTES + segment * u64::from(wanted.segment_bytes));
            blank::first_data(device, headers.collect()).map_err(|source| DeviceError::Io { path: spec.path.clone(), source })
        };
        match found {
            Found::Ours { superblock, .. } if !agree(superblock) => {
                return Err(DevicesError::Mixed { path: spec.path.clone() });
            }
            Found::Ours { device, .. } => {
                // A first start that was cut off has written nothing but superblocks.
                if let Some(fresh) = fresh
                    && blank(device)?.is_some()
                {
                    return Err(DevicesError::Replaced { path: wanted.specs[fresh].path.clone(), number: fresh });
                }
            }
            Found::Empty { device } => {
                if let Some(offset) = blank(device)? {
                    return Err(DevicesError::Foreign { path: spec.path.clone(), what: signature::unknown_at(offset) });
                }
            }
            Found::Missing => {}
        }
    }
    Ok(())
}

/// Writes the superblock of an empty device, one copy after the other.
fn format(mut device: Device, mut superblock: Superblock) -> Result<(Device, Superblock), DevicesError> {
    superblock.given_bytes = superblock.given_bytes.max(superblock.used_bytes());
    if !device.is_block() && device.bytes() < superblock.given_bytes {
        device.reserve(superblock.given_bytes)?;
    }
    for offset in COPY_OFFSETS {
        device.write(offset, &block_of(&superblock))?;
    }
    let (number, shards, used) = (superblock.number, superblock.cores, crate::size::Size(superblock.used_bytes()));
    tracing::info!(device = %device.path().display(), number, shards, %used, "formatted an empty device");
    Ok((device, superblock))
}

fn block_of(superblock: &Superblock) -> AlignedBuffer {
    let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
    let bytes = superblock.encode();
    block[..bytes.len()].copy_from_slice(&bytes);
    block
}
