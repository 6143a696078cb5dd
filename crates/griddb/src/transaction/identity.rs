//! Whose a transaction is.

use crate::GridError;
use crate::wire::Reader;

pub(crate) const UUID_BYTES: usize = 16;
/// What an id takes as bytes.
pub(super) const ID_BYTES: usize = UUID_BYTES + 8;

/// A client's session of a container: it has one transaction at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransactionId {
    /// The client.
    pub(crate) uuid: [u8; UUID_BYTES],
    /// The client's number of the session.
    pub(crate) session: i64,
}

/// How a statement takes part in a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) id: TransactionId,
    /// The client's number of the statement.
    pub(crate) statement: i64,
    /// Whether it begins the transaction.
    pub(crate) begins: bool,
}

impl TransactionId {
    /// Reads a session's number and its client's identifier.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, GridError> {
        let session = reader.i64()?;
        Ok(Self { session, uuid: reader.uuid()? })
    }

    pub(super) fn to_bytes(self) -> [u8; ID_BYTES] {
        let mut bytes = [0; ID_BYTES];
        bytes[..UUID_BYTES].copy_from_slice(&self.uuid);
        bytes[UUID_BYTES..].copy_from_slice(&self.session.to_be_bytes());
        bytes
    }

    pub(super) fn of_bytes(bytes: &[u8; ID_BYTES]) -> Self {
        let (mut uuid, mut session) = ([0; UUID_BYTES], [0; 8]);
        uuid.copy_from_slice(&bytes[..UUID_BYTES]);
        session.copy_from_slice(&bytes[UUID_BYTES..]);
        Self { uuid, session: i64::from_be_bytes(session) }
    }
}
