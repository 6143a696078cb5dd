//! Known histories, histories that a real row made, and those with something wrong in them.

use super::{Event, Operation, Outcome, Value, Verdict, check};
use Operation::{Add, Read, Write};
use base::Rng;

fn event(invoked: u64, returned: u64, operation: Operation) -> Event {
    Event { invoked, returned: Some(returned), operation }
}

fn unknown(invoked: u64, operation: Operation) -> Event {
    Event { invoked, returned: None, operation }
}

fn set(expected: Value, new: Value, outcome: Outcome) -> Operation {
    Operation::CompareAndSet { expected, new, outcome }
}

fn holds(events: &[Event]) -> bool {
    match check(None, events) {
        Verdict::Linearizable => true,
        Verdict::Wrong(_) => false,
        Verdict::Undecided => panic!("undecided"),
    }
}

#[test]
fn reads_see_the_last_write_or_one_that_is_under_way() {
    assert!(holds(&[event(1, 2, Write(Some(1))), event(3, 4, Read(Some(1)))]));
    assert!(!holds(&[event(1, 2, Write(Some(1))), event(3, 4, Read(None))]));
    assert!(holds(&[event(1, 9, Write(Some(1))), event(2, 3, Read(None)), event(4, 5, Read(Some(1)))]));
    // What one reader has seen, a later one sees as well.
    assert!(!holds(&[event(1, 9, Write(Some(1))), event(2, 3, Read(Some(1))), event(4, 5, Read(None))]));
    assert!(!holds(&[event(1, 2, Write(Some(1))), event(3, 4, Write(None)), event(5, 6, Read(Some(1)))]));
}

#[test]
fn two_readers_agree_on_the_order_of_two_writes() {
    let writes = [event(1, 9, Write(Some(1))), event(1, 9, Write(Some(2)))];
    let agree = [event(2, 3, Read(Some(1))), event(4, 5, Read(Some(2))), event(6, 7, Read(Some(2)))];
    let differ = [event(2, 3, Read(Some(1))), event(4, 5, Read(Some(2))), event(6, 7, Read(Some(1)))];
    assert!(holds(&[&writes[..], &agree].concat()));
    assert!(!holds(&[&writes[..], &differ].concat()));
}

#[test]
fn a_write_of_unknown_outcome_happens_later_or_never_and_once() {
    let write = unknown(1, Write(Some(1)));
    assert!(holds(&[write, event(2, 3, Read(None)), event(4, 5, Read(None))]));
    assert!(holds(&[write, event(2, 3, Read(None)), event(90, 91, Read(Some(1)))]));
    assert!(!holds(&[write, event(2, 3, Read(Some(1))), event(4, 5, Read(None))]));
    assert!(!holds(&[event(0, 0, Read(Some(1))), write]));
    let twice = [write, event(2, 3, Read(Some(1))), event(4, 5, Write(Some(2))), event(6, 7, Read(Some(1)))];
    assert!(!holds(&twice));
}

#[test]
fn of_two_equal_expectations_one_is_met() {
    let (one, other) = (set(None, Some(1), Outcome::Applied), set(None, Some(2), Outcome::Applied));
    assert!(!holds(&[event(1, 9, one), event(2, 8, other)]));
    assert!(holds(&[event(1, 9, one), event(2, 8, set(None, Some(2), Outcome::Refused(Some(1))))]));
    assert!(!holds(&[event(1, 9, one), event(2, 8, set(None, Some(2), Outcome::Refused(Some(3))))]));
    // Refused because of one whose outcome nobody knows.
    let perhaps = unknown(1, set(None, Some(1), Outcome::Unknown));
    assert!(holds(&[perhaps, event(2, 8, set(None, Some(2), Outcome::Refused(Some(1))))]));
    assert!(holds(&[perhaps, event(2, 8, other), event(9, 10, Read(Some(2)))]));
    assert!(!holds(&[perhaps, event(2, 8, other), event(9, 10, Read(Some(1)))]));
    // A chain of unknown ones.
    let chain = unknown(1, set(Some(1), Some(5), Outcome::Unknown));
    assert!(holds(&[chain, perhaps, event(3, 4, Read(Some(5)))]));
}

#[test]
fn counts_are_exact_but_for_what_is_unknown() {
    let adds = [event(1, 2, Add(1)), event(1, 5, Add(1)), unknown(3, Add(1))];
    for (seen, right) in [(1, false), (2, true), (3, true), (4, false)] {
        assert_eq!(holds(&[&adds[..], &[event(6, 7, Read(Some(seen)))]].concat()), right, "{seen}");
    }
}

/// Whether any order of the events, and of any of those that are unknown, is right: by trying them all.
fn holds_by_force(value: Value, left: &[Event]) -> bool {
    if left.iter().all(|event| event.returned.is_none()) {
        return true;
    }
    (0..left.len()).any(|index| {
        let next = left[index];
        let first = left.iter().all(|other| other.returned.is_none_or(|returned| returned >= next.invoked));
        let rest: Vec<Event> = left.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, event)| *event).collect();
        first && next.operation.apply(value).is_some_and(|after| holds_by_force(after, &rest))
    })
}

