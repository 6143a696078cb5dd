//! The GridDB protocol: bytes to statements to operations on containers, without I/O.
//!
//! [`session`] cuts a connection's bytes into statements, [`wire`] reads frames and writes replies, [`name`] and [`schema`] what is in them about containers, [`row`] the rows, [`tql`] queries; [`exec`] runs statements, [`client`] has what clients send, [`transaction`] has what transactions of several of them need; [`users`] reads those about users and databases. A container is a table
//! with one partition, whose rows are ordered by their row key: [`container`], and `docs/decisions/0028-griddb-containers.md`, which says why.
//! [`GridError`] is how everything here says no.

pub mod client;
pub mod container;
mod error;
pub mod exec;
mod failure;
pub mod geometry;
pub mod instant;
mod key;
pub mod name;
pub mod partitioning;
pub mod row;
pub mod schema;
pub mod session;
#[cfg(test)]
mod testing;
pub mod tql;
mod transaction;
pub mod users;
pub mod wire;

pub use container::{
    Catalog, Container, ContainerChange, IndexKind, IndexRequest, PARTITION_COUNT, PUBLIC_DATABASE, id_of_part, slot_of_part,
};
pub use error::{ErrorCode, GridError};
pub use key::{decode_key, encode_key, token_of_partition};
pub use name::ContainerName;
pub use schema::{Definition, ElementType};
pub use transaction::OpenTransaction;
