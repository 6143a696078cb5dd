//! `tarndb import` by GridDB's protocol, from one server to another: containers of all kinds, `kill -9` of the import and of both servers, the comparison, and
//! what is refused.

use crate::harness::{BOUND, Folder, Server, end, kill, refused, start, tarndb, wait_until};
use griddb::client::{self, ContainerId, Description};
use griddb::geometry::Geometry;
use griddb::row::{RowReader, RowsWriter};
use griddb::schema::{ColumnDefinition, Kind};
use griddb::wire::{Reader, statement};
use griddb::{ContainerName, ElementType, IndexKind};
use load::griddb::GridDbSettings;
use load::griddb::client::Client;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

/// What each column of a row holds, as on the wire.
type Row = Vec<Option<Vec<u8>>>;

fn column(name: &str, element: ElementType) -> ColumnDefinition {
    ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: false }
}

fn key(name: &str, element: ElementType) -> ColumnDefinition {
    ColumnDefinition { is_not_null: true, ..column(name, element) }
}

fn text(value: &str) -> Option<Vec<u8>> {
    Some(value.as_bytes().to_vec())
}

fn long(value: i64) -> Option<Vec<u8>> {
    Some(value.to_le_bytes().to_vec())
}

fn connect(server: &Server) -> Client {
    Client::connect(server.field("griddb").parse().unwrap(), &GridDbSettings::default(), None).unwrap()
}

/// Makes a container and puts rows into it.
fn fill(client: &mut Client, name: &str, (kind, columns, key_len): (Kind, &[ColumnDefinition], usize), rows: &[Row]) -> ContainerId {
    let name = ContainerName::parse(name);
    let partition = client.partition_of(&name);
    let put = |out: &mut Vec<u8>| client::put_container((&name, kind), (columns, key_len), false, out);
    let read = |reader: &mut Reader<'_>| Ok(ContainerId { version: reader.i32()?, id: reader.i64()? });
    let id = client.ask("a container", (statement::PUT_CONTAINER, partition), put, read).unwrap();
    put_rows(client, partition, id, columns, rows);
    id
}

fn put_rows(client: &mut Client, partition: i32, id: ContainerId, columns: &[ColumnDefinition], rows: &[Row]) {
    let mut sent = RowsWriter::new(columns);
    for row in rows {
        sent.begin();
        columns.iter().zip(row).for_each(|(column, value)| sent.put(column, value.as_deref()));
    }
    let put = |out: &mut Vec<u8>| client::put_rows(id, &sent, out);
    client.ask("rows", (statement::PUT_MULTIPLE_ROWS, partition), put, |_| Ok(())).unwrap();
}

fn described(client: &mut Client, name: &str) -> Option<Description> {
    let name = ContainerName::parse(name);
    let place = (statement::GET_CONTAINER_PROPERTIES, client.partition_of(&name));
    client.ask("a container", place, |out| client::get_properties(&name, &[], out), client::read_properties).unwrap()
}

/// All rows of a container, in the order of their bytes.
fn rows_of(client: &mut Client, name: &str) -> Vec<Row> {
    let Some(container) = described(client, name) else { return Vec::new() };
    let place = (statement::QUERY_TQL, client.partition_of(&container.name));
    let (mut rows, mut state) = (Vec::new(), None::<Vec<u8>>);
    loop {
        let ask = |out: &mut Vec<u8>| client::query_part(container.id, state.as_deref(), "SELECT *", out);
        state = client
            .ask("rows", place, ask, |reader| {
                let part = client::read_part(reader)?;
                let mut body = Reader::new(part.rows);
                let (count, columns) = (body.i64()?, &container.columns);
                let mut read = match container.kind {
                    Kind::Collection => RowReader::of_reply(columns, count, &mut body)?,
                    Kind::TimeSeries => RowReader::new(columns, count, &mut body)?,
                };
                let mut row = Vec::new();
                while read.next_into(&mut row)? {
                    rows.push(row.iter().map(|value| value.map(<[u8]>::to_vec)).collect());
                }
                Ok(part.state.map(<[u8]>::to_vec))
            })
            .unwrap();
        if state.is_none() {
            rows.sort();
            return rows;
        }
    }
}

