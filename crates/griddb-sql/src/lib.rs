//! The SQL port of GridDB's clients: `gridstore-jdbc`, statements 400 and 401.
//!
//! Off the data cores. A connection has two threads ([`connection`](self)); its statements are done by [`sql`], whose tables are the containers that the same
//! user sees on the node's own port for GridDB: [`client`](self) is a client of that one, and logs in there with what its own client has sent. So permissions, the audit
//! log, routing to other members and limits are those of any client, and nothing here decides them.
//!
//! | module | what |
//! |---|---|
//! | `port` | accepts clients |
//! | `pending` | clients that have not logged in |
//! | `connection` | frames, heartbeats, cancellations |
//! | `transport` | bytes as they are, or by TLS |
//! | `node` | where the node is, and how it speaks TLS |
//! | `session`, `running`, `pages` | what statements do; what stops them; their results |
//! | `request`, `result`, `heads` | the bytes of statement 400; what statements to the node begin with |
//! | `source`, `query_text`, `rows`, `container` | containers as tables of queries |
//! | `places`, `parts`, `scan`, `readers` | data partitions: which ones a query needs and rows belong to; their rows, read one place after the other or at the same time |
//! | `aggregate` | what the node makes of a container's rows in place of them |
//! | `analyze`, `analysis` | EXPLAIN ANALYZE: a statement that is run; how its containers were read |
//! | `write`, `transaction`, `locked`, `cells` | INSERT, UPDATE, DELETE |
//! | `meta`, `metatables` | tables about tables, for `DatabaseMetaData` and for applications |
//! | `failures` | why statements fail, in GridDB's terms |
//! | `define`, `division` | CREATE, ALTER, DROP; how tables are partitioned |
//! | `views`, `define_view` | views: where they are kept; how they are made |
//! | `client` | the connection to the node |

mod aggregate;
mod analysis;
mod analyze;
mod cells;
mod client;
mod connection;
mod container;
mod define;
mod define_view;
mod division;
mod failures;
mod heads;
mod locked;
mod meta;
mod metatables;
mod node;
mod pages;
mod parts;
mod pending;
mod places;
mod port;
mod query_text;
mod readers;
pub mod request;
mod result;
mod rows;
mod running;
mod scan;
mod session;
mod source;
mod transaction;
mod transport;
mod views;
mod write;

#[cfg(test)]
mod tests;

pub use node::{Connected, Connector, SqlNode, SqlTls};
pub use port::SqlPort;
