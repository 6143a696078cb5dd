//! The nodes that a tool talks to.

use super::endpoint::Places;
use super::error::BackupError;
use crate::cli::NodeArguments;
use crate::operate::{Asked, OperateError};
use model::{Schema, schema_blob};
use std::collections::BTreeSet;

/// Nodes, by their HTTP ports.
pub(crate) struct Nodes(pub(crate) Vec<Asked>);

impl Nodes {
    /// `--http` names them, with commas between.
    pub(crate) fn new(arguments: &NodeArguments) -> Result<Self, BackupError> {
        let names: BTreeSet<&str> = arguments.http.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let asked = names.into_iter().map(|name| Asked::new(arguments, name)).collect::<Result<_, OperateError>>()?;
        Ok(Self(asked))
    }

    pub(crate) fn schema(&self) -> Result<Schema, BackupError> {
        let node = &self.0[0];
        let blob = node.send("/backup/schema", &[])?;
        Ok(schema_blob::decode(&blob).map_err(|error| node.strange(&error.to_string()))?)
    }

    /// Asks all of them the same at once.
    pub(crate) fn all(&self, target: &str) -> Vec<Result<Vec<u8>, OperateError>> {
        std::thread::scope(|scope| {
            let asked: Vec<_> = self.0.iter().map(|node| scope.spawn(move || node.send(target, &[]))).collect();
            asked.into_iter().map(|asked| asked.join().expect("asking does not panic")).collect()
        })
    }

    /// The slots that each is the primary of.
    pub(crate) fn places(&self, target: &str) -> Result<Vec<Places>, BackupError> {
        let answers = self.all(target).into_iter().zip(&self.0);
        answers.map(|(answer, node)| Ok(serde_json::from_slice(&answer?).map_err(|error| node.strange(&error.to_string()))?)).collect()
    }
}
