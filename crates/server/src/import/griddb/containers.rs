//! Which containers there are, and how the target gets one.

use super::super::error::ImportError;
use super::link::Link;
use griddb::client::{self, ContainerId, Description, get_properties, read_properties};
use griddb::wire::statement;
use griddb::{ContainerName, GridError};

/// Where it is kept how far an import has come.
pub(super) const STATE: &str = "tarndb_import";

/// The containers that are asked for, or all; and what is left out.
pub(super) fn choose(source: &mut Link<'_>, database: &str, wanted: &[String]) -> Result<(Vec<Description>, Vec<String>), ImportError> {
    let known = names(source)?;
    let is_state = |name: &ContainerName| name.to_string().eq_ignore_ascii_case(STATE);
    let mut chosen: Vec<ContainerName> = Vec::new();
    for text in wanted {
        let found = known.iter().find(|name| name.to_string().eq_ignore_ascii_case(text)).ok_or_else(|| {
            let known = known.iter().map(ContainerName::to_string).collect::<Vec<_>>().join(", ");
            ImportError::NoTable { keyspace: database.to_owned(), table: text.clone(), known }
        })?;
        if !chosen.contains(found) {
            chosen.push(found.clone());
        }
    }
    if wanted.is_empty() {
        chosen = known.into_iter().filter(|name| !name.is_system() && !is_state(name)).collect();
    }
    let (mut containers, mut left_out) = (Vec::new(), Vec::new());
    for name in chosen {
        match described(source, &name)? {
            Ok(Some(container)) => containers.push(container),
            // It was dropped meanwhile.
            Ok(None) => {}
            Err(error) => left_out.push(format!("container {name}: {}", error.message)),
        }
    }
    Ok((containers, left_out))
}

fn names(source: &mut Link<'_>) -> Result<Vec<ContainerName>, ImportError> {
    let mut names = Vec::new();
    for partition in 0..source.partitions()? {
        let start = names.len();
        loop {
            let place = (statement::GET_PARTITION_CONTAINER_NAMES, partition);
            let write = |out: &mut Vec<u8>| client::list_containers(names.len() - start, out);
            let (total, some) = source.ask_partition("names of containers", place, write, client::read_names)?;
            let is_last = some.is_empty();
            names.extend(some);
            if is_last || (names.len() - start) as i64 >= total {
                break;
            }
        }
    }
    Ok(names)
}

/// A container as a side tells it, or what is in it that is not known here.
pub(super) fn described(side: &mut Link<'_>, name: &ContainerName) -> Result<Result<Option<Description>, GridError>, ImportError> {
    let place = (statement::GET_CONTAINER_PROPERTIES, name);
    side.ask("to describe container", place, |out| get_properties(name, &[], out), |reader| Ok(read_properties(reader)))
}

/// Makes a container, unless it is there.
pub(super) fn make(target: &mut Link<'_>, container: &Description) -> Result<ContainerId, ImportError> {
    let Description { name, kind, columns, key_len, .. } = container;
    let write = |out: &mut Vec<u8>| client::put_container((name, *kind), (columns, *key_len), false, out);
    let read = |reader: &mut griddb::wire::Reader<'_>| Ok(ContainerId { version: reader.i32()?, id: reader.i64()? });
    target.ask("to make container", (statement::PUT_CONTAINER, name), write, read)
}

/// Drops a container.
pub(super) fn remove(target: &mut Link<'_>, container: &Description) -> Result<(), ImportError> {
    let write = |out: &mut Vec<u8>| client::name_container(&container.name, container.kind, out);
    target.ask("to drop container", (statement::DROP_CONTAINER, &container.name), write, |_| Ok(()))
}
