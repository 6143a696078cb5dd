//! How much of a core's time, and of its streams, moving rows between nodes may take.
//!
//! Clients share cores and streams with a migration. Its budget says by how much it may lengthen a request:
//!
//! | who waits | for what | at most |
//! |---|---|---|
//! | a request, on each core that it comes to | a [`Slice`] of sending and one of applying that have begun | an eighth of the budget |
//! | a write, for its replicas | images that are before it in a stream: the [`Window`] | a quarter of the budget |
//!
//! A migration must also leave clients their time. Where clients work, a [`Rest`] follows each slice until the core has slept three times as long as the slice
//! took: sending takes at most a quarter of what clients leave. Applying does not rest, because writes wait behind images. The window measures how long it
//! takes, shrinks and pauses. So two members that rebuild each other stay idle for a good part of the time, and requests do not wait for each other.
//!
//! Invariants: each slice does some work, a rest ends however busy the core is, and some bytes may always be in flight. So a migration ends.

/// A slice is so many chunks long at most, whatever the clock says.
const SLICE_CHUNKS_MAX: usize = 256;

/// A slice counts for at most so many times what it should take: a process that was not run for a while has not worked.
const OVERRUN_MAX: u64 = 4;

/// After a slice a core sleeps for so many times as long as that took.
const REST_SLICES: u64 = 3;

/// It need not sleep for less: waking up takes about as long.
const REST_LEFT_US: u64 = 20;

/// A rest is at most so many times as long as the slice before it: migrations always get a twentieth of a core.
const REST_SLICES_MAX: u64 = 19;

/// Images that may be under way at least, and at most.
const WINDOW_BYTES_MIN: usize = 64 << 10;

const WINDOW_BYTES_MAX: usize = 1 << 20;

/// By so much a window grows that was used up and kept nobody waiting.
const WINDOW_STEP_BYTES: usize = 16 << 10;

/// So many times as long as an acknowledgement has taken more than it does by itself, nothing is sent after it; but no longer than this.
const PAUSE_EXCESSES: u64 = 3;

const PAUSE_US_MAX: u64 = 100_000;

/// What an acknowledgement takes when nothing is in its way is found out so often.
const PERIOD_US: u64 = 5_000_000;

/// By how much migrations may lengthen a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    latency_us: u64,
}

impl Budget {
    pub(crate) fn new(latency_us: u64) -> Self {
        Self { latency_us }
    }

    fn slice_us(self) -> u64 {
        self.latency_us / 16
    }

    pub(crate) fn queue_us(self) -> u64 {
        self.latency_us / 4
    }
}

/// Work of one kind in one turn of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    begun_us: u64,
    until_us: u64,
    chunks: usize,
}

impl Slice {
    pub(crate) fn begin(budget: Budget, now_us: u64) -> Self {
        Self { begun_us: now_us, until_us: now_us + budget.slice_us(), chunks: 0 }
    }

    /// A chunk was taken.
    pub(crate) fn take(&mut self) {
        self.chunks += 1;
    }

    /// Whether anything was done.
    pub(crate) fn has_chunks(&self) -> bool {
        self.chunks > 0
    }

    /// Whether it is over; the first chunk is always allowed.
    pub(crate) fn is_over(&self, now_us: u64) -> bool {
        self.chunks > 0 && (now_us >= self.until_us || self.chunks >= SLICE_CHUNKS_MAX)
    }
}

/// When the next slice may begin.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// For how long the core is to sleep, how long it had slept when the last slice was over, and by when the next one begins at the latest.
    sleep_us: u64,
    slept_us: u64,
    until_us: u64,
    /// Whether clients' work has come since the last slice began.
    clients_came: bool,
}

impl Rest {
    /// A client has sent work to this core.
    pub(crate) fn client_came(&mut self) {
        self.clients_came = true;
    }

    /// Whether there was such work since the last slice began.
    pub(crate) fn has_clients(&self) -> bool {
        self.clients_came
    }

    /// The time at which to look again whether the rest is over, if it is not. The core has slept for `slept_us` in all.
    pub(crate) fn due_us(&self, slept_us: u64, now_us: u64) -> Option<u64> {
        let left_us = self.left_us(slept_us);
        (self.clients_came && left_us > REST_LEFT_US && now_us < self.until_us).then(|| self.until_us.min(now_us + left_us))
    }

    /// A slice is over.
    pub(crate) fn worked(&mut self, slice: &Slice, slept_us: u64, now_us: u64) {
        let whole_us = slice.until_us - slice.begun_us;
        let worked_us = now_us.saturating_sub(slice.begun_us).min(OVERRUN_MAX * whole_us);
        let (sleep_us, until_us) = (REST_SLICES * worked_us, now_us + REST_SLICES_MAX * worked_us);
        *self = Self { sleep_us, slept_us, until_us, clients_came: false };
    }

