//! What clients send: the arguments of statements, for those of this project that are clients themselves. `wire` has what is around them.

mod definition;
mod description;
mod part;

pub use definition::{put_container, put_partitioned_container, rename_column};
pub use description::{
    Description, IndexDescription, PARTITIONING, change_index, get_properties, get_properties_and_partitioning, read_properties,
};
pub(crate) use part::FIGURES;
pub use part::{Access, Figures, Part, read_aggregated_part, read_part};

use crate::GridError;
use crate::name::ContainerName;
use crate::row::RowsWriter;
use crate::schema::{ElementType, Kind};
use crate::wire::{Reader, put_acceptable_version, put_i16, put_i32, put_i64, put_string};
use base::checksum;

/// The version of the protocol that is spoken.
pub(crate) const VERSION: i32 = 15;
/// How clients send what they have of a password: its SHA-256. Others are challenges, which take more than is stored of a password.
pub const AUTHENTICATION_MODE: u8 = 0;
/// How partitions follow from names: by their CRC-32, not their MD5.
pub(crate) const HASH_MODE: u8 = 0;
/// How long the server may take to let a client in.
const LOGIN_TIMEOUT_S: i32 = 15;
const DATABASE_OPTION: i16 = 5;
const UUID_BYTES: usize = 16;
/// What a result of a query is that has rows.
const ROWS: u8 = 0;

/// What LOGIN says.
#[derive(Clone, Copy, Debug)]
pub struct LoginArguments<'a> {
    /// The user's name.
    pub user: &'a str,
    /// SHA-256 of the password, in hexadecimal.
    pub digest: &'a str,
    /// The cluster's name; any if it is empty.
    pub cluster_name: &'a str,
    /// The database; that of those who name none without.
    pub database: Option<&'a str>,
}

/// A container's number, and the version of its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerId {
    /// Its number.
    pub id: i64,
    /// How often its columns have changed.
    pub version: i32,
}

/// Where partitions are, as the master tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitions {
    /// How many there are.
    pub count: u32,
    /// Whether they follow from names as [`partition_of`] says.
    pub is_by_crc: bool,
}

/// The arguments of CONNECT: plaintext is what the client speaks.
pub fn connect(out: &mut Vec<u8>) {
    put_i32(out, VERSION);
    put_i32(out, 2);
    out.extend_from_slice(&[1, 0]);
}

/// How the server that answered CONNECT lets clients in: [`AUTHENTICATION_MODE`], or by a challenge.
///
/// # Errors
/// The answer ends too early.
pub fn read_connected(reader: &mut Reader<'_>) -> Result<u8, GridError> {
    reader.u8()
}

/// The arguments of LOGIN.
pub fn log_in(arguments: &LoginArguments<'_>, out: &mut Vec<u8>) {
    match arguments.database {
        Some(database) => {
            put_i32(out, (size_of::<i16>() + size_of::<i32>() + database.len()) as i32);
            put_i16(out, DATABASE_OPTION);
            put_string(out, database);
        }
        None => no_options(out),
    }
    put_string(out, arguments.user);
    put_string(out, arguments.digest);
    put_i32(out, LOGIN_TIMEOUT_S);
    // By the owner of partitions only.
    out.push(1);
    put_string(out, arguments.cluster_name);
    out.push(AUTHENTICATION_MODE);
}

/// The arguments of GET_PARTITION_ADDRESS that asks for the master.
pub fn find_master(out: &mut Vec<u8>) {
    no_options(out);
    out.push(1);
}

/// The answer to it.
///
/// # Errors
/// It ends too early, or there are no partitions.
pub fn read_master(reader: &mut Reader<'_>) -> Result<Partitions, GridError> {
    let count = u32::try_from(reader.i32()?).ok().filter(|count| *count > 0);
    let count = count.ok_or(GridError::malformed("a number of partitions that cannot be"))?;
    let (_owners, _backups, _is_master) = (reader.u8()?, reader.u8()?, reader.u8()?);
    Ok(Partitions { count, is_by_crc: reader.u8()? == HASH_MODE })
}

