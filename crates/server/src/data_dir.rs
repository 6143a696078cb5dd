//! The data directory: its lock, where its files are, and what was fixed when it was made.
//!
//! | path | content |
//! |---|---|
//! | `LOCK` | locked by the process that uses the directory; holds its id |
//! | `layout.toml` | number of cores, capacity and devices, written at the end of the first start's preparations |
//! | `blobs/` | small files replaced as a whole: schema, identity |
//! | `shard-N.data` | the log of core N's shard, opened for direct I/O; not there when the data is on devices |
//! | `shard-N.buffer` | the stable memory of core N's shard |

use crate::config::{CAPACITY_LEAST, CORES, Config};
use crate::devices::{DeviceSpec, Devices, DevicesError, Wanted};
use crate::identity;
use crate::settings::Size;
use io_linux::{DataDirError, DataDirLock, FileLayout, free_bytes, lock_data_dir};
use serde::Deserialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file that holds what was fixed.
const LAYOUT: &str = "layout.toml";
/// The layout of a node with files of its own.
const FORMAT_FILES: u32 = 1;
/// The layout of a node with devices.
const FORMAT_DEVICES: u32 = 2;
/// The share of the free space that a new node takes, in percent.
const CAPACITY_PERCENT: u64 = 80;

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayoutError {
    /// It is locked or not accessible.
    #[error(transparent)]
    Directory(#[from] DataDirError),
    /// A file of it could not be read or written.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The layout file is damaged.
    #[error("{} is damaged: {source}; restore it (it says how many cores and how much space the data was laid out for)", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// A newer version made the directory.
    #[error("{} has format {found}, and this version knows only 1 and 2: use the version that made it, or a newer one", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Data is laid out for another number of cores.
    #[error("the data in {} is laid out for {made} cores, not {asked}: start without --cores, or with --cores {made}", path.display())]
    Cores {
        /// The directory.
        path: PathBuf,
        /// What it was made for.
        made: u16,
        /// What was asked for.
        asked: u16,
    },
    /// The data is in files and shall be on devices.
    #[error(
        "the data in {} is in files of the directory and cannot move to devices: start without --devices, or make a new node with another \
         --data-dir",
        path.display()
    )]
    FilesHaveData {
        /// The directory.
        path: PathBuf,
    },
    /// The data is on devices, whose sizes are fixed.
    #[error("the data of {} is on devices, which have their own sizes: start without --capacity", path.display())]
    CapacityOfDevices {
        /// The directory.
        path: PathBuf,
    },
    /// The devices.
    #[error(transparent)]
    Devices(#[from] DevicesError),
    /// The identity is damaged.
    #[error("the identity in {} is damaged; restore it from a backup: without it the data cannot be read", path.display())]
    Identity {
        /// The directory of blobs.
        path: PathBuf,
    },
    /// There is too little room for a new node.
    #[error("{} has {free} free, and a new node needs {needed}: make room, choose another --data-dir, or set --capacity", path.display())]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// What is free.
        free: Size,
        /// What is needed.
        needed: Size,
    },
}

/// A locked data directory and what was fixed when it was made.
#[derive(Debug)]
pub(crate) struct DataDir {
    _lock: DataDirLock,
    path: PathBuf,
    pub(crate) cores: u16,
    pub(crate) capacity: Size,
    /// The node's; its low half is the store id of the shards.
    pub(crate) identity: u128,
    devices: Option<Devices>,
}

/// What was fixed when the directory was made.
#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layout {
    format: u32,
    pub(crate) cores: u16,
    capacity: Size,
    /// Absolute paths, in order; empty when the data is in files of the directory.
    #[serde(default)]
    pub(crate) devices: Vec<PathBuf>,
}

