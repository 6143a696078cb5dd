//! What there is to look at: devices and files, and which segments of which shard lie where on them.

use super::error::InspectError;
use crate::at_rest::{AtRest, KeySource};
use crate::data_dir;
use crate::devices::superblock::{self, Head, Superblock};
use crate::layout::{LayoutError, Losses};
use crate::small_files::{self, SmallFiles};
use base::{AlignedBuffer, BLOCK_BYTES, TableId};
use engine::{LogKey, SegmentCipher, SegmentHead, SegmentInfo, Sequence};
use io_linux::{Access, DataDirLock, Device};
use model::schema_blob;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the first header of a shard's own file may be looked for: its first segments may never have been used.
const PROBES: u64 = 64;

/// A device or file that is open.
pub(super) struct Source {
    pub(super) device: Device,
    /// `None` for a shard's own file.
    pub(super) superblock: Option<Superblock>,
    /// One copy of the superblock is damaged: where.
    pub(super) bad_copy: Option<u64>,
}

/// A segment's place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) segment: u32,
    /// On the device.
    pub(super) offset: u64,
}

/// The segments of one shard on one device.
pub(super) struct Part {
    pub(super) source: usize,
    pub(super) store: u64,
    pub(super) shard: u32,
    pub(super) segment_bytes: u32,
    pub(super) places: Vec<Place>,
    /// `None` on a device with a superblock, whose length that says.
    pub(super) own: Option<OwnFile>,
}

/// A shard's own file, which may be missing.
pub(super) struct OwnFile {
    pub(super) path: PathBuf,
    /// How long it is; `None`: there is none.
    pub(super) bytes: Option<u64>,
    /// The file behind the shard's stable memory. `None`: the file was named alone, and there is none beside it.
    pub(super) buffer: Option<PathBuf>,
}

/// Which records count: tables that exist, each with its truncation mark, by shard.
pub(super) struct Tables {
    pub(super) exist: Vec<TableId>,
    pub(super) marks: BTreeMap<u32, BTreeMap<TableId, Sequence>>,
}

/// All that is looked at.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) sources: Vec<Source>,
    pub(super) parts: Vec<Part>,
    /// Known only with a data directory.
    pub(super) tables: Option<Tables>,
    /// What logs are encrypted with; `None`: they are not, or nobody knows.
    log_key: Option<LogKey>,
    /// Keep servers from starting meanwhile.
    locks: Vec<DataDirLock>,
}

impl Sources {
    /// Devices and shard files by their paths.
    pub(super) fn of_paths(paths: &[PathBuf]) -> Result<Self, InspectError> {
        let mut all = Self::default();
        for path in paths {
            if path.is_dir() {
                return Err(InspectError::Directory { path: path.clone() });
            }
            // The file of a shard belongs to whoever has its directory.
            if let Some(directory) = path.parent().filter(|directory| directory.join("LOCK").exists()) {
                all.locks.push(io_linux::look_into_data_dir(directory)?);
            }
            all.add(path, None)?;
        }
        Ok(all)
    }

    /// Everything that a data directory names.
    pub(super) fn of_data_dir(path: &Path, master_key: Option<&KeySource>) -> Result<Self, InspectError> {
        let lock = io_linux::look_into_data_dir(path)?;
        let small_files = small_files::read(path, Losses::Refused)?;
        let no_data_dir = || InspectError::NoDataDir { path: path.to_owned() };
        let layout = small_files.layout()?.ok_or_else(no_data_dir)?;
        if layout.relaid.is_some() {
            return Err(InspectError::Relaid { path: path.to_owned() });
        }
        let identity = small_files.identity.ok_or_else(no_data_dir)?;
        let of_encrypted = || AtRest::of_inspected(path, identity, master_key).map_err(LayoutError::AtRest);
        let keys = layout.is_encrypted().then(of_encrypted).transpose()?;
        let tables = read_tables(path, &small_files, keys.as_ref(), layout.cores)?;
        let log_key = keys.as_ref().map(AtRest::log_key);
        let mut all = Self { locks: vec![lock], tables: Some(tables), log_key, ..Self::default() };
        if layout.devices.is_empty() {
            for core in 0..layout.cores {
                all.add(&data_dir::shard_file(path, core), Some((identity as u64, u32::from(core))))?;
            }
        }
        for (number, device) in layout.devices.iter().enumerate() {
            all.add(device, None)?;
            let superblock = all.sources.last().and_then(|source| source.superblock.as_ref());
            let found = superblock.map(|superblock| (superblock.store, usize::from(superblock.number)));
            if found != Some((identity, number)) {
                return Err(InspectError::NotTheDevice { path: device.clone(), number, directory: path.to_owned() });
            }
        }
        Ok(all)
    }

    /// Makes the image of a segment readable.
    pub(super) fn decrypt(&self, info: &SegmentInfo, image: &mut [u8]) {
        if let Some(key) = self.log_key.as_ref().filter(|_| info.encrypted) {
            SegmentCipher::new(key, info.store, info.shard).decrypt_segment(image);
        }
    }

    /// Whether a segment can be read.
    pub(super) fn has_key(&self, info: &SegmentInfo) -> bool {
        !info.encrypted || self.log_key.is_some()
    }

