//! Which containers there are, and how the target gets one.

use super::super::error::{IS_STATE, ImportError};
use super::link::Link;
use griddb::client::{self, ContainerId, Description, get_properties, read_properties};
use griddb::schema::{ColumnDefinition, read_columns};
use griddb::wire::statement;
use griddb::{ContainerName, GridError};
use load::target::TargetError;

/// What a server says of what it does not do.
const UNSERVED: &str = "TXN_STATEMENT_TYPE_UNSUPPORTED";

/// Where it is kept how far an import has come.
pub(super) const STATE: &str = "tarndb_import";

/// The containers that are asked for, or all; and what is left out.
pub(super) fn choose(source: &mut Link<'_>, database: &str, wanted: &[String]) -> Result<(Vec<Description>, Vec<String>), ImportError> {
    let known = names(source)?;
    let is_state = |name: &ContainerName| name.to_string().eq_ignore_ascii_case(STATE);
    let mut chosen: Vec<ContainerName> = Vec::new();
    for text in wanted {
        if text.eq_ignore_ascii_case(STATE) {
            return Err(ImportError::Unfit { keyspace: database.to_owned(), table: text.clone(), why: IS_STATE });
        }
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
            Ok(Some(container)) => match unserved(source, &container)? {
                None => containers.push(container),
                Some(why) => left_out.push(format!("container {name}: {why}")),
            },
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

/// Why clients of NoSQL are not given a container, if they are not: it is a partitioned table of TarnDB's.
fn unserved(source: &mut Link<'_>, container: &Description) -> Result<Option<String>, ImportError> {
    let Description { name, kind, .. } = container;
    let write = |out: &mut Vec<u8>| client::name_container(name, *kind, out);
    match source.ask("to get container", (statement::GET_CONTAINER, name), write, client::read_container) {
        Ok(_) => Ok(None),
        Err(ImportError::GridDb { error: TargetError::Refused { kind: UNSERVED, message, .. }, .. }) => Ok(Some(message)),
        Err(other) => Err(other),
    }
}

/// Makes a container, unless it is there. The server takes one whose columns are in another order for the same; rows are put in that of the source.
pub(super) fn make(target: &mut Link<'_>, container: &Description) -> Result<ContainerId, ImportError> {
    let Description { name, kind, columns, key_len, .. } = container;
    let write = |out: &mut Vec<u8>| client::put_container((name, *kind), (columns, *key_len), false, out);
    let read = |reader: &mut griddb::wire::Reader<'_>| {
        let (version, id, _) = (reader.i32()?, reader.i64()?, ContainerName::read(reader)?);
        Ok((ContainerId { id, version }, read_columns(reader)?))
    };
    let (id, (there, key_len)) = target.ask("to make container", (statement::PUT_CONTAINER, name), write, read)?;
    check(container, &there, key_len)?;
    Ok(id)
}

/// Refuses a container of the target whose columns, or their order, or row key are not the source's.
pub(super) fn check(container: &Description, there: &[ColumnDefinition], key_len: usize) -> Result<(), ImportError> {
    let Description { name, columns, .. } = container;
    let is_same = |(own, other): (&ColumnDefinition, &ColumnDefinition)| own.is_same(other);
    let difference = match columns.iter().zip(there).position(|pair| !is_same(pair)) {
        Some(at) => format!("column {} is {}, and {} at the source", at + 1, text(&there[at]), text(&columns[at])),
        None if columns.len() != there.len() => format!("it has {} columns, and {} at the source", there.len(), columns.len()),
        None if key_len != container.key_len => format!("its row key has {key_len} columns, and {} at the source", container.key_len),
        None => return Ok(()),
    };
    Err(ImportError::Differs { what: "container", name: name.to_string(), difference })
}

/// A column as SQL has it.
fn text(column: &ColumnDefinition) -> String {
    let ColumnDefinition { name, element, is_array, is_not_null } = column;
    format!("{name} {}{}{}", element.name(), if *is_array { "[]" } else { "" }, if *is_not_null { " NOT NULL" } else { "" })
}

/// Drops a container.
pub(super) fn remove(target: &mut Link<'_>, container: &Description) -> Result<(), ImportError> {
    let write = |out: &mut Vec<u8>| client::name_container(&container.name, container.kind, out);
    target.ask("to drop container", (statement::DROP_CONTAINER, &container.name), write, |_| Ok(()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use griddb::ElementType;
    use griddb::schema::Kind;

    #[test]
    fn a_container_is_the_same_by_its_columns_in_their_order_and_its_row_key() {
        let column = |name: &str, element| ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: false };
        let (a, b, c) = (column("a", ElementType::Long), column("b", ElementType::String), column("c", ElementType::String));
        let (name, id) = (ContainerName::parse("t"), ContainerId { id: 1, version: 0 });
        let columns = vec![a.clone(), b.clone(), c.clone()];
        let container = Description { id, name, kind: Kind::Collection, columns, key_len: 1, indexes: Vec::new(), partitioning: None };
        let differs = |there: &[&ColumnDefinition], key_len| {
            let there: Vec<ColumnDefinition> = there.iter().map(|column| (*column).clone()).collect();
            check(&container, &there, key_len).map_err(|error| error.to_string())
        };
        assert_eq!(differs(&[&a, &column("B", ElementType::String), &c], 1), Ok(()), "case does not matter");
        let array = ColumnDefinition { is_array: true, is_not_null: true, ..c.clone() };
        for (there, key_len, how) in [
            (&[&a, &c, &b][..], 1, "column 2 is c STRING, and b STRING at the source"),
            (&[&a, &b, &array], 1, "column 3 is c STRING[] NOT NULL, and c STRING at the source"),
            (&[&a, &b], 1, "it has 2 columns, and 3 at the source"),
            (&[&a, &b, &c, &column("d", ElementType::Long)], 1, "it has 4 columns, and 3 at the source"),
            (&[&a, &b, &c], 0, "its row key has 0 columns, and 1 at the source"),
        ] {
            let text = differs(there, key_len).unwrap_err();
            assert!(text.contains(how), "{text}");
        }
    }
}
