//! How many tables and columns there can be.

/// The id from which on tables are the system's; ids of user tables stay below.
pub const SYSTEM_TABLE_IDS_FROM: u32 = 0xFFFF_0000;

/// How many columns a table may have had in its time: their ids have 16 bits.
pub(super) const COLUMNS_MAX: usize = u16::MAX as usize;
