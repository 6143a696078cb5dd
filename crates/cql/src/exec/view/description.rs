//! What descriptions of operations of views begin with.

use crate::wire::writer::write_string;
use model::Table;

// The first byte of a description. Those of batches are smaller.
pub(super) const COLLECT: u8 = 0x10;
pub(super) const APPLY: u8 = 0x11;
pub(super) const END: u8 = 0x12;
pub(super) const BUILD: u8 = 0x13;
pub(super) const ADVANCE: u8 = 0x14;

/// Appends which table it is, for a member that has it under the same name.
pub(super) fn write_table(out: &mut Vec<u8>, table: &Table) {
    write_string(out, &table.keyspace);
    write_string(out, &table.name);
}
