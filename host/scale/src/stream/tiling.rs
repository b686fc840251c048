//! Which tiles a product is computed in, so that as little as possible moves between host and
//! device.
//!
//! A tile of C stays on the device while pieces of A and B along k go through. Pieces that the next
//! tile needs as well stay, as many as there are slots for; tiles and pieces are visited to and
//! fro, so that the last ones are needed first. Where one operand's pieces of a whole row (or
//! column) of tiles have room, that operand is moved once.
//!
//! With room for M elements, no order moves fewer than 2 m n k / √M elements, to leading order:
//! Hong and Kung, "I/O complexity: the red-blue pebble game", 1981; the constant is of Smith et
//! al., "A tight I/O lower bound for matrix multiplication", 2019. Nor does any move fewer than A,
//! B and C have.

use super::matrix::Order;
use crate::dist::Shape;
use crate::error::ScaleError;
use crate::partition::pieces;
use std::cmp::Reverse;
use std::ops::Range;

/// Bytes of an element of A and B, and of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of A and B.
    pub input: usize,
    /// Of an accumulator of C.
    pub accumulator: usize,
}

/// Which operand's pieces stay on the device from tile to tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Neither's, but for the last ones: both stream.
    Neither,
    /// Those of A, for a row of tiles.
    A,
    /// Those of B, for a column of tiles.
    B,
}

/// Tiles of C, and pieces of k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Tiling {
    /// Rows of a tile.
    pub rows: usize,
    /// Columns of a tile.
    pub columns: usize,
    /// Extent of a piece along k.
    pub depth: usize,
    /// What stays.
    pub reuse: Reuse,
}

/// A product of two pieces, added to a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Number of the tile's rows, of its columns, and of the piece.
    pub index: [usize; 3],
    /// The rows, the columns, and the range of k.
    pub ranges: [Range<usize>; 3],
    /// Whether it is the tile's first.
    pub first: bool,
    /// Whether it is the tile's last.
    pub last: bool,
}

impl Tiling {
    /// The tiling that moves the least within `limit` bytes of device memory. Of those that move as
    /// much, it is the one whose tiles of C, which lies in this order, have the longest lines:
    /// short ones take a link's rate away.
    ///
    /// # Errors
    /// [`ScaleError::Memory`] where no tiling keeps the limit.
    pub fn choose(
        shape: Shape,
        sizes: Sizes,
        order: Order,
        limit: u64,
    ) -> Result<Self, ScaleError> {
        let Shape { m, n, k } = shape;
        let mut best: Option<(u128, Reverse<[usize; 2]>, Tiling)> = None;
        for reuse in [Reuse::Neither, Reuse::A, Reuse::B] {
            for depth in depths(k) {
                for rows in parts(m) {
                    let Some(columns) = Self::widest(shape, sizes, limit, [rows, depth], reuse)
                    else {
                        continue;
                    };
                    let columns = even(n, columns);
                    let tiling = Tiling {
                        rows,
                        columns,
                        depth,
                        reuse,
                    };
                    let line = match order {
                        Order::RowMajor => columns,
                        Order::ColumnMajor => rows,
                    };
                    let key = (tiling.estimate(shape), Reverse([line, depth]));
                    if best.is_none_or(|(moved, lines, _)| key < (moved, lines)) {
                        best = Some((key.0, key.1, tiling));
                    }
                }
            }
        }
        let smallest = Tiling {
            rows: 1,
            columns: 1,
            depth: 1,
            reuse: Reuse::Neither,
        };
        best.map(|(.., tiling)| tiling).ok_or(ScaleError::Memory {
            limit,
            needed: smallest.device_bytes(shape, sizes),
        })
    }

    /// The most columns that have room.
    fn widest(
        shape: Shape,
        sizes: Sizes,
        limit: u64,
        [rows, depth]: [usize; 2],
        reuse: Reuse,
    ) -> Option<usize> {
        let bytes = |columns| {
            let tiling = Tiling {
                rows,
                columns,
                depth,
                reuse,
            };
            tiling.device_bytes(shape, sizes)
        };
        // It grows evenly with the columns.
        let (one, two) = (bytes(1), bytes(2));
        let left = limit.checked_sub(one)?;
        let more = left / (two - one).max(1);
        let columns = usize::try_from(more)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        Some(columns.min(shape.n.max(1)))
    }

    /// Slots for pieces of A and of B.
    pub(super) fn slots(&self, shape: Shape) -> [usize; 2] {
        let pieces = shape.k.div_ceil(self.depth.max(1)).max(1);
        match self.reuse {
            Reuse::Neither => [2, 2],
            // One more lets the next row of tiles begin while the last one ends.
            Reuse::A => [pieces + 1, 2],
            Reuse::B => [2, pieces + 1],
        }
    }

