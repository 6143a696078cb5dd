//! What a table's rows at rest are compressed with: as the statement says, on every core, from then on and after a restart.

use cql::wire::BatchKind;
use sim::{Client, Loss, Machine, Seeded, Setup, Statement, int, seeds};

/// Writes a partition of many rows that compress well, and says how many bytes a row of its pages takes in the log.
fn bytes_a_row(machine: &mut Machine, client: &mut Client, partition: i32) -> u64 {
    let pages = |machine: &Machine| {
        let stats = (0..machine.cores()).map(|core| machine.engine(core).stats());
        stats.fold((0, 0), |sum, stats| (sum.0 + stats.page_bytes, sum.1 + stats.rows_in_pages))
    };
    let before = pages(machine);
    for first in (0..600).step_by(20) {
        let insert =
            |row: i32| Statement::new("INSERT INTO ks.t (k, c, v) VALUES (?, ?, ?)").bind([int(partition), int(row), Some(vec![7; 300])]);
        client.call(machine, &Statement::batch(BatchKind::Unlogged, (first..first + 20).map(insert).collect())).done();
    }
    machine.sleep(3_000_000);
    let after = pages(machine);
    assert!(after.1 > before.1 + 300, "{} rows moved to pages", after.1 - before.1);
    (after.0 - before.0) / (after.1 - before.1)
}

#[test]
fn pages_are_compressed_as_their_table_says() {
    for seed in seeds(3) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut machine = Machine::start(&setup);
        let mut client = Client::any(&mut machine, 0);
        client.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        let create = "CREATE TABLE ks.t (k int, c int, v blob, PRIMARY KEY (k, c)) WITH compression = {'enabled': false}";
        client.query(&mut machine, create).done();
        assert!(bytes_a_row(&mut machine, &mut client, 1) >= 300);
        client.query(&mut machine, "ALTER TABLE ks.t WITH compression = {'class': 'ZstdCompressor', 'compression_level': 5}").done();
        assert!(bytes_a_row(&mut machine, &mut client, 2) < 100);
        client.query(&mut machine, "ALTER TABLE ks.t WITH compression = {'class': 'NoopCompressor'}").done();
        let remains = machine.end(Loss::Process);
        machine = Machine::restart(&setup, remains);
        client = Client::any(&mut machine, 0);
        assert!(bytes_a_row(&mut machine, &mut client, 3) >= 300, "a restart keeps what was chosen");
        for partition in 1..4 {
            let count = client.query(&mut machine, &format!("SELECT count(*) FROM ks.t WHERE k = {partition}")).rows();
            assert_eq!(count, [[Some(600u64.to_be_bytes().to_vec())]]);
        }
    }
}
