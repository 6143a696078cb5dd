//! A statement that has been read, or one of time series that came without a text.

use super::aggregate::Aggregation;
use super::expression::Node;
use super::time::TimeUnit;
use super::value::{Value, is_number};
use crate::container::Container;
use crate::schema::ColumnDefinition;
use crate::{ErrorCode, GridError};
use model::aggregate::Spec;

/// What is asked of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub(super) what: What,
    pub(super) filter: Option<Node>,
    /// Columns to sort by, and whether the largest comes first; none where the order of keys does.
    pub(super) order: Vec<(usize, bool)>,
    pub(super) is_descending: bool,
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
    /// The first and the last time of a time series.
    pub(super) times: (Option<i64>, Option<i64>),
    pub(super) locks_rows: bool,
    pub(super) explained: Option<Explained>,
    /// Which columns of its rows are looked at, as [`crate::wire::Options`] has it.
    pub(super) columns: u64,
    /// What is made of its rows in place of them.
    pub(super) folded: Option<Spec>,
}

/// What is told of a statement instead of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explained {
    /// How it would be done.
    Plan,
    /// How it was done, and how many rows it has found.
    Analysis,
}

/// What a statement asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Rows,
    /// One value from a column; without a column from the rows themselves.
    Aggregate(Aggregation, Option<usize>),
    /// The rows that have a column's largest value, or its smallest.
    Extreme {
        column: usize,
        is_largest: bool,
    },
    /// The first row in the order of the scan.
    Nearest(TimeOperator, i64),
    Sampling(Sampling),
}

/// Which row of a time series, seen from a time; numbered as in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOperator {
    /// The last one that is not later.
    Previous,
    /// The last one that is earlier.
    PreviousOnly,
    /// The first one that is not earlier.
    Next,
    /// The first one that is later.
    NextOnly,
}

impl TimeOperator {
    /// The operator of a number.
    ///
    /// # Errors
    /// There is none.
    pub fn of_wire(number: u8) -> Result<Self, GridError> {
        let operators = [Self::Previous, Self::PreviousOnly, Self::Next, Self::NextOnly];
        operators.get(usize::from(number)).copied().ok_or(GridError::malformed("an operator of time that is not known"))
    }

    pub(super) fn is_backward(self) -> bool {
        matches!(self, Self::Previous | Self::PreviousOnly)
    }
}

/// What a sampled row holds where no row has that time; numbered as in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The row before; some columns are on the line to the row after.
    LinearOrPrevious,
    /// Empty values.
    Empty,
}

impl Interpolation {
    /// The mode of a number.
    ///
    /// # Errors
    /// There is none.
    pub fn of_wire(number: u8) -> Result<Self, GridError> {
        match number {
            0 => Ok(Self::LinearOrPrevious),
            1 => Ok(Self::Empty),
            _ => Err(GridError::malformed("a mode of interpolation that is not known")),
        }
    }
}

/// Rows at regular times.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// The first time, in milliseconds.
    pub start_ms: i64,
    /// No time is later.
    pub end_ms: i64,
    /// From one time to the next.
    pub interval: i64,
    /// What `interval` counts: a day or less.
    pub unit: TimeUnit,
    /// Columns that are on a line between rows.
    pub columns: Vec<usize>,
    /// What the others hold.
    pub interpolation: Interpolation,
}

impl Sampling {
    /// Milliseconds from one time to the next.
    pub(super) fn interval_ms(&self) -> Result<i64, GridError> {
        let invalid = || GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, "an interval is positive, of days or less");
        let length_ms = self.unit.length_ms().and_then(|length_ms| length_ms.checked_mul(self.interval));
        length_ms.filter(|length_ms| *length_ms > 0).ok_or_else(invalid)
    }
}

fn abuse(message: &'static str) -> GridError {
    GridError::new(ErrorCode::TQ_CONSTRAINT_SELECTION_ABUSE, message)
}

impl Select {
    pub(super) fn new(what: What) -> Self {
        let is_descending = matches!(what, What::Nearest(operator, _) if operator.is_backward());
        let filter = None;
        Self {
            what,
            filter,
            order: Vec::new(),
            is_descending,
            limit: None,
            offset: 0,
            times: (None, None),
            locks_rows: false,
            explained: None,
            columns: u64::MAX,
            folded: None,
        }
    }

    /// The rows of a time series between two times, both included.
    ///
    /// # Errors
    /// The container is no time series.
    pub fn time_range(
        container: &Container,
        start_ms: Option<i64>,
        end_ms: Option<i64>,
        is_descending: bool,
        limit: Option<u64>,
    ) -> Result<Self, GridError> {
        time_series(container)?;
        Ok(Self { times: (start_ms, end_ms), is_descending, limit, ..Self::new(What::Rows) })
    }

    /// One value from a column of a time series between two times, both included.
    ///
    /// # Errors
    /// The container is no time series, or the column has no such aggregation.
    pub fn time_aggregate(
        container: &Container,
        start_ms: i64,
        end_ms: i64,
        column: Option<usize>,
        aggregation: Aggregation,
    ) -> Result<Self, GridError> {
        time_series(container)?;
        aggregation.check(column.map(|column| column_of(container, column)).transpose()?)?;
        Ok(Self { times: (Some(start_ms), Some(end_ms)), ..Self::new(What::Aggregate(aggregation, column)) })
    }

