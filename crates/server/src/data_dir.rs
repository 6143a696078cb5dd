//! The data directory: its lock, where its files are, and what was fixed when it was made.
//!
//! | path | content |
//! |---|---|
//! | `LOCK` | locked by the process that uses the directory; holds its id |
//! | `layout.toml`, `layout-copy.toml` | number of cores, capacity and devices, written at the end of the first start's preparations |
//! | `encryption.toml`, `encryption-copy.toml` | the data key, wrapped by the master key, if the directory is encrypted (`at_rest`) |
//! | `blobs/`, `blobs-copy/` | small files replaced as a whole: schema, identity (`small_files`) |
//! | `shard-N.data` | the log of core N's shard, opened for direct I/O; not there when the data is on devices |
//! | `shard-N.buffer` | the stable memory of core N's shard |
//! | `sql-spill/` | what statements of SQL put on disk while they run: files without a name (`sql_spill`) |
//! | `relayout-N.data`, `relayout-N.buffer` | the same in the making, for another number of cores (`relayout`) |

use crate::at_rest::{AtRest, AtRestError};
use crate::config::{CAPACITY_LEAST, CORES, Config};
use crate::devices::{DeviceSpec, Devices, Wanted};
use crate::identity;
use crate::layout::{FORMAT_DEVICES, FORMAT_ENCRYPTED, FORMAT_FILES, LAYOUT, LAYOUT_COPY, Layout, LayoutError, Losses, Onto, Relaid};
use crate::size::Size;
use crate::small_files::{self, OpenFiles};
use io::seal_blob;
use io_linux::{BlobStore, DataDirLock, FileLayout, free_bytes, lock_data_dir, replace_file};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The share of the free space that a new node takes, in percent.
const CAPACITY_PERCENT: u64 = 80;

/// Whether a directory has a layout, whatever it says.
fn is_made(directory: &Path) -> bool {
    [LAYOUT, LAYOUT_COPY].iter().any(|name| directory.join(name).exists())
}

/// A locked data directory and what was fixed when it was made.
#[derive(Debug)]
pub(crate) struct DataDir {
    _lock: DataDirLock,
    path: PathBuf,
    layout: Layout,
    generation: u64,
    /// The number of cores that was asked for, if the data is laid out for another one.
    pub(crate) cores_asked: Option<u16>,
    pub(crate) cores: u16,
    pub(crate) capacity: Size,
    /// The node's; its low half is the store id of the shards.
    pub(crate) identity: u128,
    /// The small files' contents.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    /// Where they are kept.
    pub(crate) blob_store: BlobStore,
    /// `None`: nothing is encrypted.
    pub(crate) at_rest: Option<AtRest>,
    devices: Option<Devices>,
}

