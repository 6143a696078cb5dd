//! Whether what clients were told of one row could have come from a single row to which everything happened one after another.
//!
//! Wing and Gong's search: an operation may be next if no other one that is left had returned before it was invoked. What has been tried is
//! remembered by (operations done, value), as Lowe proposes. Rows are independent of one another, so each has a history of its own.
//!
//! An operation of unknown outcome may happen at any time after its invocation, or never. It is tried last, and only where it is seen: nobody
//! can tell whether a write happened that another one covers. So many of them cost little, unless the history is wrong.

use std::collections::HashSet;
use std::fmt;

/// What a row may be; `None` is no row.
pub type Value = Option<i64>;

/// How a compare-and-set came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The row was as expected, and is new.
    Applied,
    /// The row was this and not as expected.
    Refused(Value),
    /// Nobody knows.
    Unknown,
}

/// What a client asked for, and what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The row was read, and was this.
    Read(Value),
    /// The row becomes this.
    Write(Value),
    /// The row becomes `new` if it is `expected`.
    CompareAndSet {
        /// What it should be.
        expected: Value,
        /// What it then becomes.
        new: Value,
        /// Whether it was.
        outcome: Outcome,
    },
    /// The row grows by this; no row counts as 0.
    Add(i64),
}

impl Operation {
    /// What the row is after it, if it can have happened to `value`.
    fn apply(&self, value: Value) -> Option<Value> {
        match *self {
            Self::Read(seen) => (seen == value).then_some(value),
            Self::Write(new) => Some(new),
            Self::Add(by) => Some(Some(value.unwrap_or(0) + by)),
            Self::CompareAndSet { expected, new, outcome } => {
                let holds = expected == value;
                match outcome {
                    Outcome::Applied => holds.then_some(new),
                    Outcome::Refused(seen) => (!holds && seen == value).then_some(value),
                    Outcome::Unknown => Some(if holds { new } else { value }),
                }
            }
        }
    }

    /// Whether it makes no difference to it what was there.
    fn is_blind(&self) -> bool {
        matches!(self, Self::Write(_))
    }
}

/// An operation and when it was under way. Times are of one clock; whatever orders events will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When the client asked.
    pub invoked: u64,
    /// When it was answered; `None` if it does not know whether it happened.
    pub returned: Option<u64>,
    /// What.
    pub operation: Operation,
}

/// What the check came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is an order that explains everything.
    Linearizable,
    /// There is none.
    Wrong(Violation),
    /// More orders would have to be tried than is worth it.
    Undecided,
}

/// How far any order comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The longest order that explains what it contains.
    pub order: Vec<Event>,
    /// What the row is after it.
    pub value: Value,
    /// What could be next, and cannot have happened to this value.
    pub stuck: Vec<Event>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.order.len().saturating_sub(12);
        writeln!(out, "no order explains the history; after {} operations, the last of them", self.order.len())?;
        for event in &self.order[skipped..] {
            writeln!(out, "  {event:?}")?;
        }
        writeln!(out, "the row is {:?}, and none of these can be next:", self.value)?;
        self.stuck.iter().try_for_each(|event| writeln!(out, "  {event:?}"))
    }
}

/// So many states are looked at, at most.
const STATES_MAX: usize = 1_000_000;

/// Looks for an order of the events, beginning with a row that is `first`.
#[must_use]
pub fn check(first: Value, events: &[Event]) -> Verdict {
    // A read that was not answered says nothing.
    let mut events: Vec<Event> =
        events.iter().copied().filter(|event| event.returned.is_some() || !matches!(event.operation, Operation::Read(_))).collect();
    events.sort_by_key(|event| event.invoked);
    let known = events.iter().filter(|event| event.returned.is_some()).count();
    let mut search = Search {
        done: vec![0; events.len().div_ceil(64)],
        events,
        known_left: known,
        seen: HashSet::new(),
        order: Vec::new(),
        best: Vec::new(),
        best_value: first,
    };
    search.run(first)
}

/// A step of the order: what was done, and what is to be tried instead if it leads nowhere.
struct Step {
    before: Value,
    candidates: Vec<usize>,
    next: usize,
}

struct Search {
    events: Vec<Event>,
    /// A bit an event.
    done: Vec<u64>,
    known_left: usize,
    seen: HashSet<(Vec<u64>, Value, bool)>,
    order: Vec<usize>,
    best: Vec<usize>,
    best_value: Value,
}

impl Search {
    fn run(&mut self, first: Value) -> Verdict {
        let mut value = first;
        let mut steps = vec![Step { before: value, candidates: self.candidates(), next: 0 }];
        while let Some(step) = steps.last_mut() {
            if self.known_left == 0 {
                return Verdict::Linearizable;
            }
            value = step.before;
            let Some(index) = step.candidates.get(step.next).copied() else {
                steps.pop();
                self.undo();
                continue;
            };
            step.next += 1;
            if let Some(after) = self.try_next(index, value) {
                steps.push(Step { before: after, candidates: self.candidates(), next: 0 });
            }
            if self.seen.len() > STATES_MAX {
                return Verdict::Undecided;
            }
        }
        Verdict::Wrong(self.violation())
    }

    /// What may be next: those that are known first, those that must come soonest first of all.
    fn candidates(&self) -> Vec<usize> {
        let left = || (0..self.events.len()).filter(|index| !self.is_done(*index));
        let horizon = left().filter_map(|index| self.events[index].returned).min().unwrap_or(0);
        let mut next: Vec<usize> = left().filter(|index| self.events[*index].invoked <= horizon).collect();
        next.sort_by_key(|index| self.events[*index].returned.unwrap_or(u64::MAX));
        // Of equal ones whose outcome is unknown the first can stand for all.
        let mut perhaps: Vec<Operation> = Vec::new();
        next.retain(|index| {
            let Event { returned, operation, .. } = self.events[*index];
            let again = returned.is_none() && perhaps.contains(&operation);
            perhaps.extend(returned.is_none().then_some(operation));
            !again
        });
        next
    }

    /// Does an operation, unless that is impossible, useless, or has been tried.
    fn try_next(&mut self, index: usize, value: Value) -> Option<Value> {
        let Event { returned, operation, .. } = self.events[index];
        let after_unknown = self.order.last().is_some_and(|last| self.events[*last].returned.is_none());
        if after_unknown && operation.is_blind() {
            return None;
        }
        let after = operation.apply(value)?;
        if returned.is_none() && after == value {
            return None;
        }
        self.done[index / 64] |= 1 << (index % 64);
        if !self.seen.insert((self.done.clone(), after, returned.is_none())) {
            self.done[index / 64] &= !(1 << (index % 64));
            return None;
        }
        self.order.push(index);
        self.known_left -= usize::from(returned.is_some());
        if self.order.len() > self.best.len() {
            (self.best, self.best_value) = (self.order.clone(), after);
        }
        Some(after)
    }

    fn undo(&mut self) {
        if let Some(index) = self.order.pop() {
            self.done[index / 64] &= !(1 << (index % 64));
            self.known_left += usize::from(self.events[index].returned.is_some());
        }
    }

    fn is_done(&self, index: usize) -> bool {
        self.done[index / 64] >> (index % 64) & 1 == 1
    }

    fn violation(&mut self) -> Violation {
        self.done.fill(0);
        for index in &self.best {
            self.done[index / 64] |= 1 << (index % 64);
        }
        let of = |indices: &[usize]| indices.iter().map(|index| self.events[*index]).collect();
        Violation { order: of(&self.best), value: self.best_value, stuck: of(&self.candidates()) }
    }
}

#[cfg(test)]
mod tests;
