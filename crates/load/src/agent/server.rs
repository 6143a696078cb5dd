//! An agent: waits for a controller, carries out its part of a load, one at a time.
//!
//! Who does not know the secret gets a few kilobytes and seconds, and no more than [`STRANGERS_MAX`] of them at a time.

use super::wire::{Assignment, HELLO_BYTES_MAX, Order, PartText, Report, TEXT_BYTES_MAX, VERSION, receive, send};
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

const STRANGERS_MAX: usize = 16;
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
            if self.connections.load(Acquire) >= STRANGERS_MAX {
                continue;
            }
            self.connections.fetch_add(1, AcqRel);
            let agent = Arc::clone(self);
            let spawned = std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
                match agent.welcome(&socket).and_then(|()| agent.carry_out(socket, log)) {
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

    fn welcome(&self, mut socket: &TcpStream) -> io::Result<()> {
        socket.set_read_timeout(Some(Duration::from_secs(HELLO_S)))?;
        socket.set_write_timeout(Some(Duration::from_secs(HELLO_S)))?;
        socket.set_nodelay(true)?;
        let why = match receive(&mut socket, HELLO_BYTES_MAX) {
            Ok(Order::Hello { version: VERSION, secret }) if same(&secret, &self.secret) => return Ok(()),
            Ok(Order::Hello { version: VERSION, .. }) => "wrong secret".to_owned(),
            Ok(Order::Hello { version, .. }) => format!("this agent speaks version {VERSION}, the controller {version}"),
            Ok(_) => "no greeting".to_owned(),
            // Nothing is said to who does not speak this language.
            Err(error) => return Err(error),
        };
        // It may be gone already: then there is nobody to tell.
        let _ = send(&mut socket, &Report::Refused { why: why.clone() });
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    /// Serves one controller, load after load, until it goes.
    fn carry_out(&self, mut socket: TcpStream, log: fn(&str)) -> io::Result<()> {
        let mut kept = match self.dataset.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return send(&mut socket, &Report::Refused { why: "it carries out another controller's load".to_owned() });
            }
        };
        send(&mut socket, &Report::Welcome)?;
        socket.set_read_timeout(None)?;
        let mut reading = socket.try_clone()?;
        let (orders, received) = channel();
        let current = Mutex::new(Arc::new(Control::new()));
        let control = &current;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Ends when the controller does, or when the socket is shut down below.
                while let Ok(order) = receive::<Order>(&mut reading, TEXT_BYTES_MAX) {
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
                let report = carry_out_one(&assignment, &mut kept, &fresh, &mut socket, &received);
                if send(&mut socket, &report).is_err() {
                    break;
                }
                log("the load has ended");
            }
            // Whatever the reader waits for, it gets its end.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        });
        Ok(())
    }
}

fn carry_out_one(
    assignment: &Assignment,
    kept: &mut Option<Arc<Dataset>>,
    control: &Control,
    socket: &mut TcpStream,
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
    let mut telling = Telling { socket, orders, control };
    match run_parts(target.as_ref(), &dataset, plan, control, &mut telling) {
        Ok((ended, tail)) => Report::Ended { ended, tail, there: dataset.row_count() },
        Err(error) => refused(&error),
    }
}

/// Tells the controller of everything, and waits for it to say go.
struct Telling<'a> {
    socket: &'a mut TcpStream,
    orders: &'a Receiver<Order>,
    control: &'a Control,
}

impl Telling<'_> {
    fn tell(&mut self, report: &Report) {
        if send(self.socket, report).is_err() {
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

/// Compares without telling by the time it takes how much is right.
fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
}