    /// Opens a device or a shard's file; of the latter store and shard may be known.
    fn add(&mut self, path: &Path, known: Option<(u64, u32)>) -> Result<(), InspectError> {
        if let Some((store, shard)) = known
            && !path.exists()
        {
            let own = Some(OwnFile { path: path.to_owned(), bytes: None, buffer: Some(path.with_extension("buffer")) });
            // Without places nothing is read of it.
            let segment_bytes = default_segment_bytes();
            self.parts.push(Part { source: usize::MAX, store, shard, segment_bytes, places: Vec::new(), own });
            return Ok(());
        }
        let device = Device::open(path, Access::Read)?;
        let source = self.sources.len();
        let io = |error| InspectError::Io { path: path.to_owned(), source: error };
        let head = if known.is_some() { Head::Blank } else { superblock::read(&device).map_err(io)? };
        match head {
            Head::Superblock { superblock, bad_copy } => {
                if device.bytes() < superblock.used_bytes() {
                    let (there, needed) = (device.bytes().into(), superblock.used_bytes().into());
                    return Err(InspectError::CutShort { path: path.to_owned(), there, needed });
                }
                self.parts.extend((0..superblock.cores).map(|shard| part_of(&superblock, shard, source)));
                self.sources.push(Source { device, superblock: Some(superblock), bad_copy });
                Ok(())
            }
            Head::Version(version) => Err(InspectError::Version { path: path.to_owned(), version }),
            Head::Damaged => Err(InspectError::Superblock { path: path.to_owned() }),
            // A shard's own file begins with a segment, which may be blank or damaged.
            Head::Blank | Head::Foreign(_) => {
                let (store, shard, segment_bytes) = match (known, probe(&device).map_err(io)?) {
                    (None, None) => return Err(InspectError::NothingOfOurs { path: path.to_owned() }),
                    (Some((store, shard)), found) => (store, shard, found.map_or(default_segment_bytes(), |(_, _, bytes)| bytes)),
                    (None, Some(found)) => found,
                };
                let count = device.bytes() / u64::from(segment_bytes);
                let place = |segment| Place { segment: segment as u32, offset: segment * u64::from(segment_bytes) };
                let buffer = Some(path.with_extension("buffer")).filter(|buffer| known.is_some() || buffer.exists());
                let own = OwnFile { path: path.to_owned(), bytes: Some(device.bytes()), buffer };
                self.parts.push(Part { source, store, shard, segment_bytes, places: (0..count).map(place).collect(), own: Some(own) });
                self.sources.push(Source { device, superblock: None, bad_copy: None });
                Ok(())
            }
        }
    }
}

fn default_segment_bytes() -> u32 {
    engine::Config::new(0, 0, 0, 0, 0).segment_bytes
}

/// A shard's segments on a device with a superblock.
fn part_of(superblock: &Superblock, shard: u16, source: usize) -> Part {
    let stripes = superblock.stripes(shard);
    let segment_bytes = u64::from(superblock.segment_bytes);
    let places = (0..stripes.bytes() / segment_bytes).filter_map(|segment| {
        let (device, offset) = stripes.locate(segment * segment_bytes);
        (device == usize::from(superblock.number)).then_some(Place { segment: segment as u32, offset })
    });
    let store = superblock.store as u64;
    Part { source, store, shard: shard.into(), segment_bytes: superblock.segment_bytes, places: places.collect(), own: None }
}

/// Store, shard and segment size by the first header of a shard's own file.
fn probe(device: &Device) -> std::io::Result<Option<(u64, u32, u32)>> {
    let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
    for probe in 0..PROBES {
        let offset = probe * u64::from(default_segment_bytes());
        if offset + BLOCK_BYTES as u64 > device.bytes() {
            break;
        }
        device.read(offset, &mut block, BLOCK_BYTES)?;
        if let SegmentHead::Valid(info) = SegmentHead::read(&block)
            && info.segment_bytes.is_power_of_two()
            && info.segment_bytes as usize > BLOCK_BYTES
        {
            return Ok(Some((info.store, info.shard, info.segment_bytes)));
        }
    }
    Ok(None)
}

/// Tables and truncation marks of a data directory.
fn read_tables(path: &Path, small_files: &SmallFiles, keys: Option<&AtRest>, cores: u16) -> Result<Tables, InspectError> {
    let blob = |name: &str| {
        let decrypt = |stored: &[u8]| keys.map_or_else(|| Ok(stored.to_vec()), |keys| keys.decrypt_small_file(name, stored));
        small_files.blob(name).map(decrypt).transpose().map_err(LayoutError::AtRest)
    };
    let schema = blob(node::SCHEMA_BLOB)?.as_deref().map(schema_blob::decode).transpose()?;
    let tables = schema.iter().flat_map(|schema| schema.tables());
    let exist = shard::stored_tables(tables.flat_map(|table| table.stored())).into_iter().collect();
    let mut marks = BTreeMap::new();
    for core in 0..cores {
        let name = node::truncations_blob(base::CoreId(core));
        if let Some(bytes) = blob(&name)? {
            let damaged = || InspectError::Io { path: path.join("blobs").join(&name), source: std::io::ErrorKind::InvalidData.into() };
            marks.insert(u32::from(core), shard::decode_truncations(&bytes).ok_or_else(damaged)?);
        }
    }
    Ok(Tables { exist, marks })
}
