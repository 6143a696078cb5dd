//! What a statement in flight will have done, and what became of it.

pub(super) type Row = (Option<i32>, Option<String>);

/// What a statement in flight will have done.
pub(super) enum Effect {
    Plain(Vec<(i32, PlainChange)>),
    Wide(Vec<((i32, i32), Option<Row>)>),
    /// Everything in a partition.
    WidePartition(i32),
    Cas {
        key: i32,
        expected: Option<Option<i32>>,
        new: Option<i32>,
    },
    Counter(i32),
    Register(i32),
    Volatile(i32, i32),
    Lived {
        key: i32,
        a: i32,
        ttl_s: i64,
        sent_s: i64,
    },
    Truncated,
    Dropped,
    Created,
    /// A read of a row that nobody is writing.
    ReadPlain(i32),
    ReadRegister,
}

impl Effect {
    /// Whether it is of several partitions.
    pub(super) fn is_batch(&self) -> bool {
        matches!(self, Self::Plain(changes) if changes.len() > 1)
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum PlainChange {
    Insert(Row),
    Update(i32),
    Clear,
    Delete,
}

impl PlainChange {
    pub(super) fn apply(&self, row: Option<Row>) -> Option<Row> {
        match self {
            Self::Insert(new) => Some(new.clone()),
            Self::Update(a) => Some((Some(*a), row.and_then(|(_, b)| b))),
            Self::Clear => row.map(|(a, _)| (a, None)),
            Self::Delete => None,
        }
    }
}

/// Whether a statement was acknowledged, and when.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    At(u64),
    Unknown,
}
