//! Rows of several containers of one partition: put as one atomic group, read as of one moment.

use super::head::{self, check_options, check_transaction};
use super::lookup::visit_at_once;
use super::request::{READ, Request, WRITE, check_undivided};
use super::{by_key, rows};
use crate::container::Container;
use crate::failure::Failure;
use crate::row::{RowReader, RowSet, SentRow};
use crate::schema::{ByName, ColumnDefinition, Kind, names_of, read_columns, write_columns};
use crate::wire::{Options, Reader, put_i32};
use crate::{ContainerName, ElementType, ErrorCode, GridError};
use model::operation::{Context, Direction, FIRST_ROW_BYTE, RowStore, Visit, WriteSet};
use std::sync::Arc;

/// How many schemas, predicates or containers a statement has at most.
const PARTS_MAX: usize = 65_536;
/// So many rows of a predicate's keys are read from the device at a time: a statement of clients' usual thousand begins anew a few times at most.
const KEYS_AT_ONCE: usize = 256;
/// How many row keys a statement looks for: those of a predicate for each container that it is for.
const KEYS_MAX: usize = 1 << 20;
/// The type of a row key of several columns.
const COMPOSITE: u8 = 0xFF;

/// PUT_MULTIPLE_CONTAINER_ROWS.
pub(super) struct PutContainers<'a> {
    parts: Vec<(&'a Arc<Container>, Vec<SentRow<'a>>)>,
}

impl<'a> PutContainers<'a> {
    pub(super) fn read(request: &Request<'a>, mut reader: Reader<'a>) -> Result<Self, GridError> {
        head::uuid(&mut reader)?;
        Options::read(&mut reader)?;
        let schemas = count(&mut reader)?;
        let schemas = (0..schemas).map(|_| SentSchema::read(&mut reader)).collect::<Result<Vec<_>, _>>()?;
        let containers = count(&mut reader)?;
        let mut parts = Vec::with_capacity(containers.min(PARTS_MAX));
        for _ in 0..containers {
            let _statement = reader.i64()?;
            let container = request.container(reader.i64()?, WRITE)?;
            let _session = reader.i64()?;
            let _session_mode = reader.u8()?;
            check_transaction(reader.u8()?)?;
            check_options(&Options::read(&mut reader)?)?;
            let schema = usize::try_from(reader.i32()?).ok().and_then(|schema| schemas.get(schema));
            let schema = schema.ok_or(GridError::malformed("a schema that is not listed"))?;
            let mut body = Reader::new(reader.bytes()?);
            parts.push((container, schema.read_rows(container, &mut body)?));
        }
        Ok(Self { parts })
    }

    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Arc<Container>> + '_ {
        self.parts.iter().map(|(container, _)| *container)
    }

    pub(super) fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet) -> Result<(), Failure> {
        self.parts.iter().try_for_each(|(container, rows)| by_key::put_all(container, rows, context, store, writes))
    }
}

/// The columns of rows that are sent, which may be in another order than the container's.
struct SentSchema {
    kind: Kind,
    columns: Vec<ColumnDefinition>,
    by_name: ByName,
    key_len: usize,
}

impl SentSchema {
    fn read(reader: &mut Reader<'_>) -> Result<Self, GridError> {
        let kind = Kind::of_wire(reader.u8()?)?.ok_or(GridError::malformed("a schema without a type of container"))?;
        let (columns, key_len) = read_columns(reader)?;
        Ok(Self { kind, by_name: names_of(&columns), columns, key_len })
    }

    fn read_rows<'a>(&self, container: &Container, reader: &mut Reader<'a>) -> Result<Vec<SentRow<'a>>, GridError> {
        let rows_count = reader.i64()?;
        if rows_count == 0 {
            return Ok(Vec::new());
        }
        let definition = &container.definition;
        let positions = definition.positions_among(self.kind, (&self.columns, &self.by_name), self.key_len).ok_or_else(|| {
            let message = format!("the rows for the container {} have other columns than it", definition.name);
            GridError::new(ErrorCode::DS_DS_SCHEMA_INVALID, message)
        })?;
        let mut rows = RowReader::new(&self.columns, rows_count, reader)?.read_all()?;
        if !positions.iter().enumerate().all(|(position, sent)| position == *sent) {
            rows.iter_mut().for_each(|row| row.reorder(&positions));
        }
        Ok(rows)
    }
}

