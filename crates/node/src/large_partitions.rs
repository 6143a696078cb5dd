//! The guardrail of partitions' sizes: no statement meets it, so what the engine has found is logged.

use crate::core::Core;
use crate::hot::{key_text, named};
use cql::guardrails::large_partition;
use cql::system::is_system_keyspace;

impl Core {
    /// Logs what the shard has found since the last call, and tells it from which size on there is something to find.
    pub(crate) fn tell_of_large_partitions(&mut self, wall_us: i64) {
        let live = self.config.live.guardrails();
        self.shard.set_large_partition_bytes(live.large_partition_bytes());
        for found in self.shard.take_large_partitions() {
            let Some((keyspace, name, Some(table))) = named(&self.schema, found.table) else { continue };
            if is_system_keyspace(keyspace) {
                continue;
            }
            let what = format!("{keyspace}.{name}:{}", key_text(table, &found.key));
            live.log(wall_us, &large_partition(&live.get(), &what, found.bytes));
        }
    }
}
