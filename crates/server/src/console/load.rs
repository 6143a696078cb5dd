//! `GET /api/v1/load`: `system_views.slow_queries` and `system_views.hot_partitions`, for who may read those.

use super::login::Login;
use crate::http::{FORBIDDEN, Reply};
use ::node::Board;
use cql::SlowRequest;
use cql::permissions::Rights;
use cql::system::HotPartition;
use model::{Permission, Resource};
use serde_json::{Value, json};

/// Answers somebody whose permissions are checked, or, without a login, everybody.
pub(super) fn answer(board: &Board, login: Option<&Login>) -> Reply {
    if let Some(login) = login {
        let schema = board.schema();
        let rights = Rights::of(&schema, &login.role);
        for table in ["slow_queries", "hot_partitions"].map(|table| Resource::table("system_views", table)) {
            if !rights.allow(Permission::Select, &table) {
                return Reply::text(FORBIDDEN, format!("the role {} has no SELECT permission on {table}", login.role));
            }
        }
    }
    let mut slow = board.slow_requests();
    slow.sort_by_key(|slow| std::cmp::Reverse(slow.started_us));
    let mut hot = board.hot_partitions(io_linux::BlockingDisk::now().monotonic_us);
    hot.sort_by(|one, other| other.requests_per_second.total_cmp(&one.requests_per_second));
    Reply::json(&json!({
        "slow": slow.iter().map(slow_request).collect::<Vec<_>>(),
        "hot": hot.iter().map(hot_partition).collect::<Vec<_>>(),
    }))
}

fn slow_request(slow: &SlowRequest) -> Value {
    json!({
        "core": slow.core,
        "number": slow.number,
        "started_ms": slow.started_us / 1_000,
        "duration_us": slow.duration_us,
        "protocol": slow.protocol,
        "kind": slow.kind,
        "keyspace": slow.keyspace,
        "table": slow.table,
        "statement": slow.statement,
        "client": slow.client.map(|client| client.to_string()),
        "role": slow.role,
        "waited_for": slow.waited_for,
    })
}

fn hot_partition(hot: &HotPartition) -> Value {
    json!({
        "keyspace": hot.keyspace,
        "table": hot.table,
        "core": hot.core,
        "token": hot.token.to_string(),
        "partition_key": hot.key,
        "requests_per_second": hot.requests_per_second,
        "share": hot.share,
        "samples": hot.samples,
    })
}
