//! What a role may do, for protocols that have their own way to ask.

use crate::core::Core;
use cql::permissions::Rights;
use std::sync::Arc;

impl Core {
    /// What a role may do, as of now.
    pub(crate) fn rights_of(&mut self, role: &Arc<str>) -> Arc<Rights> {
        self.protocols.cql.rights.of(&self.schema, role)
    }
}