    /// The row of a time series that is next to a time.
    ///
    /// # Errors
    /// The container is no time series.
    pub fn time_nearest(container: &Container, operator: TimeOperator, time_ms: i64) -> Result<Self, GridError> {
        time_series(container)?;
        Ok(Self { limit: Some(1), ..Self::new(What::Nearest(operator, time_ms)) })
    }

    /// The row of a time series at a time; a column is on the line between the rows around it.
    ///
    /// # Errors
    /// The container is no time series, or the column is no number.
    pub fn time_interpolated(container: &Container, time_ms: i64, column: usize) -> Result<Self, GridError> {
        let (interpolation, unit) = (Interpolation::LinearOrPrevious, TimeUnit::Millisecond);
        let sampling = Sampling { start_ms: time_ms, end_ms: time_ms, interval: 1, unit, columns: vec![column], interpolation };
        Self::time_sampling(container, sampling)
    }

    /// Rows of a time series at regular times.
    ///
    /// # Errors
    /// The container is no time series, a column is no number, or the interval cannot be.
    pub fn time_sampling(container: &Container, sampling: Sampling) -> Result<Self, GridError> {
        time_series(container)?;
        sampling.interval_ms()?;
        // Its columns say nothing then, but clients may send some.
        let is_empty = sampling.interpolation == Interpolation::Empty;
        for column in &sampling.columns {
            let definition = column_of(container, *column)?;
            if definition.is_array || !is_number(definition.element) {
                return Err(abuse("only columns of numbers are on a line"));
            }
        }
        let times = if is_empty { (Some(sampling.start_ms), Some(sampling.end_ms)) } else { (None, None) };
        Ok(Self { times, ..Self::new(What::Sampling(sampling)) })
    }

    /// Whether the answer is rows, not one value.
    #[must_use]
    pub fn for_rows(&self) -> bool {
        !matches!(self.what, What::Aggregate(..))
    }

    /// Has the answer keep the keys of its rows, so that they can be locked.
    ///
    /// # Errors
    /// The answer is no rows of the container.
    pub fn lock_rows(&mut self) -> Result<(), GridError> {
        if matches!(self.what, What::Aggregate(..) | What::Sampling(_)) {
            return Err(GridError::new(ErrorCode::TQ_FOR_UPDATE_INVALID, "only a query for rows of the container locks them"));
        }
        self.locks_rows = true;
        Ok(())
    }

    /// Whether the answer keeps the keys of its rows.
    #[must_use]
    pub fn locks_rows(&self) -> bool {
        self.locks_rows
    }

    /// What is told instead of its answer.
    #[must_use]
    pub fn explained(&self) -> Option<Explained> {
        self.explained
    }

    /// Columns by which its rows are sorted beyond the order of keys, and whether the largest comes first.
    #[must_use]
    pub fn order(&self) -> &[(usize, bool)] {
        &self.order
    }

    /// Whether rows are to be pushed from the last key to the first.
    #[must_use]
    pub fn is_descending(&self) -> bool {
        self.is_descending
    }

    /// Whether rows come as they are scanned, so that a scan may end and go on elsewhere.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        self.what == What::Rows && self.order.is_empty() && self.explained.is_none()
    }

    /// How many rows it gives at most, if that is bounded.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// How many rows it leaves out first.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes on with what is left of OFFSET and LIMIT.
    pub fn resume(&mut self, offset: u64, limit: Option<u64>) {
        (self.offset, self.limit) = (offset, limit);
    }

    /// Tells which columns of its rows are looked at.
    pub fn look_at(&mut self, columns: u64) {
        self.columns = columns;
    }

    /// Makes aggregates of its rows, in place of them.
    ///
    /// # Errors
    /// It does not give all rows of a range as they come.
    pub fn fold(&mut self, spec: Spec) -> Result<(), GridError> {
        if !self.is_divisible() || self.limit.is_some() || self.offset > 0 || self.locks_rows {
            return Err(GridError::malformed("aggregates of something else than rows"));
        }
        self.folded = Some(spec);
        Ok(())
    }

    /// Allows at most so many rows.
    pub fn limit_to(&mut self, rows: u64) {
        self.limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
    }

    /// Sorts by these columns, unless the order of keys does so.
    pub(super) fn sort(&mut self, order: Vec<(usize, bool)>, container: &Container) {
        if let (Some((_, is_descending)), What::Rows) = (order.first(), &self.what) {
            let key_len = container.definition.key_len;
            let by_key = order.iter().take(key_len).enumerate();
            if key_len > 0 && by_key.clone().all(|(at, (column, descending))| *column == at && descending == is_descending) {
                self.is_descending = *is_descending;
                return;
            }
        }
        self.order = order;
    }
}

fn column_of(container: &Container, position: usize) -> Result<&ColumnDefinition, GridError> {
    let unknown = || GridError::new(ErrorCode::TQ_COLUMN_NOT_FOUND, format!("there is no column with the number {position}"));
    container.definition.columns.get(position).ok_or_else(unknown)
}

pub(super) fn time_series(container: &Container) -> Result<(), GridError> {
    if container.is_time_series() { Ok(()) } else { Err(abuse("selections by time are of time series only")) }
}

/// A time that has been read.
pub(super) fn time_of(node: &Node) -> Result<i64, GridError> {
    match node {
        Node::Value(Value::Time(time_ms)) => Ok(*time_ms),
        _ => Err(GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_TYPE, "a time is needed, like TIMESTAMP('…')")),
    }
}
