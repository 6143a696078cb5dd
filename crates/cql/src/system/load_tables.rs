//! What a node is asked for: how long it takes by table, slow requests, hot partitions, and by limited roles.

use super::node_view::NodeView;
use super::row::{RowBuilder, bigint, double, inet, int, text, timestamp};

/// Requests of one kind, by table.
pub(super) fn latencies(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    let ms = |us: f64| double(us / 1_000.0);
    for table in view.schema.tables() {
        let Some(figures) = view.table_latencies.iter().find(|figures| figures.table == table.id) else { continue };
        rows.row([
            ("keyspace_name", text(&table.keyspace)),
            ("table_name", text(&table.name)),
            ("count", count(figures.count)),
            ("max_ms", ms(figures.max_us as f64)),
            ("p50th_ms", ms(figures.p50_us)),
            ("p99th_ms", ms(figures.p99_us)),
            ("per_second", double(figures.per_second)),
        ]);
    }
}

pub(super) fn slow_queries(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for slow in view.slow_requests {
        rows.row([
            ("core", int(slow.core.into())),
            ("number", count(slow.number)),
            ("client", slow.client.and_then(|client| inet(client.ip()))),
            ("client_port", slow.client.and_then(|client| int(client.port().into()))),
            ("duration_us", count(slow.duration_us)),
            ("keyspace_name", slow.keyspace.as_ref().and_then(text)),
            ("kind", text(slow.kind)),
            ("protocol", text(slow.protocol)),
            ("started_at", timestamp(slow.started_us / 1_000)),
            ("statement", slow.statement.as_ref().and_then(text)),
            ("table_name", slow.table.as_ref().and_then(text)),
            ("username", slow.role.as_ref().and_then(text)),
            ("waited_for", text(slow.waited_for)),
        ]);
    }
}

pub(super) fn hot_partitions(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for hot in view.hot_partitions {
        rows.row([
            ("keyspace_name", text(&hot.keyspace)),
            ("table_name", text(&hot.table)),
            ("partition_token", bigint(hot.token)),
            ("core", int(hot.core.into())),
            ("partition_key", text(&hot.key)),
            ("requests_per_second", double(hot.requests_per_second)),
            ("samples", count(hot.samples)),
            ("share", double(hot.share)),
        ]);
    }
}

pub(super) fn role_limits(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for usage in view.role_usages {
        let limits = usage.limits.iter().map(|(limit, value)| (limit.name(), count(value)));
        let used = [
            ("role", text(&usage.role)),
            ("connections", int(usage.connections.try_into().unwrap_or(i32::MAX))),
            ("refused_connections", count(usage.refused_connections)),
            ("refused_requests", count(usage.refused_requests)),
        ];
        rows.row(used.into_iter().chain(limits));
    }
}

fn count(value: u64) -> Option<Vec<u8>> {
    bigint(i64::try_from(value).unwrap_or(i64::MAX))
}
