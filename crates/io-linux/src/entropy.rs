//! Randomness for ids and seeds, from the kernel.

/// Fills `bytes` with entropy.
///
/// # Panics
/// When the kernel has no generator: nothing can be named uniquely then.
pub fn fill_with_entropy(mut bytes: &mut [u8]) {
    while !bytes.is_empty() {
        // SAFETY: pointer and length are of one live slice.
        let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        match usize::try_from(got) {
            Ok(count) => bytes = &mut bytes[count..],
            Err(_) => {
                let error = std::io::Error::last_os_error();
                assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "getrandom failed: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_calls_give_different_bytes() {
        let (mut one, mut two) = ([0u8; 32], [0u8; 32]);
        super::fill_with_entropy(&mut one);
        super::fill_with_entropy(&mut two);
        assert_ne!(one, two);
    }
}
