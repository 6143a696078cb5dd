//! Why something is no geometry.

/// The most bytes that a geometry has on the wire, as in GridDB.
pub const GEOMETRY_BYTES_MAX: usize = 128 << 10;

/// Why something is no geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// The text is none.
    #[error(
        "byte {at} of the text is not what a geometry like POINT(1 2), LINESTRING(0 0,1 1) or POLYGON((0 0,1 0,1 1,0 0);4326) has there"
    )]
    Text {
        /// The first byte that does not fit.
        at: usize,
    },
    /// The bytes are none.
    #[error("the bytes of a GEOMETRY are none that a client of GridDB makes")]
    Bytes,
    /// A coordinate is no number.
    #[error("a coordinate is infinite, or no number")]
    NotFinite,
    /// Points that make none.
    #[error("a LINESTRING has 2 points or more, each ring of a POLYGON 3 or more, and a POLYHEDRALSURFACE has three dimensions")]
    Points,
    /// Points with two coordinates, and points with three.
    #[error("all points of a GEOMETRY have two coordinates, or all have three")]
    Dimensions,
    /// It is too large.
    #[error("a GEOMETRY has at most {GEOMETRY_BYTES_MAX} bytes as clients send it, and 32,767 points in a line")]
    Size,
    /// What no shape can be made of.
    #[error("{0}")]
    Degenerate(&'static str),
}
