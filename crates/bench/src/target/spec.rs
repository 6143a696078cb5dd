//! What `--target` says.
//!
//! ```text
//! tarndb[?key=value&…]                      private nodes of this very binary; keys: nodes, protocol (cql unless told), batch (griddb's)
//! cassandra[?key=value&…]                   a peer that peers/cassandra/cassandra.sh starts, with `--key value` for each pair
//! [NAME=]cql://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][?key=value&…]
//!                                           a server that is there; keys: nodes, pid, metrics (URL[,URL…]), consistency,
//!                                           table (a clause for WITH)
//! [NAME=]aerospike://HOST:PORT[,HOST:PORT…][/NAMESPACE][?key=value&…]
//!                                           the same; namespace `test` unless told; keys: nodes, pid, metrics
//! [NAME=]griddb://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/CLUSTER][?key=value&…]
//!                                           the same; keys: nodes, pid, metrics, batch (rows of a request)
//! ```

use super::prometheus::MetricsUrl;
use crate::study::{BATCH_MAX, NODES_MAX};
use load::cql::ConsistencyLevel;

/// What a study is run against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetSpec {
    /// Nodes that the tool starts from its own binary.
    Private {
        /// Name in reports.
        name: String,
        /// What they are spoken to in.
        protocol: Protocol,
        /// How many, if not as many as the study says.
        nodes: Option<u32>,
        /// Rows of a request in GridDB's protocol, if not as many as the study says.
        batch: Option<u32>,
    },
    /// A peer with a script of its own.
    Peer {
        /// Name of the peer and its directory in `peers/`.
        name: String,
        /// Options of its script's `start`.
        options: Vec<(String, String)>,
    },
    /// A server that somebody else runs.
    Server {
        /// Name in reports.
        name: String,
        /// Addresses of nodes, `HOST:PORT`, comma between them.
        address: String,
        /// How clients speak to it.
        access: Access,
        /// How many nodes the cluster has.
        nodes: u32,
        /// Its process, if it runs on this machine.
        pid: Option<u32>,
        /// Where its metrics are; several are summed.
        metrics: Vec<MetricsUrl>,
    },
}

/// A protocol that loads can be sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Cassandra's.
    Cql,
    /// Aerospike's.
    Aerospike,
    /// GridDB's.
    GridDb,
}

/// How clients speak to a server that somebody else runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// In CQL.
    Cql {
        /// User and password.
        credentials: Option<(String, String)>,
        /// Consistency level of reads and writes.
        consistency: Option<String>,
        /// Options of the table.
        table: Option<String>,
    },
    /// In Aerospike's protocol.
    Aerospike {
        /// The namespace that the set is in.
        namespace: String,
    },
    /// In GridDB's protocol.
    GridDb {
        /// User and password.
        credentials: Option<(String, String)>,
        /// The name of the cluster; whichever it is if empty.
        cluster: String,
        /// Rows of a request, if not as many as the study says.
        batch: Option<u32>,
    },
}

/// Why a target makes no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no target: {why}; a target is `tarndb` (a private node), the name of a peer such as `cassandra`, \
     [NAME=]cql://HOST:PORT, [NAME=]aerospike://HOST:PORT/NAMESPACE or [NAME=]griddb://HOST:PORT/CLUSTER"
)]
pub struct SpecError {
    given: String,
    why: String,
}

/// Name of the private node in reports.
const PRIVATE: &str = "tarndb";
/// Its name when it is spoken to in Aerospike's protocol.
const PRIVATE_AEROSPIKE: &str = "tarndb-aerospike";
/// Its name when it is spoken to in GridDB's protocol.
const PRIVATE_GRIDDB: &str = "tarndb-griddb";
const NAMESPACE: &str = "test";

impl Protocol {
    const ALL: [Self; 3] = [Self::Cql, Self::Aerospike, Self::GridDb];

    /// Its name, which is also the scheme of addresses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cql => "cql",
            Self::Aerospike => "aerospike",
            Self::GridDb => "griddb",
        }
    }

    fn of_name(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|protocol| protocol.name() == name);
        found.ok_or_else(|| format!("its protocol is not one of: {}", Self::ALL.map(Self::name).join(", ")))
    }
}

