//! What functions of users log goes to the node's log, so many lines a second.

/// How many lines a core logs in a second for functions.
const LINES_PER_SECOND: u32 = 20;

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct ScriptLog {
    second: u64,
    told: u32,
    dropped: u64,
}

impl ScriptLog {
    /// Logs lines, each with its level: 1 a warning, 2 information, beyond that only for who wants to know more.
    pub(crate) fn tell(&mut self, now_us: u64, lines: &[(i64, String)]) {
        let second = now_us / 1_000_000;
        if second != self.second {
            if self.dropped > 0 {
                tracing::warn!(lines = self.dropped, "functions of users have logged more than is told; these lines were dropped");
            }
            *self = Self { second, told: 0, dropped: 0 };
        }
        for (level, line) in lines {
            if self.told >= LINES_PER_SECOND {
                self.dropped += 1;
                continue;
            }
            self.told += 1;
            match level {
                ..=1 => tracing::warn!(line, "a function of a user says"),
                2 => tracing::info!(line, "a function of a user says"),
                3 => tracing::debug!(line, "a function of a user says"),
                _ => tracing::trace!(line, "a function of a user says"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_bound_are_counted_and_the_next_second_is_free() {
        let (mut log, lines) = (ScriptLog::default(), vec![(2, "line".to_owned()); 15]);
        log.tell(5, &lines);
        log.tell(6, &lines);
        assert_eq!((log.told, log.dropped), (20, 10));
        log.tell(1_000_000, &lines);
        assert_eq!((log.told, log.dropped), (15, 0));
    }
}