fn server(folder: &Folder, more: &[&str]) -> Server {
    Server::start(command(folder, more))
}

fn command(folder: &Folder, more: &[&str]) -> Command {
    start(folder, &[&["--cores", "1", "--capacity", "300MiB"], more].concat())
}

/// A server on a port of [`free_port`], which somebody may take before it does.
fn server_on_free_port(folder: &Folder) -> Server {
    let until = Instant::now() + BOUND;
    loop {
        match Server::try_start(command(folder, &["--griddb-port", &free_port().to_string()])) {
            Ok(server) => return server,
            Err(said) => assert!(said.contains("another server has this port") && Instant::now() < until, "{said}"),
        }
    }
}

fn sides(name: &str) -> ([Folder; 2], [Server; 2]) {
    let folders = ["from", "to"].map(|side| Folder::new(&format!("import-griddb-{name}-{side}")));
    let servers = [0, 1].map(|side: usize| server_on_free_port(&folders[side]));
    (folders, servers)
}

/// A port that nobody listens on, below those that the kernel gives to outgoing connections: a client that connects again and again to a dead server on such a
/// port can be given that very port for its own end, and keeps the server from coming back.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let port = 10_000 + (std::process::id() as u16).wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn import(servers: &[Server; 2], words: &[&str]) -> Command {
    let [from, to] = [0, 1].map(|side: usize| servers[side].field("griddb"));
    let mut command = tarndb(&["import", "--from", &format!("griddb://{from}"), "--to", to]);
    command.args(words);
    command
}

/// What an import says that ends with this status.
fn said(servers: &[Server; 2], words: &[&str], status: i32) -> String {
    let (code, text) = refused(import(servers, words));
    assert_eq!(code, status, "{text}");
    text
}

/// Names of containers with what is in each, of all kinds.
fn fill_all(client: &mut Client) -> Vec<&'static str> {
    let all = [
        ("b", ElementType::Bool),
        ("y", ElementType::Byte),
        ("s", ElementType::Short),
        ("i", ElementType::Integer),
        ("l", ElementType::Long),
        ("f", ElementType::Float),
        ("d", ElementType::Double),
        ("t", ElementType::Timestamp),
        ("x", ElementType::String),
        ("o", ElementType::Blob),
    ];
    let array = ColumnDefinition { is_array: true, ..column("texts", ElementType::String) };
    let mut columns = vec![key("id", ElementType::String)];
    columns.extend(all.map(|(name, element)| column(name, element)));
    columns.extend([array, column("place", ElementType::Geometry)]);
    let values = all.map(|(_, element)| {
        let mut bytes = vec![0; element.fixed_bytes().unwrap_or(5)];
        bytes[0] = 1;
        Some(bytes)
    });
    // An array of two texts: the size of each before it, and how many there are before these.
    let texts = Some(vec![5, 3, b'a', 5, b'b', b'c']);
    let place = Geometry::parse("LINESTRING(1 2,3 0.5;4326)").unwrap().to_wire();
    let whole: Row = [vec![text("whole")], values.to_vec(), vec![texts, Some(place)]].concat();
    let nulls: Row = [vec![text("nulls")], vec![None; 12]].concat();
    fill(client, "AllTypes", (Kind::Collection, &columns, 1), &[whole, nulls]);
    let id = described(client, "AllTypes").unwrap().id;
    let indexes = [("by_i", &[4][..], IndexKind::Tree), ("by_place", &[12], IndexKind::Spatial), ("by_i_l", &[4, 5], IndexKind::Tree)];
    for index in indexes {
        let place = (statement::CREATE_INDEX, client.partition_of(&ContainerName::parse("AllTypes")));
        client.ask("an index", place, |out| client::change_index(id, index, &[], out), |_| Ok(())).unwrap();
    }
    let composite = [key("a", ElementType::String), key("b", ElementType::Long), column("v", ElementType::String)];
    let rows: Vec<Row> = (0..50).map(|number| vec![text("same"), long(number), text("v")]).collect();
    fill(client, "composite@7", (Kind::Collection, &composite, 2), &rows);
    let series = [key("at", ElementType::Timestamp), column("v", ElementType::Long)];
    let rows: Vec<Row> = (1..100).map(|number| vec![long(number * 1_000), long(number)]).collect();
    fill(client, "series", (Kind::TimeSeries, &series, 1), &rows);
    let keyless = [column("v", ElementType::String)];
    let rows: Vec<Row> = (0..30).map(|number| vec![text(&format!("v{}", number % 10))]).collect();
    fill(client, "keyless", (Kind::Collection, &keyless, 0), &rows);
    fill(client, "empty", (Kind::Collection, &keyless, 0), &[]);
    vec!["AllTypes", "composite@7", "series", "keyless", "empty"]
}

