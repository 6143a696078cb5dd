//! What `--target` says.
//!
//! ```text
//! tarndb[?key=value&…]                      private nodes of this very binary; keys: nodes, protocol (cql unless told)
//! cassandra[?key=value&…]                   a peer that peers/cassandra/cassandra.sh starts, with `--key value` for each pair
//! [NAME=]cql://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][?key=value&…]
//!                                           a server that is there; keys: nodes, pid, metrics (URL[,URL…]), consistency,
//!                                           table (a clause for WITH)
//! [NAME=]aerospike://HOST:PORT[,HOST:PORT…][/NAMESPACE][?key=value&…]
//!                                           the same; namespace `test` unless told; keys: nodes, pid, metrics
//! ```

use super::prometheus::MetricsUrl;
use crate::study::NODES_MAX;
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
}

/// Why a target makes no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no target: {why}; a target is `tarndb` (a private node), the name of a peer such as `cassandra`, \
     [NAME=]cql://HOST:PORT or [NAME=]aerospike://HOST:PORT/NAMESPACE"
)]
pub struct SpecError {
    given: String,
    why: String,
}

/// Name of the private node in reports.
const PRIVATE: &str = "tarndb";
/// Its name when it is spoken to in Aerospike's protocol.
const PRIVATE_AEROSPIKE: &str = "tarndb-aerospike";
const NAMESPACE: &str = "test";

impl Protocol {
    const ALL: [Self; 2] = [Self::Cql, Self::Aerospike];

