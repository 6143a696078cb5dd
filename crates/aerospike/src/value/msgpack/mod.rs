//! MessagePack as Aerospike uses it inside lists and maps.
//!
//! What is special about it:
//!
//! | value | bytes |
//! |---|---|
//! | string, blob, GeoJSON | a raw whose first byte is the particle type |
//! | ordered list | a list whose first element is the extension `c7 00 01` |
//! | key-ordered, key-value-ordered map | a map whose first key is the extension `c7 00 01`, `c7 00 03`, with nil as its value |
//! | answer whose order means something | a map whose first key is `c7 00 08`, with nil as its value |
//! | infinity, wildcard | `d4 ff 01`, `d4 ff 00`: only to compare with, never stored |
//!
//! [`Reader`] takes one head after the other from bytes that anybody may have sent; [`compare`] is the order of all values; [`store`]
//! checks a value that is to be kept and writes it in its shortest form; [`List`] and [`Map`] are a container cut into its elements.
//! Nothing here allocates by a count that was sent: an element takes a byte at least, so that counts are bounded by the bytes.

mod container;
#[cfg(test)]
pub(crate) mod notation;
mod order;
mod reader;
mod store;
#[cfg(test)]
mod tests;
pub mod write;

pub use container::{Entry, List, Map, MapOrder};
pub use order::compare;
pub use reader::{Head, Malformed, Reader, flags};
pub use store::{DEPTH_MAX, store};
