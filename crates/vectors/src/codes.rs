//! Vectors as one signed byte a dimension, with a scale and a length each.
//!
//! A float is `scale × byte`, with the scale chosen so that the largest is 127. Of 128 floats 128 bytes are left, and a comparison is a sum of products of
//! small integers, which compilers make vector instructions of. What is lost moves close neighbours past each other: whoever asks for the nearest
//! takes more candidates than it wants.
//!
//! For [`Metric::Cosine`] a vector's length becomes 1 first. Codes are in blocks, so that a store that grows copies none.

/// How far vectors are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// By the angle between them.
    Cosine,
    /// By the distance between their ends.
    Euclidean,
    /// By the product: the larger the nearer.
    DotProduct,
}

/// Codes take a multiple of so many bytes.
const LANES: usize = 16;
/// Codes of a block.
const BLOCK_CODES: usize = 256;

/// A vector's code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Code<'a> {
    pub(crate) bytes: &'a [i8],
    pub(crate) scale: f32,
    /// The square of the vector's length.
    pub(crate) square: f32,
}

impl Code<'_> {
    pub(crate) fn owned(self) -> OwnCode {
        OwnCode { bytes: self.bytes.to_vec(), scale: self.scale, square: self.square }
    }
}

/// A code that owns its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnCode {
    bytes: Vec<i8>,
    scale: f32,
    square: f32,
}

impl OwnCode {
    /// Encodes a vector; `None` for one that has no direction where that counts, or numbers beyond all measure.
    pub(crate) fn of(metric: Metric, vector: impl Iterator<Item = f32> + Clone) -> Option<Self> {
        let square: f64 = vector.clone().map(|value| f64::from(value) * f64::from(value)).sum();
        let factor = match metric {
            Metric::Cosine if square == 0.0 => return None,
            Metric::Cosine => 1.0 / square.sqrt(),
            Metric::Euclidean | Metric::DotProduct => 1.0,
        };
        let largest = vector.clone().fold(0.0_f64, |most, value| most.max(f64::from(value).abs())) * factor;
        let square = (square * factor * factor) as f32;
        if !square.is_finite() || !largest.is_finite() {
            return None;
        }
        let scale = largest / 127.0;
        let to_byte = |value: f32| if scale == 0.0 { 0 } else { (f64::from(value) * factor / scale).round() as i8 };
        let mut bytes: Vec<i8> = vector.map(to_byte).collect();
        bytes.resize(padded(bytes.len()), 0);
        Some(Self { bytes, scale: scale as f32, square })
    }

    pub(crate) fn borrow(&self) -> Code<'_> {
        Code { bytes: &self.bytes, scale: self.scale, square: self.square }
    }
}

/// The bytes of a code of so many dimensions.
pub(crate) fn padded(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// How far two codes are apart: smaller is nearer. Only comparisons of such numbers mean anything.
#[inline]
pub(crate) fn distance(metric: Metric, one: Code<'_>, other: Code<'_>) -> f32 {
    // Neither can overflow: 65,535 products of at most 127². Without checks they are vector instructions.
    let times = |(a, b): (&i8, &i8)| i32::from(i16::from(*a).wrapping_mul(i16::from(*b)));
    let product = one.bytes.iter().zip(other.bytes).map(times).fold(0_i32, i32::wrapping_add);
    let product = product as f32 * one.scale * other.scale;
    match metric {
        Metric::Cosine | Metric::DotProduct => -product,
        Metric::Euclidean => one.square + other.square - 2.0 * product,
    }
}

/// Codes by number.
pub(crate) struct Codes {
    code_bytes: usize,
    blocks: Vec<Box<[i8]>>,
    measures: Vec<(f32, f32)>,
}

impl Codes {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self { code_bytes: padded(dimensions), blocks: Vec::new(), measures: Vec::new() }
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Code<'_> {
        let id = id as usize;
        let at = id % BLOCK_CODES * self.code_bytes;
        let (scale, square) = self.measures[id];
        Code { bytes: &self.blocks[id / BLOCK_CODES][at..at + self.code_bytes], scale, square }
    }

    /// Sets a number's code; the number after the last one makes it longer.
    pub(crate) fn set(&mut self, id: u32, code: Code<'_>) {
        let id = id as usize;
        if id == self.measures.len() {
            if id.is_multiple_of(BLOCK_CODES) {
                self.blocks.push(vec![0; BLOCK_CODES * self.code_bytes].into_boxed_slice());
            }
            self.measures.push((0.0, 0.0));
        }
        let at = id % BLOCK_CODES * self.code_bytes;
        self.blocks[id / BLOCK_CODES][at..at + self.code_bytes].copy_from_slice(code.bytes);
        self.measures[id] = (code.scale, code.square);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK_CODES * self.code_bytes + self.measures.capacity() * size_of::<(f32, f32)>()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Rng;

    fn random(rng: &mut Rng, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| rng.below(2001) as f32 / 1000.0 - 1.0).collect()
    }

    fn exact(metric: Metric, one: &[f32], other: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        match metric {
            Metric::Cosine => -dot(one, other) / (dot(one, one) * dot(other, other)).sqrt(),
            Metric::DotProduct => -dot(one, other),
            Metric::Euclidean => dot(one, one) + dot(other, other) - 2.0 * dot(one, other),
        }
    }

    #[test]
    fn codes_are_about_as_far_apart_as_vectors() {
        let mut rng = Rng::new(7);
        for metric in [Metric::Cosine, Metric::Euclidean, Metric::DotProduct] {
            for dimensions in [1, 3, 16, 33, 128] {
                let (one, other) = (random(&mut rng, dimensions), random(&mut rng, dimensions));
                let code = |vector: &[f32]| OwnCode::of(metric, vector.iter().copied()).unwrap();
                let found = distance(metric, code(&one).borrow(), code(&other).borrow());
                let wanted = exact(metric, &one, &other);
                let most = 0.02 * (1.0 + exact(Metric::Euclidean, &one, &vec![0.0; dimensions]).sqrt());
                assert!((found - wanted).abs() <= most * 2.0, "{metric:?}, {dimensions}: {found} for {wanted}");
            }
        }
    }

    #[test]
    fn vectors_that_cannot_be_compared_have_no_code() {
        let code = |metric, vector: &[f32]| OwnCode::of(metric, vector.iter().copied()).is_some();
        assert!(!code(Metric::Cosine, &[0.0, 0.0]));
        assert!(code(Metric::Euclidean, &[0.0, 0.0]));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            assert!(!code(Metric::DotProduct, &[bad, 1.0]), "{bad}");
        }
    }

    #[test]
    fn a_store_gives_back_what_it_was_given_across_blocks() {
        let mut codes = Codes::new(5);
        let of = |id: u32| OwnCode::of(Metric::Euclidean, (0..5).map(move |at| (id * 5 + at) as f32)).unwrap();
        for id in 0..1000 {
            codes.set(id, of(id).borrow());
        }
        codes.set(3, of(9000).borrow());
        assert_eq!(codes.get(3), of(9000).borrow());
        assert!((4..1000).all(|id| codes.get(id) == of(id).borrow()));
        assert!(codes.bytes() >= 1000 * 16);
    }
}
