//! The dictionary of a record set: which column has the values of a bin and kind.

use crate::column_id::ColumnId;

/// How many pairs of name and kind the sets of a namespace may have together.
pub const BINS_MAX: usize = 32_768;

pub(super) const BINS_FROM: u16 = 5;

/// The dictionary of a record set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSet {
    /// By column, from [`BINS_FROM`].
    bins: Vec<Bin>,
    /// Positions in `bins`, ordered by name and kind.
    ordered: Vec<u16>,
}

/// A pair of a bin's name and a kind of value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The bin's name.
    pub name: String,
    /// The protocol's number for the kind of value.
    pub kind: u8,
    /// Whether its column is a text.
    pub is_text: bool,
}

impl RecordSet {
    /// How many columns a set has besides those of its bins.
    pub(crate) const COLUMNS: usize = BINS_FROM as usize;

    /// The dictionary of these, in the order of their columns; `None` if a pair is there twice or there are too many.
    pub(crate) fn new(bins: Vec<Bin>) -> Option<Self> {
        if bins.len() > BINS_MAX {
            return None;
        }
        let mut ordered: Vec<u16> = (0..bins.len() as u16).collect();
        ordered.sort_by_key(|position| bins[usize::from(*position)].key());
        let twice = ordered.windows(2).any(|pair| bins[usize::from(pair[0])].key() == bins[usize::from(pair[1])].key());
        (!twice).then_some(Self { bins, ordered })
    }

    /// The column in which values of this kind of a bin are.
    #[inline]
    #[must_use]
    pub fn column(&self, name: &[u8], kind: u8) -> Option<ColumnId> {
        let found = self.ordered.binary_search_by(|position| self.bins[usize::from(*position)].key().cmp(&(name, kind)));
        found.ok().map(|index| ColumnId(BINS_FROM + self.ordered[index]))
    }

    /// As [`RecordSet::column`]; quicker when it is the one after `last`, as it is for clients that write bins in their usual order.
    #[inline]
    #[must_use]
    pub fn column_after(&self, last: Option<ColumnId>, name: &[u8], kind: u8) -> Option<ColumnId> {
        let next = ColumnId(last.map_or(BINS_FROM, |last| last.0 + 1));
        match self.bin(next) {
            Some(bin) if bin.key() == (name, kind) => Some(next),
            _ => self.column(name, kind),
        }
    }

    /// The columns of a bin, each with the kind of value that it holds.
    pub fn columns<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = (u8, ColumnId)> + 'a {
        let first = self.ordered.partition_point(|position| self.bins[usize::from(*position)].name.as_bytes() < name);
        let rest = self.ordered[first..].iter().map(|position| (*position, &self.bins[usize::from(*position)]));
        rest.take_while(move |(_, bin)| bin.name.as_bytes() == name).map(|(position, bin)| (bin.kind, ColumnId(BINS_FROM + position)))
    }

    /// The bin and kind that a column holds; `None` for what is not a bin.
    #[inline]
    #[must_use]
    pub fn bin(&self, column: ColumnId) -> Option<&Bin> {
        self.bins.get(usize::from(column.0.checked_sub(BINS_FROM)?))
    }

    /// All, in the order of their columns.
    #[must_use]
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    pub(super) fn add(&mut self, bin: Bin) -> ColumnId {
        let position = self.bins.len() as u16;
        let place = self.ordered.partition_point(|other| self.bins[usize::from(*other)].key() < bin.key());
        self.ordered.insert(place, position);
        self.bins.push(bin);
        ColumnId(BINS_FROM + position)
    }
}

impl Bin {
    fn key(&self) -> (&[u8], u8) {
        (self.name.as_bytes(), self.kind)
    }
}
