//! A materialized view is what its table says: at once for who wrote, and in the end whoever dies on the way, while it is built, too.

#![allow(clippy::unwrap_used)]

mod members;
mod trio;

use cql::wire::Consistency;
use sim::{Bound, Loss, Statement, int};
use trio::Trio;

const PARTITIONS: u64 = 40;
const ROWS: u64 = 8;
const VALUES: u64 = 6;
/// Longer than entries wait for their coordinator.
const DELIVERED_US: u64 = 40_000_000;

impl Trio {
    /// `expires`: whether it may.
    fn statement(&mut self, expires: bool) -> Statement {
        let mut below = |most: u64| int(self.rng.below(most) as i32);
        let (key, row, value) = (below(PARTITIONS), below(ROWS), below(VALUES));
        let (other, another) = (below(PARTITIONS), below(VALUES));
        let statement = match self.rng.below(14) {
            0 => Statement::new("DELETE FROM k.t WHERE k = ? AND c = ?").bind([key, row]),
            1 => Statement::new("DELETE FROM k.t WHERE k = ? AND c > ?").bind([key, row]),
            2 => Statement::new("DELETE FROM k.t WHERE k = ?").bind([key]),
            3 => Statement::new("DELETE v FROM k.t WHERE k = ? AND c = ?").bind([key, row]),
            4 => Statement::new("UPDATE k.t SET s = ? WHERE k = ?").bind([value, key]),
            5 => Statement::new("UPDATE k.t SET m = m + {4, 5}, v = ? WHERE k = ? AND c = ?").bind([value, key, row]),
            6 if expires => Statement::new("INSERT INTO k.t (k, c, v) VALUES (?, ?, ?) USING TTL 1").bind([key, row, value]),
            7 if expires => Statement::new("UPDATE k.t USING TTL 1 SET w = ? WHERE k = ? AND c = ?").bind([value, key, row]),
            8 => Statement::new("UPDATE k.t SET v = ? WHERE k = ? AND c = ? IF v = ?").bind([value, key, row, another]),
            9 => Statement::new(
                "BEGIN BATCH UPDATE k.t SET v = ? WHERE k = ? AND c = ?; UPDATE k.t SET v = ?, w = 7 WHERE k = ? AND c = ?; APPLY BATCH",
            )
            .bind([value, key, row.clone(), another, other, row]),
            _ => Statement::new("INSERT INTO k.t (k, c, v, w, m) VALUES (?, ?, ?, ?, {1, 4})").bind([key, row, value, another]),
        };
        statement.with(Consistency::One)
    }

    fn change(&mut self, expires: bool) {
        let statement = self.statement(expires);
        assert_eq!(self.ask(&statement).code(), None);
    }

    fn sorted(&mut self, text: &str) -> Vec<Vec<Bound>> {
        let mut rows = self.rows(text);
        rows.sort();
        rows
    }

    /// Each view has what its table has for it. `view` gives the rows of a view and those that it should have.
    fn difference(&mut self) -> Option<&'static str> {
        let mut all = self.sorted("SELECT k, c, v, w, m FROM k.t");
        // Partitions with nothing but a static value.
        all.retain(|row| row[1].is_some());
        let of_v: Vec<_> = all.iter().filter(|row| row[2].is_some()).cloned().collect();
        let of_c: Vec<_> = all.iter().filter(|row| row[1] > int(2)).cloned().collect();
        if self.sorted("SELECT k, c, v, w, m FROM k.by_v") != of_v {
            return Some("by_v");
        }
        (self.sorted("SELECT k, c, v, w, m FROM k.by_c") != of_c).then_some("by_c")
    }

    fn check(&mut self, what: &str) {
        // What expires is gone by all clocks before it is looked at.
        self.network.sleep(6_000_000);
        assert_eq!(self.difference(), None, "{what}");
        for value in 0..VALUES as i32 {
            let in_table = self.sorted(&format!("SELECT k, c, w FROM k.t WHERE v = {value} ALLOW FILTERING"));
            assert_eq!(self.sorted(&format!("SELECT k, c, w FROM k.by_v WHERE v = {value}")), in_table, "{what}: v = {value}");
        }
    }

    /// Changes that are under way when their coordinator dies.
    fn cut_short(&mut self, loss: Loss) -> usize {
        let down = self.node;
        for _ in 0..20 {
            let statement = self.statement(true);
            let machine = self.network.machine(down).unwrap();
            self.client.send(machine, &statement);
        }
        let after_us = self.rng.below(4_000);
        self.network.sleep(after_us);
        self.talk_to((down + 1) % 3);
        self.network.kill(down, loss);
        down
    }
}

#[test]
fn a_view_says_what_its_table_says() {
    // Other seeds where there is time for more.
    let seeds = if std::env::var_os("TARNDB_TEST_LONG").is_some() { 2..=5 } else { 1..=1 };
    for seed in seeds {
        let mut cluster =
            Trio::start(seed, &["CREATE TABLE k.t (k int, c int, v int, w int, s int static, m set<int>, PRIMARY KEY (k, c))"]);
        for _ in 0..200 {
            cluster.change(true);
        }
        for text in [
            "CREATE MATERIALIZED VIEW k.by_v AS SELECT k, c, v, w, m FROM k.t \
             WHERE v IS NOT NULL AND k IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, k, c)",
            "CREATE MATERIALIZED VIEW k.by_c AS SELECT k, c, v, w, m FROM k.t WHERE c > 2 AND k IS NOT NULL PRIMARY KEY (c, k)",
        ] {
            cluster.ask(&Statement::new(text)).done();
        }
        // Builds are cut short, too.
        let down = cluster.cut_short(Loss::Process);
        cluster.network.sleep(6_000_000);
        cluster.network.start(down);
        cluster.whole();
        cluster.network.sleep(DELIVERED_US);
        cluster.check(&format!("seed {seed}, built"));
        for round in 0..3 {
            for change in 0..40 {
                cluster.change(false);
                if change % 8 == 0 {
                    assert_eq!(cluster.difference(), None, "seed {seed}, round {round}: who has written does not see it");
                }
            }
            let loss = if cluster.rng.below(2) == 0 { Loss::Process } else { Loss::Power };
            let down = cluster.cut_short(loss);
            cluster.network.sleep(6_000_000);
            for _ in 0..60 {
                cluster.change(true);
            }
            cluster.network.sleep(DELIVERED_US);
            cluster.check(&format!("seed {seed}, round {round}, with a member away"));
            cluster.network.start(down);
            cluster.whole();
            cluster.network.sleep(DELIVERED_US);
            cluster.check(&format!("seed {seed}, round {round}, whole again"));
        }
    }
}
