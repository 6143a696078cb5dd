//! What is compared of a record: a hash of its key and bins.

use super::record::Record;
use aerospike::value::ParticleType;
use aerospike::value::msgpack::{Reader, store};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Of the key, if it is stored, and of all bins in whatever order they come.
pub(super) fn hash(record: &Record<'_>) -> u64 {
    let bins = record.bins.iter().map(|bin| hash_of(&(bin.name, bin.particle, &*canonical(bin.particle, bin.value))));
    bins.fold(hash_of(&record.key), u64::wrapping_add)
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Lists and maps in their shortest form, in which the target keeps them.
fn canonical(particle: u8, value: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !matches!(ParticleType::from_wire(particle), Some(ParticleType::List | ParticleType::Map)) {
        return value.into();
    }
    let mut out = Vec::with_capacity(value.len());
    match store(&mut Reader::new(value), &mut out, 0) {
        Ok(()) => out.into(),
        Err(_) => value.into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use aerospike::ResultCode;
    use aerospike::wire::{Message, MessageWriter};

    /// A bin's name, type and value.
    type Bin = (&'static [u8], u8, &'static [u8]);

    fn hashed(key: Option<&[u8]>, bins: &[Bin]) -> u64 {
        let mut out = Vec::new();
        let mut message = MessageWriter::begin(&mut out);
        bins.iter().for_each(|(name, particle, value)| message.bin(&mut out, name, *particle, value));
        message.end(&mut out, ResultCode::OK);
        let bins = Message::decode(&out).unwrap().operations;
        hash(&Record { digest: &[1; 20], set: b"s", key, void_time: 0, bins })
    }

    #[test]
    fn records_are_the_same_by_names_types_and_values() {
        let (a, b): (Bin, Bin) = ((b"a", 3, b"x"), (b"b", 4, b"y"));
        assert_eq!(hashed(None, &[a, b]), hashed(None, &[b, a]));
        for other in [&[a][..], &[a, (b"b", 3, b"y")], &[a, (b"c", 4, b"y")], &[a, (b"b", 4, b"z")], &[(b"a", 3, b"y"), (b"b", 4, b"x")]] {
            assert_ne!(hashed(None, &[a, b]), hashed(None, other));
        }
        assert_ne!(hashed(None, &[a]), hashed(Some(b"\x03key"), &[a]));
    }

    #[test]
    fn lists_are_the_same_in_every_form_of_theirs() {
        let (list, short, long): (_, &[u8], &[u8]) = (ParticleType::List as u8, &[0x91, 0x05], &[0xDC, 0, 1, 0xCD, 0, 5]);
        assert_eq!(hashed(None, &[(b"l", list, short)]), hashed(None, &[(b"l", list, long)]));
        assert_ne!(hashed(None, &[(b"l", list, short)]), hashed(None, &[(b"l", list, &[0x91, 0x06])]));
        assert_ne!(hashed(None, &[(b"l", ParticleType::Blob as u8, short)]), hashed(None, &[(b"l", ParticleType::Blob as u8, long)]));
    }
}