    /// What the slice has asked the device for has come after so long: the rest begins now, and is as much longer.
    pub(crate) fn waited(&mut self, waited_us: u64, slept_us: u64, now_us: u64) {
        self.sleep_us = self.left_us(slept_us) + REST_SLICES * waited_us;
        self.slept_us = slept_us;
        self.until_us = self.until_us.max(now_us) + REST_SLICES_MAX * waited_us;
    }

    fn left_us(&self, slept_us: u64) -> u64 {
        self.sleep_us.saturating_sub(slept_us.saturating_sub(self.slept_us))
    }
}

/// An image whose acknowledgement is waited for.
#[derive(Debug)]
struct Probe {
    /// Where it ends, counted in bytes of images.
    end: u64,
    sent_us: u64,
    /// How many writes of clients were in the stream before it.
    writes: u64,
}

/// How many bytes of images may be on their way to a replica: as many as do not keep what comes behind them waiting for longer than the budget allows.
///
/// It grows while acknowledgements come back about as fast as they ever do, or no write has come that could wait behind the images. It halves when they take
/// longer than that by more than the budget: then the network, the replica's core or its device has more to do. And in proportion to the excess it pauses: the replica's core, where
/// clients work, too, gets some time without images. Once in a period it is as small as can be for a moment, to find out again what an acknowledgement takes by itself. (The idea is that of transports which take only what others leave: Shalunov et al., "Low Extra Delay
/// Background Transport", RFC 6817.)
#[derive(Debug)]
pub(crate) struct Window {
    bytes: usize,
    /// Whether there was more to send than it allows.
    was_full: bool,
    probe: Option<Probe>,
    paused_until_us: u64,
    /// The shortest time that an acknowledgement took in this period, and in the one before.
    least_us: [u64; 2],
    period_until_us: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { bytes: WINDOW_BYTES_MIN, was_full: false, probe: None, paused_until_us: 0, least_us: [u64::MAX; 2], period_until_us: 0 }
    }
}

impl Window {
    /// Whether nothing more may be sent while so many bytes are under way.
    pub(crate) fn is_full(&self, under_way: u64) -> bool {
        under_way >= self.bytes as u64
    }

    /// Whether more may be sent, for there is more.
    pub(crate) fn has_room(&mut self, under_way: u64, now_us: u64) -> bool {
        self.was_full |= self.is_full(under_way);
        !self.is_full(under_way) && self.paused_until_us(now_us).is_none()
    }

    /// Until when nothing is sent, however little is under way.
    pub(crate) fn paused_until_us(&self, now_us: u64) -> Option<u64> {
        Some(self.paused_until_us).filter(|until_us| now_us < *until_us)
    }

    /// An image was sent, after so many writes; it ends here, counted in bytes of images.
    pub(crate) fn sent(&mut self, end: u64, writes: u64, now_us: u64) {
        self.probe.get_or_insert(Probe { end, sent_us: now_us, writes });
    }

