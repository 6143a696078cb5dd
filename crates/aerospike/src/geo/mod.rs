//! Places and regions on a sphere, as GeoJSON writes them: what clients may send, which region has which place, and the entries of an index.
//!
//! [`json`] reads the text, [`place`] and [`polygon`] compute, [`cells`] says where on a curve a shape is. The sphere has no edges here: places are directions,
//! so poles and the 180th meridian are like all others.

mod cells;
mod json;
mod place;
mod polygon;
mod shape;
#[cfg(test)]
mod tests;

pub(crate) use cells::{COMPARED_MAX, CellRange, ranges};
pub(crate) use shape::Shape;

/// The text of a GeoJSON particle: behind a flags byte, a count of cells in two bytes, and eight bytes a cell. What begins like text has none of them.
pub(crate) fn text(particle: &[u8]) -> Option<&[u8]> {
    match particle {
        [0..=8, high, low, rest @ ..] => rest.get(8 * usize::from(u16::from_be_bytes([*high, *low]))..),
        [0..=8, ..] | [] => None,
        text => Some(text),
    }
}

/// A text as clients get it: no flags, no cells.
pub(crate) fn with_head(text: &[u8]) -> Vec<u8> {
    [&[0, 0, 0], text].concat()
}
