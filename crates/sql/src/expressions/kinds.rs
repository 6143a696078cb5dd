//! What an expression gives, as far as its words tell.

use crate::tables::ColumnType;

/// What is known of what is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Exactly this.
    Of(ColumnType),
    /// A time of an argument whose type is not known: as precise as the statement's times may be.
    Time,
    /// A number: its first value tells which.
    Number,
    /// NULL, which is of any type.
    Null,
}

/// What compares with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    Truth,
    Number,
    Text,
    Time,
}

impl Category {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Truth => "a BOOL",
            Self::Number => "a number",
            Self::Text => "a STRING",
            Self::Time => "a TIMESTAMP",
        }
    }

    /// Whether GridDB compares them; times and truths compare with numbers, too, which they are to SQLite.
    pub(crate) fn compares(self, other: Self) -> bool {
        (self == Self::Text) == (other == Self::Text)
    }
}

impl Kind {
    pub(crate) const TEXT: Self = Self::Of(ColumnType::Text);
    pub(crate) const BOOL: Self = Self::Of(ColumnType::Bool);
    pub(crate) const LONG: Self = Self::Of(ColumnType::Long);
    pub(crate) const DOUBLE: Self = Self::Of(ColumnType::Double);

    /// The type of a column that holds it.
    pub(crate) fn column_type(self, is_precise: bool) -> Option<ColumnType> {
        match self {
            Self::Of(kind) => Some(kind),
            Self::Time if is_precise => Some(ColumnType::NanoTimestamp),
            Self::Time => Some(ColumnType::Timestamp),
            Self::Number | Self::Null => None,
        }
    }

    pub(crate) fn is_time(self) -> bool {
        matches!(self, Self::Time) || matches!(self, Self::Of(kind) if kind.is_time())
    }

    pub(crate) fn is_number(self) -> bool {
        match self {
            Self::Number => true,
            Self::Of(kind) => matches!(
                kind,
                ColumnType::Byte | ColumnType::Short | ColumnType::Integer | ColumnType::Long | ColumnType::Float | ColumnType::Double
            ),
            Self::Time | Self::Null => false,
        }
    }

    pub(crate) fn category(self) -> Option<Category> {
        match self {
            kind if kind.is_time() => Some(Category::Time),
            kind if kind.is_number() => Some(Category::Number),
            Self::BOOL => Some(Category::Truth),
            Self::TEXT => Some(Category::Text),
            _ => None,
        }
    }

    /// What TYPEOF says of it; nothing if only the value tells.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Of(kind) => kind.griddb_name(),
            Self::Time => "TIMESTAMP",
            Self::Number | Self::Null => "",
        }
    }

    /// Whether its values are whole numbers.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Of(ColumnType::Byte | ColumnType::Short | ColumnType::Integer | ColumnType::Long))
    }

    /// What something is that is one or the other.
    pub(crate) fn either(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one?, other?) {
            (Self::Null, kind) | (kind, Self::Null) => Some(kind),
            (one, other) if one == other => Some(one),
            (Self::Number, other) | (other, Self::Number) if other.is_number() => Some(Self::Number),
            (one, other) if one.is_whole() && other.is_whole() => Some(Self::LONG),
            // A column of real numbers holds whole ones, too.
            (one, other) if one.is_number() && other.is_number() => Some(Self::DOUBLE),
            (one, other) if one.is_time() && other.is_time() => Some(Self::more_precise(one, other)),
            _ => None,
        }
    }

    fn more_precise(one: Self, other: Self) -> Self {
        if one.digits() >= other.digits() { one } else { other }
    }

    /// Digits of a second that a time has; of a time of which nothing is known, as many as there may be.
    pub(crate) fn digits(self) -> usize {
        match self {
            Self::Of(ColumnType::Timestamp) => 3,
            Self::Of(ColumnType::MicroTimestamp) => 6,
            _ => 9,
        }
    }
}