/// Which rows of a container are wanted.
enum Predicate<'a> {
    Range {
        from: Option<Keys<'a>>,
        to: Option<Keys<'a>>,
    },
    /// Of keys of several columns: those of its ends that it has.
    CompositeRange {
        has_from: bool,
        has_to: bool,
        ends: Keys<'a>,
    },
    Distinct(Keys<'a>),
}

/// Row keys as they were sent: how many, and their bytes.
#[derive(Clone, Copy)]
struct Keys<'a> {
    count: usize,
    bytes: &'a [u8],
}

/// GET_MULTIPLE_CONTAINER_ROWS.
pub(super) struct GetContainers<'a> {
    predicates: Vec<SentPredicate<'a>>,
    /// Each container, and which predicate is for it: its keys are decoded when it is its turn, as one predicate may be for many containers.
    parts: Vec<(&'a Arc<Container>, usize)>,
}

/// Encoded row keys.
enum Wanted {
    Range { from: Vec<u8>, to: Option<Vec<u8>> },
    Distinct(Vec<Vec<u8>>),
}

impl<'a> GetContainers<'a> {
    pub(super) fn read(request: &Request<'a>, mut reader: Reader<'a>) -> Result<Self, GridError> {
        head::uuid(&mut reader)?;
        let version = Options::read(&mut reader)?.acceptable_feature_version;
        let predicates = count(&mut reader)?;
        let predicates = (0..predicates).map(|_| SentPredicate::read(&mut reader)).collect::<Result<Vec<_>, _>>()?;
        let containers = count(&mut reader)?;
        let (mut parts, mut keys) = (Vec::with_capacity(containers.min(PARTS_MAX)), 0);
        for _ in 0..containers {
            check_options(&Options::read(&mut reader)?)?;
            let name = ContainerName::read(&mut reader)?;
            let at = usize::try_from(reader.i32()?).unwrap_or(usize::MAX);
            let predicate = predicates.get(at).ok_or(GridError::malformed("a predicate that is not listed"))?;
            // A container that is not there has no rows.
            if let Some(container) = request.allowed(&name, READ)? {
                check_undivided(container)?;
                container.check_client(version)?;
                predicate.check(container)?;
                keys += predicate.keys();
                if keys > KEYS_MAX {
                    let message = format!("a statement asks for at most {KEYS_MAX} row keys: ask for fewer at a time");
                    return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message));
                }
                parts.push((container, at));
            }
        }
        Ok(Self { predicates, parts })
    }

    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Arc<Container>> + '_ {
        self.parts.iter().map(|(container, _)| *container)
    }

    /// The schema of each container, then name, number of its schema and rows of each.
    pub(super) fn run(&self, store: &dyn RowStore, out: &mut Vec<u8>) -> Result<(), Failure> {
        put_i32(out, self.parts.len() as i32);
        for (container, _) in &self.parts {
            out.push(container.definition.kind as u8);
            write_columns(container.definition.columns.iter(), container.definition.key_len, out);
            rows::check_reply(out.len())?;
        }
        put_i32(out, self.parts.len() as i32);
        for (index, (container, predicate)) in self.parts.iter().enumerate() {
            container.definition.name.write(out);
            put_i32(out, index as i32);
            let mut found = RowSet::new(container, true, rows::REPLY_BYTES_MAX.saturating_sub(out.len()));
            match self.predicates[*predicate].of(container)? {
                Wanted::Range { from, to } => {
                    rows::scan(container, (&from, to.as_deref()), Direction::Forward, store, |row| {
                        found.push(row)?;
                        Ok(Visit::Continue)
                    })?;
                }
                Wanted::Distinct(keys) => {
                    visit_at_once(container, (&keys, KEYS_AT_ONCE), store, |row| {
                        found.push(row)?;
                        Ok(Visit::Continue)
                    })?;
                }
            }
            found.write_with_count(out);
        }
        Ok(())
    }
}

/// A predicate as it was sent, for containers whose row keys have these types.
struct SentPredicate<'a> {
    types: Vec<ElementType>,
    predicate: Predicate<'a>,
}

