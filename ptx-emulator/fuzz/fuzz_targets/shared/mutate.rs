//! Mutates PTX line by line: random bytes are hardly ever PTX.
//!
//! Lines are dropped, doubled and exchanged, and words are replaced by others of the same text.

use libfuzzer_sys::fuzzer_mutate;

/// A small generator: its quality does not matter, and a seed gives the same text again.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % limit.max(1)
    }
}

/// Mutates the text in `data`, and gives its new length.
pub fn lines(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(seed | 1);
    let Ok(text) = str::from_utf8(&data[..size]) else {
        return fuzzer_mutate(data, size, max_size);
    };
    if random.below(8) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let (here, there) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(6) {
            0 if lines.len() > 1 => drop(lines.remove(here)),
            1 => lines.insert(here, lines[there].clone()),
            2 => lines.swap(here, there),
            _ => {
                let (from, to) = (words(&lines[there]), words(&lines[here]));
                if let (Some(&new), Some(&old)) = (
                    from.get(random.below(from.len())),
                    to.get(random.below(to.len())),
                ) {
                    lines[here] = lines[here].replacen(old, &new.to_owned(), 1);
                }
            }
        }
    }
    let mutated = lines.join("\n");
    let length = mutated.len().min(max_size);
    data[..length].copy_from_slice(&mutated.as_bytes()[..length]);
    length
}

/// What a line consists of: opcodes with their suffixes, registers, numbers.
fn words(line: &str) -> Vec<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || "%._$-".contains(c);
    let words = line.split(|c| !word(c));
    words.filter(|word| !word.is_empty()).collect()
}