    /// Device memory of its slots and of two tiles of C.
    pub fn device_bytes(&self, shape: Shape, sizes: Sizes) -> u64 {
        let [of_a, of_b] = self.slots(shape).map(|slots| slots as u128);
        let [rows, columns, depth] =
            [self.rows, self.columns, self.depth].map(|extent| extent as u128);
        let inputs = (of_a * rows + of_b * columns) * depth * sizes.input as u128;
        let outputs = 2 * rows * columns * sizes.accumulator as u128;
        u64::try_from(inputs + outputs).unwrap_or(u64::MAX)
    }

    /// Elements that it moves, but for the few that stay by the way.
    fn estimate(&self, shape: Shape) -> u128 {
        let Shape { m, n, k } = shape;
        let [down, across] = [
            m.div_ceil(self.rows.max(1)),
            n.div_ceil(self.columns.max(1)),
        ];
        let [m, n, k] = [m, n, k].map(|extent| extent as u128);
        let (of_a, of_b) = (m * k, k * n);
        let inputs = match self.reuse {
            Reuse::Neither => of_a * across as u128 + of_b * down as u128,
            Reuse::A => of_a + of_b * down as u128,
            Reuse::B => of_a * across as u128 + of_b,
        };
        inputs + m * n
    }

    /// All steps, in their order.
    pub(super) fn steps(&self, shape: Shape) -> impl Iterator<Item = Step> + use<> {
        let down = pieces(0..shape.m, self.rows);
        let across = pieces(0..shape.n, self.columns);
        let depth = pieces(0..shape.k, self.depth);
        let (rows, columns, by_columns) = (down.len(), across.len(), self.reuse == Reuse::B);
        let [outer, inner] = if by_columns {
            [columns, rows]
        } else {
            [rows, columns]
        };
        let count = depth.len();
        (0..outer * inner).flat_map(move |tile| {
            let (first, second) = (tile / inner.max(1), tile % inner.max(1));
            let second = to_and_fro(first, second, inner);
            let [i, j] = if by_columns {
                [second, first]
            } else {
                [first, second]
            };
            let (down, across, depth) = (down.clone(), across.clone(), depth.clone());
            (0..count).map(move |step| {
                let piece = to_and_fro(tile, step, count);
                Step {
                    index: [i, j, piece],
                    ranges: [down[i].clone(), across[j].clone(), depth[piece].clone()],
                    first: step == 0,
                    last: step + 1 == count,
                }
            })
        })
    }

    /// Number of steps.
    pub(super) fn step_count(&self, shape: Shape) -> u64 {
        let counts = [
            (shape.m, self.rows),
            (shape.n, self.columns),
            (shape.k, self.depth),
        ];
        let counts = counts.map(|(extent, step)| extent.div_ceil(step.max(1)) as u64);
        counts.iter().product()
    }

    /// Elements of A and of B that go to the device, exactly: what stays in the slots is not moved
    /// again.
    pub fn uploaded_elements(&self, shape: Shape) -> [u64; 2] {
        let mut slots = self.slots(shape).map(Slots::new);
        let mut moved = [0; 2];
        for step in self.steps(shape) {
            let [i, j, piece] = step.index;
            let [rows, columns, depth] = &step.ranges;
            let of = [([i, piece], rows), ([j, piece], columns)];
            for (operand, (key, across)) in of.into_iter().enumerate() {
                if let Slot::Empty(_) = slots[operand].find(key) {
                    moved[operand] += (across.len() * depth.len()) as u64;
                }
            }
        }
        moved
    }
}

/// Elements that must move at least, with room for `limit` bytes of elements of the inputs' size.
pub(super) fn least_elements(shape: Shape, sizes: Sizes, limit: u64) -> f64 {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent as f64);
    let room = limit as f64 / sizes.input as f64;
    let once = m * k + k * n + m * n;
    once.max(2.0 * m * n * k / room.sqrt())
}

/// `index`, or in every second `round` the same from the end.
fn to_and_fro(round: usize, index: usize, count: usize) -> usize {
    match round % 2 {
        0 => index,
        _ => count - 1 - index,
    }
}

/// What extents of large tiles are multiples of: products of other ones copy their operands first,
/// as tensor maps and vectors want lines that start at multiples of 16 bytes.
const ALIGNED: usize = 128;

/// An extent of tiles of at most `most`, which are all about the same size.
fn even(extent: usize, most: usize) -> usize {
    let extent = extent.max(1);
    let even = extent.div_ceil(extent.div_ceil(most));
    let aligned = even.next_multiple_of(ALIGNED);
    match aligned <= most {
        true => aligned.min(extent),
        false if even > 2 * ALIGNED => even / ALIGNED * ALIGNED,
        false => even,
    }
}