impl DataDir {
    /// Locks the directory; makes it when it is new.
    pub(crate) fn open(config: &Config, losses: Losses, cpus: usize) -> Result<Self, LayoutError> {
        // Before the directory of a new node is made: without its key there is none.
        let masters = match &config.master_key {
            Some(source) if !is_made(&config.data_dir) => Some(source.read().map_err(AtRestError::from)?),
            _ => None,
        };
        let lock = lock_data_dir(&config.data_dir)?;
        let small_files = small_files::read(&config.data_dir, losses)?;
        let (made, mut generation) = (small_files.layout()?, small_files.layout.as_ref().map_or(0, |layout| layout.generation));
        let mut layout = match &made {
            Some(made) => reuse(made, config)?,
            None => design(config, cpus)?,
        };
        let needs_repair = small_files.layout_needs_repair;
        // Before anything is changed.
        let of_made = match (&made, small_files.identity) {
            (Some(made), Some(identity)) => AtRest::of_made(config, identity, made.is_encrypted())?,
            _ => None,
        };
        let OpenFiles { identity, mut blobs, store: mut blob_store } = small_files.open()?;
        let at_rest = if made.is_some() { of_made } else { AtRest::of_new(config, identity, masters)? };
        if let Some(at_rest) = &at_rest {
            layout.format = FORMAT_ENCRYPTED;
            at_rest.decrypt_small_files(&mut blobs)?;
            blob_store.set_cipher(at_rest.small_files());
        }
        let devices = open_devices(config, made.as_ref(), &mut layout, identity)?;
        if needs_repair || made.is_none_or(|made| made != layout) {
            generation += 1;
            write(&config.data_dir, identity, generation, &layout)
                .map_err(|source| LayoutError::Io { path: config.data_dir.join(LAYOUT), source })?;
        }
        let (cores, capacity) = (layout.cores, layout.capacity);
        let cores_asked = config.cores.filter(|asked| *asked != cores);
        let path = config.data_dir.clone();
        Ok(Self { _lock: lock, path, layout, generation, cores_asked, cores, capacity, identity, blobs, blob_store, at_rest, devices })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What a copy for another number of cores has left to be done.
    pub(crate) fn relaid(&self) -> Option<&Relaid> {
        self.layout.relaid.as_ref()
    }

    /// `None`: the data is in files of the directory.
    pub(crate) fn devices(&self) -> Option<&Devices> {
        self.devices.as_ref()
    }

    pub(crate) fn devices_mut(&mut self) -> Option<&mut Devices> {
        self.devices.as_mut()
    }

    /// From now on the data is laid out for so many cores. With `relaid` the files of these cores still have to take their places.
    pub(crate) fn set_cores(&mut self, cores: u16, relaid: Option<Relaid>) -> Result<(), LayoutError> {
        let onto = relaid.as_ref().and_then(|relaid| relaid.onto.as_ref());
        let each = onto.map(|onto| onto.area_segments.iter().sum::<u64>() * u64::from(segment_bytes()));
        let capacity = each.map_or(self.capacity, |each| Size(each * u64::from(cores)));
        let layout = Layout { cores, capacity, relaid, ..self.layout.clone() };
        write(&self.path, self.identity, self.generation + 1, &layout)
            .map_err(|source| LayoutError::Io { path: self.path.join(LAYOUT), source })?;
        self.generation += 1;
        (self.layout, self.cores, self.capacity) = (layout, cores, capacity);
        self.cores_asked = self.cores_asked.filter(|asked| *asked != cores);
        Ok(())
    }

    /// Replaces a blob.
    pub(crate) fn replace_blob(&mut self, name: &str, content: Vec<u8>) -> Result<(), LayoutError> {
        self.blob_store.replace(name, &content)?;
        self.blobs.insert(name.to_owned(), content);
        Ok(())
    }

    /// What a core's shard is kept in.
    pub(crate) fn file(&self, core: u16) -> FileLayout {
        match &self.devices {
            Some(devices) => devices.layout(core),
            None => FileLayout::Whole(shard_file(&self.path, core)),
        }
    }

    /// The file behind a shard's stable memory.
    pub(crate) fn shard_buffer(&self, core: u16) -> PathBuf {
        shard_buffer(&self.path, core)
    }
}

/// The file behind the stable memory of a core's shard.
pub(crate) fn shard_buffer(directory: &Path, core: u16) -> PathBuf {
    directory.join(format!("shard-{core}.buffer"))
}

/// The file of a core's shard in a directory without devices.
pub(crate) fn shard_file(directory: &Path, core: u16) -> PathBuf {
    directory.join(format!("shard-{core}.data"))
}

/// Bytes in a segment of every shard.
fn segment_bytes() -> u32 {
    engine::Config::new(0, 0, 0, 0, 0).segment_bytes
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
        former_cores: layout.relaid.as_ref().map(|relaid| relaid.former_cores),
        segment_bytes: segment_bytes(),
        formatted: made.is_some(),
        now_s: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64),
    };
    let devices = Devices::open(&wanted)?;
    if layout.relaid.is_none() {
        layout.capacity = Size(devices.bytes());
    }
    layout.devices = devices
        .paths()
        .map(|path| std::path::absolute(path).map_err(|source| LayoutError::Io { path: path.to_owned(), source }))
        .collect::<Result<_, _>>()?;
    Ok(Some(devices))
}

/// The layout of a directory that has data.
fn reuse(made: &Layout, config: &Config) -> Result<Layout, LayoutError> {
    let path = || config.data_dir.clone();
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
        return Ok(Layout { format: FORMAT_DEVICES, cores, capacity: Size(0), devices: Vec::new(), relaid: None });
    }
    let free = free_bytes(path).map_err(|source| LayoutError::Io { path: path.clone(), source })?;
    let capacity = config.capacity.unwrap_or(Size(free / 100 * CAPACITY_PERCENT));
    if capacity < CAPACITY_LEAST || free < CAPACITY_LEAST.0 {
        return Err(LayoutError::NoRoom { path: path.clone(), free: Size(free), needed: CAPACITY_LEAST });
    }
    Ok(Layout { format: FORMAT_FILES, cores, capacity, devices: Vec::new(), relaid: None })
}