    /// All images up to here, counted in bytes, are acknowledged; so many writes have been in the stream by now.
    pub(crate) fn acknowledged(&mut self, done: u64, writes: u64, budget: Budget, now_us: u64) {
        let Some(probe) = self.probe.take_if(|probe| done >= probe.end) else { return };
        let took_us = now_us.saturating_sub(probe.sent_us);
        self.least_us[0] = self.least_us[0].min(took_us);
        let least_us = self.least_us[0].min(self.least_us[1]);
        if writes > probe.writes {
            self.paused_until_us = now_us + (PAUSE_EXCESSES * (took_us - least_us)).min(PAUSE_US_MAX);
        }
        if writes > probe.writes && took_us > least_us + budget.queue_us() {
            self.bytes = (self.bytes / 2).max(WINDOW_BYTES_MIN);
        } else if std::mem::take(&mut self.was_full) {
            self.bytes = (self.bytes + WINDOW_STEP_BYTES).min(WINDOW_BYTES_MAX);
        }
        if now_us >= self.period_until_us {
            let is_first = self.period_until_us == 0;
            self.period_until_us = now_us + PERIOD_US;
            if !is_first {
                self.least_us = [u64::MAX, self.least_us[0]];
                self.bytes = WINDOW_BYTES_MIN;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { latency_us: 1_000 };

    #[test]
    fn a_slice_ends_by_time_or_by_chunks_and_has_at_least_one() {
        let mut slice = Slice::begin(BUDGET, 100);
        assert!(!slice.is_over(100_000), "nothing has been done yet");
        slice.take();
        assert!(!slice.is_over(161));
        assert!(slice.is_over(162));
        (1..SLICE_CHUNKS_MAX).for_each(|_| slice.take());
        assert!(slice.is_over(100), "a clock that stands still");
    }

    #[test]
    fn work_rests_for_clients_only_and_not_for_ever() {
        let mut rest = Rest::default();
        rest.worked(&Slice::begin(BUDGET, 1_000), 50, 1_100);
        assert_eq!(rest.due_us(50, 1_100), None, "nobody else is there");
        rest.client_came();
        assert_eq!(rest.due_us(50, 1_100), Some(1_400));
        assert_eq!(rest.due_us(110, 1_500), Some(1_740), "the core has slept for 60");
        assert_eq!(rest.due_us(329, 1_740), Some(1_761));
        assert_eq!(rest.due_us(330, 1_740), None, "that is not worth sleeping for");
        assert_eq!(rest.due_us(50, 2_999), Some(3_000), "it never sleeps");
        assert_eq!(rest.due_us(50, 3_000), None);
        rest.worked(&Slice::begin(BUDGET, 4_000), 50, 9_000_000);
        rest.client_came();
        assert_eq!(rest.due_us(50, 9_000_000), Some(9_000_744), "it was not run");
    }

    #[test]
    fn what_the_device_takes_is_work() {
        let mut rest = Rest::default();
        rest.worked(&Slice::begin(BUDGET, 1_000), 50, 1_100);
        rest.waited(200, 150, 1_300);
        assert_eq!(rest.due_us(150, 1_300), None, "nobody else is there");
        rest.client_came();
        assert_eq!(rest.due_us(150, 1_300), Some(2_100), "200 of the slice are left, and three times as long as the device took");
        assert_eq!(rest.due_us(950, 2_100), None);
        assert_eq!(rest.due_us(150, 6_799), Some(6_800), "it never sleeps");
        assert_eq!(rest.due_us(150, 6_800), None);
    }

    /// A replica that takes `per_byte_ns` for each byte and the network `base_us`, with a write in each round: the bytes under way that a window comes to, at
    /// most and at last.
    fn under_way(window: &mut Window, base_us: u64, per_byte_ns: u64, rounds: u64) -> (u64, usize) {
        let (mut now_us, mut pushed, mut most) = (1_000, 0, 0);
        for round in 0..rounds {
            let done = pushed;
            now_us = window.paused_until_us(now_us).unwrap_or(now_us);
            while window.has_room(pushed - done, now_us) {
                pushed += WINDOW_STEP_BYTES as u64;
                window.sent(pushed, round, now_us);
            }
            // The probe is the first of them: what it waits for is what was under way before it.
            most = most.max(pushed - done);
            now_us += base_us + (pushed - done) * per_byte_ns / 1_000;
            window.acknowledged(pushed, round + 1, BUDGET, now_us);
        }
        (most, window.bytes)
    }

    #[test]
    fn a_window_is_as_large_as_the_budget_allows() {
        // 1 GiB/s and a network far away: all of it.
        assert_eq!(under_way(&mut Window::default(), 20_000, 0, 100).1, WINDOW_BYTES_MAX);
        // 5 ns a byte are 328 us for the smallest window, which is the least that is known, and 250 us more is the limit: about 115 KiB.
        let (most, last) = under_way(&mut Window::default(), 100, 5, 1_000);
        assert!(most <= 256 << 10 && (WINDOW_BYTES_MIN..=192 << 10).contains(&last), "{most} {last}");
        // One that is busy all the time.
        let mut window = Window { least_us: [10, 10], ..Window::default() };
        let (_, last) = under_way(&mut window, 5_000, 100, 100);
        assert_eq!(last, WINDOW_BYTES_MIN);
        assert!(window.has_room(0, u64::MAX), "some of it is always allowed");
    }

    #[test]
    fn a_window_does_not_shrink_where_nobody_writes() {
        let mut window = Window { least_us: [10, 10], ..Window::default() };
        for round in 1..100 {
            let end = round * WINDOW_BYTES_MAX as u64;
            assert!(!window.has_room(end, round * 10_000));
            window.sent(end, 7, round * 10_000);
            window.acknowledged(end, 7, BUDGET, round * 10_000 + 9_000);
        }
        assert!(window.bytes > 8 * WINDOW_BYTES_MIN, "{}", window.bytes);
    }

    #[test]
    fn what_an_acknowledgement_takes_by_itself_is_found_out_anew() {
        let mut window = Window::default();
        under_way(&mut window, 100, 0, 100);
        assert_eq!(window.bytes, WINDOW_BYTES_MAX);
        // The network has become slower: that is not the images' doing.
        under_way(&mut window, 5_000, 0, 5_000);
        assert_eq!(window.bytes, WINDOW_BYTES_MAX);
    }
}
