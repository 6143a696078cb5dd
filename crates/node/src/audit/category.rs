//! Categories of what is audited, by Cassandra's names.

/// What kind of thing a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Category {
    /// Reads.
    Query,
    /// Writes, and deletions of all rows.
    Dml,
    /// Changes of the schema.
    Ddl,
    /// Changes and listings of roles and permissions.
    Dcl,
    /// Log-ins, and requests that were refused for want of permissions.
    Auth,
    /// Requests that failed.
    Error,
    /// Statements that are prepared.
    Prepare,
    /// Everything else.
    Other,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 8] = [Self::Query, Self::Dml, Self::Ddl, Self::Dcl, Self::Auth, Self::Error, Self::Prepare, Self::Other];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Query => "QUERY",
            Self::Dml => "DML",
            Self::Ddl => "DDL",
            Self::Dcl => "DCL",
            Self::Auth => "AUTH",
            Self::Error => "ERROR",
            Self::Prepare => "PREPARE",
            Self::Other => "OTHER",
        }
    }

    /// The one of this name, in whichever case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.name().eq_ignore_ascii_case(name))
    }
}

/// Some categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Categories(u8);

impl Categories {
    /// All that are included, or all if none is named, without those that are excluded.
    #[must_use]
    pub fn new(included: &[Category], excluded: &[Category]) -> Self {
        let bits = |categories: &[Category]| categories.iter().fold(0, |bits, category| bits | 1 << *category as u8);
        let included = if included.is_empty() { u8::MAX } else { bits(included) };
        Self(included & !bits(excluded))
    }

    /// Whether this one is among them.
    #[inline]
    #[must_use]
    pub fn contains(self, category: Category) -> bool {
        self.0 & 1 << category as u8 != 0
    }
}
