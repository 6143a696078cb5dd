//! The fields of a message: what it is about, besides bins.

use super::WireError;

/// The numbers of fields.
#[allow(missing_docs, reason = "named as the protocol names them")]
pub mod field {
    pub const NAMESPACE: u8 = 0;
    pub const SET: u8 = 1;
    pub const KEY: u8 = 2;
    pub const RECORD_VERSION: u8 = 3;
    pub const DIGEST: u8 = 4;
    pub const TRANSACTION_ID: u8 = 5;
    /// A transaction's deadline; from clients before 2015, the digests of a batch.
    pub const TRANSACTION_DEADLINE: u8 = 6;
    pub const QUERY_ID: u8 = 7;
    pub const SOCKET_TIMEOUT: u8 = 9;
    pub const RECORDS_PER_SECOND: u8 = 10;
    pub const PARTITIONS: u8 = 11;
    pub const DIGESTS: u8 = 12;
    pub const RECORDS_MAX: u8 = 13;
    pub const INDEX_NAME: u8 = 21;
    pub const INDEX_RANGE: u8 = 22;
    pub const INDEX_CONTEXT: u8 = 23;
    pub const INDEX_EXPRESSION: u8 = 24;
    pub const INDEX_TYPE: u8 = 26;
    pub const UDF_PACKAGE: u8 = 30;
    pub const UDF_FUNCTION: u8 = 31;
    pub const UDF_ARGUMENTS: u8 = 32;
    pub const UDF_OPERATION: u8 = 33;
    pub const QUERY_BINS: u8 = 40;
    pub const BATCH: u8 = 41;
    pub const BATCH_WITH_SET: u8 = 42;
    pub const FILTER: u8 = 43;
}

/// The fields that are about a secondary index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexFields<'a> {
    /// Its name.
    pub name: Option<&'a [u8]>,
    /// The bin and the values that are wanted.
    pub range: Option<&'a [u8]>,
    /// The place within lists and maps that it is of.
    pub context: Option<&'a [u8]>,
    /// What of a list or map it is of: a byte.
    pub part: Option<&'a [u8]>,
    /// Whether it is of an expression.
    pub has_expression: bool,
}

impl IndexFields<'_> {
    /// Whether an index is asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.range.is_some() || self.name.is_some()
    }
}

/// The fields that are about a function of the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdfFields<'a> {
    /// Its module.
    pub module: Option<&'a [u8]>,
    /// Its name.
    pub function: Option<&'a [u8]>,
    /// Its arguments, a list in msgpack.
    pub arguments: Option<&'a [u8]>,
    /// What is done with it, of requests about many records.
    pub operation: Option<u8>,
}

impl UdfFields<'_> {
    /// Whether a function is to run.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self != Self::default()
    }
}

/// The fields that are about a transaction over several records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionFields {
    /// Which one.
    pub id: Option<u64>,
    /// The version that the client has read of the record.
    pub version: Option<u64>,
    /// When it is over, in seconds since the protocol's clock started.
    pub deadline_s: Option<u32>,
    /// Whether there is a deadline of another form: without a transaction it is an old client's batch.
    pub has_other_deadline: bool,
}

/// Bytes of a record's version.
pub const VERSION_BYTES: usize = 7;

impl TransactionFields {
    fn read(&mut self, kind: u8, data: &[u8]) -> Result<(), WireError> {
        match kind {
            field::TRANSACTION_ID => self.id = Some(u64::from_le_bytes(*fixed("a transaction's number", data)?)),
            field::RECORD_VERSION => {
                let mut bytes = [0; 8];
                bytes[..VERSION_BYTES].copy_from_slice(fixed::<VERSION_BYTES>("a record's version", data)?);
                self.version = Some(u64::from_le_bytes(bytes));
            }
            _ => match data.try_into() {
                Ok(deadline) => self.deadline_s = Some(u32::from_le_bytes(deadline)),
                Err(_) => self.has_other_deadline = true,
            },
        }
        Ok(())
    }
}

