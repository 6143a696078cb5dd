//! What is written without a timestamp is seen afterwards, wherever the clock stands.

use crate::select_support::{Memory, Node};

/// A node whose rows are from before its clock was set back by a minute.
fn set_back(memory: Memory) -> Node {
    let mut node = Node::new(2);
    node.define("CREATE TABLE one (k int PRIMARY KEY, a int, b int, l list<int>)");
    node.define("CREATE TABLE many (k int, c int, a int, PRIMARY KEY (k, c))");
    node.memory = memory;
    node.write("INSERT INTO one (k, a, b, l) VALUES (1, 1, 1, [1])");
    node.write("BEGIN BATCH INSERT INTO many (k, c, a) VALUES (1, 1, 1); INSERT INTO many (k, c, a) VALUES (1, 2, 1); APPLY BATCH");
    node.wall_us -= 60_000_000;
    node
}

#[test]
fn a_row_of_a_clock_that_was_ahead_is_written_over() {
    for memory in [Memory::All, Memory::Nothing] {
        let mut node = set_back(memory);
        node.write("UPDATE one SET a = 2, l = [2, 3] WHERE k = 1");
        assert_eq!(node.select("SELECT a, b, l FROM one WHERE k = 1"), ["2 1 [2, 3]"]);
        node.write("DELETE b FROM one WHERE k = 1");
        assert_eq!(node.select("SELECT a, b FROM one WHERE k = 1"), ["2 null"]);
        node.write("DELETE FROM one WHERE k = 1");
        assert!(node.select("SELECT a FROM one WHERE k = 1").is_empty());
        node.write("INSERT INTO one (k, a) VALUES (1, 3)");
        assert_eq!(node.select("SELECT a, b, l FROM one WHERE k = 1"), ["3 null null"]);
    }
}

#[test]
fn so_are_the_rows_of_a_partition_one_by_one_and_together() {
    for memory in [Memory::All, Memory::Nothing] {
        let mut node = set_back(memory);
        node.write("DELETE FROM many WHERE k = 1 AND c = 1");
        assert_eq!(node.select("SELECT c, a FROM many WHERE k = 1"), ["2 1"]);
        node.write("INSERT INTO many (k, c, a) VALUES (1, 1, 4)");
        assert_eq!(node.select("SELECT c, a FROM many WHERE k = 1"), ["1 4", "2 1"]);
        node.write("DELETE FROM many WHERE k = 1 AND c > 1");
        assert_eq!(node.select("SELECT c, a FROM many WHERE k = 1"), ["1 4"]);
        node.write("DELETE FROM many WHERE k = 1");
        assert!(node.select("SELECT c FROM many WHERE k = 1").is_empty());
        // Hidden by the deletion of the partition if it were not newer.
        node.write("INSERT INTO many (k, c, a) VALUES (1, 2, 5)");
        assert_eq!(node.select("SELECT c, a FROM many WHERE k = 1"), ["2 5"]);
    }
}

#[test]
fn so_are_rows_by_batches_which_stay_one_write() {
    for memory in [Memory::All, Memory::Nothing] {
        let mut node = set_back(memory);
        node.write("BEGIN BATCH INSERT INTO many (k, c, a) VALUES (1, 1, 7); DELETE FROM many WHERE k = 1 AND c = 2; APPLY BATCH");
        assert_eq!(node.select("SELECT c, a FROM many WHERE k = 1"), ["1 7"]);
        assert_eq!(node.select("SELECT writetime(a) FROM many WHERE k = 1").len(), 1);
        // A deletion and an insertion of one batch have one time: the deletion wins, as it does when the clock is right.
        node.write("BEGIN BATCH DELETE FROM many WHERE k = 1 AND c = 1; INSERT INTO many (k, c, a) VALUES (1, 1, 8); APPLY BATCH");
        assert!(node.select("SELECT c FROM many WHERE k = 1").is_empty());
    }
}

#[test]
fn a_timestamp_that_was_given_stays_as_it_is() {
    let mut node = set_back(Memory::All);
    node.write("UPDATE one USING TIMESTAMP 5 SET a = 2 WHERE k = 1");
    assert_eq!(node.select("SELECT a FROM one WHERE k = 1"), ["1"]);
    node.write("BEGIN BATCH USING TIMESTAMP 5 INSERT INTO many (k, c, a) VALUES (1, 1, 7); APPLY BATCH");
    assert_eq!(node.select("SELECT a FROM many WHERE k = 1 AND c = 1"), ["1"]);
}

#[test]
fn a_now_of_its_own_forgets_no_deletions() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int PRIMARY KEY, v int, w text)");
    node.write("INSERT INTO t (k, v) VALUES (1, 1) USING TIMESTAMP 5");
    node.write("DELETE FROM t USING TIMESTAMP 10 WHERE k = 1");
    node.now_s = Some(2_000_000_000);
    node.write("INSERT INTO t (k, v) VALUES (1, 2) USING TIMESTAMP 12");
    node.write("UPDATE t USING TIMESTAMP 1 SET w = 'older than the deletion' WHERE k = 1");
    assert_eq!(node.select("SELECT * FROM t"), ["1 2 null"]);
}
