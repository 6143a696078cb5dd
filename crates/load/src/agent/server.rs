//! An agent: waits for a controller, carries out its part of a load, one at a time.
//!
//! An unauthenticated peer gets a few kilobytes and seconds, and at most [`UNAUTHENTICATED_MAX`] are connected at a time.

use super::channel::{self, Receiver as Incoming, Sender as Outgoing};
use super::wire::{Assignment, Order, PartText, Report, TEXT_BYTES_MAX};
use crate::collector::PartObserver;
use crate::control::Control;
use crate::dataset::Dataset;
use crate::recorder::Part;
use crate::run::run_parts;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire},
};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

const UNAUTHENTICATED_MAX: usize = 16;
const HELLO_S: u64 = 5;

/// An agent that listens.
#[derive(Debug)]
pub struct Agent {
    listener: TcpListener,
    secret: String,
    /// Held by the controller that is being served; the dataset of its loads stays for the next.
    dataset: Mutex<Option<Arc<Dataset>>>,
    connections: AtomicUsize,
}

impl Agent {
    /// Listens on `address`, for controllers that know `secret`.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn bind(address: impl ToSocketAddrs, secret: &str) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address)?,
            secret: secret.trim().to_owned(),
            dataset: Mutex::default(),
            connections: AtomicUsize::new(0),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the process ends; `log` gets a line for each thing that happens.
    ///
    /// # Errors
    /// When nothing can be accepted any more.
    pub fn serve(self: &Arc<Self>, log: fn(&str)) -> io::Result<()> {
        loop {
            let (socket, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => continue,
                Err(error) => return Err(error),
            };
            if self.connections.load(Acquire) >= UNAUTHENTICATED_MAX {
                continue;
            }
            self.connections.fetch_add(1, AcqRel);
            let agent = Arc::clone(self);
            let spawned = std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
                match agent.welcome(socket).and_then(|(outgoing, incoming)| agent.carry_out(outgoing, incoming, log)) {
                    Ok(()) => {}
                    Err(error) => log(&format!("{from}: {error}")),
                }
                agent.connections.fetch_sub(1, AcqRel);
            });
            if spawned.is_err() {
                self.connections.fetch_sub(1, AcqRel);
            }
        }
    }

    fn welcome(&self, socket: TcpStream) -> io::Result<(Outgoing, Incoming)> {
        socket.set_read_timeout(Some(Duration::from_secs(HELLO_S)))?;
        socket.set_write_timeout(Some(Duration::from_secs(HELLO_S)))?;
        socket.set_nodelay(true)?;
        let (outgoing, mut incoming) = channel::welcome(socket, &self.secret)?;
        match incoming.receive(TEXT_BYTES_MAX)? {
            Order::Hello => Ok((outgoing, incoming)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "no greeting")),
        }
    }

    /// Serves one controller, load after load, until it goes.
    fn carry_out(&self, mut outgoing: Outgoing, mut incoming: Incoming, log: fn(&str)) -> io::Result<()> {
        let mut kept = match self.dataset.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return outgoing.send(&Report::Refused { why: "it carries out another controller's load".to_owned() });
            }
        };
        outgoing.send(&Report::Welcome)?;
        incoming.wait_at_most(None)?;
        let (orders, received) = channel();
        let current = Mutex::new(Arc::new(Control::new()));
        let control = &current;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Ends when the controller does, or when the socket is shut down below.
                while let Ok(order) = incoming.receive(TEXT_BYTES_MAX) {
                    if matches!(order, Order::Stop) {
                        control.lock().expect("nobody panics with it").stop();
                    }
                    if orders.send(order).is_err() {
                        break;
                    }
                }
                control.lock().expect("nobody panics with it").stop();
            });
            while let Ok(order) = received.recv() {
                let Order::Assignment(assignment) = order else { continue };
                let fresh = Arc::new(Control::new());
                *control.lock().expect("nobody panics with it") = Arc::clone(&fresh);
                log(&format!("a load of {} connections begins", assignment.plan.clients.connections));
                let report = carry_out_one(&assignment, &mut kept, &fresh, &mut outgoing, &received);
                if outgoing.send(&report).is_err() {
                    break;
                }
                log("the load has ended");
            }
            // Whatever the reader waits for, it gets its end.
            outgoing.shut_down();
        });
        Ok(())
    }
}

fn carry_out_one(
    assignment: &Assignment,
    kept: &mut Option<Arc<Dataset>>,
    control: &Control,
    outgoing: &mut Outgoing,
    orders: &Receiver<Order>,
) -> Report {
    let refused = |error: &dyn std::error::Error| Report::Refused { why: error.to_string() };
    let target = match assignment.target.open() {
        Ok(target) => target,
        Err(error) => return refused(&error),
    };
    let Assignment { rows, share, there, plan, .. } = assignment;
    if share.index >= share.of {
        return Report::Refused { why: "a share that is none".to_owned() };
    }
    // What was written by this agent's last loads is known, if they left off where this one begins.
    let goes_on = kept.take().filter(|dataset| dataset.rows() == rows && dataset.share() == *share && *there > 0);
    let dataset = Arc::clone(kept.insert(goes_on.unwrap_or_else(|| Arc::new(Dataset::with_rows(rows.clone(), *share, *there)))));
    let mut telling = Telling { outgoing, orders, control };
    match run_parts(target.as_ref(), &dataset, plan, control, &mut telling) {
        Ok((ended, tail)) => Report::Ended { ended, tail, there: dataset.row_count() },
        Err(error) => refused(&error),
    }
}

/// Tells the controller of everything, and waits for it to say go.
struct Telling<'a> {
    outgoing: &'a mut Outgoing,
    orders: &'a Receiver<Order>,
    control: &'a Control,
}

impl Telling<'_> {
    fn tell(&mut self, report: &Report) {
        if self.outgoing.send(report).is_err() {
            self.control.stop();
        }
    }
}

impl PartObserver for Telling<'_> {
    fn ready(&mut self) {
        self.tell(&Report::Ready);
        match self.orders.recv() {
            Ok(Order::Go) => {}
            Ok(_) | Err(_) => self.control.stop(),
        }
    }

    fn part(&mut self, part: Part) {
        self.tell(&Report::Part(PartText::of(&part)));
    }
}