impl DataDir {
    /// Locks the directory; makes it when it is new.
    pub(crate) fn open(config: &Config, cpus: usize) -> Result<Self, LayoutError> {
        let lock = lock_data_dir(&config.data_dir)?;
        let path = config.data_dir.join(LAYOUT);
        let made = read_layout(&config.data_dir)?;
        let mut layout = match &made {
            Some(made) => reuse(made, config)?,
            None => design(config, cpus)?,
        };
        let blobs = config.data_dir.join("blobs");
        let identity = identity::read_or_make(&blobs).map_err(|source| match source.kind() {
            std::io::ErrorKind::InvalidData => LayoutError::Identity { path: blobs },
            _ => LayoutError::Io { path: blobs, source },
        })?;
        let devices = open_devices(config, made.as_ref(), &mut layout, identity)?;
        if made.is_none_or(|made| made != layout) {
            write(&config.data_dir, &path, &layout).map_err(|source| LayoutError::Io { path, source })?;
        }
        let (cores, capacity) = (layout.cores, layout.capacity);
        Ok(Self { _lock: lock, path: config.data_dir.clone(), cores, capacity, identity, devices })
    }

    /// What a core's shard is kept in.
    pub(crate) fn file(&self, core: u16) -> FileLayout {
        match &self.devices {
            Some(devices) => devices.layout(core),
            None => FileLayout::Whole(shard_file(&self.path, core)),
        }
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.path.join("blobs")
    }

    /// The file behind a shard's stable memory.
    pub(crate) fn shard_buffer(&self, core: u16) -> PathBuf {
        self.path.join(format!("shard-{core}.buffer"))
    }
}

/// The file of a core's shard in a directory without devices.
pub(crate) fn shard_file(directory: &Path, core: u16) -> PathBuf {
    directory.join(format!("shard-{core}.data"))
}

/// Reads what was fixed when the directory was made; `None` if it was not, yet.
pub(crate) fn read_layout(directory: &Path) -> Result<Option<Layout>, LayoutError> {
    let path = directory.join(LAYOUT);
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&path, &text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LayoutError::Io { path, source }),
    }
}

fn parse(path: &Path, text: &str) -> Result<Layout, LayoutError> {
    let layout: Layout = toml::from_str(text).map_err(|source| LayoutError::Damaged { path: path.to_owned(), source: Box::new(source) })?;
    match layout.format {
        FORMAT_FILES | FORMAT_DEVICES => Ok(layout),
        found => Err(LayoutError::Format { path: path.to_owned(), found }),
    }
}

/// Claims the devices that are configured or were when the directory was made; formats them at the first start.
fn open_devices(config: &Config, made: Option<&Layout>, layout: &mut Layout, identity: u128) -> Result<Option<Devices>, LayoutError> {
    let remembered = || layout.devices.iter().map(|path| DeviceSpec { path: path.clone(), size: None }).collect();
    let specs = config.devices.clone().unwrap_or_else(remembered);
    if specs.is_empty() {
        return Ok(None);
    }
    let wanted = Wanted {
        specs: &specs,
        store: identity,
        cores: layout.cores,
        segment_bytes: engine::Config::new(0, 0, 0, 0, 0).segment_bytes,
        formatted: made.is_some(),
        now_s: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64),
    };
    let devices = Devices::open(&wanted)?;
    layout.capacity = Size(devices.bytes());
    layout.devices = devices
        .paths()
        .map(|path| std::path::absolute(path).map_err(|source| LayoutError::Io { path: path.to_owned(), source }))
        .collect::<Result<_, _>>()?;
    Ok(Some(devices))
}

/// The layout of a directory that has data.
fn reuse(made: &Layout, config: &Config) -> Result<Layout, LayoutError> {
    let path = || config.data_dir.clone();
    match config.cores {
        Some(asked) if asked != made.cores => return Err(LayoutError::Cores { path: path(), made: made.cores, asked }),
        _ => {}
    }
    match (made.devices.is_empty(), &config.devices, config.capacity) {
        (true, Some(_), _) => Err(LayoutError::FilesHaveData { path: path() }),
        (false, _, Some(_)) => Err(LayoutError::CapacityOfDevices { path: path() }),
        (_, _, capacity) => Ok(Layout { capacity: capacity.unwrap_or(made.capacity), ..made.clone() }),
    }
}

