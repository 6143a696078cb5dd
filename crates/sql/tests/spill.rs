//! Queries that spill, to a store that counts: a process of its own, as there is one store for all queries of one.
#![allow(clippy::unwrap_used)]

use tarndb_sql as sql;

use sql::spill::{SpillError, SpillFile, SpillStore, spill_to};
use sql::{Condition, Order, Query, QueryError, Scan, SourceError, Table, Tables, Value};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static FILES: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static BYTES_WRITTEN: AtomicU64 = AtomicU64::new(0);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static FAILS: AtomicU64 = AtomicU64::new(u64::MAX);
/// Who has written so much waits.
static WAITS: AtomicU64 = AtomicU64::new(u64::MAX);

struct Counting;

struct InMemory(Vec<u8>);

impl SpillStore for Counting {
    fn create(&self) -> Result<Box<dyn SpillFile>, SpillError> {
        FILES.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(InMemory(Vec::new())))
    }
}

impl SpillFile for InMemory {
    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, SpillError> {
        let from = (offset as usize).min(self.0.len());
        let length = bytes.len().min(self.0.len() - from);
        bytes[..length].copy_from_slice(&self.0[from..from + length]);
        Ok(length)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SpillError> {
        let end = offset as usize + bytes.len();
        let more = end.saturating_sub(self.0.len()) as u64;
        if BYTES.load(Ordering::Relaxed) + more > LIMIT.load(Ordering::Relaxed) {
            return Err(SpillError::Limit { limit_bytes: LIMIT.load(Ordering::Relaxed) });
        }
        if BYTES_WRITTEN.fetch_add(bytes.len() as u64, Ordering::Relaxed) > FAILS.load(Ordering::Relaxed) {
            return Err(std::io::Error::from_raw_os_error(5).into());
        }
        while BYTES_WRITTEN.load(Ordering::Relaxed) >= WAITS.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        BYTES.fetch_add(more, Ordering::Relaxed);
        self.0.resize(self.0.len().max(end), 0);
        self.0[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> Result<(), SpillError> {
        let less = self.0.len().saturating_sub(length as usize);
        self.0.truncate(length as usize);
        BYTES.fetch_sub(less as u64, Ordering::Relaxed);
        Ok(())
    }

    fn length(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        FILES.fetch_sub(1, Ordering::Relaxed);
        BYTES.fetch_sub(self.0.len() as u64, Ordering::Relaxed);
    }
}

struct Nothing;

impl Tables for Nothing {
    fn find(&self, _: &str) -> Result<Option<Arc<Table>>, SourceError> {
        Ok(None)
    }

    fn scan(&self, _: &Arc<Table>, _: &[Condition], _: Order, _: u64) -> Result<Box<dyn Scan>, SourceError> {
        Err("there are no tables".into())
    }
}

/// One test at a time: the store counts for all.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    spill_to(Box::new(Counting));
    LIMIT.store(u64::MAX, Ordering::Relaxed);
    FAILS.store(u64::MAX, Ordering::Relaxed);
    WAITS.store(u64::MAX, Ordering::Relaxed);
    BYTES_WRITTEN.store(0, Ordering::Relaxed);
    one
}

fn query(sql: &str) -> Query {
    let tables: Arc<dyn Tables> = Arc::new(Nothing);
    Query::prepare(&tables, sql).unwrap()
}

/// So many rows, in no order: `n` and a text of so many bytes that follows from it.
fn rows(count: u32, bytes: u32) -> String {
    let random = "(n * 2654435761) % 4294967296";
    format!(
        "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c LIMIT {count}), r AS (SELECT {random} AS n, substr(printf('%0{bytes}d', {random}), -{bytes}) AS t FROM c)"
    )
}

#[test]
fn a_sort_that_is_larger_than_memory_is_right() {
    let _one = alone();
    // 400 MiB: more than all queries may have.
    let mut sorted = query(&format!("{} SELECT n, length(t) FROM r ORDER BY t, n", rows(400_000, 1_000)));
    let (mut count, mut before, mut most) = (0, -1, 0);
    while sorted.step().unwrap() {
        let [Value::Integer(n), Value::Integer(1_000)] = sorted.row()[..] else { panic!("{:?}", sorted.row()) };
        assert!(n > before);
        (count, before) = (count + 1, n);
        most = most.max(sql::memory::used());
    }
    assert_eq!(count, 400_000);
    assert!(most < sql::memory::MEMORY_MAX / 2, "{most}");
    assert!(BYTES_WRITTEN.load(Ordering::Relaxed) > 380 << 20);
    drop(sorted);
    assert_eq!((FILES.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn groups_distinct_rows_unions_and_windows_spill_and_are_right() {
    let _one = alone();
    let rows = rows(90_000, 600);
    for (sql, expected) in [
        (format!("{rows} SELECT COUNT(*), SUM(m) FROM (SELECT t, COUNT(*) AS m FROM r GROUP BY t)"), vec![90_000, 90_000]),
        (format!("{rows} SELECT COUNT(DISTINCT t), COUNT(*) FROM r"), vec![90_000, 90_000]),
        (format!("{rows} SELECT COUNT(*), 0 FROM (SELECT t FROM r UNION SELECT t || 'x' FROM r)"), vec![180_000, 0]),
        (format!("{rows} SELECT MAX(p), COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY t) AS p FROM r)"), vec![90_000, 90_000]),
        (format!("{rows}, m AS MATERIALIZED (SELECT * FROM r) SELECT COUNT(*), 0 FROM m a JOIN m b ON a.t = b.t"), vec![90_000, 0]),
    ] {
        BYTES_WRITTEN.store(0, Ordering::Relaxed);
        let mut query = query(&sql);
        assert!(query.step().unwrap());
        assert_eq!(query.row(), expected.into_iter().map(Value::Integer).collect::<Vec<_>>(), "{sql}");
        drop(query);
        assert!(BYTES_WRITTEN.load(Ordering::Relaxed) > 10 << 20, "it did not spill: {sql}");
        assert_eq!((FILES.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed)), (0, 0), "{sql}");
    }
}

#[test]
fn what_does_not_spill_makes_no_file() {
    let _one = alone();
    let mut small = query(&format!("{} SELECT t FROM r GROUP BY t ORDER BY t", rows(1_000, 100)));
    while small.step().unwrap() {}
    assert_eq!(BYTES_WRITTEN.load(Ordering::Relaxed), 0);
}

#[test]
fn a_limit_a_failure_and_an_interruption_say_what_they_are_and_leave_no_file() {
    let _one = alone();
    let large = format!("{} SELECT n FROM r ORDER BY t", rows(200_000, 500));
    LIMIT.store(20 << 20, Ordering::Relaxed);
    let mut limited = query(&large);
    let error = limited.step().unwrap_err();
    assert!(matches!(error, QueryError::Spill(SpillError::Limit { .. })) && error.to_string().contains("20 MiB"), "{error}");
    drop(limited);
    assert_eq!(FILES.load(Ordering::Relaxed), 0);

    LIMIT.store(u64::MAX, Ordering::Relaxed);
    FAILS.store(BYTES_WRITTEN.load(Ordering::Relaxed) + (20 << 20), Ordering::Relaxed);
    let mut failing = query(&large);
    let error = failing.step().unwrap_err();
    assert!(matches!(error, QueryError::Spill(SpillError::Io(_))), "{error}");
    drop(failing);
    assert_eq!(FILES.load(Ordering::Relaxed), 0);

    FAILS.store(u64::MAX, Ordering::Relaxed);
    let mut stopped = query(&large);
    let interrupter = stopped.interrupter();
    let until = BYTES_WRITTEN.load(Ordering::Relaxed) + (10 << 20);
    // The query goes on when it is interrupted, not before.
    WAITS.store(until, Ordering::Relaxed);
    let watching = std::thread::spawn(move || {
        while BYTES_WRITTEN.load(Ordering::Relaxed) < until {
            std::thread::yield_now();
        }
        interrupter.interrupt();
        WAITS.store(u64::MAX, Ordering::Relaxed);
    });
    let error = stopped.step().unwrap_err();
    assert!(matches!(error, QueryError::Interrupted), "{error}");
    watching.join().unwrap();
    drop(stopped);
    assert_eq!((FILES.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed)), (0, 0));
    assert!(query("SELECT 1").step().unwrap(), "others go on");
}
