//! Containers as tables. A container is a table with one partition, that of its number; the row key is the clustering key.
//!
//! | column | id | what |
//! |---|---|---|
//! | `partition` | 0 | GridDB's partition: the partition key |
//! | the container's columns, in lower case | from 1, in their order | the first ones are the clustering key if they make the row key |
//! | `row_id` | after them | the clustering key of a container without a row key: 1, 2, 3, … |
//!
//! A partitioned table ([`crate::partitioning`]) has a partition for each of its data partitions instead, of values from 128 on.
//!
//! Where a container has columns of these names, the added ones get `_` at their end. What a table cannot say (names as they were written,
//! types, their order, which column may be null) is in its option [`model::CONTAINER_OPTION`]; what its indexes cannot, in theirs: [`index`].

mod catalog;
mod change;
mod existing;
mod index;
mod index_request;
mod renaming;
mod table;

pub use catalog::{Catalog, PUBLIC_DATABASE};
pub use change::{Changed, ContainerChange};
pub use existing::{Container, PARTITION_COUNT, id_of_part, slot_of_part};
pub use index::{ContainerIndex, IndexKind, values_within};
pub use index_request::IndexRequest;
pub use renaming::Renaming;
