//! One connection without its socket.
//!
//! What is asked is gathered by container and sent when the reply to what was sent before has come: one row as GET_ROW or PUT_ROW, several as
//! GET_MULTIPLE_CONTAINER_ROWS or PUT_MULTIPLE_ROWS. An update of one field reads the row first, as a client of this protocol has to, which
//! writes whole rows only.

use super::format::{Kept, RowFormat, Version};
use super::gathered::{Gathered, Reads, Scan};
use super::handshake::{Handshake, Identity, Place, Stage};
use super::{name_of, refused, unexpected, wire, words_of};
use crate::tables::Table;
use crate::target::{Replies, Request, Session, TargetError};
use ::griddb::client;
use ::griddb::row::{RowReader, RowsWriter};
use ::griddb::wire::{FrameHeader, Reader, ReplyBody, put_i64, statement};
use ::griddb::{ContainerName, ErrorCode, GridError};
use std::sync::Arc;

/// Longest reply; what rows take in those of TarnDB is half of it.
pub(super) const REPLY_BYTES_MAX: usize = 64 << 20;

/// What all sessions of a target have in common.
#[derive(Debug)]
pub(super) struct SessionSetup {
    pub(super) identity: Identity,
    /// Names of the containers, by table.
    pub(super) names: Vec<ContainerName>,
    pub(super) format: RowFormat,
}

impl SessionSetup {
    /// Appends the request for rows, of so many keys.
    fn write_reads(&self, reads: &Reads, count: usize, (table, place): (Table, Place), id: i64, out: &mut Vec<u8>) {
        let Self { identity, names, format } = self;
        let request =
            |number, out: &mut Vec<u8>, write: &dyn Fn(&mut Vec<u8>)| identity.request(number, place.partition, id, out, |out| write(out));
        match reads.only_key() {
            Some(key) => request(statement::GET_ROW, out, &|out| {
                client::head(place.container, out);
                format.write_key(key, out);
            }),
            None => request(statement::GET_MULTIPLE_CONTAINER_ROWS, out, &|out| {
                let keys = |out: &mut Vec<u8>| reads.keys().for_each(|key| format.write_key(key, out));
                client::get_rows(&names[table.index()], format.key(), count, keys, out);
            }),
        }
    }

    /// Appends the request that puts rows.
    fn write_rows(&self, rows: &RowsWriter, place: Place, id: i64, out: &mut Vec<u8>) {
        let is_one = rows.rows() == 1;
        let number = if is_one { statement::PUT_ROW } else { statement::PUT_MULTIPLE_ROWS };
        self.identity.request(number, place.partition, id, out, |out| {
            client::head(place.container, out);
            if !is_one {
                put_i64(out, rows.rows() as i64);
            }
            rows.write(out);
        });
    }

    /// Appends the request for the rows from a key on; `text` is memory for the query.
    fn write_scan(&self, scan: &Scan, text: &mut String, place: Place, id: i64, out: &mut Vec<u8>) {
        self.format.write_query(&scan.key, text);
        let rows_max = u64::from(scan.rows);
        self.identity.request(statement::QUERY_TQL, place.partition, id, out, |out| client::query(place.container, rows_max, text, out));
    }
}

/// What a reply will be to.
#[derive(Clone, Copy, Debug)]
struct Asked {
    id: i64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The one read that was sent.
    Row(Table),
    /// The reads that were.
    Rows(Table),
    /// The writes.
    Writes,
    /// A scan for this stream.
    Scan(u16),
}

/// The session of one connection.
#[derive(Debug)]
pub(super) struct GridDbSession {
    setup: Arc<SessionSetup>,
    handshake: Handshake,
    /// What has come of a frame whose end has not.
    partial: Vec<u8>,
    last_id: i64,
    /// What was sent and not answered.
    asked: Option<Asked>,
    reads: Reads,
    writes: Vec<u16>,
    /// Of each container of which something was asked that has not been sent.
    gathered: Vec<Gathered>,
    /// Memory for those to come.
    spare: Vec<Gathered>,
    key: Vec<u8>,
    text: String,
    /// Memory for what a row holds.
    values: Vec<Option<&'static [u8]>>,
}

impl GridDbSession {
    pub(super) fn new(setup: Arc<SessionSetup>) -> Self {
        Self {
            setup,
            handshake: Handshake::new(),
            partial: Vec::new(),
            last_id: 0,
            asked: None,
            reads: Reads::default(),
            writes: Vec::new(),
            gathered: Vec::new(),
            spare: Vec::new(),
            key: Vec::new(),
            text: String::new(),
            values: Vec::new(),
        }
    }

