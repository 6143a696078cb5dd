//! Roles in a backup: `roles.json`, with hashed passwords, memberships, permissions, identities, networks and limits, as they are at the cut. Names go to the terminal, nothing else of them does.

use super::client::{Nodes, Roles};
use super::error::BackupError;
use model::{Schema, schema_blob};

/// As they are stored and sent: a schema that has nothing else.
pub(crate) fn encode_roles(roles: &Roles) -> Vec<u8> {
    schema_blob::encode(&Schema { roles: roles.clone(), ..Schema::empty() })
}

/// Makes those that do not exist. Those that do stay as they are; which ones differ is said.
pub(crate) fn restore_roles(nodes: &Nodes, roles: &Roles) -> Result<String, BackupError> {
    let here = nodes.roles()?;
    nodes.0[0].send("/restore/roles", &encode_roles(roles))?;
    Ok(describe(roles, &here))
}

/// What becomes of roles where there are these.
fn describe(roles: &Roles, here: &Roles) -> String {
    let (known, new): (Vec<_>, Vec<_>) = roles.iter().partition(|(name, _)| here.contains_key(*name));
    let (same, others): (Vec<_>, Vec<_>) = known.into_iter().partition(|(name, role)| here.get(*name) == Some(role));
    let others: Vec<&str> = others.into_iter().map(|(name, _)| name.as_str()).collect();
    let differ = match others.len() {
        0 => String::new(),
        count => format!(", {count} are here, differ, and stay as they are: {}", others.join(", ")),
    };
    format!("roles: {} made, {} are here as they were{differ}", new.len(), same.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Role;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    #[test]
    fn what_differs_is_named_and_no_hash_is() {
        let role = |hash: &str| Arc::new(Role { password_hash: Some(hash.to_owned()), ..Role::default() });
        let roles = |all: &[(&str, &str)]| all.iter().map(|(name, hash)| ((*name).to_owned(), role(hash))).collect::<Roles>();
        let (backup, here) =
            (roles(&[("a", "h1"), ("b", "h2"), ("c", "h3"), ("d", "h4")]), roles(&[("b", "h2"), ("c", "x"), ("d", "y"), ("e", "z")]));
        assert_eq!(describe(&backup, &here), "roles: 1 made, 1 are here as they were, 2 are here, differ, and stay as they are: c, d");
        assert_eq!(describe(&backup, &BTreeMap::new()), "roles: 4 made, 0 are here as they were");
    }
}
