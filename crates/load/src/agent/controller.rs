//! The controlling side: splits a load among agents, starts them together, adds up what they measure.

use super::channel::{self, Receiver as Incoming, Sender as Outgoing};
use super::wire::{Assignment, Order, Report, TEXT_BYTES_MAX};
use crate::choice::OperationChooser;
use crate::collector::{Merger, PartObserver, Tail, Totals};
use crate::control::{Control, Observer};
use crate::dataset::Share;
use crate::latency::Histogram;
use crate::outcome::{Ended, Outcome};
use crate::plan::Plan;
use crate::settings::TargetSettings;
use crate::workload::{Pace, Rows};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const HELLO_S: u64 = 10;
const LOOK: Duration = Duration::from_millis(100);

/// Why agents do not carry out a load.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// It cannot be reached, or is no agent.
    #[error("agent {address}: {source}")]
    Unreachable {
        /// As it was given.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// It said no.
    #[error("agent {address} refuses: {why}")]
    Refused {
        /// As it was given.
        address: String,
        /// Its words.
        why: String,
    },
    /// The load cannot be split.
    #[error("this load cannot be split: {0}")]
    Split(&'static str),
    /// [`Control::stop`] was called before it started.
    #[error("stopped before the load started")]
    Stopped,
}

/// Agents that were greeted, and what rows they have inserted so far.
#[derive(Debug)]
pub struct Agents {
    agents: Vec<Link>,
    there: u64,
}

/// One of them.
#[derive(Debug)]
struct Link {
    address: String,
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Link {
    fn to(address: &str, secret: &str) -> std::io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(Duration::from_secs(HELLO_S)))?;
        let (mut outgoing, incoming) = channel::greet(socket, secret)?;
        outgoing.send(&Order::Hello)?;
        Ok(Self { address: address.to_owned(), outgoing, incoming })
    }
}

/// What an agent has said, or that it says nothing any more.
type Said = (usize, std::io::Result<Report>);

impl Agents {
    /// Connects to agents at `host:port`, which know the same secret. `there` rows were inserted before.
    ///
    /// # Errors
    /// [`AgentsError::Unreachable`], [`AgentsError::Refused`].
    pub fn connect(addresses: &[String], secret: &str, there: u64) -> Result<Self, AgentsError> {
        if addresses.is_empty() {
            return Err(AgentsError::Split("there is no agent"));
        }
        let mut agents = Vec::new();
        for address in addresses {
            let unreachable = |source| AgentsError::Unreachable { address: address.clone(), source };
            let mut link = Link::to(address, secret).map_err(|error| match error.kind() {
                ErrorKind::PermissionDenied => AgentsError::Refused { address: address.clone(), why: error.to_string() },
                _ => unreachable(error),
            })?;
            match link.incoming.receive(TEXT_BYTES_MAX).map_err(unreachable)? {
                Report::Welcome => {}
                Report::Refused { why } => return Err(AgentsError::Refused { address: address.clone(), why }),
                _ => return Err(unreachable(ErrorKind::InvalidData.into())),
            }
            link.incoming.wait_at_most(None).map_err(unreachable)?;
            agents.push(link);
        }
        Ok(Self { agents, there })
    }

    /// Rows that are there: what all agents have inserted without a gap.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.there
    }

    /// As [`crate::run`], on all agents together. Afterwards they can be given another load, unless one was lost.
    ///
    /// # Errors
    /// When the load cannot start.
    pub fn run(
        &mut self,
        target: &TargetSettings,
        rows: &Rows,
        plan: &Plan,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, AgentsError> {
        let plans = split(plan, self.agents.len() as u64)?;
        let of = plans.len() as u64;
        let there = self.there;
        let (mut orders, listening): (Vec<_>, Vec<_>) =
            self.agents.iter_mut().map(|link| ((link.address.as_str(), &mut link.outgoing), &mut link.incoming)).unzip();
        let mut sending = Sending { agents: &mut orders };
        for (index, plan) in plans.into_iter().enumerate() {
            let share = Share { index: index as u64, of };
            let assignment = Assignment { target: target.clone(), rows: rows.clone(), share, there, plan };
            sending.order(index, &Order::Assignment(Box::new(assignment)))?;
        }
        let (reports, said) = channel();
        let (outcome, there) = std::thread::scope(|scope| {
            for (index, incoming) in listening.into_iter().enumerate() {
                let reports = reports.clone();
                scope.spawn(move || {
                    loop {
                        let report = incoming.receive(TEXT_BYTES_MAX);
                        let is_last = !matches!(report, Ok(Report::Ready | Report::Part(_)));
                        if reports.send((index, report)).is_err() || is_last {
                            return;
                        }
                    }
                });
            }
            let mut totals = Totals::new(OperationChooser::new(&plan.mix).kinds(), observer);
            let started = sending.start(&said, control, &mut totals);
            let outcome = started.map(|()| sending.collect(&said, control, &mut totals));
            if outcome.is_err() {
                // Agents that wait for the others, and the threads that listen to them, get their end.
                sending.agents.iter().for_each(|(_, outgoing)| outgoing.shut_down());
            }
            outcome.map(|(ended, tail, there)| (totals.finish(ended, tail), there))
        })?;
        self.there = there.unwrap_or(self.there);
        Ok(outcome)
    }
}

/// What a controller does while agents are listened to.
struct Sending<'a, 'b> {
    agents: &'a mut [(&'b str, &'b mut Outgoing)],
}

