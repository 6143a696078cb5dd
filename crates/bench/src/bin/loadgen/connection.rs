//! One connection under load.

use crate::failure::Failure;
use crate::options::Refill;
use crate::timeline::Timeline;
use crate::traffic::{Check, Sent, Traffic};
use cql::wire::StreamId;
use load::cql::client::Codec;
use mio::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

/// A connection and its requests in flight.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    codec: Codec,
    /// A frame before it is put into a segment (v5).
    frames: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
    /// By stream.
    waiting: Vec<Option<(Sent, Instant)>>,
    /// Streams to send on, in `each` mode.
    free: Vec<u16>,
    pub(crate) in_flight: usize,
    refill: Refill,
    segments: bool,
    check: Check,
}

impl Connection {
    pub(crate) fn new(socket: TcpStream, codec: Codec, depth: u16, refill: Refill, segments: bool) -> Self {
        Self {
            socket,
            codec,
            frames: Vec::new(),
            out: Vec::new(),
            sent: 0,
            waiting: vec![None; usize::from(depth)],
            free: (0..depth).rev().collect(),
            in_flight: 0,
            refill,
            segments,
            check: Check::Content,
        }
    }

    /// Sends on all free streams if it is time to.
    pub(crate) fn refill(&mut self, traffic: &mut Traffic, now: Instant) -> Result<(), Failure> {
        if self.refill == Refill::Batch && self.in_flight > 0 {
            return Ok(());
        }
        while let Some(stream) = self.free.pop() {
            let id = StreamId(stream.cast_signed());
            let target = if self.segments { &mut self.frames } else { &mut self.out };
            let Some(sent) = traffic.append_next(target, id) else {
                self.free.push(stream);
                break;
            };
            if self.segments {
                self.codec.encoder.append(&mut self.out, &self.frames, &mut self.codec.workspace);
                self.frames.clear();
            }
            self.waiting[usize::from(stream)] = Some((sent, now));
            self.in_flight += 1;
        }
        self.codec.encoder.flush(&mut self.out, &mut self.codec.workspace);
        self.flush()
    }

    /// Hands to the kernel what it takes.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        while self.sent < self.out.len() {
            match self.socket.write(&self.out[self.sent..]) {
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Takes what has arrived, sends what comes next, and gives the number of replies.
    pub(crate) fn receive(&mut self, traffic: &mut Traffic, buffer: &mut [u8], timeline: &mut Timeline) -> Result<u64, Failure> {
        let mut replies = 0;
        loop {
            let length = match self.socket.read(buffer) {
                Ok(0) => return Err(Failure::Closed { in_flight: self.in_flight }),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(replies),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let now = Instant::now();
            replies += self.take_replies(&buffer[..length], traffic, now, timeline)?;
            self.refill(traffic, now)?;
            // Less than was asked for: all has been read, and the next byte is a new event.
            if length < buffer.len() {
                return Ok(replies);
            }
        }
    }

    fn take_replies(&mut self, bytes: &[u8], traffic: &mut Traffic, now: Instant, timeline: &mut Timeline) -> Result<u64, Failure> {
        let mut replies = 0;
        let mut frames = self.codec.decoder.feed(bytes, &mut self.codec.workspace);
        while let Some(frame) = frames.next_frame()? {
            let stream = frame.header.stream.0.cast_unsigned();
            let waiting = self.waiting.get_mut(usize::from(stream)).and_then(Option::take);
            let Some((sent, sent_at)) = waiting else {
                return Err(Failure::WrongReply { request: "nothing", key: 0, what: "no request waits on its stream" });
            };
            traffic.check(sent, &frame, self.check)?;
            self.check = Check::Borders;
            timeline.record(now.duration_since(sent_at));
            self.free.push(stream);
            self.in_flight -= 1;
            replies += 1;
        }
        Ok(replies)
    }
}
