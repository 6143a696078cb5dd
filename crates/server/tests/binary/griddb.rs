//! Frames of GridDB's protocol against the binary, byte by byte as its clients send them.

use crate::harness::{Folder, Server, end, kill, start, tarndb, wait_until};
use griddb::client::{put_partitioned_container, rename_column};
use griddb::schema::{ColumnDefinition, Kind};
use griddb::{ContainerName, ElementType};
use std::io::{Read, Write};
use std::net::TcpStream;

const MAGIC: u32 = 65_021_048;
const PARTITION: i32 = 5;

/// A connection that has logged in.
pub(crate) struct Client {
    stream: TcpStream,
    statement: i64,
    /// Of the last error.
    pub(crate) message: String,
}

impl Client {
    pub(crate) fn connect(server: &Server) -> Self {
        let mut client = Self::unknown(server);
        client.log_in("admin", "digest").unwrap();
        client
    }

    /// One that has not logged in.
    pub(crate) fn unknown(server: &Server) -> Self {
        let mut client = Self { stream: TcpStream::connect(server.field("griddb")).unwrap(), statement: 0, message: String::new() };
        let connect = [&15_i32.to_le_bytes()[..], &2_i32.to_le_bytes(), &[1, 0]].concat();
        assert_eq!(
            client.send(100, &9_i32.to_le_bytes(), &connect).map(|results| results[1..5].to_vec()),
            Ok(15_i32.to_le_bytes().to_vec())
        );
        client
    }

    /// Logs in with a digest of a password.
    pub(crate) fn log_in(&mut self, user: &str, digest: &str) -> Result<Vec<u8>, i32> {
        self.log_in_by(user, digest, 0)
    }

    /// The same by an authentication mode.
    pub(crate) fn log_in_by(&mut self, user: &str, digest: &str, mode: u8) -> Result<Vec<u8>, i32> {
        let login = [&0_i32.to_le_bytes()[..], &text(user), &text(digest), &15_i32.to_le_bytes(), &[1], &text("TarnDB"), &[mode]].concat();
        self.ask(102, &login)
    }

    /// The results of a statement, or the number of its error.
    pub(crate) fn ask(&mut self, number: i32, arguments: &[u8]) -> Result<Vec<u8>, i32> {
        self.statement += 1;
        self.send(number, &self.statement.to_le_bytes(), arguments)
    }

    fn send(&mut self, number: i32, id: &[u8], arguments: &[u8]) -> Result<Vec<u8>, i32> {
        let body = [&number.to_le_bytes()[..], &PARTITION.to_le_bytes(), id, arguments].concat();
        let head = [&MAGIC.to_le_bytes()[..], &[0; 12], &(body.len() as i32).to_le_bytes()].concat();
        self.stream.write_all(&[head, body].concat()).unwrap();
        let mut head = [0; 20];
        self.stream.read_exact(&mut head).unwrap();
        let mut body = vec![0; i32::from_le_bytes(head[16..].try_into().unwrap()) as usize];
        self.stream.read_exact(&mut body).unwrap();
        let results = &body[4 + id.len()..];
        match results[0] {
            0 => Ok(results[1..].to_vec()),
            _ => {
                let length = i32::from_le_bytes(results[9..13].try_into().unwrap()) as usize;
                self.message = String::from_utf8(results[13..13 + length].to_vec()).unwrap();
                Err(i32::from_le_bytes(results[5..9].try_into().unwrap()))
            }
        }
    }

    /// Makes the container `t` of LONG, STRING; its number.
    pub(crate) fn put_container(&mut self) -> i64 {
        self.try_put_container("t").unwrap()
    }

    /// The same with another name.
    pub(crate) fn try_put_container(&mut self, name: &str) -> Result<i64, i32> {
        let column = |name: &str, element: u8| [&text(name)[..], &[element, 0]].concat();
        let columns = [&2_i32.to_le_bytes()[..], &column("id", 5), &column("text", 0), &[1, 0, 0, 0]].concat();
        let reply = self.ask(107, &[&0_i32.to_le_bytes()[..], &container_name(name), &[0, 0], &columns, &text("")].concat())?;
        Ok(i64::from_le_bytes(reply[4..12].try_into().unwrap()))
    }