impl Sending<'_, '_> {
    fn order(&mut self, index: usize, order: &Order) -> Result<(), AgentsError> {
        let (address, outgoing) = &mut self.agents[index];
        outgoing.send(order).map_err(|source| AgentsError::Unreachable { address: (*address).to_owned(), source })
    }

    /// Waits until all are ready, and lets them go.
    fn start(&mut self, said: &Receiver<Said>, control: &Control, totals: &mut Totals<'_>) -> Result<(), AgentsError> {
        let mut ready = 0;
        while ready < self.agents.len() {
            if control.is_stopped() {
                return Err(AgentsError::Stopped);
            }
            let (index, report) = match said.recv_timeout(LOOK) {
                Ok(said) => said,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(AgentsError::Stopped),
            };
            let address = self.agents[index].0.to_owned();
            match report {
                Ok(Report::Ready) => ready += 1,
                Ok(Report::Refused { why }) => return Err(AgentsError::Refused { address, why }),
                Ok(_) => return Err(AgentsError::Unreachable { address, source: ErrorKind::InvalidData.into() }),
                Err(source) => return Err(AgentsError::Unreachable { address, source }),
            }
        }
        totals.ready();
        (0..self.agents.len()).try_for_each(|index| self.order(index, &Order::Go))
    }

    /// Why the load ended, what agents said at their ends, and how many rows are there, if they have said so.
    fn collect(&mut self, said: &Receiver<Said>, control: &Control, totals: &mut Totals<'_>) -> (Ended, Tail, Option<u64>) {
        let mut merger = Merger::new(self.agents.len());
        let mut worst = Ended::Finished;
        let mut there: Option<u64> = None;
        let mut told_to_stop = false;
        while !merger.is_complete() {
            let is_over = control.is_stopped() || matches!(worst, Ended::AgentLost(_));
            if is_over && !told_to_stop {
                told_to_stop = true;
                for index in 0..self.agents.len() {
                    // One that is gone is noticed by who listens to it.
                    let _ = self.order(index, &Order::Stop);
                }
            }
            let (index, report) = match said.recv_timeout(LOOK) {
                Ok(said) => said,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let why = match report {
                Ok(Report::Part(text)) => match text.part() {
                    Some(part) => {
                        let errors = part.errors.values().map(|errors| errors.count).sum();
                        control.add(part.latencies.values().map(Histogram::len).sum(), errors);
                        merger.part(index, part, totals);
                        continue;
                    }
                    None => "a histogram that is none".to_owned(),
                },
                Ok(Report::Ended { ended, tail, there: own }) => {
                    merger.ended(index, tail, totals);
                    there = Some(there.map_or(own, |least| least.min(own)));
                    worst = worse(worst, ended);
                    continue;
                }
                Ok(Report::Refused { why }) => why,
                Ok(_) => "something out of turn".to_owned(),
                Err(error) => error.to_string(),
            };
            if merger.waits_for(index) {
                merger.ended(index, Tail::default(), totals);
            }
            worst = worse(worst, Ended::AgentLost(format!("agent {}: {why}", self.agents[index].0)));
        }
        (worst, merger.into_tail(), there)
    }
}

/// The end that a reader must know of first.
fn worse(one: Ended, other: Ended) -> Ended {
    let rank = |ended: &Ended| match ended {
        Ended::Finished => 0,
        Ended::Stopped => 1,
        Ended::TargetDied(_) => 2,
        Ended::AgentLost(_) => 3,
    };
    if rank(&other) > rank(&one) { other } else { one }
}

/// Each agent's part of a plan.
fn split(plan: &Plan, agents: u64) -> Result<Vec<Plan>, AgentsError> {
    let count = agents as u32;
    if plan.clients.connections < count {
        return Err(AgentsError::Split("there are fewer connections than agents"));
    }
    if plan.end.operations.is_some_and(|operations| operations < agents) {
        return Err(AgentsError::Split("there are fewer operations than agents"));
    }
    let part = |total: u64, index: u64| total / agents + u64::from(index < total % agents);
    let of = |index: u64| {
        let mut own = plan.clone();
        own.clients.connections = part(u64::from(plan.clients.connections), index) as u32;
        own.clients.threads = (part(u64::from(plan.clients.threads), index) as u32).clamp(1, own.clients.connections);
        own.end.operations = plan.end.operations.map(|operations| part(operations, index));
        if let Pace::Open(rate) = plan.pace {
            own.pace = Pace::Open(rate / agents as f64);
        }
        own
    };
    Ok((0..agents).map(of).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::Limits;
    use crate::workload::{Clients, End, KeyChoice, Mix, OperationKind};

    #[test]
    fn parts_add_up() {
        let plan = Plan {
            mix: Mix {
                operations: [(OperationKind::Read, 1.0)].into(),
                keys: KeyChoice::Uniform,
                scan_rows_max: 1,
                update_all_fields: false,
                verify: false,
            },
            clients: Clients { threads: 2, connections: 7, in_flight: 3 },
            pace: Pace::Open(300.0),
            end: End { operations: Some(1_000), seconds: Some(5.0) },
            seed: 1,
            limits: Limits::default(),
        };
        let parts = split(&plan, 3).unwrap();
        assert_eq!(parts.iter().map(|part| part.clients.connections).collect::<Vec<_>>(), [3, 2, 2]);
        assert_eq!(parts.iter().map(|part| part.end.operations.unwrap()).sum::<u64>(), 1_000);
        assert!(parts.iter().all(|part| part.pace == Pace::Open(100.0) && part.clients.threads == 1 && part.clients.in_flight == 3));
        assert!(matches!(split(&plan, 8), Err(AgentsError::Split(_))));
    }
}
