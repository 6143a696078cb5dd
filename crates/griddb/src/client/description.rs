//! Containers as clients are told of them: GET_CONTAINER_PROPERTIES, and CREATE_INDEX that makes what it tells.

use super::{ContainerId, no_options};
use crate::GridError;
use crate::container::IndexKind;
use crate::name::ContainerName;
use crate::partitioning::Partitioning;
use crate::schema::{ColumnDefinition, Kind, read_columns};
use crate::wire::{Reader, put_acceptable_version, put_i32, put_i64, put_string};

/// The properties that are asked for: number and name, columns, indexes.
const PROPERTIES: [u8; 3] = [0, 1, 6];

/// A property of this server's own: how a partitioned table's rows are divided.
pub const PARTITIONING: u8 = 127;

/// A container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its number, and the version of its schema.
    pub id: ContainerId,
    /// Its name.
    pub name: ContainerName,
    /// What it is.
    pub kind: Kind,
    /// Its columns.
    pub columns: Vec<ColumnDefinition>,
    /// How many of them, from the first, make the row key.
    pub key_len: usize,
    /// Its indexes.
    pub indexes: Vec<IndexDescription>,
    /// How its rows are divided, if it is a partitioned table and the client has asked for it.
    pub partitioning: Option<Partitioning>,
}

/// An index of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDescription {
    /// Its name; empty for one without.
    pub name: String,
    /// The positions of its columns.
    pub columns: Vec<usize>,
    /// What it is; none of another server's kind.
    pub kind: Option<IndexKind>,
}

/// The arguments of GET_CONTAINER_PROPERTIES about one container, or several.
pub fn get_properties(first: &ContainerName, others: &[ContainerName], out: &mut Vec<u8>) {
    ask_for(&PROPERTIES, first, others, out);
}

/// The same, which asks how a partitioned table's rows are divided, too: GridDB's own servers do not know that.
pub fn get_properties_and_partitioning(first: &ContainerName, others: &[ContainerName], out: &mut Vec<u8>) {
    ask_for(&[&PROPERTIES[..], &[PARTITIONING]].concat(), first, others, out);
}

fn ask_for(properties: &[u8], first: &ContainerName, others: &[ContainerName], out: &mut Vec<u8>) {
    put_acceptable_version(out);
    first.write(out);
    put_i32(out, properties.len() as i32);
    out.extend_from_slice(properties);
    if !others.is_empty() {
        put_i32(out, others.len() as i32 + 1);
        others.iter().for_each(|name| name.write(out));
    }
}

/// The answer about one of them; none if there is no such. About several: the first, then how many more (4 bytes), and these.
///
/// # Errors
/// It ends too early, or has a column that is not known.
pub fn read_properties(reader: &mut Reader<'_>) -> Result<Option<Description>, GridError> {
    if !reader.bool()? {
        return Ok(None);
    }
    let (mut identity, mut schema, mut indexes, mut partitioning) = (None, None, Vec::new(), None);
    for _ in 0..reader.count()? {
        let property = reader.u8()?;
        let mut value = Reader::new(reader.bytes()?);
        match property {
            0 => identity = Some((value.i32()?, value.i64()?, ContainerName::read(&mut value)?)),
            1 => {
                let kind = Kind::of_wire(value.u8()?)?.unwrap_or(Kind::Collection);
                schema = Some((kind, read_columns(&mut value)?));
            }
            PARTITIONING if !value.rest().is_empty() => {
                let text = value.string()?;
                let unreadable = || GridError::malformed("a partitioning that is none");
                partitioning = if text.is_empty() { None } else { Some(Partitioning::of_text(text).ok_or_else(unreadable)?) };
            }
            PARTITIONING => {}
            _ => indexes = read_indexes(&mut value)?,
        }
    }
    let missing = || GridError::malformed("a container without its properties");
    let ((version, id, name), (kind, (columns, key_len))) = (identity.ok_or_else(missing)?, schema.ok_or_else(missing)?);
    Ok(Some(Description { id: ContainerId { id, version }, name, kind, columns, key_len, indexes, partitioning }))
}

fn read_indexes(reader: &mut Reader<'_>) -> Result<Vec<IndexDescription>, GridError> {
    let mut indexes = Vec::new();
    for _ in 0..reader.count()? {
        let mut index = Reader::new(reader.bytes()?);
        let name = index.string()?.to_owned();
        let count = index.count()?;
        let column = |_| usize::try_from(index.i32()?).map_err(|_| GridError::malformed("a negative number of a column"));
        let columns = (0..count).map(column).collect::<Result<_, _>>()?;
        indexes.push(IndexDescription { name, columns, kind: IndexKind::of_wire(index.u8()?) });
    }
    Ok(indexes)
}

/// The arguments of CREATE_INDEX, and of DROP_INDEX with the `flags` that it has.
pub fn change_index(container: ContainerId, (name, columns, kind): (&str, &[usize], IndexKind), flags: &[u8], out: &mut Vec<u8>) {
    let mut index = Vec::new();
    put_string(&mut index, name);
    put_i32(&mut index, columns.len() as i32);
    columns.iter().for_each(|position| put_i32(&mut index, *position as i32));
    index.push(kind as u8);
    put_i64(out, container.id);
    put_i32(out, container.version);
    no_options(out);
    put_i32(out, index.len() as i32);
    out.extend_from_slice(&index);
    out.extend_from_slice(flags);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ElementType;
    use crate::schema::write_columns;
    use crate::testing::column;

    fn property(kind: u8, content: &[u8], out: &mut Vec<u8>) {
        out.push(kind);
        put_i32(out, content.len() as i32);
        out.extend_from_slice(content);
    }

    #[test]
    fn a_container_is_read_as_it_is_told() {
        let (name, columns) =
            (ContainerName::parse("Box"), [column("id", ElementType::Long, false), column("v", ElementType::String, true)]);
        let (mut identity, mut schema, mut indexes, mut index) = (Vec::new(), vec![1], Vec::new(), Vec::new());
        put_i32(&mut identity, 3);
        put_i64(&mut identity, 77);
        name.write(&mut identity);
        write_columns(columns.iter(), 1, &mut schema);
        put_string(&mut index, "by_v");
        put_i32(&mut index, 1);
        put_i32(&mut index, 1);
        index.push(IndexKind::Tree as u8);
        put_i32(&mut indexes, 1);
        put_i32(&mut indexes, index.len() as i32);
        indexes.extend_from_slice(&index);
        let mut told = vec![1];
        put_i32(&mut told, 3);
        property(0, &identity, &mut told);
        property(1, &schema, &mut told);
        property(6, &indexes, &mut told);
        let found = read_properties(&mut Reader::new(&told)).unwrap().unwrap();
        assert_eq!((found.id, found.kind, found.key_len), (ContainerId { id: 77, version: 3 }, Kind::TimeSeries, 1));
        assert_eq!((found.name, found.columns.len()), (name, 2));
        assert_eq!(found.indexes, [IndexDescription { name: "by_v".to_owned(), columns: vec![1], kind: Some(IndexKind::Tree) }]);
        assert_eq!(read_properties(&mut Reader::new(&[0])), Ok(None));
        for end in 1..told.len() {
            assert!(read_properties(&mut Reader::new(&told[..end])).is_err(), "{end}");
        }
    }
}
