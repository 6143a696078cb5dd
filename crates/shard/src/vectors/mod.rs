//! Graphs of vectors of this shard's rows: which rows an index on vectors takes for the nearest to one.
//!
//! A graph (`vectors::KeyedGraph`) follows from the rows, and is in memory; what is stored of it ([`images`]) saves work at the next start. Every row that is written here is shown to it, whoever writes: operations,
//! other members' streams, wipes. Rows that are there already are walked over, slot by slot, in the background.
//!
//! | phase | queries | what happens |
//! |---|---|---|
//! | small: fewer rows than `GRAPH_ROWS_MIN` | compare all rows | nothing |
//! | reading: something was stored of it | compare all rows | a part of that is read a turn |
//! | walking | compare all rows | rows are read, a chunk a turn; vectors that the graph has not from an image are linked, about one a turn |
//! | ready | ask the graph, unless it lags by more than `UNLINKED_MAX` vectors | vectors that are written are linked, a repair follows deletions |
//! | refused: no memory for it | compare all rows | nothing, until half of the rows are gone |
//!
//! Invariants:
//! - A graph decides which rows are compared, never what a row is: whoever asks reads each candidate. So one that lags or errs costs recall or time.
//! - All graphs together take at most one in `MEMORY_PART` of the shard's memory, and the engine counts them: they give way to rows' keys.
//! - A turn does one small piece: a part of what was stored or a chunk of a walk, and links, repairs or removals for `COMPARED_BYTES_A_TURN` bytes of codes.

mod follow;
mod images;
mod key;
mod state;
mod turn;
mod walk;

pub use images::{VectorImages, VectorPart};
pub(crate) use state::Vectors;
pub use state::{VectorFigures, VectorIndex};
pub use walk::VECTORS_SCAN;
