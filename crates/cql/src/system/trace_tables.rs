//! Rows of `system_traces`: requests for which a trace was asked, and what has happened to them.

use super::NodeView;
use super::row::{RowBuilder, inet, int, text, text_map, timestamp};
use std::collections::BTreeMap;

pub(super) fn sessions(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for trace in view.traces {
        let parameters: BTreeMap<String, String> = trace.parameters.iter().cloned().collect();
        rows.row([
            ("session_id", Some(trace.id.to_vec())),
            ("client", inet(trace.client)),
            ("command", text("QUERY")),
            ("coordinator", inet(view.node_address.ip())),
            ("coordinator_port", int(view.node_address.port().into())),
            ("duration", trace.duration_us().and_then(microseconds)),
            ("parameters", text_map(&parameters)),
            ("request", text(trace.request)),
            ("started_at", timestamp(trace.began.wall_us.div_euclid(1000))),
        ]);
    }
}

pub(super) fn events(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for trace in view.traces {
        for (id, event) in trace.events() {
            rows.row([
                ("session_id", Some(trace.id.to_vec())),
                ("event_id", Some(id.to_vec())),
                ("activity", text(&event.activity)),
                ("source", inet(view.node_address.ip())),
                ("source_elapsed", microseconds(event.elapsed_us)),
                ("source_port", int(view.node_address.port().into())),
                ("thread", text(format!("core-{}", event.core))),
            ]);
        }
    }
}

fn microseconds(microseconds: u32) -> Option<Vec<u8>> {
    int(i32::try_from(microseconds).unwrap_or(i32::MAX))
}
