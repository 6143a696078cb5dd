//! The Z curve: two numbers as one, so that what is near on a plane has places that are near.

/// The place of a point on the curve: the bits of `x` and `y` in turn, that of `x` first.
#[must_use]
pub fn z_curve(x: u64, y: u64) -> u128 {
    spread(x) << 1 | spread(y)
}

/// A number's bits at every other bit.
fn spread(number: u64) -> u128 {
    const MASKS: [(u32, u128); 6] = [
        (32, 0x0000_0000_FFFF_FFFF_0000_0000_FFFF_FFFF),
        (16, 0x0000_FFFF_0000_FFFF_0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF_00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F_0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333_3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555_5555_5555_5555_5555),
    ];
    MASKS.iter().fold(u128::from(number), |spread, (by, mask)| (spread | spread << by) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_in_turn() {
        assert_eq!([z_curve(0, 0), z_curve(0, 1), z_curve(1, 0), z_curve(1, 1), z_curve(0b101, 0b011)], [0, 1, 2, 3, 0b10_01_11]);
        assert_eq!((z_curve(u64::MAX, 0), z_curve(u64::MAX, u64::MAX)), (u128::MAX / 3 * 2, u128::MAX));
        let mut rng = crate::Rng::new(1);
        for _ in 0..100 {
            let (x, y) = (rng.next_u64(), rng.next_u64());
            let expected =
                (0..64).fold(0, |place, bit| place | u128::from(x >> bit & 1) << (2 * bit + 1) | u128::from(y >> bit & 1) << (2 * bit));
            assert_eq!(z_curve(x, y), expected);
        }
    }
}
