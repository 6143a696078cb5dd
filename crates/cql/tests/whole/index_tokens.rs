//! An index that takes texts apart: which entries a write begins, which it ends, and which it leaves as they are.

use crate::schema_support::Session;
use base::{Now, Token};
use cql::exec::MemoryStore;
use cql::index::{Entries, observers, value_prefix};
use model::operation::{Context, INDEX_OVERSIZE_KEY, PartitionKey, RowChange, RowObserver, WriteSet};
use model::row::{RowView, RowWriter, Stamp};

/// The observer of an index on the texts of a table with this key.
fn observer(key: &str) -> Entries {
    let mut session = Session::new();
    session.all(&[
        "CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "USE app",
        &format!("CREATE TABLE t (k int, c int, v text, PRIMARY KEY ({key}))"),
        "CREATE CUSTOM INDEX ON t (v) USING 'org.apache.cassandra.index.sasi.SASIIndex' \
         WITH OPTIONS = {'analyzer_class': 'org.apache.cassandra.index.sasi.analyzer.DelimiterAnalyzer'}",
    ]);
    let table = session.schema.table("app", "t").unwrap().clone();
    observers(&table).next().unwrap().1
}

/// A row with a text that was written at this time; columns are numbered as they are declared.
fn row(text: &str, timestamp: i64) -> Vec<u8> {
    let mut row = Vec::new();
    let mut writer = RowWriter::new(&mut row, Stamp::at(timestamp), true, None);
    writer.value(model::ColumnId(2), Stamp::at(timestamp), text.as_bytes());
    writer.finish();
    row
}

/// What a change stages: tokens whose entries begin, with a plus sign, and end, with a minus sign.
fn staged(observer: &Entries, clustering: &[u8], old: Option<&[u8]>, new: &[u8]) -> String {
    let context = Context { now: Now { monotonic_us: 0, wall_us: 9_000_000 }, timestamp_us: 9, nonce: 1 };
    let (group, mut derived) = (WriteSet::default(), WriteSet::default());
    let partition = PartitionKey { table: base::TableId(1), token: Token(7), bytes: &[0, 0, 0, 1] };
    let change = RowChange { partition, clustering, old, new, purge_after_s: None, group: &group };
    observer.changed(&context, &change, &MemoryStore::new(), &mut derived).unwrap();
    let mut tokens: Vec<_> = derived
        .rows()
        .map(|staged| {
            if staged.clustering == INDEX_OVERSIZE_KEY {
                return "more".to_owned();
            }
            let sign = if RowView::new(staged.row).liveness().is_some() { '+' } else { '-' };
            let value = value_prefix(staged.clustering, 0).unwrap();
            // Between the byte that says that there is a value and the two that end a text.
            format!("{sign}{}", String::from_utf8_lossy(&value[1..value.len() - 2]))
        })
        .collect();
    tokens.sort();
    tokens.join(" ")
}

#[test]
fn tokens_that_remain_keep_their_entries() {
    let observer = observer("k");
    assert_eq!(staged(&observer, b"", None, &row(",a,,b,a,", 1)), "+a +b");
    assert_eq!(staged(&observer, b"", Some(&row("a,b", 1)), &row("b,c", 2)), "+c -a");
    assert_eq!(staged(&observer, b"", Some(&row("a,b", 1)), &row("b,a,,", 2)), "", "the same tokens");
    assert_eq!(staged(&observer, b"", Some(&row("a,b", 1)), &row("", 2)), "-a -b");
    assert_eq!(staged(&observer, b"", Some(&row(",", 1)), &row("", 2)), "");
}

#[test]
fn tokens_are_written_again_where_a_deleted_range_may_have_taken_them() {
    let observer = observer("k, c");
    assert_eq!(staged(&observer, b"\x10\x01", Some(&row("a,b", 1)), &row("b,c", 2)), "+b +c -a");
    assert_eq!(staged(&observer, b"\x10\x01", Some(&row("a,b", 1)), &row("a,b", 1)), "");
}

#[test]
fn a_text_has_so_many_entries_and_says_that_there_are_more() {
    let observer = observer("k");
    let text = |tokens: usize| (0..tokens).map(|number| format!("{number:04}")).collect::<Vec<_>>().join(",");
    let begun = |text: &str| {
        let staged = staged(&observer, b"", None, &row(text, 1));
        (staged.split(' ').filter(|token| token.starts_with('+')).count(), staged.contains("more"))
    };
    assert_eq!(begun(&text(1024)), (1024, false));
    assert_eq!(begun(&text(1025)), (1024, true));
    assert_eq!(begun(&["same"; 3000].join(",")), (1, false), "a token that is there many times has one entry");
    assert_eq!(begun(&format!("{},short", "l".repeat(1024))), (1, false), "one that is too long has none");
}