impl<'a> SentPredicate<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, GridError> {
        let single = reader.u8()?;
        let is_distinct = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return Err(GridError::malformed("a predicate that is not known")),
        };
        if single == COMPOSITE {
            return Self::read_composite(reader, is_distinct);
        }
        let element = ElementType::of_wire(single)?;
        let key = |reader: &mut Reader<'a>, count: usize| -> Result<Keys<'a>, GridError> {
            let start = reader.rest();
            for _ in 0..count {
                match element.fixed_bytes() {
                    Some(bytes) => reader.take(bytes)?,
                    None => reader.var_bytes()?,
                };
            }
            Ok(Keys { count, bytes: &start[..start.len() - reader.rest().len()] })
        };
        let predicate = if is_distinct {
            let count = reader.count()?;
            Predicate::Distinct(key(reader, count)?)
        } else {
            let mut bound = || if reader.bool()? { key(reader, 1).map(Some) } else { Ok(None) };
            Predicate::Range { from: bound()?, to: bound()? }
        };
        Ok(Self { types: vec![element], predicate })
    }

    /// Of keys of several columns all come at the end, after their size and number.
    fn read_composite(reader: &mut Reader<'a>, is_distinct: bool) -> Result<Self, GridError> {
        let columns = reader.count()?;
        let types = (0..columns).map(|_| ElementType::of_wire(reader.u8()?)).collect::<Result<Vec<_>, _>>()?;
        let bounds = if is_distinct { None } else { Some((reader.bool()?, reader.bool()?)) };
        let mut body = Reader::new(reader.bytes()?);
        let count = body.count()?;
        let predicate = match bounds {
            None => Predicate::Distinct(Keys { count, bytes: body.rest() }),
            Some((has_from, has_to)) if usize::from(has_from) + usize::from(has_to) == count => {
                Predicate::CompositeRange { has_from, has_to, ends: Keys { count, bytes: body.rest() } }
            }
            Some(_) => return Err(GridError::malformed("a range with more or fewer keys than it says")),
        };
        Ok(Self { types, predicate })
    }

    /// How many row keys it looks for in a container.
    fn keys(&self) -> usize {
        match &self.predicate {
            Predicate::Range { .. } | Predicate::CompositeRange { .. } => 1,
            Predicate::Distinct(keys) => keys.count,
        }
    }

    /// Refuses a container whose row key has other types.
    fn check(&self, container: &Container) -> Result<(), GridError> {
        let columns = container.key_columns();
        if !columns.iter().map(|column| column.element).eq(self.types.iter().copied()) {
            let message = format!("the predicate has other types than the row key of {}", container.definition.name);
            return Err(GridError::new(ErrorCode::DS_COL_ROWKEY_INVALID, message));
        }
        Ok(())
    }

    /// The row keys, as a container has them.
    fn of(&self, container: &Container) -> Result<Wanted, GridError> {
        let one = |keys: &Keys<'_>| rows::read_key(container, &mut Reader::new(keys.bytes));
        Ok(match &self.predicate {
            Predicate::Range { from, to } => Wanted::Range {
                from: from.as_ref().map_or_else(|| Ok(vec![FIRST_ROW_BYTE]), one)?,
                to: to.as_ref().map(one).transpose()?.map(rows::after),
            },
            Predicate::CompositeRange { has_from, has_to, ends } => {
                let mut ends = ends.of(container)?.into_iter();
                let from = if *has_from { ends.next() } else { None };
                let to = if *has_to { ends.next() } else { None };
                Wanted::Range { from: from.unwrap_or_else(|| vec![FIRST_ROW_BYTE]), to: to.map(rows::after) }
            }
            Predicate::Distinct(keys) => Wanted::Distinct(keys.of(container)?),
        })
    }
}

impl Keys<'_> {
    fn of(&self, container: &Container) -> Result<Vec<Vec<u8>>, GridError> {
        let mut reader = Reader::new(self.bytes);
        if container.definition.key_len == 1 {
            return (0..self.count).map(|_| rows::read_key(container, &mut reader)).collect();
        }
        let sent = RowReader::new(container.key_columns(), self.count as i64, &mut reader)?.read_all()?;
        let encode = |row: &SentRow<'_>| {
            let mut key = Vec::new();
            rows::key_of_row(container, row, &mut Vec::new(), &mut key).map(|()| key)
        };
        sent.iter().map(encode).collect()
    }
}

fn count(reader: &mut Reader<'_>) -> Result<usize, GridError> {
    let count = reader.count()?;
    if count > PARTS_MAX { Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, "a statement has too many parts")) } else { Ok(count) }
}
