//! Values of bins as the wire has them: particles, and the MessagePack inside lists and maps.

pub mod msgpack;
mod particle;

pub use particle::{Particle, ParticleType};