/// The layout of a new directory.
fn design(config: &Config, cpus: usize) -> Result<Layout, LayoutError> {
    let path = &config.data_dir;
    let cores = config.cores.unwrap_or(u16::try_from(cpus).unwrap_or(u16::MAX).clamp(1, *CORES.end() as u16));
    if config.devices.is_some() {
        // The devices themselves say how much they hold.
        return Ok(Layout { format: FORMAT_DEVICES, cores, capacity: Size(0), devices: Vec::new() });
    }
    let free = free_bytes(path).map_err(|source| LayoutError::Io { path: path.clone(), source })?;
    let capacity = config.capacity.unwrap_or(Size(free / 100 * CAPACITY_PERCENT));
    if capacity < CAPACITY_LEAST || free < CAPACITY_LEAST.0 {
        return Err(LayoutError::NoRoom { path: path.clone(), free: Size(free), needed: CAPACITY_LEAST });
    }
    Ok(Layout { format: FORMAT_FILES, cores, capacity, devices: Vec::new() })
}

fn write(directory: &Path, path: &Path, layout: &Layout) -> std::io::Result<()> {
    let temporary = directory.join("layout.toml~");
    let mut file = std::fs::File::create(&temporary)?;
    write!(file, "format = {}\ncores = {}\ncapacity = {}\n", layout.format, layout.cores, layout.capacity.0)?;
    if !layout.devices.is_empty() {
        let paths: Vec<toml::Value> = layout.devices.iter().map(|path| path.to_string_lossy().into_owned().into()).collect();
        writeln!(file, "devices = {}", toml::Value::from(paths))?;
    }
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    std::fs::File::open(directory)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Host;
    use crate::settings::Settings;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tarndb-layout-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            Self(path)
        }

        fn open(&self, settings: Settings) -> Result<DataDir, LayoutError> {
            let settings = Settings { data_dir: Some(self.0.clone()), ..settings };
            DataDir::open(&Config::new(settings, Host { memory_bytes: 1 << 30 }).unwrap(), 3)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_chosen_at_the_first_start_stays() {
        let folder = Folder::new("stays");
        let first = folder.open(Settings::default()).unwrap();
        let (cores, capacity) = (first.cores, first.capacity);
        assert_eq!(cores, 3);
        assert!(matches!(folder.open(Settings::default()).unwrap_err(), LayoutError::Directory(DataDirError::InUse { .. })));
        drop(first);
        let again = folder.open(Settings { cores: Some(3), ..Settings::default() }).unwrap();
        assert_eq!((again.cores, again.capacity), (cores, capacity));
        drop(again);
        let error = folder.open(Settings { cores: Some(4), ..Settings::default() }).unwrap_err();
        assert!(error.to_string().contains("laid out for 3 cores, not 4: start without --cores"), "{error}");
    }

    #[test]
    fn capacity_can_be_changed_later() {
        let folder = Folder::new("capacity");
        drop(folder.open(Settings { capacity: Some(Size(1 << 30)), ..Settings::default() }).unwrap());
        drop(folder.open(Settings { capacity: Some(Size(2 << 30)), ..Settings::default() }).unwrap());
        assert_eq!(folder.open(Settings::default()).unwrap().capacity, Size(2 << 30));
    }

    #[test]
    fn a_damaged_or_newer_layout_is_refused() {
        let folder = Folder::new("damaged");
        drop(folder.open(Settings::default()).unwrap());
        let path = folder.0.join("layout.toml");
        std::fs::write(&path, "format = 1\ncores =").unwrap();
        assert!(matches!(folder.open(Settings::default()).unwrap_err(), LayoutError::Damaged { .. }));
        std::fs::write(&path, "format = 3\ncores = 3\ncapacity = 1").unwrap();
        assert!(matches!(folder.open(Settings::default()).unwrap_err(), LayoutError::Format { found: 3, .. }));
    }
}
