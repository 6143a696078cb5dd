//! From recovery to the last flush: what a core tells core 0 of it, and what core 0 does once all cores have.

use crate::core::Core;
use crate::message::Message;
use base::CoreId;
use io::Reactor;

impl Core {
    /// Everything is to be on the device; then the node ends.
    pub(crate) fn flush_to_end(&mut self) {
        self.lifecycle.is_flushing = true;
        self.shard.flush();
    }

    /// Says once what has come to its end: recovery, or the flush before the node ends.
    pub(crate) fn report_progress<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if !self.lifecycle.recovered {
            self.log_recovery(reactor.now().monotonic_us);
            if self.shard.is_ready() {
                self.lifecycle.recovered = true;
                self.restore_purge_floor();
                let engine = self.shard.engine();
                for loss in engine.accepted_losses() {
                    tracing::error!(core = self.core.0, %loss, "the shard starts with what is left: the loss of stored data was accepted");
                }
                let is_damaged = engine.may_lack_rows();
                self.lifecycle.damaged_at_start = engine.stats().damaged_records;
                // Who looks as soon as the node is ready finds what recovery has found.
                self.write_report(reactor.now().monotonic_us);
                reactor.send(CoreId(0), Message::Recovered { is_damaged });
            }
        }
        let engine = self.shard.engine();
        if !self.lifecycle.recovered
            && let Some(error) = engine.recovery_error()
            && let Some(on_failure) = self.lifecycle.on_failure.take()
        {
            on_failure(error);
        }
        let places = engine.damage_reports().len();
        if places > self.lifecycle.damage_logged {
            let (core, now_us) = (self.core.0, reactor.now().monotonic_us);
            for report in &engine.damage_reports()[self.lifecycle.damage_logged..] {
                if self.lifecycle.damage_log.may_log(now_us) {
                    let segment = report.segment.0;
                    tracing::warn!(core, segment, offset = report.offset, bytes = report.bytes, places, "stored data is damaged");
                }
            }
            self.lifecycle.damage_logged = places;
        }
        if self.lifecycle.is_flushing && !self.lifecycle.flush_reported && self.shard.is_flushed() {
            self.lifecycle.flush_reported = true;
            reactor.send(CoreId(0), Message::Flushed);
        }
    }

    /// On core 0: one more shard has recovered. Once all have, the node accepts connections.
    pub(crate) fn core_recovered<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, is_damaged: bool) {
        self.lifecycle.cores_recovered += 1;
        self.is_damaged |= is_damaged;
        if self.lifecycle.cores_recovered == self.cores {
            reactor.start_accepting();
            self.start_metadata(reactor);
            if self.cluster.is_none() {
                self.be_ready_with_superuser();
            }
        }
    }

    /// On core 0: one more core knows what its node is in the cluster.
    pub(crate) fn core_serves(&mut self) {
        self.lifecycle.cores_serving += 1;
        if self.lifecycle.cores_serving == self.cores {
            self.be_ready_with_superuser();
        }
    }

    /// On core 0: everything of one more core is on the device.
    pub(crate) fn core_flushed<R: Reactor>(&mut self, reactor: &mut R) {
        self.lifecycle.cores_flushed += 1;
        if self.lifecycle.cores_flushed == self.cores {
            reactor.stop();
        }
    }

    /// The node serves clients.
    pub(crate) fn be_ready(&mut self) {
        if let Some(on_ready) = self.lifecycle.on_ready.take() {
            on_ready();
        }
    }

    /// Says how far the shard's recovery has come, once in a while, and how it went at its end.
    fn log_recovery(&mut self, now_us: u64) {
        const INTERVAL_US: u64 = 1_000_000;
        let progress = self.shard.engine().recovery_progress();
        let (core, records, damaged) = (self.core.0, progress.records, progress.damaged);
        let (segments, segments_total) = (progress.segments_done, progress.segments_total);
        let from = if progress.checkpoint_rows.is_some() { "checkpoint" } else { "log" };
        let checkpoint_rows = progress.checkpoint_rows.unwrap_or(0);
        if self.shard.is_ready() {
            let elapsed_ms = progress.elapsed_us / 1000;
            tracing::info!(core, from, checkpoint_rows, records, segments, damaged, elapsed_ms, "recovered");
        } else if self.lifecycle.progress_due_us.is_none_or(|due| now_us >= due) {
            if self.lifecycle.progress_due_us.is_some() {
                tracing::info!(core, from, checkpoint_rows, records, segments, segments_total, damaged, "recovering");
            }
            self.lifecycle.progress_due_us = Some(now_us.saturating_add(INTERVAL_US));
        }
    }
}