#[test]
fn containers_of_all_kinds_are_copied_with_their_rows_and_indexes() {
    let (_folders, servers) = sides("kinds");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    let names = fill_all(&mut source);
    let text = said(&servers, &["public", "--verify"], 0);
    assert!(text.contains("181 rows copied of 5 containers") && text.contains("181 rows are the same on both sides"), "{text}");
    for name in &names {
        let (at_source, at_target) = (rows_of(&mut source, name), rows_of(&mut target, name));
        assert_eq!(at_source, at_target, "{name}");
        let (one, other) = (described(&mut source, name).unwrap(), described(&mut target, name).unwrap());
        assert_eq!((one.name, one.kind, one.columns, one.key_len), (other.name, other.kind, other.columns, other.key_len));
        assert_eq!(one.indexes, other.indexes, "{name}");
    }
    // Nothing is copied twice unless it is asked for, and then once.
    let text = said(&servers, &["public"], 0);
    assert!(text.contains("5 of 5 containers are copied") && text.contains("0 rows copied"), "{text}");
    let text = said(&servers, &["public", "--restart", "--verify"], 0);
    assert!(text.contains("181 rows copied") && text.contains("181 rows are the same"), "{text}");
    let text = said(&servers, &["public", "SERIES", "--restart"], 0);
    assert!(text.contains("99 rows copied of 1 containers"), "{text}");
    servers.into_iter().for_each(end);
}

#[test]
fn partitioned_tables_are_left_out_in_words() {
    let (_folders, servers) = sides("divided");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    let columns = [key("id", ElementType::Long), column("v", ElementType::String)];
    fill(&mut source, "plain", (Kind::Collection, &columns, 1), &[vec![long(1), text("one")]]);
    let name = ContainerName::parse("divided");
    let place = (statement::PUT_CONTAINER, source.partition_of(&name));
    let divide = |out: &mut Vec<u8>| {
        client::put_partitioned_container((&name, Kind::Collection), (&columns, 1), "hash 2 id\nnext 2\npart 0 0", false, out);
    };
    source.ask("a table", place, divide, |_| Ok(())).unwrap();
    let text = said(&servers, &["public"], 1);
    assert!(text.contains("1 rows copied of 1 containers") && text.contains("the table divided is partitioned"), "{text}");
    assert_eq!((rows_of(&mut target, "plain").len(), described(&mut target, "divided")), (1, None));
    servers.into_iter().for_each(end);
}

