//! What operators see of a node and order from it.
//!
//! Owns: the board, where cores write their figures and find orders.
//! Never touches: anything it reports on; an order becomes a proposal to the metadata group.

pub(crate) mod board;
mod figures;
pub(crate) mod reports;
pub(crate) mod turn;

pub(crate) use figures::Figures;