    /// Appends the next statement of the handshake.
    fn go_on(&mut self, out: &mut Vec<u8>) {
        self.last_id += 1;
        self.handshake.ask(&self.setup.identity, &self.setup.names, self.last_id, out);
    }

    /// Appends the next request, if there is one and no reply is still to come.
    fn send_next(&mut self, out: &mut Vec<u8>) {
        if self.asked.is_some() || self.handshake.stage != Stage::Ready {
            return;
        }
        let Some(gathered) = self.gathered.first_mut() else { return };
        self.last_id += 1;
        let (id, table, setup) = (self.last_id, gathered.table, &*self.setup);
        let place = self.handshake.places[table.index()];
        let what = if !gathered.reads.is_empty() {
            std::mem::swap(&mut self.reads, &mut gathered.reads);
            let count = self.reads.rank();
            setup.write_reads(&self.reads, count, (table, place), id, out);
            if self.reads.only_key().is_some() { What::Row(table) } else { What::Rows(table) }
        } else if !gathered.writes.streams.is_empty() {
            std::mem::swap(&mut self.writes, &mut gathered.writes.streams);
            setup.write_rows(&gathered.writes.rows, place, id, out);
            gathered.writes.rows.clear();
            What::Writes
        } else {
            let scan = gathered.scans.pop_front().expect("a container of which nothing is asked is not kept");
            setup.write_scan(&scan, &mut self.text, place, id, out);
            What::Scan(scan.stream)
        };
        if gathered.is_empty() {
            self.spare.push(self.gathered.remove(0));
        }
        self.asked = Some(Asked { id, what });
    }

    /// Takes whole frames; says how many bytes they had.
    fn take(&mut self, received: &[u8], out: &mut Vec<u8>, replies: &mut dyn Replies) -> Result<usize, TargetError> {
        let mut taken = 0;
        while let Some(header) = FrameHeader::read(&received[taken..], self.setup.identity.is_ipv6, REPLY_BYTES_MAX).map_err(wire)? {
            let Some(body) = received[taken + header.bytes..].get(..header.body_bytes) else { break };
            taken += header.bytes + body.len();
            let reply = ReplyBody::read(body).map_err(wire)?;
            if self.handshake.stage == Stage::Ready {
                self.reply(reply, replies)?;
                self.send_next(out);
            } else {
                self.handshake.answered(reply, &self.setup.names)?;
                self.go_on(out);
            }
        }
        Ok(taken)
    }

    fn reply(&mut self, reply: ReplyBody<'_>, replies: &mut dyn Replies) -> Result<(), TargetError> {
        let asked = self.asked.take().filter(|asked| asked.id == reply.id);
        let what = asked.ok_or_else(|| unexpected("a reply to nothing"))?.what;
        match (reply.outcome, what) {
            (Ok(mut results), What::Row(table)) => {
                let count = i64::from(results.bool().map_err(wire)?);
                self.rows(table, count, results, replies)?;
            }
            (Ok(mut results), What::Rows(table)) => {
                let count = client::read_rows_head(&mut results).map_err(wire)?;
                self.rows(table, count, results, replies)?;
            }
            (Ok(_), What::Writes) => self.writes.drain(..).for_each(|stream| replies.written(stream)),
            (Ok(mut results), What::Scan(stream)) => {
                let rows = client::read_row_count(&mut results).map_err(wire)?;
                replies.rows(stream, rows, &mut std::iter::empty());
            }
            (Err((_, error)), what) => return self.refused(what, &error, replies),
        }
        Ok(())
    }

