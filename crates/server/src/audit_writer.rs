//! The thread that writes the audit log. It alone waits for its disk; cores queue lines for it and go on.

use crate::audit_file::AuditFile;
use crate::audit_settings::{AuditSettings, AuditTarget};
use crate::audit_syslog::Syslog;
use crate::settings::AuditWhenFull;
use node::{AuditConfig, AuditMessage, Lines, WhenFull, append_dropped};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A core may have queued so many bytes.
const QUEUE_BYTES_MAX: usize = 2 << 20;

/// How long a failed write waits before it is tried again, where requests wait for it.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// How long the end of the process waits for lines that are queued.
const END_WITHIN: Duration = Duration::from_secs(5);

/// How often the log tells of lines that are missing.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// How soon the audit log itself does, when there is nothing else to write.
const TELL_WITHIN: Duration = Duration::from_secs(1);

/// Why there is no audit log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuditError {
    /// It cannot be opened.
    #[error("the audit log {} cannot be written: {source}; see the setting audit_log", path.display())]
    Open {
        /// Where it should be.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No thread.
    #[error("no thread for the audit log: {0}")]
    Thread(io::Error),
}

/// The writer, as the process that has started it sees it.
#[derive(Debug)]
pub(crate) struct AuditWriter {
    config: AuditConfig,
    ended: Receiver<()>,
}

impl AuditWriter {
    /// Opens the log and starts the thread.
    pub(crate) fn start(settings: &AuditSettings) -> Result<Self, AuditError> {
        let (target, path) = match &settings.target {
            AuditTarget::File { path, bytes_max, files } => (AuditFile::open(path, *bytes_max, *files).map(Target::File), path),
            AuditTarget::Syslog { socket } => (Syslog::open(socket).map(Target::Syslog), socket),
        };
        let target = target.map_err(|source| AuditError::Open { path: path.clone(), source })?;
        let (writer, lines) = channel();
        let (end, ended) = channel();
        let when_full = match settings.when_full {
            AuditWhenFull::Drop => WhenFull::Drop,
            AuditWhenFull::Block => WhenFull::Block,
        };
        tracing::info!(log = %path.display(), "requests are audited");
        let cores_dropped = Arc::new(AtomicU64::new(0));
        let untold = Arc::clone(&cores_dropped);
        let thread = Thread { target, when_full, cores_dropped, dropped: 0, untold: 0, told_at: None, failing: false };
        let run = move || thread.run(&lines, &end);
        std::thread::Builder::new().name("audit".to_owned()).spawn(run).map_err(AuditError::Thread)?;
        let config = AuditConfig { filter: settings.filter.clone(), when_full, queue_bytes_max: QUEUE_BYTES_MAX, untold, writer };
        Ok(Self { config, ended })
    }

    /// What cores are given.
    pub(crate) fn config(&self) -> AuditConfig {
        self.config.clone()
    }

    /// Waits until what is queued is written; cores have ended.
    pub(crate) fn finish(self) {
        let sent = self.config.writer.send(AuditMessage::End);
        if sent.is_ok() && self.ended.recv_timeout(END_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the audit log did not take its last lines in time");
        }
    }
}

#[derive(Debug)]
enum Target {
    File(AuditFile),
    Syslog(Syslog),
}

impl Target {
    fn write(&mut self, lines: &mut &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write(lines),
            Self::Syslog(syslog) => syslog.write(lines),
        }
    }
}

/// What the thread knows.
struct Thread {
    target: Target,
    when_full: WhenFull,
    cores_dropped: Arc<AtomicU64>,
    /// Lines that are missing, and that the audit log does not tell of yet.
    dropped: u64,
    /// The same of the process's own log.
    untold: u64,
    told_at: Option<Instant>,
    failing: bool,
}

impl Thread {
    fn run(mut self, lines: &Receiver<AuditMessage>, end: &Sender<()>) {
        loop {
            match lines.recv_timeout(TELL_WITHIN) {
                Ok(AuditMessage::Lines(lines)) => self.write_lines(&lines),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(AuditMessage::End) | Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tell_of_dropped();
        }
        self.tell_of_dropped();
        // Nobody may wait any more.
        let _ = end.send(());
    }

    fn write_lines(&mut self, lines: &Lines) {
        let mut rest = lines.text().as_bytes();
        loop {
            match self.target.write(&mut rest) {
                Ok(()) => return self.recovered(),
                Err(error) => {
                    self.failed(&error);
                    if self.when_full == WhenFull::Drop {
                        let count = rest.iter().filter(|byte| **byte == b'\n').count() as u64;
                        lines.give_up(count);
                        return self.missing(count);
                    }
                    std::thread::sleep(RETRY_AFTER);
                }
            }
        }
    }

    /// The line that says how many are missing.
    fn tell_of_dropped(&mut self) {
        let count = self.cores_dropped.swap(0, Ordering::Relaxed);
        self.missing(count);
        if self.dropped == 0 {
            return;
        }
        let wall_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
        let mut line = String::new();
        append_dropped(&mut line, wall_us, self.dropped);
        if self.target.write(&mut line.as_bytes()).is_ok() {
            self.dropped = 0;
        }
    }

    fn missing(&mut self, count: u64) {
        self.dropped += count;
        self.untold += count;
        if self.untold > 0 && self.told_at.is_none_or(|told_at| told_at.elapsed() >= TELL_EVERY) {
            tracing::warn!(lines = self.untold, "the audit log does not keep up: lines are missing (setting audit_when_full)");
            (self.untold, self.told_at) = (0, Some(Instant::now()));
        }
    }

    fn failed(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::info!("the audit log is written again");
        }
    }
}