/// The partition of a name, among so many: of its affinity if it has one, else of its base.
#[must_use]
pub fn partition_of(name: &ContainerName, partitions: u32) -> i32 {
    let text = name.table_name();
    let hashed = |text: &str| checksum(text.as_bytes()) % partitions;
    let partition = match text.split_once('@') {
        None => hashed(&text),
        Some((_, affinity)) => match affinity.parse::<u64>() {
            Ok(number) if number.to_string() == affinity => (number % u64::from(partitions)) as u32,
            _ => hashed(affinity),
        },
    };
    partition as i32
}

/// The block of options of a statement that has none.
pub fn no_options(out: &mut Vec<u8>) {
    put_i32(out, 0);
}

/// The arguments of GET_CONTAINER and of DROP_CONTAINER.
pub fn name_container(name: &ContainerName, kind: Kind, out: &mut Vec<u8>) {
    no_options(out);
    name.write(out);
    out.push(kind as u8);
}

/// The answer to GET_CONTAINER; none if there is no such.
///
/// # Errors
/// It ends too early.
pub fn read_container(reader: &mut Reader<'_>) -> Result<Option<ContainerId>, GridError> {
    if !reader.bool()? {
        return Ok(None);
    }
    Ok(Some(ContainerId { version: reader.i32()?, id: reader.i64()? }))
}

/// The arguments of GET_PARTITION_CONTAINER_NAMES from one position on.
pub fn list_containers(start: usize, out: &mut Vec<u8>) {
    no_options(out);
    put_i64(out, start as i64);
    put_i64(out, i64::MAX);
}

/// The answer to it: how many there are, and some of them.
///
/// # Errors
/// It ends too early, or a name is none.
pub fn read_names(reader: &mut Reader<'_>) -> Result<(i64, Vec<ContainerName>), GridError> {
    let total = reader.i64()?;
    let names = (0..reader.count()?).map(|_| ContainerName::read(reader)).collect::<Result<_, _>>()?;
    Ok((total, names))
}

/// What statements about rows of one container begin with, outside of transactions.
pub fn head(container: ContainerId, out: &mut Vec<u8>) {
    put_i64(out, container.id);
    // No session, no client that transactions would know.
    put_i64(out, 0);
    out.extend_from_slice(&[0; UUID_BYTES]);
    put_i32(out, container.version);
    // Neither begins a session nor a transaction.
    out.extend_from_slice(&[0, 0]);
    no_options(out);
}

/// The arguments of QUERY_TQL: at most so many rows, all at once.
pub fn query(container: ContainerId, rows_max: u64, text: &str, out: &mut Vec<u8>) {
    head(container, out);
    put_i64(out, i64::try_from(rows_max).unwrap_or(i64::MAX));
    put_i64(out, 0);
    // Not in parts.
    out.extend_from_slice(&[0; 5]);
    put_string(out, text);
}

/// The arguments of QUERY_TQL that is executed in parts: the first one, or with the state that the one before has told.
pub fn query_part(container: ContainerId, state: Option<&[u8]>, text: &str, out: &mut Vec<u8>) {
    head(container, out);
    put_i64(out, i64::MAX);
    put_i64(out, 0);
    out.extend_from_slice(state.unwrap_or(&[1, 0, 0, 0, 0]));
    put_string(out, text);
}

/// The arguments of PUT_MULTIPLE_ROWS.
pub fn put_rows(container: ContainerId, rows: &RowsWriter, out: &mut Vec<u8>) {
    head(container, out);
    put_i64(out, rows.rows() as i64);
    rows.write(out);
}

/// How many rows a query has found: the count of its first result of rows.
///
/// # Errors
/// The answer ends too early, or has no rows in it.
pub fn read_row_count(reader: &mut Reader<'_>) -> Result<usize, GridError> {
    for _ in 0..reader.count()? {
        let kind = reader.u8()?;
        let mut result = Reader::new(reader.bytes()?);
        if kind == ROWS {
            return usize::try_from(result.i64()?).map_err(|_| GridError::malformed("a negative number of rows"));
        }
    }
    Err(GridError::malformed("a result without rows"))
}

