//! What follows when the layout names the new number of cores: new files take the places of old ones, small files follow, the mark goes.
//!
//! Each step may be done twice: the next start does all of them again if this one is cut off.

use super::error::RelayoutError;
use super::files::{new_buffer, new_file};
use super::onto;
use crate::data_dir::{DataDir, shard_buffer, shard_file};
use base::CoreId;
use node::{relaid_replication, replication_blob, truncations_blob};
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Does what a change of the number of cores has left to be done.
pub(super) fn finish(data_dir: &mut DataDir) -> Result<(), RelayoutError> {
    let Some(relaid) = data_dir.relaid().cloned() else { return Ok(()) };
    let (cores, directory) = (data_dir.cores, data_dir.path().to_owned());
    if let (Some(onto), Some(devices)) = (&relaid.onto, data_dir.devices_mut()) {
        onto::write(devices, cores, onto.directory.as_deref().unwrap_or(&directory), &onto.area_segments)?;
    }
    for core in 0..cores {
        replace(&new_buffer(&directory, core), &shard_buffer(&directory, core))?;
        if relaid.onto.is_none() {
            replace(&new_file(&directory, core), &shard_file(&directory, core))?;
        }
    }
    for core in cores..relaid.former_cores {
        remove(&shard_file(&directory, core))?;
        remove(&shard_buffer(&directory, core))?;
    }
    if let Some(onto) = &relaid.onto {
        if let Some(beyond) = onto.directory.as_deref().filter(|beyond| !beyond.exists()) {
            tracing::warn!(directory = %beyond.display(), "the copy is on the devices, and its directory is not there: if it is only not mounted, remove it");
        }
        remove_unfinished(&directory, onto.directory.as_deref())?;
    }
    sync(&directory)?;
    // No truncated row was copied.
    for core in 0..cores.max(relaid.former_cores) {
        replace_blob(data_dir, truncations_blob(CoreId(core)), Vec::new())?;
    }
    let former: Vec<&[u8]> =
        (0..relaid.former_cores).filter_map(|core| Some(&data_dir.blobs.get(&replication_blob(CoreId(core)))?[..])).collect();
    if former.iter().any(|blob| !blob.is_empty()) {
        for (core, blob) in relaid_replication(&former, &relaid.committed).into_iter().enumerate() {
            data_dir.replace_blob(&replication_blob(CoreId(core as u16)), blob)?;
        }
    }
    for core in cores..relaid.former_cores {
        replace_blob(data_dir, replication_blob(CoreId(core)), Vec::new())?;
    }
    Ok(data_dir.set_cores(cores, None)?)
}

/// Removes what a copy that was cut off has left, here and beyond the data directory.
pub(super) fn remove_unfinished(directory: &Path, beyond: Option<&Path>) -> Result<(), RelayoutError> {
    remove_copy(directory)?;
    match beyond {
        Some(beyond) if beyond.exists() => {
            remove_copy(beyond)?;
            match std::fs::remove_dir(beyond) {
                // Somebody keeps something there.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
                removed => removed.map_err(failed(beyond)),
            }
        }
        _ => Ok(()),
    }
}

fn remove_copy(directory: &Path) -> Result<(), RelayoutError> {
    let entries = std::fs::read_dir(directory).map_err(failed(directory))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("relayout-") && (name.ends_with(".data") || name.ends_with(".buffer")) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Refuses a directory for a copy that would be gone after a loss of power.
pub(super) fn check_lasts(directory: &Path) -> Result<(), RelayoutError> {
    let path = || directory.to_owned();
    match io_linux::is_in_memory(directory).map_err(|source| RelayoutError::NoDirectory { path: path(), source })? {
        true => Err(RelayoutError::InMemory { path: path() }),
        false => Ok(()),
    }
}

/// Makes the directory of a copy that is not made in the data directory: this process's alone.
pub(super) fn make(beyond: &Path) -> Result<(), RelayoutError> {
    let failed = |source| RelayoutError::NoDirectory { path: beyond.to_owned(), source };
    match DirBuilder::new().mode(0o700).create(beyond) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let own = std::fs::metadata("/proc/self").map_err(failed)?.uid();
            let found = beyond.symlink_metadata().map_err(failed)?;
            if !found.is_dir() || found.uid() != own || found.mode() & 0o022 != 0 {
                return Err(RelayoutError::NotOwn { path: beyond.to_owned() });
            }
        }
        made => made.map_err(failed)?,
    }
    beyond.parent().map_or(Ok(()), sync)
}

/// What is in the directory is so after a loss of power, too.
pub(super) fn sync(directory: &Path) -> Result<(), RelayoutError> {
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed(directory))
}

/// A blob that nobody has written stays away.
fn replace_blob(data_dir: &mut DataDir, name: String, content: Vec<u8>) -> Result<(), RelayoutError> {
    match data_dir.blobs.get(&name) {
        Some(before) if *before != content => Ok(data_dir.replace_blob(&name, content)?),
        _ => Ok(()),
    }
}

/// A file takes the place of another one; one that has done so already is not there.
fn replace(from: &Path, to: &Path) -> Result<(), RelayoutError> {
    ignore_missing(std::fs::rename(from, to)).map_err(failed(to))
}

fn remove(path: &Path) -> Result<(), RelayoutError> {
    ignore_missing(std::fs::remove_file(path)).map_err(failed(path))
}