/// The fields that mean something here; the others are skipped, or noted when a request must not be served without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The namespace's name.
    pub namespace: Option<&'a [u8]>,
    /// The set's name.
    pub set: Option<&'a [u8]>,
    /// The key as the application knows it: a byte for its type, then the value.
    pub key: Option<&'a [u8]>,
    /// The key's digest.
    pub digest: Option<&'a [u8; 20]>,
    /// Which partitions a scan goes through: two bytes each, little-endian.
    pub partitions: Option<&'a [u8]>,
    /// After which records a scan goes on: twenty bytes each.
    pub digests: Option<&'a [u8]>,
    /// How many records a scan gives at most.
    pub records_max: Option<u64>,
    /// The number by which clients ask after a scan or query.
    pub query_id: Option<u64>,
    /// How many records a second a scan should give.
    pub records_per_second: Option<u32>,
    /// The records of a batch.
    pub batch: Option<&'a [u8]>,
    /// Names of the bins a query wants, in the form of old clients.
    pub query_bins: Option<&'a [u8]>,
    /// An expression that records have to meet.
    pub filter: Option<&'a [u8]>,
    /// Which secondary index is asked.
    pub index: IndexFields<'a>,
    /// Which function of the user's is to run.
    pub udf: UdfFields<'a>,
    /// The transaction over several records that it belongs to.
    pub transaction: TransactionFields,
}

fn fixed<'a, const N: usize>(what: &'static str, data: &'a [u8]) -> Result<&'a [u8; N], WireError> {
    data.try_into().map_err(|_| WireError::Length { what, bytes: data.len() })
}

impl<'a> Fields<'a> {
    /// Reads `count` fields and gives what follows them.
    #[inline]
    pub(super) fn read(mut rest: &'a [u8], count: u16) -> Result<(Self, &'a [u8]), WireError> {
        let mut fields = Self::default();
        for _ in 0..count {
            let (length, after) = rest.split_first_chunk::<4>().ok_or(WireError::Truncated("a field's length"))?;
            let (data, after) = match after.split_at_checked(u32::from_be_bytes(*length) as usize) {
                Some(split) => split,
                // The Java client counts a batch's filter, which is in front of it, as part of the batch, the last field.
                None if matches!(after, [field::BATCH | field::BATCH_WITH_SET, ..]) => (after, &[][..]),
                None => return Err(WireError::Truncated("a field")),
            };
            let (kind, data) = data.split_first().ok_or(WireError::Truncated("a field's type"))?;
            rest = after;
            match *kind {
                field::NAMESPACE => fields.namespace = Some(data),
                field::SET => fields.set = Some(data).filter(|set| !set.is_empty()),
                field::KEY => fields.key = Some(data),
                field::DIGEST => fields.digest = Some(fixed("a digest", data)?),
                field::PARTITIONS => fields.partitions = Some(data),
                field::DIGESTS => fields.digests = Some(data),
                field::RECORDS_MAX => fields.records_max = Some(u64::from_be_bytes(*fixed("a number of records", data)?)),
                field::RECORDS_PER_SECOND => {
                    fields.records_per_second = Some(u32::from_be_bytes(*fixed("a number of records", data)?));
                }
                field::QUERY_ID => fields.query_id = data.try_into().ok().map(u64::from_be_bytes),
                field::BATCH | field::BATCH_WITH_SET => fields.batch = Some(data),
                field::QUERY_BINS => fields.query_bins = Some(data),
                field::FILTER => fields.filter = Some(data),
                field::INDEX_NAME => fields.index.name = Some(data),
                field::INDEX_RANGE => fields.index.range = Some(data),
                field::INDEX_CONTEXT => fields.index.context = Some(data),
                field::INDEX_EXPRESSION => fields.index.has_expression = true,
                field::INDEX_TYPE => fields.index.part = Some(data),
                field::UDF_PACKAGE => fields.udf.module = Some(data),
                field::UDF_FUNCTION => fields.udf.function = Some(data),
                field::UDF_ARGUMENTS => fields.udf.arguments = Some(data),
                field::UDF_OPERATION => fields.udf.operation = Some(fixed::<1>("an operation", data)?[0]),
                field::TRANSACTION_ID | field::RECORD_VERSION | field::TRANSACTION_DEADLINE => fields.transaction.read(*kind, data)?,
                _ => {}
            }
        }
        Ok((fields, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_is_shorter_than_it_says_is_all_that_is_left() {
        let fields = [0, 0, 0, 2, field::FILTER, 0xC3, 0, 0, 0, 9, field::BATCH, 1, 2];
        let (read, rest) = Fields::read(&fields, 2).expect("two fields");
        assert_eq!((read.filter, read.batch, rest), (Some(&[0xC3][..]), Some(&[1, 2][..]), &[][..]));
        let others = [0, 0, 0, 9, field::SET, 1, 2];
        assert_eq!(Fields::read(&others, 1), Err(WireError::Truncated("a field")));
    }
}