    /// Whether the server has ended the connection, or does so now.
    pub(crate) fn is_cut_off(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0) | Err(_))
    }

    pub(crate) fn get(&mut self, container: i64, id: i64) -> Vec<u8> {
        self.ask(120, &[head(container), id.to_le_bytes().to_vec()].concat()).unwrap()
    }
}

/// A short name of a container without capitals: its size, flags, size of the base, base, which letters are capitals.
pub(crate) fn container_name(name: &str) -> Vec<u8> {
    let size = |bytes: usize| (bytes as u8) << 1 | 1;
    [&[size(name.len() + 3), 0, size(name.len())][..], name.as_bytes(), &[0]].concat()
}

pub(crate) fn text(of: &str) -> Vec<u8> {
    [&(of.len() as i32).to_le_bytes()[..], of.as_bytes()].concat()
}

/// What statements about rows begin with.
pub(crate) fn head(container: i64) -> Vec<u8> {
    [&container.to_le_bytes()[..], &[0; 8 + 16 + 4 + 2 + 4]].concat()
}

/// A row of the container, with a text of three bytes.
pub(crate) fn row(id: i64, text: &str) -> Vec<u8> {
    [&[0; 8][..], &[0], &id.to_le_bytes(), &[3, 7], text.as_bytes()].concat()
}

#[test]
fn rows_outlive_a_kill() {
    let folder = Folder::new("griddb");
    let command = || start(&folder, &["--griddb-port", "0", "--cores", "2", "--capacity", "300MiB"]);
    let server = Server::start(command());
    let mut client = Client::connect(&server);
    let container = client.put_container();
    for id in 0..50 {
        assert_eq!(client.ask(124, &[head(container), row(id, "one")].concat()), Ok(vec![0]));
    }
    assert_eq!(client.ask(124, &[head(container), row(7, "two")].concat()), Ok(vec![1]), "it replaces a row");
    assert_eq!(client.ask(127, &[head(container), 8_i64.to_le_bytes().to_vec()].concat()), Ok(vec![1]));
    kill(server);
    let server = Server::start(command());
    let mut client = Client::connect(&server);
    assert_eq!(client.put_container(), container, "it is there");
    for id in 0..50 {
        let found = client.get(container, id);
        match id {
            8 => assert_eq!(found, [0]),
            7 => assert_eq!((found[0], &found[9..]), (1, &row(7, "two")[..])),
            _ => assert_eq!((found[0], &found[9..]), (1, &row(id, "one")[..])),
        }
    }
    assert_eq!(client.ask(124, &[head(container + 1), row(1, "one")].concat()), Err(10_016), "there is no such container");
    assert_eq!(client.ask(152, &[]), Err(10_055), "what is not served is refused");
    end(server);
}

#[test]
fn containers_are_tables_of_sql_beside_those_of_cql() {
    let folder = Folder::new("griddb-sql-shell");
    let server = Server::start(start(&folder, &["--griddb-port", "0", "--cores", "1", "--capacity", "300MiB"]));
    let mut client = Client::connect(&server);
    let container = client.put_container();
    for id in 0..50 {
        assert_eq!(client.ask(124, &[head(container), row(id, if id % 2 == 0 { "one" } else { "two" })].concat()), Ok(vec![0]));
    }
    let ask = |sql: &str| {
        let asked = tarndb(&["sql", "--format", "csv", "--http", server.field("http"), sql]).output().unwrap();
        assert!(asked.status.success(), "{sql}: {}", String::from_utf8_lossy(&asked.stderr));
        String::from_utf8(asked.stdout).unwrap()
    };
    let grouped = "SELECT text, COUNT(*) AS n, SUM(id) AS s FROM public.t WHERE id >= 10 GROUP BY text ORDER BY text";
    assert_eq!(ask(grouped), "text,n,s\none,20,580\ntwo,20,600\n");
    let joined = "SELECT a.id FROM public.t a JOIN public.t b ON b.id = a.id + 1 JOIN system.local l WHERE a.id IN (3, 48, 49)";
    assert_eq!(ask(joined), "id\n3\n48\n");
    end(server);
}

