//! Which range of clustering keys a candidate stands for.

use crate::config::Config;
use crate::index::{Candidate, Rows};

/// A page with less than this part of the rows it may have is not worth making, or is joined with the one after it.
pub(super) const WORTH_PART: usize = 4;

/// A range of clustering keys that pages are made of.
pub(super) struct Stretch {
    pub(super) low: Box<[u8]>,
    pub(super) high: Box<[u8]>,
    /// Whether it has no page yet.
    pub(super) is_gap: bool,
}

impl Stretch {
    /// The range that a candidate stands for.
    pub(super) fn choose(config: &Config, rows: &Rows, candidate: &Candidate) -> Option<Self> {
        let rows_max = config.page_rows_max;
        let mut key = &*candidate.key;
        if let Some((low, page)) = rows.pages().and_then(|pages| pages.covering(key)) {
            let pages = rows.pages()?;
            let mut high = pages.high_of(low, page);
            if page.overlay >= config.overlay_rows_max() || (candidate.purge && page.overlay > 0) {
                let few = |rows: usize| rows < rows_max.div_ceil(WORTH_PART);
                if few((page.rows + page.overlay) as usize)
                    && let Some(next) = pages.at(high)
                    && (page.rows + page.overlay + next.rows + next.overlay) as usize <= rows_max
                {
                    high = pages.high_of(high, next);
                }
                return Some(Self { low: low.into(), high: high.into(), is_gap: false });
            }
            // The page has a part of a leaf: what comes after it may be worth another.
            let (_, _, next) = rows.leaf_around(key);
            if next.is_none_or(|next| next <= high) || pages.covering(high).is_some() {
                return None;
            }
            key = high;
        }
        let (bound, mut count, next) = rows.leaf_around(key);
        // The last leaf stays as it is: there the partition grows.
        let mut high = next?;
        let low = rows.pages().and_then(|pages| pages.end_before(key)).map_or(bound, |end| bound.max(end));
        let gap_end = rows.pages().and_then(|pages| pages.next_low(key));
        while gap_end.is_none_or(|end| high < end)
            && let (_, more, Some(next)) = rows.leaf_around(high)
            && count + more <= rows_max
        {
            count += more;
            high = next;
        }
        let high = gap_end.map_or(high, |end| high.min(end));
        Some(Self { low: low.into(), high: high.into(), is_gap: true })
    }
}
