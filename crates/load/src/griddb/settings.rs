//! How a GridDB target is reached: part of the command line, or of an assignment to another load machine.

use serde::{Deserialize, Serialize};

/// Settings of a GridDB target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GridDbSettings {
    /// `host:port` of each node that clients connect to. A node of TarnDB passes on what is another's.
    pub addresses: Vec<String>,
    /// Name of the cluster; whichever it is if empty.
    pub cluster: String,
    /// Name of the container, in the database that clients have who name none.
    pub container: String,
    /// As whom to log in.
    pub user: String,
    /// With which password.
    pub password: String,
    /// Rows of a request: one, or as many as a connection has in flight then.
    pub batch: u32,
}

impl Default for GridDbSettings {
    fn default() -> Self {
        Self {
            addresses: vec!["127.0.0.1:10001".to_owned()],
            cluster: String::new(),
            container: "usertable".to_owned(),
            user: "admin".to_owned(),
            password: "admin".to_owned(),
            batch: 1,
        }
    }
}
