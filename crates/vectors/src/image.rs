//! A graph as bytes, in parts that are written one after the other while the graph goes on, and back.
//!
//! | bytes | part |
//! |---|---|
//! | 8 | `TARNVEC1` |
//! | 8 | number of the image |
//! | 4 | number of the part, from 0 |
//! | 1 | 1: it is the last |
//! | 1 | the measure: 0 cosine, 1 euclidean, 2 dot product |
//! | 4 | dimensions |
//! | … | nodes |
//!
//! | bytes | node |
//! |---|---|
//! | 4 | its number, larger than the one before |
//! | 1 | 1 linked, 2 dead |
//! | 4 + n | its key; empty of a dead one |
//! | 8 + 4 | when its vector was written, when it expires |
//! | 4 + 4 | scale and square of the length |
//! | … | the code |
//! | 1 | its level |
//! | 1 + 4 n | for each layer from the lowest: its neighbours |
//!
//! All numbers are little-endian. Parts are of different moments: a neighbour may be missing or be another one by now, a key may come twice. That costs recall, or is
//! put right: whoever reads an image walks over the rows, and removes what no row stands for.

use crate::Metric;
use crate::codes::{Code, padded};
use crate::graph::{Graph, LEVELS_MAX, NEIGHBOURS_LOWEST_MAX, State};
use crate::keyed::{Entry, KeyedGraph};
use std::rc::Rc;

const MAGIC: &[u8; 8] = b"TARNVEC1";

/// Bytes are no part of an image of such vectors, or of another image than the parts before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageError;

/// A graph of whose image some parts are read.
pub struct ImageReader {
    keyed: KeyedGraph,
    /// The image's number.
    image: Option<u64>,
    parts: u32,
}

fn metric_byte(metric: Metric) -> u8 {
    match metric {
        Metric::Cosine => 0,
        Metric::Euclidean => 1,
        Metric::DotProduct => 2,
    }
}

impl KeyedGraph {
    /// A part of an image: nodes from `from` on, about as many as take `bytes_max`. With it comes the node that the next part begins with; none after the last.
    #[must_use]
    pub fn write_part(&self, image: u64, part: u32, from: u32, bytes_max: usize) -> (Vec<u8>, Option<u32>) {
        let mut out = Vec::with_capacity(bytes_max);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&image.to_le_bytes());
        out.extend_from_slice(&part.to_le_bytes());
        let last_at = out.len();
        out.push(0);
        out.push(metric_byte(self.graph.metric));
        out.extend_from_slice(&(self.graph.dimensions() as u32).to_le_bytes());
        let mut id = from;
        while (id as usize) < self.graph.states.len() && out.len() < bytes_max {
            self.write_node(id, &mut out);
            id += 1;
        }
        let is_last = id as usize >= self.graph.states.len();
        out[last_at] = is_last.into();
        (out, (!is_last).then_some(id))
    }

    fn write_node(&self, id: u32, out: &mut Vec<u8>) {
        let node = self.nodes.get(id as usize).and_then(Option::as_ref);
        let (state, key, entry) = match (self.graph.state(id), node) {
            (State::Linked, Some(node)) => (1, &*node.key, node.entry),
            (State::Dead, _) => (2, &[][..], Entry { timestamp: 0, expires_at_s: 0 }),
            _ => return,
        };
        let code = self.graph.codes.get(id);
        out.extend_from_slice(&id.to_le_bytes());
        out.push(state);
        out.extend_from_slice(&(key.len() as u32).to_le_bytes());
        out.extend_from_slice(key);
        out.extend_from_slice(&entry.timestamp.to_le_bytes());
        out.extend_from_slice(&entry.expires_at_s.to_le_bytes());
        out.extend_from_slice(&code.scale.to_le_bytes());
        out.extend_from_slice(&code.square.to_le_bytes());
        out.extend(code.bytes.iter().map(|byte| byte.cast_unsigned()));
        let level = self.graph.level(id);
        out.push(level as u8);
        for layer in 0..=level {
            let neighbours = self.graph.neighbours(id, layer);
            out.push(neighbours.len() as u8);
            out.extend(neighbours.iter().flat_map(|other| other.to_le_bytes()));
        }
    }

    fn read_node(&mut self, bytes: &mut Bytes<'_>) -> Result<(), ImageError> {
        let code_bytes = padded(self.graph.dimensions());
        let id = u32::from_le_bytes(bytes.array()?);
        let next = self.graph.states.len() as u32;
        // Nodes between are few: their places were free.
        if id < next || id - next > next.max(1 << 20) {
            return Err(ImageError);
        }
        let state = match bytes.array()? {
            [1] => State::Linked,
            [2] => State::Dead,
            _ => return Err(ImageError),
        };
        let key_length = u32::from_le_bytes(bytes.array()?) as usize;
        let key: Rc<[u8]> = bytes.take(key_length)?.into();
        let entry = Entry { timestamp: i64::from_le_bytes(bytes.array()?), expires_at_s: u32::from_le_bytes(bytes.array()?) };
        let (scale, square) = (f32::from_le_bytes(bytes.array()?), f32::from_le_bytes(bytes.array()?));
        let code: Vec<i8> = bytes.take(code_bytes)?.iter().map(|byte| byte.cast_signed()).collect();
        let [level] = bytes.array()?;
        if usize::from(level) > LEVELS_MAX || !scale.is_finite() || !square.is_finite() {
            return Err(ImageError);
        }
        let nothing = vec![0; code_bytes];
        for free in next..id {
            self.graph.put(free, Code { bytes: &nothing, scale: 0.0, square: 0.0 }, State::Free);
        }
        self.graph.put(id, Code { bytes: &code, scale, square }, state);
        if level > 0 {
            self.graph.upper.insert(id, vec![Vec::new(); usize::from(level)]);
        }
        for layer in 0..=usize::from(level) {
            let [count] = bytes.array()?;
            let neighbours: Vec<u32> =
                bytes.take(usize::from(count) * 4)?.as_chunks::<4>().0.iter().map(|id| u32::from_le_bytes(*id)).collect();
            if neighbours.len() > NEIGHBOURS_LOWEST_MAX {
                return Err(ImageError);
            }
            self.graph.set_neighbours(id, layer, &neighbours);
        }
        if state == State::Linked {
            self.graph.linked += 1;
            // The key has got another vector while the image was written.
            if let Some(former) = self.ids.get(&key).copied() {
                self.drop_node(former);
            }
            self.place(id, key, entry, true);
        } else {
            self.graph.dead += 1;
        }
        Ok(())
    }
}