fn ignore_missing(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> RelayoutError {
    let path = path.to_owned();
    move |source| RelayoutError::Finish { path, source }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::{Config, Host};
    use crate::layout::{Losses, Relaid};
    use crate::settings::Settings;
    use crate::testing::Folder;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    /// What is named in a directory for shards, with contents.
    fn shards(directory: &Path) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let named = entries.filter(|path| path.extension().is_some_and(|extension| extension == "data" || extension == "buffer"));
        let mut found: Vec<_> =
            named.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap())).collect();
        found.sort();
        found
    }

    #[test]
    fn a_change_that_was_cut_off_at_its_end_is_ended_at_the_next_start() {
        let directory = Folder::new("relayout");
        let settings = |cores| Settings { data_dir: Some(directory.to_path_buf()), cores, ..Settings::default() };
        let open = |cores| {
            let config = Config::new(settings(cores), Host { memory: io_linux::Memory::OfMachine(1 << 30) }).unwrap();
            DataDir::open(&config, Losses::Refused, 1).unwrap()
        };
        for done in 0..=6 {
            let _ = std::fs::remove_dir_all(&directory);
            let mut data_dir = open(Some(3));
            for core in 0..3 {
                std::fs::write(shard_file(&directory, core), "former").unwrap();
                std::fs::write(shard_buffer(&directory, core), "former").unwrap();
                data_dir.replace_blob(&truncations_blob(CoreId(core)), b"7 9\n".to_vec()).unwrap();
                data_dir.replace_blob(&replication_blob(CoreId(core)), b"committed 5\ntimestamp 4\nabsent 2 3\n".to_vec()).unwrap();
            }
            for core in 0..2 {
                std::fs::write(new_file(&directory, core), "new").unwrap();
                std::fs::write(new_buffer(&directory, core), "new").unwrap();
            }
            data_dir.set_cores(2, Some(Relaid { former_cores: 3, committed: vec![8, 9], onto: None })).unwrap();
            // So much was done before it was cut off.
            let moves = [(new_buffer(&directory, 0), shard_buffer(&directory, 0)), (new_file(&directory, 0), shard_file(&directory, 0))];
            moves.iter().take(done).for_each(|(from, to)| replace(from, to).unwrap());
            let rest = [new_buffer(&directory, 1), new_file(&directory, 1)];
            let to = [shard_buffer(&directory, 1), shard_file(&directory, 1)];
            rest.iter().zip(&to).take(done.saturating_sub(2)).for_each(|(from, to)| replace(from, to).unwrap());
            if done > 4 {
                remove(&shard_file(&directory, 2)).unwrap();
            }
            if done > 5 {
                data_dir.replace_blob(&truncations_blob(CoreId(0)), Vec::new()).unwrap();
            }
            drop(data_dir);

            let mut data_dir = open(None);
            assert_eq!((data_dir.cores, data_dir.relaid().is_some()), (2, true));
            finish(&mut data_dir).unwrap();
            let names = ["shard-0.buffer", "shard-0.data", "shard-1.buffer", "shard-1.data"];
            assert_eq!(shards(&directory), names.map(|name| (name.to_owned(), "new".to_owned())), "{done}");
            drop(data_dir);
            let data_dir = open(None);
            assert_eq!((data_dir.cores, data_dir.relaid()), (2, None));
            for core in 0..3 {
                assert!(data_dir.blobs[&truncations_blob(CoreId(core))].is_empty());
                let kept = std::str::from_utf8(&data_dir.blobs[&replication_blob(CoreId(core))]).unwrap();
                let expected = ["committed 8\ntimestamp 4\nabsent 2 0\n", "committed 9\ntimestamp 4\nabsent 2 0\n", ""];
                assert_eq!(kept, expected[usize::from(core)]);
            }
        }
    }

    #[test]
    fn what_a_copy_has_left_goes() {
        let directory = Folder::made("relayout-left");
        let [beyond, kept] = ["beyond", "kept"].map(|name| directory.join(name));
        for path in [&beyond, &kept] {
            make(path).unwrap();
            std::fs::write(path.join("relayout-0.data"), "").unwrap();
        }
        std::fs::write(kept.join("notes"), "").unwrap();
        for name in ["relayout-0.data", "relayout-12.buffer", "shard-0.data", "relayout-notes"] {
            std::fs::write(directory.join(name), "").unwrap();
        }
        remove_unfinished(&directory, Some(&beyond)).unwrap();
        remove_unfinished(&directory, Some(&beyond)).unwrap();
        remove_unfinished(&directory, Some(&kept)).unwrap();
        assert!(!beyond.exists() && kept.join("notes").exists() && !kept.join("relayout-0.data").exists());
        make(&kept).unwrap();
        std::fs::set_permissions(&kept, Permissions::from_mode(0o777)).unwrap();
        let error = make(&kept).unwrap_err().to_string();
        assert!(error.contains("others than the node own it or may write to it"), "{error}");
        std::fs::remove_dir_all(&kept).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["relayout-notes", "shard-0.data"]);
    }

    #[test]
    fn a_copy_is_not_made_in_memory() {
        let in_memory = ["/dev/shm", "/run", "/dev"].map(Path::new).into_iter().find(|path| io_linux::is_in_memory(path).unwrap_or(false));
        let error = check_lasts(in_memory.expect("a system has files in memory")).unwrap_err().to_string();
        assert!(error.contains("its files are in memory"), "{error}");
        assert!(check_lasts(Path::new("/does/not/exist")).unwrap_err().to_string().contains("name a directory that is there"));
        check_lasts(Path::new("/proc")).unwrap();
    }
}
