//! Rows that tell of the streams of CDC logs: one generation, from the first log on, whose streams never change.
//!
//! Libraries look for those of tables with tablets by table, and for all others in one place; both have the same.

use super::NodeView;
use super::row::{RowBuilder, bigint, blobs, text, timestamp, tinyint};
use crate::cdc::{base_of, generation_ms, stream};

/// The state of a stream that is written now.
const CURRENT: i8 = 0;

pub(super) fn generations(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    let Some(generation) = generation_ms(view.schema) else { return };
    rows.row([("key", text("timestamps")), ("time", timestamp(generation))]);
}

pub(super) fn streams(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    let Some(generation) = generation_ms(view.schema) else { return };
    for (number, group) in (0..).zip(stream::groups()) {
        let mut ids: Vec<&[u8]> = group.iter().map(|stream| &stream.id[..]).collect();
        ids.sort_unstable();
        let range_end = stream::last_token(number).0;
        rows.row([("time", timestamp(generation)), ("range_end", bigint(range_end)), ("streams", blobs(ids.into_iter()))]);
    }
}

/// The names of the keyspace and table of each log.
fn logged<'a>(view: &NodeView<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
    view.schema.tables().filter_map(|log| Some((log.keyspace.as_str(), base_of(log)?)))
}

pub(super) fn generations_by_table(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    let Some(generation) = generation_ms(view.schema) else { return };
    for (keyspace, table) in logged(view) {
        rows.row([("keyspace_name", text(keyspace)), ("table_name", text(table)), ("timestamp", timestamp(generation))]);
    }
}

pub(super) fn streams_by_table(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    let Some(generation) = generation_ms(view.schema) else { return };
    for (keyspace, table) in logged(view) {
        for stream in stream::groups().flatten() {
            rows.row([
                ("keyspace_name", text(keyspace)),
                ("table_name", text(table)),
                ("timestamp", timestamp(generation)),
                ("stream_state", tinyint(CURRENT)),
                ("stream_id", Some(stream.id.to_vec())),
            ]);
        }
    }
}