impl ImageReader {
    /// Of a graph of such vectors.
    #[must_use]
    pub fn new(metric: Metric, dimensions: usize, seed: u64) -> Self {
        Self { keyed: KeyedGraph::new(metric, dimensions, seed), image: None, parts: 0 }
    }

    /// Reads the next part; gives whether it is the last.
    ///
    /// # Errors
    /// When it is not the next part of an image of such vectors.
    pub fn read(&mut self, part: &[u8]) -> Result<bool, ImageError> {
        let graph = &self.keyed.graph;
        let mut bytes = Bytes(part);
        let is_magic = bytes.take(MAGIC.len())? == MAGIC;
        let (image, number) = (u64::from_le_bytes(bytes.array()?), u32::from_le_bytes(bytes.array()?));
        let [is_last, measure] = bytes.array()?;
        let is_such = measure == metric_byte(graph.metric) && u32::from_le_bytes(bytes.array()?) as usize == graph.dimensions();
        if !is_magic || !is_such || *self.image.get_or_insert(image) != image || number != self.parts {
            return Err(ImageError);
        }
        self.parts += 1;
        while !bytes.0.is_empty() {
            self.keyed.read_node(&mut bytes)?;
        }
        Ok(is_last == 1)
    }

    /// The graph, after the last part: none of its vectors has been seen in a row.
    #[must_use]
    pub fn finish(mut self) -> KeyedGraph {
        self.keyed.graph.settle();
        self.keyed
    }

    /// What it takes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.keyed.bytes()
    }
}

impl Graph {
    /// After nodes were put: what points to nothing goes, free places are known, and the entry.
    fn settle(&mut self) {
        for id in 0..self.states.len() as u32 {
            if self.state(id) == State::Free {
                self.free.push(id);
                continue;
            }
            for layer in 0..=self.level(id) {
                let most = Self::neighbours_max(layer);
                let is_there = |other: &u32| *other != id && (*other as usize) < self.states.len() && self.state(*other) != State::Free;
                let kept: Vec<u32> = self
                    .neighbours(id, layer)
                    .iter()
                    .copied()
                    .filter(|other| is_there(other) && self.level(*other) >= layer)
                    .take(most)
                    .collect();
                self.set_neighbours(id, layer, &kept);
            }
        }
        let highest = self.upper.iter().filter(|(id, _)| self.state(**id) == State::Linked).max_by_key(|(_, layers)| layers.len());
        let any = || (0..self.states.len() as u32).find(|id| self.state(*id) == State::Linked);
        self.entry = highest.map(|(id, _)| *id).or_else(any);
    }
}