impl TargetSpec {
    /// Reads what `--target` was given.
    ///
    /// # Errors
    /// When it makes no sense; passwords do not appear in the message.
    pub fn parse(given: &str) -> Result<Self, SpecError> {
        let Some(at) = given.find("://") else {
            return Self::by_name(given);
        };
        let scheme_at = given[..at].rfind('=').map_or(0, |equals| equals + 1);
        let name = given[..scheme_at].trim_end_matches('=');
        let shown = || format!("{}…", &given[..at + 3]);
        let wrong = |why: &str| SpecError { given: shown(), why: why.to_owned() };
        let (scheme, rest) = (&given[scheme_at..at], &given[at + 3..]);
        let protocol = Protocol::of_name(scheme).map_err(|why| wrong(&why))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (access, address) = match protocol {
            Protocol::Cql => Access::cql(place),
            Protocol::Aerospike => Access::aerospike(place),
            Protocol::GridDb => Access::griddb(place),
        }
        .map_err(wrong)?;
        let reachable =
            |one: &str| one.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0));
        if !address.split(',').all(reachable) {
            return Err(wrong("an address is HOST:PORT, with a port from 1 to 65535"));
        }
        let name = if name.is_empty() { address.split(',').next().unwrap_or(address) } else { name };
        let mut spec = Self::Server {
            name: name.to_owned(),
            address: address.to_owned(),
            access,
            nodes: u32::try_from(address.split(',').count()).unwrap_or(u32::MAX),
            pid: None,
            metrics: Vec::new(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| wrong("after the ? stand key=value pairs with & between them"))?;
            spec.set(key, value).map_err(|why| wrong(&why))?;
        }
        Ok(spec)
    }

    fn by_name(given: &str) -> Result<Self, SpecError> {
        let wrong = |why: &str| SpecError { given: given.to_owned(), why: why.to_owned() };
        let plain = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        let (name, query) = given.split_once('?').unwrap_or((given, ""));
        if name == PRIVATE {
            let (mut protocol, mut nodes, mut batch) = (Protocol::Cql, None, None);
            for pair in query.split('&').filter(|pair| !pair.is_empty()) {
                match pair.split_once('=') {
                    Some(("protocol", value)) => protocol = Protocol::of_name(value).map_err(|why| wrong(&why))?,
                    Some(("nodes", value)) => {
                        let number = value.parse().ok().filter(|number| (1..=NODES_MAX).contains(number));
                        nodes = Some(number.ok_or_else(|| wrong(&format!("nodes is a number from 1 to {NODES_MAX}")))?);
                    }
                    Some(("batch", value)) => batch = Some(batch_of(value).map_err(|why| wrong(&why))?),
                    _ => {
                        return Err(wrong(
                            "the options of private nodes are nodes=N, protocol=NAME and batch=N; --memory and --server-cpus set them up",
                        ));
                    }
                }
            }
            if batch.is_some() && protocol != Protocol::GridDb {
                return Err(wrong("batch=N goes with protocol=griddb: the other protocols send a request for each row"));
            }
            return Ok(Self::Private { name: private_name(protocol, nodes.unwrap_or(1)), protocol, nodes, batch });
        }
        if !plain(name) {
            return Err(wrong("it has no protocol"));
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| match pair.split_once('=') {
            Some((key, value)) if plain(key) => Ok((key.to_owned(), value.to_owned())),
            _ => Err(wrong("after the ? stand key=value pairs with & between them")),
        });
        Ok(Self::Peer { name: name.to_owned(), options: pairs.collect::<Result<_, _>>()? })
    }

    fn set(&mut self, key: &str, given: &str) -> Result<(), String> {
        let Self::Server { nodes, pid, metrics, access, .. } = self else { unreachable!("only servers have keys") };
        let number = |what: &str| given.parse::<u32>().ok().filter(|number| *number > 0).ok_or(format!("{key} is {what}, not `{given}`"));
        match (key, access) {
            ("nodes", _) => *nodes = number("a number of nodes")?,
            ("pid", _) => *pid = Some(number("the number of a process")?),
            ("metrics", _) => *metrics = metrics_urls(given)?,
            ("consistency", Access::Cql { consistency, .. }) => {
                let level = given.to_uppercase();
                level.parse::<ConsistencyLevel>().map_err(|error| error.to_string())?;
                *consistency = Some(level);
            }
            ("table", Access::Cql { table, .. }) => *table = Some(given.to_owned()),
            ("batch", Access::GridDb { batch, .. }) => *batch = Some(batch_of(given)?),
            (_, access) => {
                let own: &[&str] = match access {
                    Access::Cql { .. } => &["consistency", "table"],
                    Access::Aerospike { .. } => &[],
                    Access::GridDb { .. } => &["batch"],
                };
                let known = ["nodes", "pid", "metrics"].iter().chain(own).copied();
                let nearest = base::nearest(key, known).map(|known| format!(" (did you mean `{known}`?)")).unwrap_or_default();
                return Err(format!("unknown key `{key}`{nearest}"));
            }
        }
        Ok(())
    }

    /// A target for each size that the study asks for, unless it is said how many nodes it has.
    #[must_use]
    pub fn sized(self, sizes: &[u32]) -> Vec<Self> {
        match self {
            Self::Private { protocol, nodes: None, batch, .. } => {
                let sized = |nodes: &u32| Self::Private { name: private_name(protocol, *nodes), protocol, nodes: Some(*nodes), batch };
                sizes.iter().map(sized).collect()
            }
            other => vec![other],
        }
    }

    /// Name in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Private { name, .. } | Self::Peer { name, .. } | Self::Server { name, .. } => name,
        }
    }

    /// Nodes of the target.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        match self {
            Self::Private { nodes, .. } => nodes.unwrap_or(1),
            Self::Peer { .. } => 1,
            Self::Server { nodes, .. } => *nodes,
        }
    }

    /// What it is spoken to in.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Private { protocol, .. } => *protocol,
            Self::Peer { .. } | Self::Server { access: Access::Cql { .. }, .. } => Protocol::Cql,
            Self::Server { access: Access::Aerospike { .. }, .. } => Protocol::Aerospike,
            Self::Server { access: Access::GridDb { .. }, .. } => Protocol::GridDb,
        }
    }

    /// Rows of a request that the target itself asks for.
    #[must_use]
    pub fn batch(&self) -> Option<u32> {
        match self {
            Self::Private { batch, .. } | Self::Server { access: Access::GridDb { batch, .. }, .. } => *batch,
            Self::Peer { .. } | Self::Server { .. } => None,
        }
    }
}

