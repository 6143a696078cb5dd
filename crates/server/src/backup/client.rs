//! The nodes that a tool talks to.

use super::endpoint::Places;
use super::error::BackupError;
use crate::cli::NodeArguments;
use crate::operate::{Asked, OperateError};
use model::{Role, Schema, schema_blob};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Roles by name.
pub(crate) type Roles = BTreeMap<String, Arc<Role>>;

/// Nodes, by their HTTP ports.
pub(crate) struct Nodes(pub(crate) Vec<Asked>);

impl Nodes {
    /// `--http` names them, with commas between.
    pub(crate) fn new(arguments: &NodeArguments) -> Result<Self, BackupError> {
        let names: BTreeSet<&str> = arguments.http.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let asked = names.into_iter().map(|name| Asked::at(arguments, name)).collect::<Result<Vec<_>, OperateError>>()?;
        if asked.is_empty() {
            return Err(BackupError::Unknown { what: "node to ask: --http is empty".to_owned() });
        }
        Ok(Self(asked))
    }

    /// The schema as the first node knows it.
    pub(crate) fn schema(&self) -> Result<Schema, BackupError> {
        decode(&self.0[0], &self.0[0].send("/backup/schema", &[])?)
    }

    /// The roles as the first node knows them.
    pub(crate) fn roles(&self) -> Result<Roles, BackupError> {
        decode(&self.0[0], &self.0[0].send("/backup/roles", &[])?).map(|schema| schema.roles)
    }

    /// The schema as each node knows it, with roles if they are asked for.
    pub(crate) fn schemas(&self, has_roles: bool) -> Result<Vec<Schema>, BackupError> {
        let target = if has_roles { "/backup/roles" } else { "/backup/schema" };
        let answers = self.all(target, &[]).into_iter().zip(&self.0);
        answers.map(|(answer, node)| decode(node, &answer?)).collect()
    }

    /// Asks all of them the same at once.
    pub(crate) fn all(&self, target: &str, body: &[u8]) -> Vec<Result<Vec<u8>, OperateError>> {
        std::thread::scope(|scope| {
            let asked: Vec<_> = self.0.iter().map(|node| scope.spawn(move || node.send(target, body))).collect();
            asked.into_iter().map(|asked| asked.join().expect("asking does not panic")).collect()
        })
    }

    /// The slots of keyspaces that each is the primary of.
    pub(crate) fn places<'a>(&self, target: &str, keyspaces: impl Iterator<Item = &'a String>) -> Result<Vec<Places>, BackupError> {
        let body = serde_json::to_vec(&keyspaces.collect::<Vec<_>>()).expect("texts are always JSON");
        let answers = self.all(target, &body).into_iter().zip(&self.0);
        answers.map(|(answer, node)| Ok(serde_json::from_slice(&answer?).map_err(|error| node.strange(error.to_string()))?)).collect()
    }
}

fn decode(node: &Asked, blob: &[u8]) -> Result<Schema, BackupError> {
    Ok(schema_blob::decode(blob).map_err(|error| node.strange(error.to_string()))?)
}