/// Extents of parts of an extent: all there are up to 64 parts, then fewer.
fn parts(extent: usize) -> Vec<usize> {
    let extent = extent.max(1);
    let mut parts = Vec::new();
    let mut count = 1;
    while count <= extent {
        parts.push(even(extent, extent.div_ceil(count)));
        count += 1 + count / 64 * 8;
    }
    parts.push(1);
    parts.dedup();
    parts
}

/// Extents of pieces of k: products of long ones are faster, short ones take less room.
fn depths(k: usize) -> Vec<usize> {
    let k = k.max(1);
    let mut depths: Vec<usize> = (0..14)
        .map(|halvings| 8192 >> halvings)
        .filter(|&depth| depth < k && depth > 0)
        .map(|depth| even(k, depth))
        .collect();
    depths.insert(0, k);
    depths.dedup();
    depths
}

/// A piece's place: it is there, or may be put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Filled(usize),
    Empty(usize),
}

/// Which pieces are on the device; the one that was used longest ago goes first.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    held: Vec<Option<([usize; 2], u64)>>,
    clock: u64,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Slots {
            held: vec![None; count],
            clock: 0,
        }
    }

    /// The slot of a piece, which is used now.
    pub(super) fn find(&mut self, key: [usize; 2]) -> Slot {
        self.clock += 1;
        let found = self
            .held
            .iter()
            .position(|held| held.is_some_and(|(of, _)| of == key));
        if let Some(index) = found {
            self.held[index] = Some((key, self.clock));
            return Slot::Filled(index);
        }
        let age = |index: &usize| self.held[*index].map_or(0, |(_, used)| used);
        // There is one at least.
        let index = (0..self.held.len()).min_by_key(age).unwrap_or(0);
        self.held[index] = Some((key, self.clock));
        Slot::Empty(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: Sizes = Sizes {
        input: 4,
        accumulator: 4,
    };

    #[test]
    fn tilings_keep_the_limit_and_move_little_more_than_the_bound() {
        let mut worst = 0.0f64;
        for [m, n, k] in [
            [8192; 3],
            [65536; 3],
            [1000, 70001, 333],
            [50021, 97, 4099],
            [31, 33, 99991],
        ] {
            let shape = Shape { m, n, k };
            let all = 4 * (m * k + k * n + m * n) as u64;
            for part in [2, 3, 10, 100] {
                let limit = all / part;
                let tiling = Tiling::choose(shape, F32, Order::RowMajor, limit).unwrap();
                assert!(tiling.device_bytes(shape, F32) <= limit);
                let moved: u64 = tiling.uploaded_elements(shape).iter().sum();
                let moved = (moved + (m * n) as u64) as f64;
                let least = least_elements(shape, F32, limit);
                assert!(
                    moved >= 0.999 * least,
                    "{shape:?} {tiling:?} {moved} {least}"
                );
                worst = worst.max(moved / least);
            }
        }
        // Two tiles of C and two pieces of each operand have half of the room that the bound has.
        assert!(worst < 2.2, "{worst}");
    }

    #[test]
    fn steps_cover_the_product_once() {
        let shape = Shape {
            m: 33,
            n: 31,
            k: 29,
        };
        for reuse in [Reuse::Neither, Reuse::A, Reuse::B] {
            let tiling = Tiling {
                rows: 7,
                columns: 10,
                depth: 8,
                reuse,
            };
            let mut covered = vec![0; 33 * 31 * 29];
            let mut open = false;
            for step in tiling.steps(shape) {
                assert_eq!(step.first, !open);
                open = !step.last;
                let [rows, columns, depth] = step.ranges;
                for i in rows {
                    for j in columns.clone() {
                        for l in depth.clone() {
                            covered[(i * 31 + j) * 29 + l] += 1;
                        }
                    }
                }
            }
            assert!(covered.iter().all(|&times| times == 1) && !open);
            assert_eq!(tiling.step_count(shape), 5 * 4 * 4);
            let [of_a, of_b] = tiling.uploaded_elements(shape);
            match reuse {
                Reuse::A => assert_eq!(of_a, 33 * 29),
                Reuse::B => assert_eq!(of_b, 31 * 29),
                Reuse::Neither => assert!(of_a < 4 * 33 * 29 && of_b < 5 * 31 * 29),
            }
        }
    }

    #[test]
    fn too_little_memory_is_refused_with_what_is_needed() {
        let shape = Shape { m: 5, n: 5, k: 5 };
        let error = Tiling::choose(shape, F32, Order::RowMajor, 23)
            .unwrap_err()
            .to_string();
        assert!(error.contains("smallest tiles take 24"), "{error}");
        assert!(Tiling::choose(shape, F32, Order::RowMajor, 24).is_ok());
        let empty = Shape { m: 0, n: 3, k: 0 };
        let tiling = Tiling::choose(empty, F32, Order::RowMajor, 1 << 20).unwrap();
        assert_eq!(tiling.step_count(empty), 0);
    }
}
