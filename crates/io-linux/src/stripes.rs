//! One linear space over areas of several devices.
//!
//! The space is cut into stripes, which are dealt out to the areas in turn, in the order of the areas; an area that is used up is left
//! out from then on. Every stripe lies whole on one device, at a place that never changes: this is part of the format on the device
//! (`docs/internals/log-format.md`).
//!
//! ```text
//! areas of 3, 1 and 2 stripes     stripe  0  1  2  3  4  5
//!                                 area    0  1  2  0  2  0
//!                                 row     0  0  0  1  1  2
//! ```

/// A contiguous part of a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it starts, in bytes.
    pub start: u64,
    /// How long it is.
    pub bytes: u64,
}

/// Rows of stripes that the same areas take part in.
#[derive(Clone, Debug)]
struct Zone {
    /// Its first stripe.
    first: u64,
    /// The row of that stripe in each of its areas.
    row: u64,
    /// The areas that take part, in order.
    areas: Vec<usize>,
}

/// Where each byte of the linear space is.
#[derive(Clone, Debug)]
pub struct Stripes {
    stripe_bytes: u64,
    areas: Vec<Extent>,
    zones: Vec<Zone>,
    count: u64,
}

impl Stripes {
    /// The space over `areas`, of which each gives as many whole stripes as fit into it.
    ///
    /// # Panics
    /// When stripes have no bytes.
    #[must_use]
    pub fn new(stripe_bytes: u64, areas: Vec<Extent>) -> Self {
        assert!(stripe_bytes > 0, "a stripe has bytes");
        let rows_of = |area: &Extent| area.bytes / stripe_bytes;
        let mut ends: Vec<u64> = areas.iter().map(rows_of).filter(|rows| *rows > 0).collect();
        ends.sort_unstable();
        ends.dedup();
        let (mut zones, mut first, mut row) = (Vec::new(), 0, 0);
        for end in ends {
            let takes_part = |(index, area): (usize, &Extent)| (rows_of(area) > row).then_some(index);
            let zone = Zone { first, row, areas: areas.iter().enumerate().filter_map(takes_part).collect() };
            first += (end - row) * zone.areas.len() as u64;
            row = end;
            zones.push(zone);
        }
        Self { stripe_bytes, areas, zones, count: first }
    }

    /// How long the linear space is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.count * self.stripe_bytes
    }

    /// The area that holds the byte at `offset`, and where on its device that byte is.
    ///
    /// # Panics
    /// When the offset is beyond the end.
    #[must_use]
    pub fn locate(&self, offset: u64) -> (usize, u64) {
        assert!(offset < self.bytes(), "offset {offset} is beyond the {} bytes there are", self.bytes());
        let (stripe, within) = (offset / self.stripe_bytes, offset % self.stripe_bytes);
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first <= stripe) - 1];
        let (number, width) = (stripe - zone.first, zone.areas.len() as u64);
        let area = zone.areas[(number % width) as usize];
        (area, self.areas[area].start + (zone.row + number / width) * self.stripe_bytes + within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn stripes(areas: &[(u64, u64)]) -> Stripes {
        Stripes::new(8, areas.iter().map(|(start, bytes)| Extent { start: *start, bytes: *bytes }).collect())
    }

    #[test]
    fn stripes_go_to_the_areas_in_turn_until_each_is_used_up() {
        let stripes = stripes(&[(1000, 24), (2000, 15), (3000, 16)]);
        assert_eq!(stripes.bytes(), 48);
        let places: Vec<(usize, u64)> = (0..6).map(|stripe| stripes.locate(stripe * 8 + 3)).collect();
        assert_eq!(places, [(0, 1003), (1, 2003), (2, 3003), (0, 1011), (2, 3011), (0, 1019)]);
    }

    #[test]
    fn no_two_stripes_share_a_place_and_all_lie_in_their_areas() {
        for sizes in [vec![8], vec![8, 800, 80, 80, 0, 7, 96], vec![0, 0], vec![40; 9]] {
            let areas: Vec<(u64, u64)> = sizes.iter().enumerate().map(|(index, bytes)| (index as u64 * 10_000, *bytes)).collect();
            let stripes = stripes(&areas);
            let places: BTreeSet<(usize, u64)> = (0..stripes.bytes() / 8).map(|stripe| stripes.locate(stripe * 8)).collect();
            let whole: u64 = sizes.iter().map(|bytes| bytes / 8).sum();
            assert_eq!(places.len() as u64, whole);
            for (area, place) in places {
                let (start, bytes) = areas[area];
                assert!(place >= start && place + 8 <= start + bytes);
            }
        }
    }
}
