//! The SQL port of GridDB's clients: `gridstore-jdbc`, statements 400 and 401.
//!
//! Off the data cores. A connection has two threads ([`connection`](self)); its statements are done by [`sql`], whose tables are the containers that the same
//! user sees on the node's own port for GridDB: [`client`](self) is a client of that one, and logs in there with what its own client has sent. So permissions, the audit
//! log, routing to other members and limits are those of any client, and nothing here decides them.
//!
//! | module | what |
//! |---|---|
//! | `port` | accepts clients |
//! | `connection` | frames, heartbeats, cancellations |
//! | `session`, `running`, `pages` | what statements do; what stops them; their results |
//! | `request`, `result` | the bytes of statement 400 |
//! | `source`, `rows`, `container` | containers as tables of queries |
//! | `write`, `transaction`, `locked`, `cells` | INSERT, UPDATE, DELETE |
//! | `meta`, `metatables` | tables about tables, for `DatabaseMetaData` and for applications |
//! | `failures` | why statements fail, in GridDB's terms |
//! | `define` | CREATE, ALTER, DROP |
//! | `client` | the connection to the node |

mod cells;
mod client;
mod connection;
mod container;
mod define;
mod failures;
mod locked;
mod meta;
mod metatables;
mod pages;
mod port;
mod request;
mod result;
mod rows;
mod running;
mod session;
mod source;
mod transaction;
mod write;

#[cfg(test)]
mod tests;

pub use port::SqlPort;
