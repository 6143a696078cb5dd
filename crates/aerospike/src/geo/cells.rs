//! Where on a curve a shape is: which entries an index has of it, and in which ranges of entries those are that it may meet.
//!
//! A cube is around the sphere. Each of its faces is a square, which is cut in four 30 times; a cell of the last cut is at most 2 cm wide on Earth. A cell's
//! number has the face (3 bits), its place in the order of Z (2 bits a cut), a 1, and zeros: what is within a cell is one range of numbers, with the cell in its middle.
//!
//! | of | entries | a query by it reads |
//! |---|---|---|
//! | a point | the smallest cell that it is in | the cells of all even cuts that it is in |
//! | a region | 1 to [`ENTRIES_MAX`] cells that cover it, of an even cut | what is within 1 to [`COVERING_CELLS_MAX`] cells that cover it |

use super::place::{self, Place, Unit};
use super::shape::{Detail, Region, Shape};
use base::z_curve;

/// How often a face is cut.
const LEVEL_MAX: u32 = 30;
/// A region has so many entries.
pub(super) const ENTRIES_MAX: usize = 8;
/// A query by a region reads at most so many cells.
const COVERING_CELLS_MAX: usize = 32;
/// Entries of regions are of cells of every such cut.
const ENTRY_LEVELS: u32 = 2;

/// At most so many edges of regions, or circles around polygons, are compared with the cells of what is covered together: all would take too long.
pub(crate) const COMPARED_MAX: usize = 1_024;

/// Numbers of cells from one to another, ends included.
pub(crate) type CellRange = (u64, u64);

/// A square of a face: column and row among those of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    face: u8,
    level: u32,
    column: u32,
    row: u32,
}

impl Cell {
    const FACES: [Self; 6] = {
        let mut faces = [Self { face: 0, level: 0, column: 0, row: 0 }; 6];
        let mut face = 1;
        while face < 6 {
            faces[face].face = face as u8;
            face += 1;
        }
        faces
    };

    /// The smallest cell that a place is in.
    fn of_place(place: Place) -> Self {
        let numbers = place.numbers();
        let axis = (0..3).max_by_key(|axis| numbers[*axis].abs()).unwrap_or(0);
        let cut = |axis: usize, main: i64| {
            let share = (numbers[axis] as f64 / main.abs() as f64 + 1.0) / 2.0;
            ((share * f64::from(1_u32 << LEVEL_MAX)) as u32).min((1 << LEVEL_MAX) - 1)
        };
        let main = numbers[axis];
        let face = axis as u8 + if main < 0 { 3 } else { 0 };
        Self { face, level: LEVEL_MAX, column: cut((axis + 1) % 3, main), row: cut((axis + 2) % 3, main) }
    }

    /// The cell of a smaller level that it is in.
    fn at_level(self, level: u32) -> Self {
        let by = self.level - level;
        Self { face: self.face, level, column: self.column >> by, row: self.row >> by }
    }

    fn children(self) -> impl Iterator<Item = Self> {
        let (column, row) = (self.column * 2, self.row * 2);
        let children = [(column, row), (column + 1, row), (column, row + 1), (column + 1, row + 1)];
        children.into_iter().map(move |(column, row)| Self { face: self.face, level: self.level + 1, column, row })
    }

    fn number(self) -> u64 {
        let place = z_curve(self.column.into(), self.row.into()) as u64;
        u64::from(self.face) << 61 | (place << 1 | 1) << (2 * (LEVEL_MAX - self.level))
    }

    fn range(self) -> CellRange {
        let number = self.number();
        let lowest = number & number.wrapping_neg();
        (number - (lowest - 1), number + (lowest - 1))
    }

    /// Its middle, and the angle to the farthest of its corners: edges are great circles, so nothing of it is farther away.
    fn circle(self) -> (Unit, f64) {
        let direction = |column: f64, row: f64| {
            let cells = f64::from(1_u32 << self.level);
            let (axis, main) = (usize::from(self.face % 3), if self.face < 3 { 1.0 } else { -1.0 });
            let mut vector = [main; 3];
            vector[(axis + 1) % 3] = 2.0 * column / cells - 1.0;
            vector[(axis + 2) % 3] = 2.0 * row / cells - 1.0;
            place::normalized(vector)
        };
        let (column, row) = (f64::from(self.column), f64::from(self.row));
        let middle = direction(column + 0.5, row + 0.5);
        let corners = [(column, row), (column + 1.0, row), (column, row + 1.0), (column + 1.0, row + 1.0)];
        (middle, corners.into_iter().map(|(column, row)| place::angle(middle, direction(column, row))).fold(0.0, f64::max))
    }

    fn may_meet(self, region: &Region, detail: Detail) -> bool {
        let (middle, angle) = self.circle();
        region.may_be_near(middle, angle, detail)
    }
}

/// At most so many cells of one level that cover a region, as small as can be; levels are multiples of `step`. Large regions may touch more faces than that.
fn covering(region: &Region, detail: Detail, cells_max: usize, step: u32) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Cell::FACES.into_iter().filter(|cell| cell.may_meet(region, detail)).collect();
    while cells.first().is_some_and(|cell| cell.level + step <= LEVEL_MAX) {
        let mut smaller = cells.clone();
        for _ in 0..step {
            smaller = smaller.into_iter().flat_map(Cell::children).filter(|cell| cell.may_meet(region, detail)).collect();
        }
        if smaller.is_empty() || smaller.len() > cells_max {
            break;
        }
        cells = smaller;
    }
    cells
}

impl Shape {
    /// The numbers of the cells that have entries; `left` is how much of [`COMPARED_MAX`] is left.
    pub(crate) fn entries(&self, left: &mut usize) -> Vec<u64> {
        match self {
            Self::Point(place) => vec![Cell::of_place(*place).number()],
            Self::Region(region) => {
                let cells = covering(region, region.detail(left), ENTRIES_MAX, ENTRY_LEVELS);
                cells.into_iter().map(Cell::number).collect()
            }
        }
    }
}

/// Ranges of entries, in their order, that have an entry of every point in a region, or of every region that has a point.
pub(crate) fn ranges(shape: &Shape) -> Vec<CellRange> {
    let mut ranges: Vec<CellRange> = match shape {
        Shape::Point(place) => {
            let cell = Cell::of_place(*place);
            (0..=LEVEL_MAX)
                .step_by(ENTRY_LEVELS as usize)
                .map(|level| cell.at_level(level).number())
                .map(|number| (number, number))
                .collect()
        }
        Shape::Region(region) => {
            let detail = region.detail(&mut { COMPARED_MAX });
            covering(region, detail, COVERING_CELLS_MAX, 1).into_iter().map(Cell::range).collect()
        }
    };
    ranges.sort_unstable();
    let mut merged: Vec<CellRange> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match merged.last_mut() {
            // Between two neighbours is the number of a larger cell, which no point has.
            Some(before) if first <= before.1.saturating_add(2) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}
