//! An object, read from its begin, a range at a time: a connection that breaks costs one range.

use super::bucket::Bucket;
use super::error::S3Error;
use std::io::{Error, Read};
use std::sync::Arc;

const RANGE_BYTES: u64 = 8 << 20;

/// An object that is being read. It fails when the object is replaced meanwhile.
pub(crate) struct ObjectReader {
    bucket: Arc<Bucket>,
    name: String,
    tag: String,
    length: u64,
    /// How much was asked for.
    at: u64,
    range: Vec<u8>,
    taken: usize,
}

impl ObjectReader {
    /// `None` if there is no such object.
    pub(crate) fn open(bucket: &Arc<Bucket>, name: &str) -> Result<Option<Self>, S3Error> {
        let found = bucket.length(name)?;
        let (bucket, name) = (Arc::clone(bucket), name.to_owned());
        Ok(found.map(|(length, tag)| Self { bucket, name, tag, length, at: 0, range: Vec::new(), taken: 0 }))
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

impl Read for ObjectReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.taken == self.range.len() {
            let bytes = RANGE_BYTES.min(self.length - self.at);
            if bytes == 0 {
                return Ok(0);
            }
            self.range = self.bucket.range(&self.name, &self.tag, self.at, bytes).map_err(Error::other)?;
            (self.at, self.taken) = (self.at + bytes, 0);
        }
        let waiting = &self.range[self.taken..];
        let count = waiting.len().min(out.len());
        out[..count].copy_from_slice(&waiting[..count]);
        self.taken += count;
        Ok(count)
    }
}
