//! A run: schema, statements, connections, then the loop.

use crate::connection::Connection;
use crate::failure::Failure;
use crate::options::{Options, Workload};
use crate::report::Report;
use crate::timeline::Timeline;
use crate::traffic::Traffic;
use bench::rows::RowShape;
use cql::wire::ProtocolVersion;
use load::cql::client::{Client, ClientError};
use mio::{Events, Interest, Poll, Token};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Without a reply for this long, a run has failed.
const STALL_S: u64 = 20;
const RECEIVE_BYTES: usize = 256 << 10;
const EVENTS_MAX: usize = 1_024;

pub(crate) fn run(options: &Options) -> Result<Report, Failure> {
    let shape = RowShape::new(usize::from(options.columns), options.column_bytes as usize);
    let mut first = connect(options)?;
    if options.workload == Workload::Load {
        first.query(&format!("CREATE KEYSPACE IF NOT EXISTS {} WITH replication = {}", options.keyspace(), options.replication))?;
        first.query(&shape.create_table(&options.table))?;
    }
    let select = first.prepare(&shape.select(&options.table))?;
    let insert = first.prepare(&shape.insert(&options.table))?;
    let clients = std::iter::once(Ok(first)).chain((1..options.connections).map(|_| connect(options)));
    let clients: Vec<_> = clients.collect::<Result<_, _>>()?;

    let mut poll = Poll::new()?;
    let mut connections = Vec::with_capacity(clients.len());
    for client in clients {
        let (socket, codec) = client.into_parts();
        socket.set_nonblocking(true)?;
        let mut socket = mio::net::TcpStream::from_std(socket);
        poll.registry().register(&mut socket, Token(connections.len()), Interest::READABLE | Interest::WRITABLE)?;
        let segments = options.version() >= ProtocolVersion::V5;
        connections.push(Connection::new(socket, codec, options.depth, options.refill, segments));
    }
    let started = Instant::now();
    let deadline = started + Duration::from_secs(options.seconds_max);
    let mut traffic = Traffic::new(options, shape, &select, &insert, deadline)?;
    let mut timeline = Timeline::new(started, options.interval_ms.map(Duration::from_millis));
    let replies = drive(&mut poll, &mut connections, &mut traffic, &mut timeline)?;
    Ok(Report::new(options, replies, started.elapsed(), timeline))
}

fn connect(options: &Options) -> Result<Client<TcpStream>, ClientError> {
    let socket = TcpStream::connect(options.address)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(STALL_S)))?;
    Client::start(socket, options.version())
}

/// Sends and receives until the last reply is there.
fn drive(poll: &mut Poll, connections: &mut [Connection], traffic: &mut Traffic, timeline: &mut Timeline) -> Result<u64, Failure> {
    let mut buffer = vec![0; RECEIVE_BYTES];
    let mut events = Events::with_capacity(EVENTS_MAX);
    let mut replies = 0;
    let now = Instant::now();
    for connection in connections.iter_mut() {
        connection.refill(traffic, now)?;
    }
    while !(traffic.is_over() && replies == traffic.issued()) {
        match poll.poll(&mut events, Some(Duration::from_secs(STALL_S))) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            outcome => outcome?,
        }
        if events.is_empty() {
            let in_flight = traffic.issued() - replies;
            return Err(Failure::Stalled { seconds: STALL_S, in_flight });
        }
        let now = Instant::now();
        traffic.look_at_clock(now);
        timeline.advance(now);
        for event in &events {
            let connection = &mut connections[event.token().0];
            if event.is_writable() {
                connection.flush()?;
            }
            if event.is_readable() {
                replies += connection.receive(traffic, &mut buffer, timeline)?;
            }
        }
    }
    Ok(replies)
}