/// The arguments of GET_MULTIPLE_CONTAINER_ROWS for `count` rows of one container, whose keys of this type `write_keys` appends.
pub fn get_rows(name: &ContainerName, key: ElementType, count: usize, write_keys: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    const DISTINCT: u8 = 1;
    out.extend_from_slice(&[0; UUID_BYTES]);
    put_acceptable_version(out);
    // One predicate, then one container that it is for.
    put_i32(out, 1);
    out.extend_from_slice(&[key as u8, DISTINCT]);
    put_i32(out, count as i32);
    write_keys(out);
    put_i32(out, 1);
    no_options(out);
    name.write(out);
    put_i32(out, 0);
}

/// How many rows the answer to it has, which are all that is left then; none if the container is not there.
///
/// # Errors
/// It ends too early.
pub fn read_rows_head(reader: &mut Reader<'_>) -> Result<i64, GridError> {
    for _ in 0..reader.count()? {
        reader.u8()?;
        crate::schema::read_columns(reader)?;
    }
    if reader.count()? == 0 {
        return Ok(0);
    }
    ContainerName::read(reader)?;
    let _schema = reader.i32()?;
    reader.i64()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::row::RowReader;
    use crate::testing::column;

    #[test]
    fn partitions_follow_from_names_in_lower_case_and_from_affinities() {
        let of = |name: &str| partition_of(&ContainerName::parse(name), 128);
        assert_eq!(of("UserTable"), of("usertable"));
        assert_eq!(of("usertable"), (checksum(b"usertable") % 128) as i32);
        assert_eq!((of("a@7"), of("b@135")), (7, 7));
        assert_eq!(of("a@North"), of("b@north"));
    }

    #[test]
    fn rows_that_are_written_here_are_read_here() {
        let columns = [
            column("id", ElementType::String, false),
            column("count", ElementType::Integer, false),
            column("bytes", ElementType::Blob, false),
            column("texts", ElementType::String, true),
        ];
        let mut rows = RowsWriter::new(&columns);
        for _ in 0..2 {
            rows.clear();
            for (id, count) in [("one", 1_i32), ("two", 2)] {
                rows.begin();
                rows.put(&columns[0], Some(id.as_bytes()));
                rows.put(&columns[1], (count > 1).then_some(&count.to_le_bytes()[..]));
                rows.put_made(200, |out| out.resize(out.len() + 200, b'x'));
                rows.put(&columns[3], None);
            }
        }
        let mut sent = Vec::new();
        rows.write(&mut sent);
        let (mut values, mut read) = (Vec::new(), RowReader::new(&columns, rows.rows() as i64, &mut Reader::new(&sent)).unwrap());
        assert!(read.next_into(&mut values).unwrap());
        assert_eq!(values, [Some(&b"one"[..]), None, Some(&[b'x'; 200]), None]);
        assert!(read.next_into(&mut values).unwrap());
        assert_eq!(values, [Some(&b"two"[..]), Some(&[2, 0, 0, 0]), Some(&[b'x'; 200]), None]);
        assert!(!read.next_into(&mut values).unwrap());
    }

    #[test]
    fn answers_that_end_too_early_are_refused() {
        assert!(read_connected(&mut Reader::new(&[])).is_err());
        assert!(read_master(&mut Reader::new(&[0; 8])).is_err(), "no partitions");
        assert!(read_container(&mut Reader::new(&[1, 0])).is_err());
        assert!(read_names(&mut Reader::new(&[0; 9])).is_err());
        assert!(read_row_count(&mut Reader::new(&[1, 0, 0, 0, 4, 0, 0, 0, 0])).is_err(), "no result of rows");
        assert!(read_rows_head(&mut Reader::new(&[9, 0, 0, 0])).is_err());
    }
}