#[test]
fn the_search_agrees_with_trying_all_orders() {
    let mut rng = Rng::new(5);
    let mut counts = [0; 2];
    for round in 0..60_000 {
        let value = |rng: &mut Rng| Some(rng.below(4) as i64).filter(|value| *value > 0);
        let events: Vec<Event> = (0..2 + rng.below(5))
            .map(|_| {
                let operation = match rng.below(8) {
                    0..=2 => Read(value(&mut rng)),
                    3 | 4 => Write(value(&mut rng)),
                    5 if round % 3 == 0 => Add(1),
                    6 => set(value(&mut rng), value(&mut rng), Outcome::Refused(value(&mut rng))),
                    _ => set(value(&mut rng), value(&mut rng), Outcome::Applied),
                };
                let invoked = rng.below(12);
                let event = event(invoked, invoked + rng.below(6), operation);
                match operation {
                    Operation::CompareAndSet { expected, new, .. } if rng.below(4) == 0 => {
                        unknown(invoked, set(expected, new, Outcome::Unknown))
                    }
                    Write(_) | Add(_) if rng.below(4) == 0 => unknown(invoked, operation),
                    _ => event,
                }
            })
            .collect();
        let right = holds_by_force(None, &events);
        assert_eq!(holds(&events), right, "{events:#?}");
        counts[usize::from(right)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 5_000), "{counts:?}");
}

/// What `clients` would be told by a row that is right, `count` operations in all.
fn history(seed: u64, clients: usize, count: usize, counts: bool) -> Vec<Event> {
    let mut rng = Rng::new(seed);
    let (mut value, mut time, mut written): (Value, u64, i64) = (None, 0, 0);
    // What each client has asked for, when, and whether it has happened.
    let mut asked: Vec<Option<(u64, Operation, bool)>> = vec![None; clients];
    let mut late: Vec<Operation> = Vec::new();
    let mut events = Vec::new();
    while events.len() < count {
        time += 1;
        if !late.is_empty() && rng.below(20) == 0 {
            let operation = late.swap_remove(rng.below(late.len() as u64) as usize);
            value = operation.apply(value).unwrap_or(value);
        }
        let client = &mut asked[rng.below(clients as u64) as usize];
        match client.take() {
            None => {
                written += 1;
                let operation = match rng.below(6) {
                    0..=2 => Read(None),
                    _ if counts => Add(1),
                    3 => set(if rng.below(2) == 0 { value } else { Some(1) }, Some(written), Outcome::Unknown),
                    4 if rng.below(3) == 0 => Write(None),
                    _ => Write(Some(written)),
                };
                *client = Some((time, operation, false));
            }
            Some((invoked, operation, false)) => {
                if rng.below(15) == 0 && !matches!(operation, Read(_)) {
                    // Its client goes away; it happens some time, or never.
                    if rng.below(2) == 0 {
                        late.push(operation);
                    }
                    events.push(unknown(invoked, operation));
                    continue;
                }
                let told = match operation {
                    Read(_) => Read(value),
                    Operation::CompareAndSet { expected, new, .. } => {
                        let outcome = if expected == value { Outcome::Applied } else { Outcome::Refused(value) };
                        set(expected, new, outcome)
                    }
                    other => other,
                };
                value = told.apply(value).unwrap();
                *client = Some((invoked, told, true));
            }
            Some((invoked, operation, true)) => events.push(event(invoked, time, operation)),
        }
    }
    let under_way = asked.into_iter().flatten().filter(|(_, operation, _)| !matches!(operation, Read(_)));
    events.extend(under_way.map(|(invoked, operation, _)| unknown(invoked, operation)));
    events
}

#[test]
fn histories_of_a_right_row_are_right_and_found_so_quickly() {
    for seed in 1..=60 {
        let events = history(seed, 3 + (seed % 6) as usize, 500, seed % 4 == 0);
        match check(None, &events) {
            Verdict::Linearizable => {}
            Verdict::Wrong(violation) => panic!("seed {seed}: {violation}"),
            Verdict::Undecided => panic!("seed {seed} is undecided"),
        }
    }
}

#[test]
fn a_read_of_another_value_is_found() {
    let mut rng = Rng::new(77);
    for seed in 1..=100 {
        let mut events = history(seed, 4, 120, false);
        let reads: Vec<usize> = (0..events.len()).filter(|index| matches!(events[*index].operation, Read(_))).collect();
        let one = reads[rng.below(reads.len() as u64) as usize];
        events[one].operation = Read(Some(1_000_000));
        assert!(!matches!(check(None, &events), Verdict::Linearizable), "seed {seed}");
    }
}

#[test]
fn an_older_value_is_found_where_nothing_is_unknown() {
    let mut found = 0;
    for seed in 1..=100 {
        let mut events = history(seed, 1, 60, false);
        events.retain(|event| event.returned.is_some());
        let Some(read) = (0..events.len()).rev().find(|index| matches!(events[*index].operation, Read(Some(_)))) else { continue };
        let Read(Some(now)) = events[read].operation else { unreachable!() };
        let older = events[..read].iter().find_map(|event| match event.operation {
            Write(Some(value)) if value != now => Some(value),
            _ => None,
        });
        let Some(older) = older else { continue };
        // Without those whose outcome is unknown the history may be wrong already.
        if check(None, &events) == Verdict::Linearizable {
            events[read].operation = Read(Some(older));
            let Verdict::Wrong(violation) = check(None, &events) else { panic!("seed {seed}: {older} is not found") };
            assert!(violation.stuck.contains(&events[read]), "seed {seed}: {violation}");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}