    /// Its name, which is also the scheme of addresses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cql => "cql",
            Self::Aerospike => "aerospike",
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
            let (mut protocol, mut nodes) = (Protocol::Cql, None);
            for pair in query.split('&').filter(|pair| !pair.is_empty()) {
                match pair.split_once('=') {
                    Some(("protocol", value)) => protocol = Protocol::of_name(value).map_err(|why| wrong(&why))?,
                    Some(("nodes", value)) => {
                        let number = value.parse().ok().filter(|number| (1..=NODES_MAX).contains(number));
                        nodes = Some(number.ok_or_else(|| wrong(&format!("nodes is a number from 1 to {NODES_MAX}")))?);
                    }
                    _ => {
                        return Err(wrong(
                            "the options of private nodes are nodes=N and protocol=NAME; --memory and --server-cpus set them up",
                        ));
                    }
                }
            }
            return Ok(Self::Private { name: private_name(protocol, nodes.unwrap_or(1)), protocol, nodes });
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
            (_, access) => {
                let of_cql: &[&str] = if matches!(access, Access::Cql { .. }) { &["consistency", "table"] } else { &[] };
                let known = ["nodes", "pid", "metrics"].iter().chain(of_cql).copied();
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
            Self::Private { protocol, nodes: None, .. } => {
                let sized = |nodes: &u32| Self::Private { name: private_name(protocol, *nodes), protocol, nodes: Some(*nodes) };
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

/// Sizes of one system differ in the number at the end, by which charts know them.
fn private_name(protocol: Protocol, nodes: u32) -> String {
    let name = match protocol {
        Protocol::Cql => PRIVATE,
        Protocol::Aerospike => PRIVATE_AEROSPIKE,
    };
    if nodes == 1 { name.to_owned() } else { format!("{name}-{nodes}") }
}

impl Access {
    /// Of `[USER:PASSWORD@]ADDRESS`, with the address.
    fn cql(place: &str) -> Result<(Self, &str), &'static str> {
        let (credentials, address) = match place.rsplit_once('@') {
            Some((user, address)) => {
                let (user, password) = user.split_once(':').ok_or("before the @ stand USER:PASSWORD")?;
                (Some((user.to_owned(), password.to_owned())), address)
            }
            None => (None, place),
        };
        Ok((Self::Cql { credentials, consistency: None, table: None }, address))
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_apart() {
        for (given, name, protocol, nodes) in [
            ("tarndb", "tarndb", Protocol::Cql, None),
            ("tarndb?protocol=cql", "tarndb", Protocol::Cql, None),
            ("tarndb?protocol=aerospike", "tarndb-aerospike", Protocol::Aerospike, None),
            ("tarndb?nodes=1", "tarndb", Protocol::Cql, Some(1)),
            ("tarndb?nodes=5&protocol=cql", "tarndb-5", Protocol::Cql, Some(5)),
        ] {
            assert_eq!(TargetSpec::parse(given).unwrap(), TargetSpec::Private { name: name.to_owned(), protocol, nodes });
        }
        assert_eq!(TargetSpec::parse("cassandra").unwrap(), TargetSpec::Peer { name: "cassandra".to_owned(), options: vec![] });
        let options = vec![("readahead".to_owned(), "4".to_owned()), ("durability".to_owned(), "group".to_owned())];
        assert_eq!(
            TargetSpec::parse("cassandra?readahead=4&durability=group").unwrap(),
            TargetSpec::Peer { name: "cassandra".to_owned(), options }
        );
        let spec = TargetSpec::parse("three=cql://me:se:cr@10.0.0.1:9042,10.0.0.2:9042?nodes=3&consistency=quorum&table=a=1").unwrap();
        let TargetSpec::Server { name, address, nodes, access, .. } = spec else { panic!("a server") };
        let Access::Cql { credentials, consistency, table } = access else { panic!("CQL") };
        assert_eq!((name.as_str(), address.as_str(), nodes), ("three", "10.0.0.1:9042,10.0.0.2:9042", 3));
        assert_eq!(credentials, Some(("me".to_owned(), "se:cr".to_owned())));
        assert_eq!((consistency.as_deref(), table.as_deref()), (Some("QUORUM"), Some("a=1")));
        assert_eq!(TargetSpec::parse("cql://[::1]:9042").unwrap().name(), "[::1]:9042");
        for (given, wanted) in [("aerospike://10.0.0.1:3000,10.0.0.2:3000/bar?nodes=2&pid=7", "bar"), ("as=aerospike://h:3000", "test")] {
            let spec = TargetSpec::parse(given).unwrap();
            assert_eq!(spec.protocol(), Protocol::Aerospike);
            let TargetSpec::Server { access: Access::Aerospike { namespace }, .. } = spec else { panic!("Aerospike") };
            assert_eq!(namespace, wanted);
        }
    }

    #[test]
    fn metrics_of_several_nodes_are_separated_by_commas() {
        let given = "cql://10.0.0.1:9042,10.0.0.2:9042?metrics=http://10.0.0.1:8080/metrics,http://10.0.0.2:8080/m?a=b&nodes=3";
        let TargetSpec::Server { address, nodes, metrics, .. } = TargetSpec::parse(given).unwrap() else { panic!("a server") };
        assert_eq!((address.as_str(), nodes), ("10.0.0.1:9042,10.0.0.2:9042", 3));
        let shown: Vec<String> = metrics.iter().map(MetricsUrl::to_string).collect();
        assert_eq!(shown, ["http://10.0.0.1:8080/metrics", "http://10.0.0.2:8080/m?a=b"]);
    }

    #[test]
    fn a_study_says_how_many_nodes_unless_the_target_does() {
        let names = |given: &str| -> Vec<(String, u32)> {
            let sized = TargetSpec::parse(given).unwrap().sized(&[3, 5]);
            sized.iter().map(|spec| (spec.name().to_owned(), spec.nodes())).collect()
        };
        assert_eq!(names("tarndb"), [("tarndb-3".to_owned(), 3), ("tarndb-5".to_owned(), 5)]);
        assert_eq!(names("tarndb?nodes=2"), [("tarndb-2".to_owned(), 2)]);
        assert_eq!(names("tarndb?protocol=aerospike")[1], ("tarndb-aerospike-5".to_owned(), 5));
        assert_eq!(names("tarndb?protocol=aerospike&nodes=3"), [("tarndb-aerospike-3".to_owned(), 3)]);
        assert_eq!(names("x=cql://h:1?nodes=4"), [("x".to_owned(), 4)]);
    }

    #[test]
    fn nonsense_is_refused_without_showing_a_password() {
        for (given, says) in [
            ("", "no protocol"),
            ("tarndb?memory=1", "the options"),
            ("tarndb?nodes=0", "from 1"),
            ("tarndb?nodes=65", "to 64"),
            ("tarndb?protocol=redis", "not one of: cql, aerospike"),
            ("cassandra?x", "key=value"),
            ("10.0.0.1:9042", "no protocol"),
            ("http://a:1", "not one of"),
            ("cql://host", "HOST:PORT"),
            ("cql://host:0", "HOST:PORT"),
            ("cql://host:99999", "HOST:PORT"),
            ("cql://me@host:1", "USER:PASSWORD"),
            ("cql://me:secret@host:1?node=3", "did you mean `nodes`"),
            ("cql://me:secret@host:1?pid=x", "pid"),
            ("cql://me:secret@host:1?metrics=htp://h:1/m", "`htp://h:1/m` is no address of metrics"),
            ("cql://host:1?metrics=http://h:1/m,", "`` is no address of metrics"),
            ("cql://host:1?metrics=http://h:1,http://i:1,http://h:1/metrics", "http://h:1/metrics twice"),
            ("aerospike://host:1?metrics=http://me:secret@h:1/m", "password"),
            ("aerospike://me:secret@host:1", "users"),
            ("aerospike://host:1/", "namespace"),
            ("aerospike://host:1/a/b", "namespace"),
            ("aerospike://host/test", "HOST:PORT"),
            ("aerospike://host:1/test?consistency=one", "unknown key"),
            ("aerospike://host:1/test?node=3", "did you mean `nodes`"),
        ] {
            let error = TargetSpec::parse(given).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains("secret"), "{error}");
        }
    }
}