    /// Tells of rows that were read, or gathers them to be written with another field; what was asked for and is not among them is not there.
    fn rows(&mut self, table: Table, count: i64, mut results: Reader<'_>, replies: &mut dyn Replies) -> Result<(), TargetError> {
        let Self { setup, reads, gathered, spare, values, .. } = self;
        let mut rows = RowReader::of_reply(&setup.format.columns, count, &mut results).map_err(wire)?;
        let mut held = recycled(std::mem::take(values));
        let mut expected = 0;
        while rows.next_into(&mut held).map_err(wire)? {
            let [Some(key), fields @ ..] = &held[..] else { return Err(unexpected("a row without its key")) };
            let places = reads.answer(key, &mut expected);
            if places.is_empty() {
                return Err(unexpected("a row that was not asked for"));
            }
            for place in places {
                let read = reads.at(place);
                let Some((field, version)) = read.update else {
                    replies.rows(read.stream, 1, &mut fields.iter().copied());
                    continue;
                };
                let writes = &mut of_table(gathered, spare, table, &setup.format).writes;
                setup.format.write_row(&mut writes.rows, key, version, Some(Kept { field, values: fields }));
                writes.streams.push(read.stream);
            }
        }
        for read in reads.unanswered() {
            match read.update {
                None => replies.rows(read.stream, 0, &mut std::iter::empty()),
                Some(_) => replies.refused(read.stream, "not found", "a row that was inserted is not there"),
            }
        }
        reads.clear();
        *values = recycled(held);
        Ok(())
    }

    fn refused(&mut self, what: What, error: &GridError, replies: &mut dyn Replies) -> Result<(), TargetError> {
        let (kind, words) = (name_of(error), words_of(error));
        match what {
            What::Row(_) | What::Rows(_) => {
                self.reads.streams().for_each(|stream| replies.refused(stream, kind, &words));
                self.reads.clear();
            }
            What::Writes => self.writes.drain(..).for_each(|stream| replies.refused(stream, kind, &words)),
            What::Scan(stream) => replies.refused(stream, kind, &words),
        }
        if matches!(error.code, ErrorCode::TXN_CONTAINER_NOT_FOUND | ErrorCode::TXN_CONTAINER_SCHEMA_UNMATCH) {
            // A new connection asks where containers are again.
            return Err(refused("a request", error));
        }
        Ok(())
    }
}

/// What is gathered of a container.
fn of_table<'g>(gathered: &'g mut Vec<Gathered>, spare: &mut Vec<Gathered>, table: Table, format: &RowFormat) -> &'g mut Gathered {
    let at = gathered.iter().rposition(|one| one.table == table).unwrap_or_else(|| {
        let fresh = spare.pop().map_or_else(|| Gathered::new(table, format), |spare| Gathered { table, ..spare });
        gathered.push(fresh);
        gathered.len() - 1
    });
    &mut gathered[at]
}

/// The same memory, for values of another reply.
fn recycled<'b>(mut values: Vec<Option<&[u8]>>) -> Vec<Option<&'b [u8]>> {
    values.clear();
    values.into_iter().map(|_| None).collect()
}

impl Session for GridDbSession {
    fn open(&mut self, out: &mut Vec<u8>) {
        self.handshake = Handshake::new();
        self.partial.clear();
        self.asked = None;
        self.reads.clear();
        self.writes.clear();
        self.gathered.clear();
        self.go_on(out);
    }

    fn is_ready(&self) -> bool {
        self.handshake.stage == Stage::Ready
    }

    fn request(&mut self, stream: u16, request: &Request<'_>, _out: &mut Vec<u8>) {
        let Self { setup, gathered, spare, key: scratch, .. } = self;
        let format = &setup.format;
        match *request {
            Request::Read { key } => {
                let reads = &mut of_table(gathered, spare, key.table, format).reads;
                reads.push(stream, None, |out| format.append_key(key.bytes, out));
            }
            Request::Write { row, field: Some(field), .. } => {
                let reads = &mut of_table(gathered, spare, row.key.table, format).reads;
                let version = Version { row: row.key.number, version: row.version };
                reads.push(stream, Some((field, version)), |out| format.append_key(row.key.bytes, out));
            }
            Request::Write { row, field: None, .. } => {
                let writes = &mut of_table(gathered, spare, row.key.table, format).writes;
                scratch.clear();
                format.append_key(row.key.bytes, scratch);
                format.write_row(&mut writes.rows, scratch, Version { row: row.key.number, version: row.version }, None);
                writes.streams.push(stream);
            }
            Request::Scan { key, rows } => {
                let mut from = Vec::with_capacity(key.bytes.len());
                format.append_key(key.bytes, &mut from);
                of_table(gathered, spare, key.table, format).scans.push_back(Scan { stream, key: from, rows });
            }
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.send_next(out);
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>, replies: &mut dyn Replies) -> Result<(), TargetError> {
        if self.partial.is_empty() {
            let taken = self.take(bytes, out, replies)?;
            self.partial.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(bytes);
        let taken = self.take(&partial, out, replies);
        partial.drain(..taken.as_ref().copied().unwrap_or(0));
        self.partial = partial;
        taken.map(drop)
    }
}