#[test]
fn an_import_that_is_killed_goes_on() {
    let (folders, mut servers) = sides("kills");
    let columns = [key("id", ElementType::Long), column("v", ElementType::String)];
    let names: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
    let mut source = connect(&servers[0]);
    // Imports take one partition after the other: the last container alone keeps them busy for ten seconds.
    let last = names.iter().max_by_key(|name| source.partition_of(&ContainerName::parse(name))).unwrap();
    for (number, name) in names.iter().enumerate() {
        let count = if name == last { 20_000 } else { 2_000 };
        let rows: Vec<Row> = (0..count).map(|row| vec![long(row), text("some text")]).collect();
        let (first, more) = rows.split_at(2_000);
        // Every other one has no row key.
        let id = fill(&mut source, name, (Kind::Collection, &columns, 1 - number % 2), first);
        let partition = source.partition_of(&ContainerName::parse(name));
        more.chunks(2_000).for_each(|rows| put_rows(&mut source, partition, id, &columns, rows));
    }
    let done = |server: &Server| {
        let rows = rows_of(&mut connect(server), "tarndb_import");
        rows.iter().filter(|row| row[1] != long(0)).count()
    };
    let begin =
        |servers: &[Server; 2]| -> Child { import(servers, &["public", "--jobs", "2", "--max-rows-per-second", "2000"]).spawn().unwrap() };
    for (least, killed) in [(2, None), (4, Some(1)), (6, Some(0))] {
        let mut running = begin(&servers);
        wait_until("containers are done", || done(&servers[1]) >= least);
        assert!(running.try_wait().unwrap().is_none(), "it copies still");
        if let Some(side) = killed {
            let before = done(&servers[1]);
            let port = servers[side].field("griddb").rsplit_once(':').unwrap().1.to_owned();
            servers[side].child.kill().unwrap();
            servers[side].wait();
            servers[side] = server(&folders[side], &["--griddb-port", &port]);
            // It goes on by itself.
            wait_until("more containers are done", || done(&servers[1]) > before);
        }
        running.kill().unwrap();
        running.wait().unwrap();
    }
    let text = said(&servers, &["public", "--verify"], 0);
    assert!(text.contains("goes on where it was") && text.contains("42000 rows are the same"), "{text}");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    for name in &names {
        assert_eq!(rows_of(&mut source, name), rows_of(&mut target, name), "{name}");
    }
    servers.into_iter().for_each(end);
}