#[test]
fn rows_of_a_partitioned_table_outlive_a_kill_and_those_of_a_dropped_partition_are_deleted() {
    let folder = Folder::new("griddb-partitions");
    let command = || start(&folder, &["--griddb-port", "0", "--cores", "2", "--capacity", "300MiB"]);
    let column = |name: &str, element| ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: name == "id" };
    let columns = [column("id", ElementType::Long), column("text", ElementType::String)];
    let divide = |client: &mut Client, partitioning: &str| {
        let mut arguments = Vec::new();
        let name = ContainerName::parse("parts");
        put_partitioned_container((&name, Kind::Collection), (&columns, 1), partitioning, true, &mut arguments);
        client.ask(107, &arguments).map(|reply| i64::from_le_bytes(reply[4..12].try_into().unwrap()))
    };
    let server = Server::start(command());
    let mut client = Client::connect(&server);
    let table = divide(&mut client, "interval 2000 - id\nhash 2 id\nnext 0").unwrap();
    let ids = (-1_500..2_500).step_by(10);
    for id in ids.clone() {
        assert_eq!(client.ask(124, &[head(table), row(id, "one")].concat()), Ok(vec![0]), "{id}");
    }
    kill(server);
    let server = Server::start(command());
    let mut client = Client::connect(&server);
    for id in ids {
        assert_eq!(client.get(table, id)[0], 1, "{id}");
    }
    let count = || {
        let asked =
            tarndb(&["sql", "--format", "csv", "--http", server.field("http"), "SELECT COUNT(*), MIN(id), MAX(id) FROM public.parts"]);
        String::from_utf8({ asked }.output().unwrap().stdout).unwrap().lines().nth(1).map(str::to_owned)
    };
    assert_eq!(count().as_deref(), Some("400,-1500,2490"), "CQL reads all of them");
    divide(&mut client, "drop 0").unwrap();
    assert_eq!((client.get(table, 500)[0], client.get(table, 2_000)[0]), (0, 1));
    assert_eq!(client.ask(124, &[head(table), row(500, "two")].concat()), Err(280_025));
    wait_until("the rows are deleted", || count().as_deref() == Some("200,-1500,2490"));
    assert_eq!(client.ask(144, &[&0_i32.to_le_bytes()[..], &container_name("parts"), &[0]].concat()), Ok(Vec::new()));
    assert_eq!(client.ask(120, &[head(table), 2_000_i64.to_le_bytes().to_vec()].concat()), Err(10_016));
    end(server);
}

#[test]
fn a_renamed_column_is_so_in_cql_and_after_a_kill() {
    let folder = Folder::new("griddb-renamed");
    let command = || start(&folder, &["--griddb-port", "0", "--cores", "2", "--capacity", "300MiB"]);
    let mut server = Server::start(command());
    let mut client = Client::connect(&server);
    let container = client.put_container();
    for id in 0..50 {
        client.ask(124, &[head(container), row(id, "one")].concat()).unwrap();
    }
    let column = |name: &str, element| ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: name == "id" };
    let rename = |client: &mut Client, from: &str, to: &str| {
        let mut arguments = Vec::new();
        let columns = [column("id", ElementType::Long), column("text", ElementType::String)];
        rename_column((&ContainerName::parse("t"), Kind::Collection), (&columns, 1), (from, to), &mut arguments);
        client.ask(107, &arguments).map(|reply| i32::from_le_bytes(reply[..4].try_into().unwrap()))
    };
    assert_eq!(rename(&mut client, "text", "Note"), Ok(1));
    assert_eq!(rename(&mut client, "id", "key"), Ok(2));
    assert_eq!(rename(&mut client, "id", "other"), Err(280_016), "it has no such column: {}", client.message);
    for is_killed in [false, true] {
        if is_killed {
            kill(server);
            server = Server::start(command());
            client = Client::connect(&server);
        }
        let by_key =
            |version: i32| [&container.to_le_bytes()[..], &[0; 24], &version.to_le_bytes(), &[0; 6], &7_i64.to_le_bytes()].concat();
        assert_eq!(client.ask(120, &by_key(0)), Err(10_017), "its client knows another schema");
        assert_eq!(client.ask(120, &by_key(2)).map(|found| found[9..].to_vec()), Ok(row(7, "one")));
        let sql = "SELECT COUNT(note), MAX(key) FROM public.t WHERE note = 'one'";
        let asked = tarndb(&["sql", "--format", "csv", "--http", server.field("http"), sql]).output().unwrap();
        assert_eq!(String::from_utf8(asked.stdout).unwrap().lines().nth(1), Some("50,49"), "{}", String::from_utf8_lossy(&asked.stderr));
    }
    end(server);
}

