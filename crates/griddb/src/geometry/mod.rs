//! Values of GEOMETRY: as clients send them, as cells hold them, and what can be asked of them.
//!
//! A cell holds the well-known text, which CQL reads as `text`. Clients send and get bytes of their own ([`wire`]); their library makes them from the
//! text and back. All that is asked of a geometry is about its bounding box ([`Bounds`]), or about a quadratic surface and such a box ([`Surface`]), as in GridDB's
//! TQL reference. [`grid`] says which entries of a SPATIAL index a box has.

mod bounds;
mod error;
pub(crate) mod grid;
mod make;
mod shape;
mod surface;
mod text;
mod value;
mod wire;

pub use bounds::Bounds;
pub(crate) use bounds::Point;
pub use error::{GEOMETRY_BYTES_MAX, GeometryError};
pub(crate) use make::{cone, cuboid, cylinder, plane, rectangle, sphere, surface};
pub use shape::Kind;
pub use surface::Surface;
pub use value::{Geometry, NO_SRID};

#[cfg(test)]
mod tests;