#[test]
fn the_comparison_finds_what_differs() {
    let (_folders, servers) = sides("differences");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    fill_all(&mut source);
    said(&servers, &["public", "--verify"], 0);
    let series = described(&mut target, "series").unwrap();
    let partition = target.partition_of(&series.name);
    put_rows(&mut target, partition, series.id, &series.columns, &[vec![long(5_000), long(-1)], vec![long(777_777), long(1)]]);
    let remove = |out: &mut Vec<u8>| {
        client::head(series.id, out);
        out.extend_from_slice(&6_000_i64.to_le_bytes());
    };
    target.ask("a row", (statement::DELETE_ROW, partition), remove, |_| Ok(())).unwrap();
    let keyless = described(&mut target, "keyless").unwrap();
    let partition = target.partition_of(&keyless.name);
    put_rows(&mut target, partition, keyless.id, &keyless.columns, &[vec![text("more")]]);
    let text = said(&servers, &["public", "--verify"], 1);
    for line in [
        "public.series: not the same: at = TO_TIMESTAMP_MS(5000)",
        "public.series: missing at the target: at = TO_TIMESTAMP_MS(6000)",
        "public.series: only at the target: at = TO_TIMESTAMP_MS(777777)",
        "public.keyless: not the same: 30 rows at the source, 31 at the target",
        "4 rows of public are not the same",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    servers.into_iter().for_each(end);
}

#[test]
fn what_cannot_be_copied_is_refused_in_words() {
    let (_folders, servers) = sides("wrong");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    let columns = [key("id", ElementType::Long), column("v", ElementType::String)];
    fill(&mut source, "t", (Kind::Collection, &columns, 1), &[vec![long(1), text("v")]]);
    fill(&mut source, "k", (Kind::Collection, &columns[1..], 0), &[vec![text("v")]]);
    let text = said(&servers, &["nothing"], 2);
    assert!(text.contains("the source has no database nothing"), "{text}");
    let text = said(&servers, &["public", "nothing"], 2);
    let known = text.split_once("no table public.nothing; it has ").unwrap().1.trim();
    let mut known: Vec<&str> = known.split(", ").collect();
    known.sort_unstable();
    assert_eq!(known, ["k", "t"]);
    let text = said(&servers, &["public", "TarnDB_import"], 2);
    assert!(text.contains("public.TarnDB_import cannot be imported: it keeps how far imports have come"), "{text}");
    for (option, of) in [
        ("--changes", "Aerospike"),
        ("--only-missing", "Aerospike"),
        ("--consistency=ONE", "CQL"),
        ("--page-rows=1", "CQL and Aerospike"),
        ("--from-ca=/nowhere", "CQL and Aerospike"),
    ] {
        let text = said(&servers, &["public", option], 2);
        let name = option.split('=').next().unwrap();
        assert!(text.contains(&format!("{name} is for {of} only")), "{text}");
    }
    let text = said(&servers, &["public", "--changes", "--only-missing"], 2);
    assert!(text.contains("cannot be used with"), "{text}");
    // Other columns, and rows that nothing tells apart: nothing of other containers is copied either.
    fill(&mut target, "t", (Kind::Collection, &[columns[0].clone(), column("v", ElementType::Blob)], 1), &[]);
    let text = said(&servers, &["public"], 1);
    assert!(text.contains("container t of the target differs from the source's: column 2 is v BLOB, and v STRING at the source"), "{text}");
    assert!(described(&mut target, "k").is_none());
    fill(&mut target, "k", (Kind::Collection, &columns[1..], 0), &[vec![Some(b"mine".to_vec())]]);
    let text = said(&servers, &["public", "k"], 1);
    assert!(text.contains("which has no row key"), "{text}");
    assert_eq!(rows_of(&mut target, "k").len(), 1);
    // Nobody is there, and somebody who speaks something else.
    let [from, to] = [0, 1].map(|side: usize| servers[side].field("griddb").to_owned());
    let run = |from: &str, to: &str| refused(tarndb(&["import", "--from", &format!("griddb://{from}"), "--to", to, "public"]));
    let (code, text) = run("127.0.0.1:1", &to);
    assert!(code == 1 && text.contains("the source: cannot connect to 127.0.0.1:1"), "{text}");
    let (code, text) = run(&from, "127.0.0.1:1");
    assert!(code == 1 && text.contains("the target: cannot connect to 127.0.0.1:1"), "{text}");
    let (code, text) = run(&format!("{from}/AnotherCluster"), &to);
    assert!(code == 1 && text.contains("the source: "), "{text}");
    let (code, text) = run("nowhere", &to);
    assert!(code == 2 && text.contains("HOST:PORT, the GridDB port"), "{text}");
    servers.into_iter().for_each(end);
}

#[test]
fn columns_in_another_order_are_another_container() {
    let (_folders, servers) = sides("order");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    let columns = [key("id", ElementType::Long), column("a", ElementType::String), column("b", ElementType::String)];
    let swapped = [columns[0].clone(), columns[2].clone(), columns[1].clone()];
    fill(&mut source, "t", (Kind::Collection, &columns, 1), &[vec![long(1), text("a"), text("b")]]);
    fill(&mut target, "t", (Kind::Collection, &swapped, 1), &[]);
    let said = said(&servers, &["public"], 1);
    assert!(
        said.contains("container t of the target differs from the source's: column 2 is b STRING, and a STRING at the source"),
        "{said}"
    );
    assert_eq!(rows_of(&mut target, "t"), Vec::<Row>::new());
    servers.into_iter().for_each(end);
}

#[test]
fn another_run_brings_what_the_target_has_lost() {
    let (_folders, servers) = sides("lost");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    fill_all(&mut source);
    said(&servers, &["public"], 0);
    for name in ["series", "keyless"] {
        let Description { name, kind, .. } = described(&mut target, name).unwrap();
        let place = (statement::DROP_CONTAINER, target.partition_of(&name));
        target.ask("to drop", place, |out| client::name_container(&name, kind, out), |_| Ok(())).unwrap();
    }
    let id = described(&mut target, "AllTypes").unwrap().id;
    let place = (statement::DROP_INDEX, target.partition_of(&ContainerName::parse("AllTypes")));
    target
        .ask("to drop an index", place, |out| client::change_index(id, ("by_i_l", &[4, 5], IndexKind::Tree), &[0, 0], out), |_| Ok(()))
        .unwrap();
    assert_eq!(described(&mut target, "AllTypes").unwrap().indexes.len(), 3);
    let text = said(&servers, &["public", "--verify"], 0);
    assert!(text.contains("3 of 5 containers are copied") && text.contains("129 rows copied"), "{text}");
    assert_eq!(described(&mut target, "AllTypes").unwrap().indexes, described(&mut source, "AllTypes").unwrap().indexes);
    servers.into_iter().for_each(end);
}

#[test]
fn what_was_altered_since_it_was_copied_is_told() {
    let (_folders, servers) = sides("altered");
    let mut source = connect(&servers[0]);
    let columns = [key("id", ElementType::Long), column("a", ElementType::Long), column("b", ElementType::Long)];
    fill(&mut source, "t", (Kind::Collection, &columns[..2], 1), &[vec![long(1), long(2)]]);
    said(&servers, &["public"], 0);
    let name = ContainerName::parse("t");
    let place = (statement::PUT_CONTAINER, source.partition_of(&name));
    let alter = |out: &mut Vec<u8>| client::put_container((&name, Kind::Collection), (&columns, 1), true, out);
    source.ask("to alter", place, alter, |_| Ok(())).unwrap();
    let text = said(&servers, &["public"], 1);
    assert!(
        text.contains("left out: container t of the target differs from the source's: it has 2 columns, and 3 at the source")
            && text.contains("left out: 1 of what public has"),
        "{text}"
    );
    servers.into_iter().for_each(end);
}

#[test]
fn indexes_that_are_refused_are_told_on_each_run() {
    let (_folders, servers) = sides("indexes");
    let (mut source, mut target) = (connect(&servers[0]), connect(&servers[1]));
    let columns = [key("id", ElementType::Long), column("a", ElementType::Long), column("b", ElementType::Long)];
    let index = |client: &mut Client, position: usize| {
        let id = fill(client, "t", (Kind::Collection, &columns, 1), &[]);
        let place = (statement::CREATE_INDEX, client.partition_of(&ContainerName::parse("t")));
        client
            .ask("an index", place, |out| client::change_index(id, ("same", &[position], IndexKind::Tree), &[], out), |_| Ok(()))
            .unwrap();
    };
    index(&mut source, 1);
    // The name is taken by an index of another column.
    index(&mut target, 2);
    for _ in 0..2 {
        let text = said(&servers, &["public"], 1);
        assert!(text.contains("left out: index same of container t: ") && text.contains("left out: 1 of what public has"), "{text}");
    }
    servers.into_iter().for_each(end);
}

#[test]
fn a_source_may_ask_for_a_login() {
    let folders = ["from", "to"].map(|side| Folder::new(&format!("import-griddb-login-{side}")));
    let secret = folders[0].0.join("secret");
    std::fs::write(&secret, "b0ss").unwrap();
    let flags = ["--griddb-port", "0", "--authentication", "password", "--superuser-password-file", secret.to_str().unwrap()];
    let servers = [server(&folders[0], &flags), server(&folders[1], &["--griddb-port", "0"])];
    let settings = GridDbSettings { user: "cassandra".to_owned(), password: "b0ss".to_owned(), ..GridDbSettings::default() };
    let mut boss = Client::connect(servers[0].field("griddb").parse().unwrap(), &settings, None).unwrap();
    let columns = [key("id", ElementType::Long)];
    fill(&mut boss, "t", (Kind::Collection, &columns, 1), &[vec![long(1)]]);
    let login = folders[0].0.join("login");
    let words = ["public", "--from-login-file", login.to_str().unwrap(), "--verify"];
    std::fs::write(&login, "cassandra:b0ss\n").unwrap();
    std::fs::set_permissions(&login, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let text = said(&servers, &words, 0);
    assert!(text.contains("1 rows are the same"), "{text}");
    std::fs::write(&login, "cassandra:wrong\n").unwrap();
    let text = said(&servers, &words, 1);
    assert!(text.contains("the source: the server does not let the client in: 10005"), "{text}");
    let [from, to] = servers;
    kill(from);
    end(to);
}