/// What statements of a transaction begin with.
pub(crate) fn head_in(container: i64, mode: u8) -> Vec<u8> {
    let session = [&7_i64.to_le_bytes()[..], &[9; 16], &[0; 4], &[1, mode], &[0; 4]].concat();
    [&container.to_le_bytes()[..], &session].concat()
}

/// A session of the container.
pub(crate) fn session(container: i64) -> Vec<u8> {
    [&container.to_le_bytes()[..], &7_i64.to_le_bytes(), &[9; 16], &[0; 4]].concat()
}

#[test]
fn a_transaction_is_seen_whole_or_not_at_all_after_a_kill() {
    const ROWS: i64 = 50;
    let folder = Folder::new("griddb-transactions");
    let command = || start(&folder, &["--griddb-port", "0", "--cores", "2", "--capacity", "300MiB"]);
    let mut server = Server::start(command());
    let mut client = Client::connect(&server);
    let container = client.put_container();
    for id in 0..ROWS {
        client.ask(124, &[head(container), row(id, "old")].concat()).unwrap();
    }
    let put_all = |client: &mut Client, text: &str| {
        for id in 0..ROWS {
            let mode = if id == 0 { 1 } else { 2 };
            client.ask(124, &[head_in(container, mode), row(id, text)].concat()).unwrap();
        }
        let deleted = client.ask(127, &[head_in(container, 2), 7_i64.to_le_bytes().to_vec()].concat());
        assert_eq!(deleted, Ok(vec![1]));
    };
    let assert_all = |client: &mut Client, text: &str, is_deleted: bool| {
        for id in 0..ROWS {
            let found = client.get(container, id);
            if id == 7 && is_deleted {
                assert_eq!(found, [0]);
            } else {
                assert_eq!((found[0], &found[9..]), (1, &row(id, text)[..]), "row {id}");
            }
        }
    };
    put_all(&mut client, "new");
    kill(server);
    server = Server::start(command());
    let mut client = Client::connect(&server);
    client.statement = 100;
    assert_all(&mut client, "old", false);
    // The client goes on with its transaction.
    assert_eq!(client.ask(118, &session(container)), Ok(Vec::new()));
    kill(server);
    server = Server::start(command());
    let mut client = Client::connect(&server);
    client.statement = 200;
    assert_all(&mut client, "new", true);
    put_all(&mut client, "two");
    assert_eq!(client.ask(119, &session(container)), Ok(Vec::new()));
    assert_eq!(client.ask(118, &session(container)), Err(110_005), "it was aborted");
    kill(server);
    server = Server::start(command());
    let mut client = Client::connect(&server);
    client.statement = 300;
    assert_all(&mut client, "new", true);
    // Whose connection ends holds no lock.
    put_all(&mut client, "six");
    drop(client);
    let mut client = Client::connect(&server);
    for id in 0..ROWS {
        client.ask(124, &[head(container), row(id, "end")].concat()).unwrap();
    }
    assert_all(&mut client, "end", false);
    end(server);
}
