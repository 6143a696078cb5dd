//! How similar two vectors of floats are: from 0 to 1, equal ones 1 (dot products of vectors that are not normalized go beyond).

use super::FunctionError;
use model::Index;

/// Which measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Similarity {
    /// (1 + cos) / 2
    Cosine,
    /// 1 / (1 + distance²)
    Euclidean,
    /// (1 + a·b) / 2
    DotProduct,
}

impl Similarity {
    /// The option of an index that names a measure.
    pub(crate) const OPTION: &'static str = "similarity_function";

    /// A measure by the name that options have for it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let measures = [("cosine", Self::Cosine), ("euclidean", Self::Euclidean), ("dot_product", Self::DotProduct)];
        measures.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, measure)| measure)
    }

    /// That of an index on vectors.
    pub(crate) fn of(index: &Index) -> Self {
        index.options.get(Self::OPTION).and_then(|name| Self::named(name)).unwrap_or(Self::Cosine)
    }

    /// Computes the measure of two vectors of the same dimension.
    pub(crate) fn compute(self, one: &[u8], two: &[u8]) -> Result<f32, FunctionError> {
        let (one, _) = one.as_chunks::<4>();
        let (two, _) = two.as_chunks::<4>();
        let pairs = || one.iter().zip(two).map(|(a, b)| (f64::from(f32::from_be_bytes(*a)), f64::from(f32::from_be_bytes(*b))));
        let dot = || pairs().map(|(a, b)| a * b).sum::<f64>();
        Ok(match self {
            Self::Cosine => {
                let (first, second) = pairs().fold((0.0, 0.0), |(first, second), (a, b)| (first + a * a, second + b * b));
                if first == 0.0 || second == 0.0 {
                    return Err(FunctionError::ZeroVector);
                }
                // One root of the product: it is exact for parallel vectors of the same length.
                (1.0 + dot() / f64::sqrt(first * second)) / 2.0
            }
            Self::Euclidean => 1.0 / (1.0 + pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>()),
            Self::DotProduct => (1.0 + dot()) / 2.0,
        } as f32)
    }
}
