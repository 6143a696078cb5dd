//! A prefix of a bucket that a backup is written to.
//!
//! S3 has no locks. The marker has a name drawn for the backup, and is stored only where there is none: of two backups one is refused, where S3 knows
//! conditions. Where it does not, the one whose marker is replaced finds that before its manifest is written, and removes nothing then.

use super::error::BackupError;
use super::format::{MANIFEST, Manifest, RESUME, SCHEMA, rows_file_number};
use super::location::Location;
use super::occupancy::{Leftovers, MARKER, is_part, is_rows, judge};
use super::sink::Sink;
use crate::at_rest::to_hex;
use crate::s3::{Bucket, Condition, S3Address, S3Arguments, S3Error, Started, Upload};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A prefix in which a backup is being made.
pub(crate) struct BucketTarget {
    bucket: Arc<Bucket>,
    /// What the marker has.
    marker: Vec<u8>,
    /// Objects that this backup may have stored, but the marker.
    made: Mutex<BTreeSet<String>>,
    started: Arc<Started>,
}

impl BucketTarget {
    /// Takes a prefix for a backup.
    pub(super) fn prepare(address: &S3Address, s3: &S3Arguments, leftovers: Leftovers) -> Result<Self, BackupError> {
        let place = || Location::Bucket(address.clone());
        let bucket = Arc::new(Bucket::new(address, s3)?);
        let names = bucket.list(is_part)?;
        let mut condition = Condition::New;
        match (judge(&names, place)?, leftovers) {
            (false, _) => {}
            (true, Leftovers::Refuse) => {
                let files = names.iter().filter(|name| is_rows(name)).count();
                return Err(BackupError::UnfinishedInBucket { place: place(), files });
            }
            (true, Leftovers::Remove) => {
                end_uploads(&bucket)?;
                names.iter().filter(|name| *name != MARKER).try_for_each(|name| bucket.delete(name))?;
                bucket.delete(MARKER)?;
            }
            // The marker is never away: what is there would be nobody's.
            (true, Leftovers::Resume) => {
                let (_, tag) = bucket.length(MARKER)?.ok_or_else(|| BackupError::InUse { place: place() })?;
                condition = Condition::Replaces(tag);
            }
        }
        let mut drawn = [0; 16];
        io_linux::fill_with_entropy(&mut drawn);
        let marker = format!("{{\"backup\": \"{}\"}}\n", to_hex(&drawn)).into_bytes();
        let target = Self { bucket, marker, made: Mutex::default(), started: Arc::default() };
        match target.bucket.put_if(MARKER, &target.marker, &condition) {
            Ok(()) => Ok(target),
            Err(S3Error::Changed { .. }) => Err(BackupError::InUse { place: place() }),
            Err(error) if leftovers == Leftovers::Resume => Err(error.into()),
            // It may have been stored all the same.
            Err(error) => Err(target.abandon(error.into())),
        }
    }

    /// What it is in.
    pub(super) fn bucket(&self) -> Arc<Bucket> {
        Arc::clone(&self.bucket)
    }

    /// What is there.
    pub(super) fn names(&self) -> Result<Vec<String>, BackupError> {
        Ok(self.bucket.list(is_part)?)
    }

    /// Makes objects of the parts that an interrupted attempt has uploaded: of each file the upload that has most. The first file of the attempt has this number.
    pub(super) fn complete_uploads(&self, first_file: u32) -> Result<(), BackupError> {
        let stored = self.names()?;
        let mut found = Vec::new();
        for (name, id) in self.bucket.uploads()? {
            let Some(number) = rows_file_number(&name) else { continue };
            // What is an object already has reached its cut.
            let is_needed = number >= first_file && !stored.contains(&name);
            let parts = if is_needed { self.bucket.parts(&name, &id)? } else { Vec::new() };
            let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
            found.push((name, bytes, id, parts));
        }
        found.sort_by(|one, other| (&one.0, other.1).cmp(&(&other.0, one.1)));
        let mut done = String::new();
        for (name, bytes, id, parts) in found {
            if bytes == 0 || name == done {
                self.bucket.abort_upload(&name, &id)?;
            } else {
                let parts: Vec<_> = parts.into_iter().map(|part| part.part).collect();
                self.bucket.complete_upload(&name, &id, &parts, bytes)?;
                done = name;
            }
        }
        Ok(())
    }

