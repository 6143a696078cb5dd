//! `replication = {…}` of a keyspace: which strategies there are, and what their parameters may be.

use super::DdlError;
use super::change::Environment;
use super::error::ReplicationError;
use model::Replication;
use std::collections::BTreeMap;

/// The class of one factor for the whole ring.
pub const SIMPLE_STRATEGY: &str = "org.apache.cassandra.locator.SimpleStrategy";
/// The class of one factor for each data centre.
pub const NETWORK_TOPOLOGY_STRATEGY: &str = "org.apache.cassandra.locator.NetworkTopologyStrategy";

const PACKAGE: &str = "org.apache.cassandra.locator.";
const LOCAL_STRATEGY: &str = "org.apache.cassandra.locator.LocalStrategy";
const CLASS: &str = "class";
const REPLICATION_FACTOR: &str = "replication_factor";
/// The factor of a keyspace that names none.
const REPLICATION_FACTOR_DEFAULT: &str = "1";

/// The replication that a statement declares; `former` is what an ALTER KEYSPACE changes.
pub(super) fn replication(
    keyspace: &str,
    mut declared: BTreeMap<String, String>,
    former: Option<&Replication>,
    environment: &Environment<'_>,
) -> Result<Replication, DdlError> {
    let class = declared.remove(CLASS).ok_or(ReplicationError::NoReplicationClass)?;
    let class = if class.contains('.') { class } else { format!("{PACKAGE}{class}") };
    let empty = BTreeMap::new();
    let former = former.map_or(&empty, |former| &former.parameters);
    let (strategy, parameters) = match class.as_str() {
        SIMPLE_STRATEGY => ("SimpleStrategy", simple(declared, former)),
        NETWORK_TOPOLOGY_STRATEGY => ("NetworkTopologyStrategy", network(declared, former, environment.data_center)),
        LOCAL_STRATEGY => return Err(ReplicationError::LocalStrategy.into()),
        _ => return Err(ReplicationError::UnknownReplicationClass(class).into()),
    };
    let known = if class == SIMPLE_STRATEGY { REPLICATION_FACTOR } else { environment.data_center };
    if let Some(option) = parameters.keys().find(|option| *option != known) {
        return Err(ReplicationError::UnknownReplicationOption { option: option.clone(), strategy, keyspace: keyspace.to_owned() }.into());
    }
    let parameters: BTreeMap<_, _> =
        parameters.into_iter().map(|(name, value)| Ok((name, factor(&value)?.to_string()))).collect::<Result<_, DdlError>>()?;
    match parameters.get(known).map(String::as_str) {
        None => Err(DdlError::Replication(ReplicationError::NoDataCenter)),
        Some("0") if class == SIMPLE_STRATEGY => Err(DdlError::Replication(ReplicationError::ZeroReplicationFactor)),
        Some(_) => Ok(Replication { class, parameters }),
    }
}

fn simple(mut declared: BTreeMap<String, String>, former: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    // An unknown option is the better complaint than a missing one.
    if declared.is_empty() {
        let factor = former.get(REPLICATION_FACTOR).map_or(REPLICATION_FACTOR_DEFAULT, String::as_str);
        declared.insert(REPLICATION_FACTOR.to_owned(), factor.to_owned());
    }
    declared
}

/// A `replication_factor` is for the data centres that have no factor yet; a factor of zero is none.
fn network(mut declared: BTreeMap<String, String>, former: &BTreeMap<String, String>, data_center: &str) -> BTreeMap<String, String> {
    let mut factor = declared.remove(REPLICATION_FACTOR);
    if factor.is_some() {
        for (name, value) in former.iter().filter(|(name, _)| *name != REPLICATION_FACTOR) {
            declared.entry(name.clone()).or_insert_with(|| value.clone());
        }
    } else if declared.is_empty() {
        factor = Some(former.get(REPLICATION_FACTOR).map_or(REPLICATION_FACTOR_DEFAULT, String::as_str).to_owned());
    }
    if let Some(factor) = factor {
        declared.entry(data_center.to_owned()).or_insert(factor);
    }
    declared.retain(|_, value| value != "0");
    declared
}

fn factor(text: &str) -> Result<i32, DdlError> {
    if text.contains('/') {
        return Err(ReplicationError::TransientReplication.into());
    }
    match text.parse::<i32>() {
        Ok(factor) if factor < 0 => Err(DdlError::Replication(ReplicationError::NegativeReplicationFactor(factor))),
        Ok(factor) => Ok(factor),
        Err(_) => Err(DdlError::Replication(ReplicationError::ReplicationFactor(text.to_owned()))),
    }
}

/// What a client should know: more replicas are asked for than there are nodes.
pub(super) fn warnings(keyspace: &str, replication: &Replication, environment: &Environment<'_>) -> Vec<String> {
    let nodes = environment.nodes;
    let too_many = replication.parameters.iter().filter(|(_, factor)| factor.parse().is_ok_and(|factor: usize| factor > nodes));
    too_many
        .map(|(name, factor)| {
            let place = if name == REPLICATION_FACTOR { String::new() } else { format!(" for datacenter {name}") };
            format!("Your replication factor {factor} for keyspace {keyspace} is higher than the number of nodes {nodes}{place}")
        })
        .collect()
}
