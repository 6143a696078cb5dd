//! One thread's choice of the connection for each request, by the request's key.
//!
//! The thread's connections are spread evenly over the places of the ring. What is sent to a place between two flushes goes on one connection,
//! so that it is one call of the kernel; then it is another one's turn.

use crate::connection::Connection;
use crate::newest_ring::NewestRing;
use crate::ring::Ring;
use crate::target::Route;
use std::sync::Arc;

/// Chooses connections.
#[derive(Debug)]
pub(crate) struct Router<'a> {
    newest: &'a NewestRing,
    /// Which of the rings this is.
    number: u64,
    ring: Arc<Ring>,
    /// By place.
    places: Vec<Place>,
}

/// A place and this thread's connections to it.
#[derive(Clone, Debug, Default)]
struct Place {
    connections: Vec<usize>,
    /// Whose turn it is.
    turn: usize,
}

impl<'a> Router<'a> {
    /// For connections that were made for the places of the ring.
    pub(crate) fn new(newest: &'a NewestRing, connections: &mut [Connection]) -> Self {
        let mut router = Self { newest, number: 0, ring: newest.get(), places: Vec::new() };
        router.follow(connections);
        router
    }

    /// Takes over a newer ring, if there is one, and sends connections where it has too few.
    pub(crate) fn follow(&mut self, connections: &mut [Connection]) {
        let number = self.newest.number();
        if number == self.number {
            return;
        }
        (self.number, self.ring) = (number, self.newest.get());
        let routes: Vec<Route> = connections.iter().map(Connection::route).collect();
        let spread = spread(&routes, self.ring.places());
        self.places = vec![Place::default(); self.ring.places().len()];
        for (index, place) in spread.into_iter().enumerate() {
            self.places[place].connections.push(index);
            connections[index].move_to(self.ring.places()[place]);
        }
    }

    /// The connection for a key; none when all that lead to its nodes have no room or are not up.
    #[inline]
    pub(crate) fn choose(&self, key: &[u8], connections: &[Connection]) -> Option<usize> {
        self.ring.ranked(self.ring.token(key)).find_map(|place| {
            let Place { connections: own, turn } = &self.places[place];
            let mut turns = own[*turn..].iter().chain(&own[..*turn]);
            turns.find(|index| connections[**index].has_room()).copied()
        })
    }

    /// What was sent to places since the last call is flushed: it is another connection's turn.
    pub(crate) fn next_turn(&mut self) {
        for place in &mut self.places {
            place.turn = if place.turn + 1 < place.connections.len() { place.turn + 1 } else { 0 };
        }
    }
}

/// A place for each of the connections that are at `routes`, so that no place has two more than another, and few have to move.
///
/// # Panics
/// When there is no place.
fn spread(routes: &[Route], places: &[Route]) -> Vec<usize> {
    let mut counts = vec![0_usize; places.len()];
    let least = |counts: &[usize]| (0..counts.len()).min_by_key(|place| counts[*place]).expect("a ring has a place");
    let mut at: Vec<Option<usize>> = routes.iter().map(|route| places.iter().position(|place| place == route)).collect();
    at.iter().flatten().for_each(|place| counts[*place] += 1);
    for place in at.iter_mut().filter(|place| place.is_none()) {
        let to = *place.insert(least(&counts));
        counts[to] += 1;
    }
    for place in at.iter_mut().flatten() {
        let to = least(&counts);
        if counts[*place] > counts[to] + 1 {
            counts[*place] -= 1;
            counts[to] += 1;
            *place = to;
        }
    }
    at.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn places(ports: &[u16]) -> Vec<Route> {
        ports.iter().map(|port| Route { address: SocketAddr::from(([127, 0, 0, 1], *port)), core: None }).collect()
    }

    #[test]
    fn connections_are_spread_evenly_and_stay_where_they_can() {
        for (routes, to, wanted) in [
            (&[1, 2, 3, 1][..], &[1, 2, 3][..], &[1, 2, 3, 1][..]),
            (&[1, 1, 1, 2, 2, 2], &[1, 2, 3], &[3, 1, 1, 3, 2, 2]),
            (&[1, 2, 3, 1, 2, 3], &[1, 2], &[1, 2, 1, 1, 2, 2]),
            (&[1, 1, 2, 2, 3], &[1, 2, 3, 4], &[4, 1, 2, 2, 3]),
            (&[1, 2], &[3, 4, 5], &[3, 4]),
            (&[1, 1, 1], &[2], &[2, 2, 2]),
        ] {
            let to = places(to);
            let spread: Vec<u16> = spread(&places(routes), &to).into_iter().map(|place| to[place].address.port()).collect();
            assert_eq!(spread, wanted, "from {routes:?}");
        }
    }
}
