//! Inputs, and what the kernels should compute of them.

use anyhow::{Result, ensure};

/// Numbers that are the same in every run (SplitMix64: Steele, Lea and Flood, 2014).
pub struct Numbers(u64);

impl Numbers {
    pub fn new() -> Self {
        Numbers(1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Floats in -1 to 1, of 24 bits.
    pub fn floats(&mut self, n: usize) -> Vec<f32> {
        let float = |bits: u64| (bits >> 40) as f32 / (1 << 23) as f32 - 1.0;
        (0..n).map(|_| float(self.next())).collect()
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }

    /// Integers of 0 to 128 bits.
    pub fn wide(&mut self, n: usize) -> Vec<u128> {
        let mut wide = || {
            let value = u128::from(self.next()) << 64 | u128::from(self.next());
            value >> (self.next() % 129).min(127)
        };
        (0..n).map(|_| wide()).collect()
    }
}

pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

pub fn f32_values(bytes: &[u8]) -> Vec<f32> {
    let (values, _) = bytes.as_chunks();
    values
        .iter()
        .map(|value| f32::from_le_bytes(*value))
        .collect()
}

pub fn u128_bytes(values: &[u128]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// `a` of m × k and `b` of k × n elements, row by row, multiplied in double precision.
pub fn product(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f64> {
    let dot = |row: usize, column: usize| {
        (0..k)
            .map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column]))
            .sum()
    };
    (0..m * n).map(|i| dot(i / n, i % n)).collect()
}

/// Whether each value lies within `tolerance` of what it should be.
pub fn near(got: &[f32], want: &[f64], tolerance: f64) -> Result<()> {
    ensure!(
        got.len() == want.len(),
        "{} values in place of {}",
        got.len(),
        want.len()
    );
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        // A comparison that NaN fails.
        let is_near = (f64::from(*got) - want).abs() <= tolerance;
        ensure!(is_near, "element {i} is {got} and should be {want}");
    }
    Ok(())
}

/// Whether the bytes are the same.
pub fn same(got: &[u8], want: &[u8]) -> Result<()> {
    let differs = got.iter().zip(want).position(|(got, want)| got != want);
    ensure!(
        got.len() == want.len(),
        "{} bytes in place of {}",
        got.len(),
        want.len()
    );
    match differs {
        Some(i) => anyhow::bail!("byte {i} is {} and should be {}", got[i], want[i]),
        None => Ok(()),
    }
}
