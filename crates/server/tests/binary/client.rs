//! The least of a CQL client: queries without values, one at a time, version 4 of the protocol.

use std::io::{Read, Write};
use std::net::TcpStream;

const REQUEST_VERSION: u8 = 4;
const STARTUP: u8 = 1;
const QUERY: u8 = 7;
const ERROR: u8 = 0;
const RESULT: u8 = 8;
const REGISTER: u8 = 0x0B;
const AUTH_RESPONSE: u8 = 0x0F;
const AUTH_SUCCESS: u8 = 0x10;
const RESULT_ROWS: i32 = 2;

/// A connection that has been started up.
pub(crate) struct Client {
    stream: TcpStream,
}

impl Client {
    pub(crate) fn connect(address: &str) -> Self {
        let mut client = Self { stream: TcpStream::connect(address).unwrap() };
        let mut body = 1u16.to_be_bytes().to_vec();
        for text in ["CQL_VERSION", "3.0.0"] {
            body.extend((text.len() as u16).to_be_bytes());
            body.extend(text.as_bytes());
        }
        client.send(STARTUP, &body).unwrap();
        client.receive().unwrap();
        client
    }

    /// Says who it is; why it is refused.
    pub(crate) fn log_in(&mut self, role: &str, password: &str) -> Result<(), String> {
        let token = format!("\0{role}\0{password}");
        let mut body = (token.len() as u32).to_be_bytes().to_vec();
        body.extend(token.as_bytes());
        self.send(AUTH_RESPONSE, &body).map_err(|error| error.to_string())?;
        let (opcode, body) = self.receive().map_err(|error| error.to_string())?;
        if opcode == AUTH_SUCCESS { Ok(()) } else { Err(String::from_utf8_lossy(&body[6..]).into_owned()) }
    }

    /// Runs a query. The cells of all rows, one after the other; or why there are none.
    pub(crate) fn query(&mut self, text: &str) -> Result<Vec<Option<Vec<u8>>>, String> {
        let mut body = (text.len() as u32).to_be_bytes().to_vec();
        body.extend(text.as_bytes());
        // Consistency ONE, no flags.
        body.extend([0, 1, 0]);
        self.send(QUERY, &body).map_err(|error| error.to_string())?;
        let (opcode, body) = self.receive().map_err(|error| error.to_string())?;
        match opcode {
            ERROR => Err(String::from_utf8_lossy(&body[6..]).into_owned()),
            RESULT => Ok(cells(&body)),
            other => panic!("opcode {other} answers a query"),
        }
    }

    /// Runs a query that must succeed.
    pub(crate) fn must(&mut self, text: &str) -> Vec<Option<Vec<u8>>> {
        self.query(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
    }

    /// From now on it hears of changes of the schema.
    pub(crate) fn hear_of_schema(&mut self) {
        let text = "SCHEMA_CHANGE";
        self.send(REGISTER, &[&[0, 1][..], &(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()).unwrap();
        self.receive().unwrap();
    }

    /// The texts of the next event: its type, what happened, to what, and names.
    pub(crate) fn event(&mut self) -> Vec<String> {
        let (_, body) = self.receive().unwrap();
        let (mut rest, mut texts) = (&body[..], Vec::new());
        // Functions have the types of their arguments behind these.
        while !rest.is_empty() && texts.len() < 5 {
            let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
            texts.push(String::from_utf8(rest[2..2 + length].to_vec()).unwrap());
            rest = &rest[2 + length..];
        }
        texts
    }

    fn send(&mut self, opcode: u8, body: &[u8]) -> std::io::Result<()> {
        let mut frame = vec![REQUEST_VERSION, 0, 0, 0, opcode];
        frame.extend((body.len() as u32).to_be_bytes());
        frame.extend(body);
        self.stream.write_all(&frame)
    }

    fn receive(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header)?;
        let mut body = vec![0; u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize];
        self.stream.read_exact(&mut body)?;
        Ok((header[4], body))
    }
}

/// The cells of a result of kind rows; nothing for the others.
fn cells(body: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut rest = body;
    if int(&mut rest) != RESULT_ROWS {
        return Vec::new();
    }
    let (flags, columns) = (int(&mut rest), int(&mut rest));
    assert_eq!(flags & 6, 0, "neither paged nor without metadata");
    if flags & 1 != 0 {
        text(&mut rest);
        text(&mut rest);
    }
    for _ in 0..columns {
        if flags & 1 == 0 {
            text(&mut rest);
            text(&mut rest);
        }
        text(&mut rest);
        let kind = u16::from_be_bytes([rest[0], rest[1]]);
        assert!(kind < 0x20, "columns of simple types only");
        rest = &rest[2..];
    }
    let count = int(&mut rest) * columns;
    (0..count)
        .map(|_| {
            let length = usize::try_from(int(&mut rest)).ok()?;
            let (cell, after) = rest.split_at(length);
            rest = after;
            Some(cell.to_vec())
        })
        .collect()
}

fn int(rest: &mut &[u8]) -> i32 {
    let (bytes, after) = rest.split_first_chunk().unwrap();
    *rest = after;
    i32::from_be_bytes(*bytes)
}

fn text(rest: &mut &[u8]) {
    let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
    *rest = &rest[2 + length..];
}
