//! What `--target` says.
//!
//! ```text
//! tarndb                                    a private node of this very binary
//! cassandra[?key=value&…]                   a peer that peers/cassandra/cassandra.sh starts, with `--key value` for each pair
//! [NAME=]cql://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][?key=value&…]
//!                                           a server that is there; keys: nodes, pid, metrics (a URL), consistency, table (a clause for WITH)
//! ```

/// What a study is run against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetSpec {
    /// A node that the tool starts from its own binary.
    Private,
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
        /// User and password.
        credentials: Option<(String, String)>,
        /// How many nodes the cluster has.
        nodes: u32,
        /// Its process, if it runs on this machine.
        pid: Option<u32>,
        /// Where its metrics are.
        metrics: Option<String>,
        /// Consistency level of reads and writes.
        consistency: Option<String>,
        /// Options of the table.
        table: Option<String>,
    },
}

/// Why a target makes no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no target: {why}; a target is `tarndb` (a private node), the name of a peer such as `cassandra`, or [NAME=]cql://HOST:PORT"
)]
pub struct SpecError {
    given: String,
    why: String,
}

/// Name of the private node in reports.
const PRIVATE: &str = "tarndb";
const SCHEME: &str = "cql://";

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
        let (name, url) = (given[..scheme_at].trim_end_matches('='), &given[scheme_at..]);
        let shown = || format!("{}…", &given[..at + 3]);
        let wrong = |why: &str| SpecError { given: shown(), why: why.to_owned() };
        let rest = url.strip_prefix(SCHEME).ok_or_else(|| wrong("its protocol is not one of: cql"))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (credentials, address) = match place.rsplit_once('@') {
            Some((user, address)) => {
                let (user, password) = user.split_once(':').ok_or_else(|| wrong("before the @ stand USER:PASSWORD"))?;
                (Some((user.to_owned(), password.to_owned())), address)
            }
            None => (None, place),
        };
        let reachable =
            |one: &str| one.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0));
        if !address.split(',').all(reachable) {
            return Err(wrong("an address is HOST:PORT, with a port from 1 to 65535"));
        }
        let name = if name.is_empty() { address.split(',').next().unwrap_or(address) } else { name };
        let mut spec = Self::Server {
            name: name.to_owned(),
            address: address.to_owned(),
            credentials,
            nodes: u32::try_from(address.split(',').count()).unwrap_or(u32::MAX),
            pid: None,
            metrics: None,
            consistency: None,
            table: None,
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
            return if query.is_empty() {
                Ok(Self::Private)
            } else {
                Err(wrong("the private node has no options; --memory and --server-cpus set it up"))
            };
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
        let Self::Server { nodes, pid, metrics, consistency, table, .. } = self else { unreachable!("only servers have keys") };
        let number = |what: &str| given.parse::<u32>().ok().filter(|number| *number > 0).ok_or(format!("{key} is {what}, not `{given}`"));
        match key {
            "nodes" => *nodes = number("a number of nodes")?,
            "pid" => *pid = Some(number("the number of a process")?),
            "metrics" => *metrics = Some(given.to_owned()),
            "consistency" => *consistency = Some(given.to_uppercase()),
            "table" => *table = Some(given.to_owned()),
            _ => {
                let known = ["nodes", "pid", "metrics", "consistency", "table"];
                let nearest = base::nearest(key, known.into_iter()).map(|known| format!(" (did you mean `{known}`?)")).unwrap_or_default();
                return Err(format!("unknown key `{key}`{nearest}"));
            }
        }
        Ok(())
    }

    /// Name in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Private => PRIVATE,
            Self::Peer { name, .. } | Self::Server { name, .. } => name,
        }
    }

    /// Nodes of the target.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        match self {
            Self::Private | Self::Peer { .. } => 1,
            Self::Server { nodes, .. } => *nodes,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_apart() {
        assert_eq!(TargetSpec::parse("tarndb").unwrap(), TargetSpec::Private);
        assert_eq!(TargetSpec::parse("cassandra").unwrap(), TargetSpec::Peer { name: "cassandra".to_owned(), options: vec![] });
        let options = vec![("readahead".to_owned(), "4".to_owned()), ("durability".to_owned(), "group".to_owned())];
        assert_eq!(
            TargetSpec::parse("cassandra?readahead=4&durability=group").unwrap(),
            TargetSpec::Peer { name: "cassandra".to_owned(), options }
        );
        let spec = TargetSpec::parse("three=cql://me:se:cr@10.0.0.1:9042,10.0.0.2:9042?nodes=3&consistency=quorum&table=a=1").unwrap();
        let TargetSpec::Server { name, address, credentials, nodes, consistency, table, .. } = spec else { panic!("a server") };
        assert_eq!((name.as_str(), address.as_str(), nodes), ("three", "10.0.0.1:9042,10.0.0.2:9042", 3));
        assert_eq!(credentials, Some(("me".to_owned(), "se:cr".to_owned())));
        assert_eq!((consistency.as_deref(), table.as_deref()), (Some("QUORUM"), Some("a=1")));
        assert_eq!(TargetSpec::parse("cql://[::1]:9042").unwrap().name(), "[::1]:9042");
    }

    #[test]
    fn nonsense_is_refused_without_showing_a_password() {
        for (given, says) in [
            ("", "no protocol"),
            ("tarndb?memory=1", "no options"),
            ("cassandra?x", "key=value"),
            ("10.0.0.1:9042", "no protocol"),
            ("http://a:1", "not one of"),
            ("cql://host", "HOST:PORT"),
            ("cql://host:0", "HOST:PORT"),
            ("cql://host:99999", "HOST:PORT"),
            ("cql://me@host:1", "USER:PASSWORD"),
            ("cql://me:secret@host:1?node=3", "did you mean `nodes`"),
            ("cql://me:secret@host:1?pid=x", "pid"),
        ] {
            let error = TargetSpec::parse(given).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains("secret"), "{error}");
        }
    }
}