    fn place(&self) -> Location {
        Location::Bucket(self.bucket.address().clone())
    }

    fn note(&self, name: &str) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    pub(super) fn create(&self, name: &str) -> Sink {
        self.note(name);
        Sink::Object(Box::new(Upload::new(Arc::clone(&self.bucket), Arc::clone(&self.started), name)))
    }

    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
        self.note(name);
        Ok(self.bucket.put(name, bytes)?)
    }

    /// Looks whether all is there, and stores the manifest.
    pub(super) fn finish(&self, manifest: &Manifest) -> Result<(), BackupError> {
        if !self.is_marked()? {
            return Err(BackupError::InUse { place: self.place() });
        }
        let address = self.bucket.address();
        for file in manifest.all_files() {
            let found = self.bucket.length(&file.name)?.map_or(0, |(length, _)| length);
            // Of interrupted attempts more may be there than counts.
            let is_last = manifest.files.iter().any(|last| last.name == file.name);
            if found < file.bytes || (is_last && found > file.bytes) {
                return Err(S3Error::Length { object: address.object(&file.name), found, sent: file.bytes }.into());
            }
        }
        if self.bucket.length(SCHEMA)?.is_none() {
            return Err(S3Error::Missing { what: format!("looking at {}", address.object(SCHEMA)) }.into());
        }
        match self.bucket.put_if(MANIFEST, &manifest.to_bytes(), &Condition::New) {
            // It is another one's.
            Err(S3Error::Changed { .. }) => return Err(BackupError::InUse { place: self.place() }),
            Err(error) => {
                self.note(MANIFEST);
                return Err(error.into());
            }
            Ok(()) => {}
        }
        // A backup with a manifest is whole whatever else is there.
        let remove = || [RESUME, MARKER].iter().try_for_each(|name| self.bucket.delete(name));
        if let Err(error) = end_uploads(&self.bucket).and_then(|()| remove()) {
            eprintln!("the backup is whole; {MARKER}, or parts of uploads, could not be removed from {}: {error}", self.place());
        }
        Ok(())
    }

    /// Whether the marker is still this backup's.
    fn is_marked(&self) -> Result<bool, S3Error> {
        Ok(self.bucket.get(MARKER)?.is_some_and(|marker| marker == self.marker))
    }

    /// Removes what this backup has stored and begun to store, the marker last, unless another one has taken its place.
    pub(super) fn abandon(self, fault: BackupError) -> BackupError {
        match self.remove() {
            Ok(()) => fault,
            Err(why) => BackupError::Left { fault: Box::new(fault), place: self.place(), why: Box::new(why) },
        }
    }

    fn remove(&self) -> Result<(), S3Error> {
        // These are this backup's in any case.
        self.started.all().iter().try_for_each(|(name, id)| self.bucket.abort_upload(name, id))?;
        if !self.is_marked()? {
            return Ok(());
        }
        end_uploads(&self.bucket)?;
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Without its manifest it is no backup, so that goes first.
        if made.contains(MANIFEST) {
            self.bucket.delete(MANIFEST)?;
        }
        made.iter().try_for_each(|name| self.bucket.delete(name))?;
        self.bucket.delete(MARKER)
    }
}

/// Ends uploads of files of rows, also those whose begin was answered too late. The marker is there: they are of this backup, or of the one before.
fn end_uploads(bucket: &Bucket) -> Result<(), S3Error> {
    let uploads = bucket.uploads()?;
    uploads.iter().filter(|(name, _)| is_rows(name)).try_for_each(|(name, id)| bucket.abort_upload(name, id))
}
