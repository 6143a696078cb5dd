//! Why text does not say a value.

use model::DataType;

/// The beginning of a client's text, as much of it as an error message repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt(Box<str>);

/// How many bytes of a text a message repeats.
const EXCERPT_BYTES_MAX: usize = 512;

impl Excerpt {
    /// The beginning of `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        if text.len() <= EXCERPT_BYTES_MAX {
            Self(text.into())
        } else {
            let end = (0..=EXCERPT_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            Self(format!("{}...", &text[..end]).into())
        }
    }
}

impl std::fmt::Display for Excerpt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a text should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An int.
    Int,
    /// A bigint or counter.
    Long,
    /// A smallint.
    Short,
    /// A tinyint.
    Byte,
    /// A varint.
    Varint,
    /// A decimal.
    Decimal,
    /// A float.
    Float,
    /// A double.
    Double,
    /// A boolean.
    Boolean,
    /// A UUID.
    Uuid,
    /// An IP address.
    Inet,
    /// Hexadecimal digits.
    Hex,
    /// `0x` and hexadecimal digits.
    BlobPrefix,
    /// A date.
    Date,
    /// A number of days.
    Days,
    /// A time of day.
    Time,
    /// Nanoseconds of a day.
    Nanoseconds,
    /// A timestamp.
    Timestamp,
    /// Milliseconds.
    Milliseconds,
    /// A duration.
    Duration,
}

/// A unit within a duration, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// `y`
    Years,
    /// `mo`
    Months,
    /// `w`
    Weeks,
    /// `d`
    Days,
    /// `h`
    Hours,
    /// `m`
    Minutes,
    /// `s`
    Seconds,
    /// `ms`
    Milliseconds,
    /// `us`
    Microseconds,
    /// `ns`
    Nanoseconds,
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Years => "years",
            Self::Months => "months",
            Self::Weeks => "weeks",
            Self::Days => "days",
            Self::Hours => "hours",
            Self::Minutes => "minutes",
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        })
    }
}

/// Text that does not say a value of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text has another form.
    #[error("{}", Message(*.form, .text))]
    Unreadable {
        /// What it should have been.
        form: Form,
        /// What it is.
        text: Excerpt,
    },
    /// A character beyond 7 bits.
    #[error("Invalid ASCII character in string literal")]
    NotAscii,
    /// A UUID of another version.
    #[error("TimeUUID supports only version 1 UUIDs")]
    TimeUuidVersion,
    /// A date before the first one.
    #[error("Input date {text} is less than min supported date -5877641-06-23T00:00Z")]
    DateTooEarly {
        /// The date.
        text: Excerpt,
    },
    /// A date after the last one.
    #[error("Input date {text} is greater than max supported date +5881580-07-11T00:00Z")]
    DateTooLate {
        /// The date.
        text: Excerpt,
    },
    /// A unit of a duration twice.
    #[error("Invalid duration. The {unit} are specified multiple times")]
    UnitTwice {
        /// The unit.
        unit: Unit,
    },
    /// A larger unit of a duration after a smaller one.
    #[error("Invalid duration. The {unit} should be after {after}")]
    UnitOrder {
        /// The unit that comes too early.
        unit: Unit,
        /// The one that it must follow.
        after: Unit,
    },
    /// Too long a duration.
    #[error("Invalid duration. The total number of {unit} must be less or equal to {most}")]
    DurationTooLong {
        /// The part of the duration that is too long.
        unit: Unit,
        /// Its largest value.
        most: i64,
    },
    /// The type has no text form.
    #[error("A value of type {ty} cannot be read from text")]
    NoTextForm {
        /// The type.
        ty: DataType,
    },
}

impl ParseError {
    #[cold]
    pub(super) fn unreadable(form: Form, text: &str) -> Self {
        Self::Unreadable { form, text: Excerpt::new(text) }
    }
}

struct Message<'a>(Form, &'a Excerpt);

impl std::fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(form, text) = self;
        let (before, after) = match form {
            Form::Int => ("Unable to make int from '", "'"),
            Form::Long => ("Unable to make long from '", "'"),
            Form::Short => ("Unable to make short from '", "'"),
            Form::Byte => ("Unable to make byte from '", "'"),
            Form::Varint => ("unable to make int from '", "'"),
            Form::Decimal => ("unable to make BigDecimal from '", "'"),
            Form::Float => ("Unable to make float from '", "'"),
            Form::Double => ("Unable to make double from '", "'"),
            Form::Boolean => ("Unable to make boolean from '", "'"),
            Form::Uuid => ("Unable to make UUID from '", "'"),
            Form::Inet => ("Unable to make inet address from '", "'"),
            Form::Hex => ("cannot parse '", "' as hex bytes"),
            Form::BlobPrefix => ("String representation of blob is missing 0x prefix: ", ""),
            Form::Date => ("Unable to coerce '", "' to a formatted date (long)"),
            Form::Days => ("Unable to make unsigned int (for date) from: '", "'"),
            Form::Time => ("(TimeType) Unable to coerce '", "' to a formatted time (long)"),
            Form::Nanoseconds => ("Unable to make long (for time) from: '", "'"),
            Form::Timestamp => ("Unable to parse a date/time from '", "'"),
            Form::Milliseconds => ("Unable to make long (for date) from: '", "'"),
            Form::Duration => ("Unable to convert '", "' to a duration"),
        };
        write!(f, "{before}{text}{after}")
    }
}
