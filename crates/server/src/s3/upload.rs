//! An object that grows: sent in parts as it comes, ended at a mark.

use super::bucket::Bucket;
use super::error::S3Error;
use super::multipart::Part;
use super::parts::Parts;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Uploads that were begun and neither completed nor aborted: names by ids.
#[derive(Default)]
pub(crate) struct Started(Mutex<BTreeMap<String, String>>);

impl Started {
    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, String>)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Those that there are, by name and id.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        started.iter().map(|(id, name)| (name.clone(), id.clone())).collect()
    }
}

/// An object in the making. It holds two parts at most, and the bytes written last.
pub(crate) struct Upload {
    bucket: Arc<Bucket>,
    started: Arc<Started>,
    name: String,
    /// Once a part was sent.
    id: Option<String>,
    sent: Vec<Part>,
    parts: Parts,
}

impl Upload {
    pub(crate) fn new(bucket: Arc<Bucket>, started: Arc<Started>, name: &str) -> Self {
        let parts = Parts::new(bucket.part_bytes);
        Self { bucket, started, name: name.to_owned(), id: None, sent: Vec::new(), parts }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), S3Error> {
        self.parts.push(bytes);
        while let Some(part) = self.parts.take() {
            self.send(&part)?;
        }
        Ok(())
    }

    /// The object may end here, at so many bytes.
    pub(crate) fn mark(&mut self, bytes: u64) {
        self.parts.mark(bytes);
    }

    fn send(&mut self, part: &[u8]) -> Result<(), S3Error> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => {
                let id = self.bucket.begin_upload(&self.name)?;
                self.started.change(|started| {
                    started.insert(id.clone(), self.name.clone());
                });
                self.id.insert(id).clone()
            }
        };
        let part = self.bucket.send_part(&self.name, &id, self.sent.len() + 1, part)?;
        self.sent.push(part);
        Ok(())
    }

    /// The object ends at the last mark, if that is at so many bytes; else `false`. S3 has it whole then.
    pub(crate) fn end(mut self, bytes: u64) -> Result<bool, S3Error> {
        let Some(mark) = self.parts.end(bytes) else { return Ok(false) };
        self.sent.truncate(mark.parts);
        if mark.parts == 0 {
            // An upload that was begun for what follows the mark is aborted with what else is left.
            self.bucket.put(&self.name, &mark.tail)?;
        } else {
            if !mark.tail.is_empty() {
                self.send(&mark.tail)?;
            }
            let id = self.id.take().expect("a part was sent");
            self.bucket.complete_upload(&self.name, &id, &self.sent, bytes)?;
            self.started.change(|started| {
                started.remove(&id);
            });
        }
        let found = self.bucket.length(&self.name)?.map_or(0, |(found, _)| found);
        if found != bytes {
            return Err(S3Error::Length { object: self.bucket.address.object(&self.name), found, sent: bytes });
        }
        Ok(true)
    }
}
