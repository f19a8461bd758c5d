//! Chance is an argument: every random stream comes from (seed, purpose, participant).
//!
//! Two streams that differ in any of the three are unrelated, so adding a
//! participant or a use of chance never changes what another one draws.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Serialize};

/// A reproducible stream of random numbers: the same everywhere, for ever. Saved and read
/// back, it goes on where it was.
#[derive(Clone, Serialize, Deserialize)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of this seed, purpose and participant (0 where there is none).
    pub fn new(seed: u64, purpose: &str, participant: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&participant.to_le_bytes());
        key[16..].copy_from_slice(&fnv1a(purpose.as_bytes()).to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `count`, each equally likely.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn below(&mut self, count: u64) -> u64 {
        assert!(count > 0, "a number below 0");
        // Bits beyond the last whole multiple would favour the first numbers.
        let most = u64::MAX - (u64::MAX % count + 1) % count;
        loop {
            let bits = self.bits();
            if bits <= most {
                return bits % count;
            }
        }
    }

    /// The generator itself, for distributions of other libraries.
    pub fn source(&mut self) -> &mut impl Rng {
        &mut self.0
    }

    /// A number in [0, 1), each multiple of 2^-53 equally likely.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// FNV-1a with 128 bits: purposes are a handful of short texts chosen by us.
fn fnv1a(text: &[u8]) -> u128 {
    text.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_the_three_makes_another_stream() {
        let first = |seed, purpose, participant| Stream::new(seed, purpose, participant).bits();
        let base = first(1, "benefit", 0);
        assert_eq!(base, first(1, "benefit", 0));
        assert_ne!(base, first(2, "benefit", 0));
        assert_ne!(base, first(1, "competing", 0));
        assert_ne!(base, first(1, "benefit", 1));
    }

    #[test]
    fn the_stream_never_changes() {
        let mut stream = Stream::new(7, "golden", 3);
        // From an independent ChaCha8 with this key.
        assert_eq!(
            [stream.bits(), stream.bits()],
            [1_741_963_573_263_060_788, 17_154_598_773_186_820_274]
        );
    }
}
