//! The ring of tokens in ranges, and what of them is left to do.

/// How many a table has: enough that many jobs end together, and few enough that small tables take no time.
pub(super) const RANGES: u64 = 256;

/// Tokens after `after` up to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) after: i64,
    pub(super) last: i64,
}

/// What one job does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Which of the plans.
    pub(super) plan: usize,
    pub(super) range: Range,
    /// The token after which the range begins of which this is what is left.
    pub(super) after: i64,
}

impl Range {
    /// Both halves; `None` for one token.
    pub(super) fn halves(self) -> Option<[Self; 2]> {
        let middle = i64::midpoint(self.after, self.last);
        let is_one = self.last.wrapping_sub(self.after) == 1;
        (!is_one).then_some([Self { last: middle, ..self }, Self { after: middle, ..self }])
    }
}

/// The whole ring. The least token is nobody's.
pub(super) fn all() -> Vec<Range> {
    let border = |number: u64| {
        let offset = (u128::from(number) << 64) / u128::from(RANGES);
        if number == RANGES { i64::MAX } else { i64::MIN.wrapping_add(offset as u64 as i64) }
    };
    (0..RANGES).map(|number| Range { after: border(number), last: border(number + 1) }).collect()
}

/// What is left of a range that is done up to `done_to`.
pub(super) fn left(range: Range, done_to: Option<i64>) -> Option<Range> {
    let after = done_to.map_or(range.after, |done_to| done_to.max(range.after));
    (after < range.last).then_some(Range { after, ..range })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_ring_once() {
        let ranges = all();
        assert_eq!((ranges.len() as u64, ranges[0].after, ranges[255].last), (RANGES, i64::MIN, i64::MAX));
        assert!(ranges.windows(2).all(|pair| pair[0].last == pair[1].after && pair[0].after < pair[0].last));
    }

    #[test]
    fn what_is_done_is_not_left() {
        let range = Range { after: -10, last: 10 };
        assert_eq!(left(range, None), Some(range));
        assert_eq!(left(range, Some(3)), Some(Range { after: 3, last: 10 }));
        assert_eq!(left(range, Some(-50)), Some(range), "of another division of the ring");
        assert_eq!(left(range, Some(10)), None);
    }

    #[test]
    fn halves_end_at_one_token() {
        assert_eq!(Range { after: 0, last: 1 }.halves(), None);
        let [one, other] = Range { after: i64::MIN, last: i64::MAX }.halves().unwrap();
        assert_eq!((one.after, one.last, other.after, other.last), (i64::MIN, one.last, one.last, i64::MAX));
        let [one, other] = Range { after: -1, last: 1 }.halves().unwrap();
        assert_eq!((one.last, other.after), (0, 0));
        let [one, other] = Range { after: -3, last: -1 }.halves().unwrap();
        assert_eq!((one.last, other.after), (-2, -2));
    }
}
