//! Hash maps for the small keys of the decoder: names, registers and constants.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// The hash of Firefox and of rustc: a rotation and a product per word. It withstands nobody who wants keys to
/// collide; who writes such a module only makes its decoding slow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SmallHasher(u64);

pub(crate) type SmallMap<K, V> = HashMap<K, V, BuildHasherDefault<SmallHasher>>;
pub(crate) type SmallSet<K> = HashSet<K, BuildHasherDefault<SmallHasher>>;

impl SmallHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for SmallHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.add(u64::from_le_bytes(word));
        }
        let rest = rest
            .iter()
            .fold(0, |word, &byte| word << 8 | u64::from(byte));
        self.add(rest);
    }

    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.add(value as u64);
    }

    fn finish(&self) -> u64 {
        // The product's high bits are the good ones, and tables look at the low ones too.
        self.0.rotate_left(26)
    }
}
