//! What operators see of a node and order from it.
//!
//! Owns: the board, where cores write their figures and find orders.
//! Never touches: anything it reports on; an order becomes a proposal to the metadata group.

pub(crate) mod board;
pub(crate) mod reports;
mod table_figures;
pub(crate) mod turn;