/// What is left to read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], ImageError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(ImageError)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ImageError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(ImageError)?;
        self.0 = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Rng;

    const DIMENSIONS: usize = 8;

    fn vector(rng: &mut Rng) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| rng.below(1000) as f32).collect()
    }

    fn graph(rng: &mut Rng, count: u32) -> KeyedGraph {
        let mut keyed = KeyedGraph::new(Metric::Euclidean, DIMENSIONS, 1);
        for n in 0..count {
            keyed.put(&n.to_be_bytes(), vector(rng).into_iter(), Entry { timestamp: i64::from(n), expires_at_s: n % 3 });
        }
        while keyed.has_work() {
            keyed.step();
        }
        keyed
    }

    fn parts(keyed: &KeyedGraph, image: u64) -> Vec<Vec<u8>> {
        let (mut parts, mut next) = (Vec::new(), Some(0));
        while let Some(from) = next {
            let (part, then) = keyed.write_part(image, parts.len() as u32, from, 20_000);
            parts.push(part);
            next = then;
        }
        parts
    }

    fn read(parts: &[Vec<u8>]) -> Result<KeyedGraph, ImageError> {
        read_of(Metric::Euclidean, DIMENSIONS, parts)
    }

    fn read_of(metric: Metric, dimensions: usize, parts: &[Vec<u8>]) -> Result<KeyedGraph, ImageError> {
        let mut reader = ImageReader::new(metric, dimensions, 1);
        for part in parts {
            if reader.read(part)? {
                return Ok(reader.finish());
            }
        }
        Err(ImageError)
    }

    #[test]
    fn a_graph_comes_back_from_its_image() {
        let mut rng = Rng::new(5);
        let mut again = rng.clone();
        let mut keyed = graph(&mut rng, 1000);
        // Dead nodes are ways to others.
        (0..50_u32).for_each(|n| keyed.remove(&n.to_be_bytes()));
        let parts = parts(&keyed, 7);
        assert!(parts.len() > 3);
        let mut back = read(&parts).unwrap();
        assert_eq!((back.len(), back.graph.linked, back.graph.dead, back.has_work()), (950, 950, 50, false));
        for _ in 0..20 {
            let query = vector(&mut rng);
            let find = |keyed: &KeyedGraph| keyed.search(query.iter().copied(), 20, 0, &|_| true).unwrap();
            let (one, other) = (find(&keyed), find(&back));
            assert!(one.iter().filter(|key| other.contains(key)).count() >= 19);
        }
        // What no row stands for goes; what rows stand for costs no links.
        let changes = back.changes();
        for n in 0..800_u32 {
            let vector = vector(&mut again);
            if n >= 50 {
                back.put(&n.to_be_bytes(), vector.into_iter(), Entry { timestamp: 1, expires_at_s: 0 });
            }
        }
        assert_eq!((back.changes(), back.unlinked()), (changes, 0));
        let mut next = Some(0);
        while let Some(from) = next {
            next = back.remove_unseen(from, 100);
        }
        assert_eq!(back.len(), 750);
    }

    #[test]
    fn an_image_of_several_moments_can_be_read() {
        let mut rng = Rng::new(6);
        let mut keyed = graph(&mut rng, 1000);
        let (mut parts, mut next) = (Vec::new(), Some(0));
        while let Some(from) = next {
            let (part, then) = keyed.write_part(3, parts.len() as u32, from, 20_000);
            parts.push(part);
            next = then;
            for _ in 0..100 {
                let key = (rng.below(1200) as u32).to_be_bytes();
                if rng.below(2) == 0 {
                    keyed.remove(&key);
                } else {
                    keyed.put(&key, vector(&mut rng).into_iter(), Entry { timestamp: 1, expires_at_s: 0 });
                }
                keyed.step();
            }
        }
        let back = read(&parts).unwrap();
        let ids: Vec<u32> = back.ids.values().copied().collect();
        assert_eq!(back.graph.linked, ids.len());
        assert!(ids.iter().all(|id| back.graph.state(*id) == State::Linked));
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let mut rng = Rng::new(7);
        let keyed = graph(&mut rng, 400);
        let (one, other) = (parts(&keyed, 1), parts(&keyed, 2));
        assert!(read(&one).is_ok());
        assert_eq!(read(&[]).err(), Some(ImageError));
        assert_eq!(read(&one[..one.len() - 1]).err(), Some(ImageError));
        assert_eq!(read(&one[1..]).err(), Some(ImageError));
        assert_eq!(read(&[&one[..1], &other[1..]].concat()).err(), Some(ImageError));
        // A longer image that was there before.
        assert!(read(&[&one[..], &other[1..]].concat()).is_ok());
        assert_eq!(read_of(Metric::Cosine, DIMENSIONS, &one).err(), Some(ImageError));
        assert_eq!(read_of(Metric::Euclidean, 9, &one).err(), Some(ImageError));
        // A part that is only its head has no nodes: the walk over the rows brings them again.
        const HEAD_BYTES: usize = 26;
        for length in (0..HEAD_BYTES).chain(HEAD_BYTES + 1..HEAD_BYTES + 30) {
            assert!(read(&[vec![one[0][..length].to_vec()], one[1..].to_vec()].concat()).is_err(), "{length}");
        }
        // Whatever bytes say, nothing breaks.
        for _ in 0..2000 {
            let mut damaged = one.clone();
            let part = rng.below(damaged.len() as u64) as usize;
            let at = rng.below(damaged[part].len() as u64) as usize;
            damaged[part][at] = rng.below(256) as u8;
            if let Ok(mut back) = read(&damaged) {
                back.put(b"new", vector(&mut rng).into_iter(), Entry { timestamp: 1, expires_at_s: 0 });
                back.step();
                let _ = back.search(vector(&mut rng).into_iter(), 10, 0, &|_| true);
            }
        }
    }
}
