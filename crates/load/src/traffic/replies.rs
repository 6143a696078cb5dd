//! What becomes of replies: they are counted, and what they hold is compared with what was written.

use super::{Next, Pending, Traffic};
use crate::outcome::Verified;
use crate::versions::{Acknowledged, NO_VERSION, Verdict, Versions};
use crate::workload::OperationKind;
use std::sync::atomic::Ordering::{Acquire, Release};

impl Traffic<'_> {
    fn over(&mut self, pending: &Pending, now_ns: u64) -> Next {
        self.recorder.reply(pending.kind, now_ns.saturating_sub(pending.due_ns));
        Next::Over
    }

    /// A write was done.
    pub(crate) fn written(&mut self, pending: &Pending, now_ns: u64) -> Next {
        if !pending.writes {
            self.failed(pending, "wrong kind of reply", "a read was answered without rows");
            return Next::Over;
        }
        if let Some(versions) = self.versions_of(pending.row) {
            versions.acknowledge(pending.row, pending.field, pending.version);
        }
        if pending.kind == OperationKind::Insert {
            self.common.dataset.insert_ended(pending.row, true);
        }
        self.over(pending, now_ns)
    }

    /// Rows came.
    pub(crate) fn rows(
        &mut self,
        pending: &mut Pending,
        now_ns: u64,
        rows: usize,
        fields: &mut dyn Iterator<Item = Option<&[u8]>>,
        known: &[Acknowledged],
    ) -> Next {
        if pending.writes {
            self.failed(pending, "wrong kind of reply", "a write was answered with rows");
            return Next::Over;
        }
        if pending.kind != OperationKind::Scan {
            if let Err((error, message)) = self.check_row(pending, rows, fields, known) {
                self.failed(pending, error, message);
                return Next::Over;
            }
            if pending.kind == OperationKind::ReadModifyWrite && pending.version != NO_VERSION {
                pending.writes = true;
                pending.sent_ns = now_ns;
                return Next::SecondHalf;
            }
        } else if rows > pending.scan_rows as usize {
            self.failed(pending, "too many rows", "a scan returned more rows than it asked for");
            return Next::Over;
        }
        self.over(pending, now_ns)
    }

    /// Checks a reply and counts it: as compared only if it could have been found lost or stale, since that is what is claimed of the others.
    fn check_row(
        &mut self,
        pending: &Pending,
        rows: usize,
        fields: &mut dyn Iterator<Item = Option<&[u8]>>,
        known: &[Acknowledged],
    ) -> Result<(), (&'static str, &'static str)> {
        let versions = self.versions_of(pending.row);
        let is_known = versions.is_some() && known.iter().any(|field| field.is_known());
        let wrong_before = self.verified.wrong;
        let checked = self.check_fields(pending, rows, fields, versions, known);
        if rows == 0 && is_known {
            self.verified.lost += 1;
        }
        // A value that nobody wrote is found without knowing of any write; such a read counts as compared, so that those never are fewer.
        if is_known || self.verified.wrong > wrong_before {
            self.verified.compared += 1;
        } else if self.common.versions.is_some() {
            self.verified.unknown += 1;
        }
        checked
    }

    fn check_fields(
        &mut self,
        pending: &Pending,
        rows: usize,
        fields: &mut dyn Iterator<Item = Option<&[u8]>>,
        versions: Option<&Versions>,
        known: &[Acknowledged],
    ) -> Result<(), (&'static str, &'static str)> {
        if rows == 0 {
            return Err(("not found", "a row that was inserted is not there"));
        }
        if !self.common.reads_all_fields {
            return Ok(());
        }
        let (mut count, mut worst) = (0, Verdict::Right);
        for (field, value) in fields.enumerate() {
            let length = value.map_or(0, <[u8]>::len);
            if value.is_none() || length < self.values.bytes_min() || length > self.values.bytes_max() {
                self.verified.wrong += u64::from(versions.is_some());
                return Err(("wrong size", "a field has not the length that was written"));
            }
            count += 1;
            if let (Some(versions), Some(value)) = (versions, value) {
                let verdict = match self.values.version_of(pending.row, field as u32, value, &mut self.scratch) {
                    Some(version) => versions.judge(pending.row, known[field], version),
                    None => Verdict::Wrong,
                };
                worst = if verdict == Verdict::Wrong || worst == Verdict::Right { verdict } else { worst };
            }
        }
        if count != self.fields {
            return Err(("wrong size", "a row has not the fields that were asked for"));
        }
        match worst {
            Verdict::Right => {}
            Verdict::Stale => self.verified.stale += 1,
            Verdict::Wrong => self.verified.wrong += 1,
        }
        Ok(())
    }

    /// A request failed, or will have no reply.
    pub(crate) fn failed(&mut self, pending: &Pending, error: &'static str, message: &str) {
        self.recorder.error(pending.kind, error, message);
        self.forget(pending);
    }

    /// A request ends without being counted, because the load was stopped.
    pub(crate) fn forget(&mut self, pending: &Pending) {
        let has_version = pending.kind != OperationKind::Read && pending.kind != OperationKind::Scan && pending.version != NO_VERSION;
        if has_version && let Some(versions) = self.versions_of(pending.row) {
            versions.release(pending.row);
        }
        if pending.kind == OperationKind::Insert {
            self.common.dataset.insert_ended(pending.row, false);
        }
    }

    /// Replies came: tells the others, once a batch.
    pub(crate) fn batch_ended(&mut self, now_ns: u64) {
        let (replies, errors) = self.recorder.take_batch();
        if replies + errors > 0 {
            self.common.control.add(replies, errors);
        }
        if replies > 0 && self.common.last_reply_ns.load(Acquire) < now_ns {
            self.common.last_reply_ns.store(now_ns, Release);
        }
    }

    pub(crate) fn verified(&self) -> Verified {
        self.verified
    }
}
