//! A table of rows with values that tell which write they are of.

use crate::client::Client;
use crate::harness::Server;

pub(crate) const ROWS: usize = 2000;

pub(crate) fn write_rows(server: &Server, generation: usize) {
    let mut client = Client::connect(server.field("cql"));
    client.must("CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.must("CREATE TABLE IF NOT EXISTS k.t (id text PRIMARY KEY, v text)");
    for row in 0..ROWS {
        let padding = "x".repeat(row % 700);
        client.must(&format!("INSERT INTO k.t (id, v) VALUES ('{row}', 'value {row} of {generation} {padding}')"));
    }
}

pub(crate) fn check_rows(server: &Server, generation: usize) {
    let mut client = Client::connect(server.field("cql"));
    for row in 0..ROWS {
        let cells = client.must(&format!("SELECT v FROM k.t WHERE id = '{row}'"));
        let value = String::from_utf8(cells[0].clone().unwrap()).unwrap();
        assert!(value.starts_with(&format!("value {row} of {generation} ")), "{row}: {value}");
    }
}