/// `URL[,URL…]`: one that stands there twice would count twice.
fn metrics_urls(given: &str) -> Result<Vec<MetricsUrl>, String> {
    let urls = given.split(',').map(MetricsUrl::parse).collect::<Result<Vec<_>, _>>()?;
    match urls.iter().enumerate().find(|(at, url)| urls[..*at].contains(url)) {
        Some((_, twice)) => Err(format!("metrics names {twice} twice")),
        None => Ok(urls),
    }
}

fn batch_of(given: &str) -> Result<u32, String> {
    let number = given.parse().ok().filter(|number| (1..=BATCH_MAX).contains(number));
    number.ok_or(format!("batch is a number of rows from 1 to {BATCH_MAX}, not `{given}`"))
}

/// Sizes of one system differ in the number at the end, by which charts know them.
fn private_name(protocol: Protocol, nodes: u32) -> String {
    let name = match protocol {
        Protocol::Cql => PRIVATE,
        Protocol::Aerospike => PRIVATE_AEROSPIKE,
        Protocol::GridDb => PRIVATE_GRIDDB,
    };
    if nodes == 1 { name.to_owned() } else { format!("{name}-{nodes}") }
}

/// User and password, if there are any, and what comes after them.
type Place<'a> = (Option<(String, String)>, &'a str);

/// Of `[USER:PASSWORD@]REST`.
fn with_credentials(place: &str) -> Result<Place<'_>, &'static str> {
    let Some((user, rest)) = place.rsplit_once('@') else { return Ok((None, place)) };
    let (user, password) = user.split_once(':').ok_or("before the @ stand USER:PASSWORD")?;
    Ok((Some((user.to_owned(), password.to_owned())), rest))
}

impl Access {
    /// Of `[USER:PASSWORD@]ADDRESS`, with the address.
    fn cql(place: &str) -> Result<(Self, &str), &'static str> {
        let (credentials, address) = with_credentials(place)?;
        Ok((Self::Cql { credentials, consistency: None, table: None }, address))
    }

    /// Of `[USER:PASSWORD@]ADDRESS[/CLUSTER]`, with the address.
    fn griddb(place: &str) -> Result<(Self, &str), &'static str> {
        let (credentials, rest) = with_credentials(place)?;
        let (address, cluster) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if !cluster.chars().all(plain) {
            return Err("a cluster's name has letters, digits, `_`, `-` and `.`");
        }
        Ok((Self::GridDb { credentials, cluster: cluster.to_owned(), batch: None }, address))
    }

    /// Of `ADDRESS[/NAMESPACE]`, with the address.
    fn aerospike(place: &str) -> Result<(Self, &str), &'static str> {
        if place.contains('@') {
            return Err("servers with users cannot be logged in to");
        }
        let (address, namespace) = place.split_once('/').unwrap_or((place, NAMESPACE));
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-$".contains(letter);
        if namespace.is_empty() || !namespace.chars().all(plain) {
            return Err("a namespace has letters, digits, `_`, `-` and `$`");
        }
        Ok((Self::Aerospike { namespace: namespace.to_owned() }, address))
    }
}

#[cfg(test)]
mod tests;
