//! The block of options that most statements have: a size, then numbers with values whose types the numbers give.

use super::{Reader, put_i16, put_i32};
use crate::GridError;

/// From here up options come in groups with a size, so that those that are not known can be skipped.
const GROUPED_FROM: i16 = 11_000;

/// What a client says of the features that it knows.
const ACCEPTABLE_VERSION_OPTION: i16 = 11_005;
/// From here on clients know times more precise than a millisecond.
pub const PRECISE_TIMES_FEATURE: i32 = 5;

/// The number of this server's own option, and that of its group: others do not know it, and skip it.
pub const COLUMNS_OPTION: i16 = 29_001;
/// The same of the one that tells how a table is partitioned, or how that is to change.
pub const PARTITIONING_OPTION: i16 = 29_002;
/// The same of the one that tells what is made of rows in place of them.
pub const AGGREGATES_OPTION: i16 = 29_003;
/// The same of the one that names a column and gives it another name.
pub const RENAMING_OPTION: i16 = 29_004;
/// The same of the one that asks how rows were found.
pub const FIGURES_OPTION: i16 = 29_005;
/// Their group.
pub const OWN_GROUP: i16 = 29_000;

/// The options that mean something here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Rows are to be locked for an update.
    pub for_update: bool,
    /// After so many seconds the client's transactions are over.
    pub transaction_timeout_s: Option<i32>,
    /// The container is to be locked.
    pub container_lock: bool,
    /// The database that the connection is for.
    pub database: Option<&'a str>,
    /// How long a statement of SQL may take, in milliseconds; not bounded without, or if it is 0 or less.
    pub statement_timeout_ms: Option<i32>,
    /// How many rows a result of SQL has at most; not bounded if it is 0.
    pub fetch_limit: Option<i64>,
    /// How many rows of a result of SQL come at once; as the server likes if it is 0.
    pub fetch_size: Option<i64>,
    /// The time zone of a client of SQL: how many milliseconds later its clocks are than those of UTC.
    pub time_zone_ms: Option<i64>,
    /// Of this server's own: which columns of rows are looked at, a bit for each of the first 63 and one for all others; those that are not may read as null.
    pub columns: Option<u64>,
    /// Of this server's own: what is made of rows in place of them, an encoded [`model::aggregate::Spec`]. Members that do not know it give the rows.
    pub aggregates: Option<&'a [u8]>,
    /// Of this server's own, with PUT_CONTAINER: how the table is partitioned, as [`crate::partitioning`] has it as a text; empty to change its columns; or a
    /// change of its data partitions.
    pub partitioning: Option<&'a str>,
    /// Of this server's own, with PUT_CONTAINER: a column of the container, and the name that it gets.
    pub renaming: Option<(&'a str, &'a str)>,
    /// Of this server's own: how rows were found is told with them. Members that do not know it tell nothing.
    pub figures: bool,
    /// The version of features that the schema in the statement needs: what follows the schema depends on it.
    pub feature_version: Option<i32>,
    /// The latest version of features that the client knows: it is not told of columns of later ones.
    pub acceptable_feature_version: i32,
}

/// Appends the block of options of a client that knows times of every precision.
pub fn put_acceptable_version(out: &mut Vec<u8>) {
    const VALUE_BYTES: i32 = 6;
    put_i32(out, 6 + VALUE_BYTES);
    put_i16(out, GROUPED_FROM);
    put_i32(out, VALUE_BYTES);
    put_i16(out, ACCEPTABLE_VERSION_OPTION);
    put_i32(out, PRECISE_TIMES_FEATURE);
}

impl<'a> Options<'a> {
    /// Reads a block.
    ///
    /// # Errors
    /// A block that ends too early, or an option whose length is not known.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, GridError> {
        let mut block = Reader::new(reader.bytes()?);
        let mut options = Self::default();
        while !block.rest().is_empty() {
            let id = block.i16()?;
            if id >= GROUPED_FROM {
                let mut group = Reader::new(block.bytes()?);
                options.read_group(&mut group)?;
                continue;
            }
            match id {
                2 => options.for_update = block.bool()?,
                3 => options.container_lock = block.bool()?,
                0 | 4 | 8 => drop(block.u8()?),
                5 => options.database = Some(block.string()?),
                1 => options.transaction_timeout_s = Some(block.i32()?),
                6 | 7 => drop(block.i32()?),
                10_001 => options.statement_timeout_ms = Some(block.i32()?),
                10_002 => options.fetch_limit = Some(block.i64()?),
                10_003 => options.fetch_size = Some(block.i64()?),
                _ => return Err(GridError::malformed("an option that is not known")),
            }
        }
        Ok(options)
    }

    /// Options of later versions. What follows one that is not known is skipped.
    fn read_group(&mut self, group: &mut Reader<'a>) -> Result<(), GridError> {
        while !group.rest().is_empty() {
            match group.i16()? {
                11_001 => drop(group.take(24)?),
                11_004 => self.feature_version = Some(group.i32()?),
                ACCEPTABLE_VERSION_OPTION => self.acceptable_feature_version = group.i32()?,
                11_002 | 11_006 => drop(group.i32()?),
                11_011 => self.time_zone_ms = Some(group.i64()?),
                11_003 | 11_010 => drop(group.i64()?),
                11_007 | 11_012 | 11_013 => drop(group.u8()?),
                11_009 => drop(group.string()?),
                PARTITIONING_OPTION => self.partitioning = Some(group.string()?),
                RENAMING_OPTION => self.renaming = Some((group.string()?, group.string()?)),
                FIGURES_OPTION => self.figures = group.bool()?,
                AGGREGATES_OPTION => self.aggregates = Some(group.bytes()?),
                COLUMNS_OPTION => self.columns = Some(group.i64()? as u64),
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_sql_tells_its_time_zone() {
        let mut block = Vec::new();
        put_i32(&mut block, 16);
        put_i16(&mut block, GROUPED_FROM);
        put_i32(&mut block, 10);
        put_i16(&mut block, 11_011);
        block.extend_from_slice(&32_400_000_i64.to_le_bytes());
        let read = Options::read(&mut Reader::new(&block));
        assert_eq!(read.map(|options| options.time_zone_ms).ok(), Some(Some(32_400_000)));
        assert_eq!(Options::read(&mut Reader::new(&[0; 4])).map(|options| options.time_zone_ms).ok(), Some(None));
    }
}