/// Writes both copies.
fn write(directory: &Path, identity: u128, generation: u64, layout: &Layout) -> std::io::Result<()> {
    let mut text = format!("format = {}\ncores = {}\ncapacity = {}\n", layout.format, layout.cores, layout.capacity.0);
    if !layout.devices.is_empty() {
        let paths: Vec<toml::Value> = layout.devices.iter().map(|path| path.to_string_lossy().into_owned().into()).collect();
        let _ = writeln!(text, "devices = {}", toml::Value::from(paths));
    }
    if let Some(Relaid { former_cores, committed, onto }) = &layout.relaid {
        let _ = writeln!(text, "[relaid]\nformer_cores = {former_cores}\ncommitted = {committed:?}");
        if let Some(Onto { directory, area_segments }) = onto {
            let _ = writeln!(text, "[relaid.onto]\narea_segments = {area_segments:?}");
            if let Some(directory) = directory {
                let _ = writeln!(text, "directory = {}", toml::Value::from(directory.to_string_lossy().into_owned()));
            }
        }
    }
    let sealed = seal_blob(identity::owner(identity), LAYOUT, generation, text.as_bytes());
    replace_file(directory, LAYOUT_COPY, &sealed)?;
    replace_file(directory, LAYOUT, &sealed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Host;
    use crate::settings::Settings;
    use crate::testing::Folder;
    use io::open_blob;
    use io_linux::DataDirError;

    impl Folder {
        fn open(&self, settings: Settings) -> Result<DataDir, LayoutError> {
            self.open_with(settings, Losses::Refused)
        }

        fn open_with(&self, settings: Settings, losses: Losses) -> Result<DataDir, LayoutError> {
            let settings = Settings { data_dir: Some(self.0.clone()), ..settings };
            DataDir::open(&Config::new(settings, Host { memory: io_linux::Memory::OfMachine(1 << 30) }).unwrap(), losses, 3)
        }
    }

    #[test]
    fn what_was_chosen_at_the_first_start_stays() {
        let folder = Folder::new("layout-stays");
        let first = folder.open(Settings::default()).unwrap();
        let (cores, capacity) = (first.cores, first.capacity);
        assert_eq!(cores, 3);
        assert!(matches!(folder.open(Settings::default()).unwrap_err(), LayoutError::Directory(DataDirError::InUse { .. })));
        drop(first);
        let again = folder.open(Settings { cores: Some(3), ..Settings::default() }).unwrap();
        assert_eq!((again.cores, again.capacity), (cores, capacity));
        drop(again);
        let another = folder.open(Settings { cores: Some(4), ..Settings::default() }).unwrap();
        assert_eq!((another.cores, another.cores_asked), (cores, Some(4)), "the data has to be moved first");
    }

    #[test]
    fn capacity_can_be_changed_later() {
        let folder = Folder::new("layout-capacity");
        drop(folder.open(Settings { capacity: Some(Size(1 << 30)), ..Settings::default() }).unwrap());
        drop(folder.open(Settings { capacity: Some(Size(2 << 30)), ..Settings::default() }).unwrap());
        assert_eq!(folder.open(Settings::default()).unwrap().capacity, Size(2 << 30));
    }

    /// A directory as versions before seals left it.
    fn unseal(folder: &Folder, layout: &str) {
        std::fs::remove_file(folder.0.join(LAYOUT_COPY)).unwrap();
        std::fs::write(folder.0.join(LAYOUT), layout).unwrap();
    }

    #[test]
    fn a_damaged_or_newer_layout_is_refused() {
        let folder = Folder::new("layout-damaged");
        drop(folder.open(Settings::default()).unwrap());
        unseal(&folder, "format = 1\ncores =");
        assert!(matches!(folder.open(Settings::default()).unwrap_err(), LayoutError::Damaged { .. }));
        std::fs::write(folder.0.join(LAYOUT), "format = 4\ncores = 3\ncapacity = 1").unwrap();
        assert!(matches!(folder.open(Settings::default()).unwrap_err(), LayoutError::Format { found: 4, .. }));
    }

    #[test]
    fn one_copy_of_the_layout_is_enough_and_the_other_is_mended() {
        for (copy, name) in [LAYOUT, LAYOUT_COPY].into_iter().enumerate() {
            let folder = Folder::new(&format!("layout-{copy}"));
            let made = folder.open(Settings::default()).unwrap();
            let (cores, identity) = (made.cores, made.identity);
            drop(made);
            let path = folder.0.join(name);
            let good = std::fs::read_to_string(&path).unwrap();
            let damages =
                [None, Some(String::new()), Some(good.replace("cores = 3", "cores = 2")), Some(good[..good.len() - 9].to_owned())];
            for damage in damages {
                match damage {
                    Some(text) => std::fs::write(&path, text).unwrap(),
                    None => std::fs::remove_file(&path).unwrap(),
                }
                let again = folder.open(Settings::default()).unwrap();
                assert_eq!((again.cores, again.identity), (cores, identity));
                assert!(open_blob(LAYOUT, &std::fs::read(&path).unwrap()).is_ok());
            }
        }
    }

    #[test]
    fn a_directory_with_data_is_never_taken_for_a_new_one() {
        let folder = Folder::new("layout-data");
        drop(folder.open(Settings::default()).unwrap());
        std::fs::write(folder.0.join("shard-0.data"), b"x").unwrap();
        for name in [LAYOUT, LAYOUT_COPY] {
            std::fs::remove_file(folder.0.join(name)).unwrap();
        }
        let error = folder.open(Settings::default()).unwrap_err();
        assert!(matches!(error, LayoutError::LayoutLost { .. }), "{error}");
        for name in ["blobs", "blobs-copy"] {
            std::fs::remove_dir_all(folder.0.join(name)).unwrap();
        }
        let error = folder.open(Settings::default()).unwrap_err();
        assert!(matches!(error, LayoutError::IdentityLost { .. }), "{error}");
        assert!(!folder.0.join("blobs").exists(), "nothing was made");
    }

    #[test]
    fn a_blob_that_was_there_and_has_no_good_copy_ends_the_start() {
        let folder = Folder::new("layout-lost");
        let mut made = folder.open(Settings::default()).unwrap();
        made.blob_store.replace("schema.json", b"{}").unwrap();
        drop(made);
        std::fs::remove_file(folder.0.join("blobs/schema.json")).unwrap();
        assert_eq!(folder.open(Settings::default()).unwrap().blobs["schema.json"], b"{}");
        std::fs::remove_file(folder.0.join("blobs/schema.json")).unwrap();
        std::fs::write(folder.0.join("blobs-copy/schema.json"), b"").unwrap();
        let error = folder.open(Settings::default()).unwrap_err().to_string();
        assert!(error.contains("`schema.json` is missing, and its copy is cut short"), "{error}");
    }

    #[test]
    fn lost_truncation_marks_can_be_done_without_and_a_lost_schema_cannot() {
        let folder = Folder::new("layout-accepted");
        for name in ["truncations-0", "schema.json"] {
            folder.open(Settings::default()).unwrap().blob_store.replace(name, b"{}").unwrap();
            for directory in ["blobs", "blobs-copy"] {
                std::fs::remove_file(folder.0.join(directory).join(name)).unwrap();
            }
            assert!(matches!(folder.open(Settings::default()), Err(LayoutError::BlobsLost { .. })));
            let accepted = folder.open_with(Settings::default(), Losses::Accepted);
            assert_eq!(accepted.is_ok(), name == "truncations-0");
            if accepted.is_ok() {
                drop(accepted);
                folder.open(Settings::default()).unwrap();
            }
        }
    }

    #[test]
    fn a_first_start_that_was_cut_off_goes_on_with_its_identity() {
        let folder = Folder::new("layout-first");
        let identity = folder.open(Settings::default()).unwrap().identity;
        for name in [LAYOUT, LAYOUT_COPY, "blobs/manifest", "blobs-copy/manifest", "blobs-copy/identity"] {
            std::fs::remove_file(folder.0.join(name)).unwrap();
        }
        assert_eq!(folder.open(Settings::default()).unwrap().identity, identity);
    }

    #[test]
    fn files_of_another_node_are_told_from_those_of_this_one() {
        let (folder, other) = (Folder::new("layout-this"), Folder::new("layout-other"));
        let identity = folder.open(Settings::default()).unwrap().identity;
        drop(other.open(Settings { cores: Some(1), ..Settings::default() }).unwrap());
        for name in [LAYOUT, LAYOUT_COPY, "blobs/identity", "blobs-copy/identity", "blobs/manifest", "blobs-copy/manifest"] {
            std::fs::copy(other.0.join(name), folder.0.join(name)).unwrap();
            let opened = folder.open(Settings::default()).unwrap();
            assert_eq!((opened.identity, opened.cores), (identity, 3), "{name}");
        }
    }

    #[test]
    fn a_directory_from_before_seals_is_used_and_sealed() {
        let folder = Folder::new("layout-before");
        let identity = folder.open(Settings::default()).unwrap().identity;
        unseal(&folder, "format = 1\ncores = 3\ncapacity = 1073741824\n");
        std::fs::remove_dir_all(folder.0.join("blobs-copy")).unwrap();
        std::fs::remove_file(folder.0.join("blobs/manifest")).unwrap();
        std::fs::write(folder.0.join("blobs/identity"), identity::encode(identity)).unwrap();
        std::fs::write(folder.0.join("blobs/schema.json"), b"{}").unwrap();
        for _ in 0..2 {
            let opened = folder.open(Settings::default()).unwrap();
            assert_eq!((opened.identity, &opened.blobs["schema.json"][..]), (identity, &b"{}"[..]));
        }
        assert!(open_blob("schema.json", &std::fs::read(folder.0.join("blobs-copy/schema.json")).unwrap()).is_ok());
    }
}
