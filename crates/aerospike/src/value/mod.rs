//! Values of bins as the wire has them.

mod particle;

pub use particle::{Particle, ParticleType};
