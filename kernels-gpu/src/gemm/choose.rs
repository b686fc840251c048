//! Which instance computes a product, and with how many parts of k.
//!
//! Each instance is given the time that it should take by `cost.rs`, and the least one is chosen.

use super::cost::{self, F32_MODELS, F64_MODELS, Few, Model};
use super::instance::Instance;
use super::meet::MOST_CUT;
use super::operand::way;
use super::{partials, partials_pitch, portable, skinny, slices};
use crate::ampere::{dgemm, sgemm};
use crate::hopper;

/// A product to compute, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// m, n and k; m and n at least 1.
    pub extents: [u32; 3],
    /// Whether A and B are stored transposed.
    pub transposed: [bool; 2],
    /// Whether the rows of A and B, as they are stored, start at multiples of 16 bytes and, where they run along m or n,
    /// are of whole vectors of 16 bytes.
    pub vectors: [bool; 2],
    /// Number of products in the batch.
    pub batch: u32,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
    /// The most dynamic shared memory that a block may have, in bytes.
    pub shared_bytes: u32,
}

/// How to launch a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The PTX entry.
    pub entry: &'static str,
    /// Blocks of the grid.
    pub grid: [u64; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Parts of k: [`Gemm::splits`](super::Gemm::splits). With more than 1, the reducing kernel follows, unless blocks
    /// add them up themselves.
    pub splits: u32,
    /// [`Gemm::k_per_split`](super::Gemm::k_per_split).
    pub k_per_split: u32,
    /// [`Gemm::slice`](super::Gemm::slice).
    pub slice: u32,
    /// How the tiles of the last round are cut, where they are.
    pub cut: Option<Cut>,
    /// Where the blocks add up the parts of k themselves: the elements of all of their sums.
    pub meeting: Option<u64>,
}

/// How the tiles of the last round are cut along k: see [`Gemm::parts`](super::Gemm::parts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Tiles that one block computes.
    pub whole: u32,
    /// The number of the others.
    pub tiles: u32,
    /// Parts of each of these.
    pub parts: u32,
    /// Extent of the first part along k.
    pub k_first: u32,
    /// Extent of the others.
    pub k_rest: u32,
    /// Elements of all parts of all cut tiles: memory for partial sums.
    pub elements: u64,
}

/// The instances for one element type.
#[derive(Clone, Copy, Debug)]
pub struct Instances {
    /// By tiles.
    pub tiles: &'static [Instance],
    /// For a short side, if there are such kernels: `rows` of 1 and 4, `dots` of 1 and 4, each with the blocks that fit on a
    /// multiprocessor of the largest GPUs.
    pub skinny: Option<[(&'static str, u64); 4]>,
    /// The sum of partial products.
    pub reduce: &'static str,
    /// Bytes of a sum, which C has too unless it is narrower.
    pub element_bytes: u32,
    /// What the model knows of the tiles; the last entry is for sizes that are not listed.
    models: &'static [Model],
}

/// Those of f32.
pub const SGEMM: Instances = Instances {
    tiles: sgemm::INSTANCES,
    skinny: Some([
        ("sgemm_rows_1", 4),
        ("sgemm_rows_4", 2),
        ("sgemm_dots_1", 3),
        ("sgemm_dots_4", 2),
    ]),
    reduce: "sgemm_reduce",
    element_bytes: 4,
    models: F32_MODELS,
};

/// Those of f64.
pub const DGEMM: Instances = Instances {
    tiles: dgemm::INSTANCES,
    skinny: Some([
        ("dgemm_rows_1", 3),
        ("dgemm_rows_4", 1),
        ("dgemm_dots_1", 2),
        ("dgemm_dots_4", 1),
    ]),
    reduce: "dgemm_reduce",
    element_bytes: 8,
    models: F64_MODELS,
};

/// Those of f64 for compute capability 9.0, whose tensor cores have a shape of their own: its tiles are in that generation's
/// module, the rest in that of 8.0.
pub const DGEMM_90: Instances = Instances {
    tiles: hopper::dgemm::INSTANCES,
    ..DGEMM
};

/// Those of f32 for any generation.
pub const SGEMM_PORTABLE: Instances = Instances {
    tiles: portable::OF_F32,
    ..SGEMM
};

/// Those of f64 for any generation.
pub const DGEMM_PORTABLE: Instances = Instances {
    tiles: portable::OF_F64,
    ..DGEMM
};

/// Those of f16, with sums of f32.
pub const OF_F16: Instances = Instances {
    tiles: portable::OF_F16,
    skinny: None,
    ..SGEMM
};

/// Those of bf16, with sums of f32.
pub const OF_BF16: Instances = Instances {
    tiles: portable::OF_BF16,
    ..OF_F16
};

/// Those of f16 with a C of f16.
pub const OF_F16_TO_F16: Instances = Instances {
    tiles: portable::OF_F16_TO_F16,
    reduce: "gemm_reduce_to_f16",
    ..OF_F16
};

/// Those of bf16 with a C of bf16.
pub const OF_BF16_TO_BF16: Instances = Instances {
    tiles: portable::OF_BF16_TO_BF16,
    reduce: "gemm_reduce_to_bf16",
    ..OF_F16
};

impl Instances {
    /// The entries that any generation runs.
    pub fn portable_entries(&self) -> impl Iterator<Item = &'static str> {
        let skinny = self.skinny.into_iter().flatten();
        skinny.map(|(entry, _)| entry).chain([self.reduce])
    }

    /// The grid, and the threads of a block in x and y, of the kernel that adds up so many parts of C of m × n.
    pub fn reduce_launch(
        &self,
        [m, n, _]: [u32; 3],
        batch: u32,
        splits: u32,
    ) -> ([u64; 3], [u32; 2]) {
        let vectors = u64::from(m) * (partials_pitch(n) / partials::SIDE_BY_SIDE) as u64;
        let mut lanes = 1;
        while lanes < partials::MOST_LANES as u32
            && 2 * lanes <= splits
            && vectors * u64::from(batch * lanes) < REDUCING_THREADS
        {
            lanes *= 2;
        }
        let width = partials::THREADS as u32 / lanes;
        (
            [vectors.div_ceil(u64::from(width)), 1, u64::from(batch)],
            [width, lanes],
        )
    }

    /// The fastest choice by the model.
    pub fn choose(&self, request: &Request) -> Choice {
        let (_, best) = self
            .candidates(request)
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
            .expect("the instances for single elements take any product");
        best
    }

    /// All ways to compute a product, each with the clocks that it should take.
    pub fn candidates(&self, request: &Request) -> impl Iterator<Item = (f64, Choice)> {
        let tiles = self.tiles.iter().filter(|tile| fits(tile, request));
        let tiles = tiles.flat_map(|tile| {
            SPLITS
                .iter()
                .filter_map(|&splits| self.by_tiles(tile, request, splits))
                .chain(self.by_cut_tiles(tile, request))
        });
        let skinny = SPLITS
            .iter()
            .filter_map(|&splits| self.by_vectors(request, splits));
        tiles.chain(skinny)
    }

    fn by_tiles(&self, tile: &Instance, request: &Request, wanted: u32) -> Option<(f64, Choice)> {
        let [m, n, k] = request.extents;
        let [rows, columns, depth] = tile.tile;
        let (splits, k_per_split) = split(k, wanted, depth)?;
        let grid = [
            u64::from(n.div_ceil(columns)),
            u64::from(m.div_ceil(rows)),
            u64::from(splits) * u64::from(request.batch),
        ];
        let blocks = grid[0] * grid[1] * grid[2];
        let busiest = blocks.div_ceil(u64::from(request.multiprocessors));
        let model = self.model(tile);
        let (slice, shared_bytes) = self.sliced(tile, request, k_per_split);
        let work = model.work(tile, k_per_split) * longer(tile, slice);
        let resident = u64::from(tile.resident);
        let (full, rest) = (busiest / resident, busiest % resident);
        let rounds = busiest.div_ceil(resident) as f64;
        let clocks = cost::START
            + (full as f64 * model.together(tile, resident) + model.together(tile, rest)) * work
            + rounds * model.fixed
            + self.reducing(request, splits);
        let choice = Choice {
            entry: tile.entry,
            grid,
            threads: tile.threads,
            shared_bytes,
            splits,
            k_per_split,
            slice,
            cut: None,
            meeting: None,
        };
        Some((clocks, choice))
    }

    /// With the tiles of the last round cut, so that it keeps all multiprocessors busy.
    fn by_cut_tiles(&self, tile: &Instance, request: &Request) -> Option<(f64, Choice)> {
        let [m, n, k] = request.extents;
        let [rows, columns, depth] = tile.tile;
        let tiles = u64::from(n.div_ceil(columns)) * u64::from(m.div_ceil(rows));
        let room = u64::from(request.multiprocessors) * u64::from(tile.resident);
        let last = tiles % room;
        if request.batch != 1
            || last == 0
            || last > u64::from(MOST_CUT)
            || tiles > i32::MAX as u64 / 8
        {
            return None;
        }
        let model = self.model(tile);
        let work = model.work(tile, k) * tile.resident as f64;
        let fixed = model.fixed + cost::MEETING;
        let few = (room / last).min(MOST_PARTS_OF_TILE);
        let (parts, rest) = if few >= 2 {
            (few as u32, 1.0 / few as f64)
        } else {
            // Each idle place computes so many second parts, one after the other, while the first parts are computed.
            let each = last.div_ceil(room - last) as f64;
            (2, (work - each * fixed) / (work * (1.0 + each)))
        };
        let k_rest = (f64::from(k) * rest / f64::from(depth)) as u32 * depth;
        let k_first = k.checked_sub((parts - 1) * k_rest)?;
        if k_rest == 0 || k_first < k_rest {
            return None;
        }
        let rounds = (tiles / room) as f64;
        let last_round = if few >= 2 {
            let busiest = (last * few).div_ceil(u64::from(request.multiprocessors));
            model.together(tile, busiest) * model.work(tile, k_first)
        } else {
            work * f64::from(k_first) / f64::from(k)
        };
        let sums = f64::from(parts) * f64::from(rows * columns * self.element_bytes);
        let deepest = if last < tiles { k } else { k_first };
        let (slice, shared_bytes) = self.sliced(tile, request, deepest);
        let clocks = cost::START
            + (rounds * work + last_round) * longer(tile, slice)
            + rounds * model.fixed
            + fixed
            + cost::taking_up(sums);
        let choice = Choice {
            entry: tile.entry,
            grid: [tiles - last + last * u64::from(parts), 1, 1],
            threads: tile.threads,
            shared_bytes,
            splits: 1,
            k_per_split: k,
            slice,
            cut: Some(Cut {
                whole: (tiles - last) as u32,
                tiles: last as u32,
                parts,
                k_first,
                k_rest,
                elements: last * u64::from(parts) * u64::from(rows * columns),
            }),
            meeting: None,
        };
        Some((clocks, choice))
    }

    /// The kernels for a short side, if there is one.
    fn by_vectors(&self, request: &Request, wanted: u32) -> Option<(f64, Choice)> {
        let entries = self.skinny?;
        let [m, n, k] = request.extents;
        let (short, long) = (m.min(n), m.max(n));
        if short as usize > skinny::MOST_SHORT {
            return None;
        }
        let along_k = if n < m {
            !request.transposed[0]
        } else {
            request.transposed[1]
        };
        let (splits, k_per_split) = split(k, wanted, skinny::RUN as u32)?;
        let columns = if along_k {
            skinny::dots_columns(k_per_split)
        } else {
            skinny::ROWS_COLUMNS
        };
        let (kind, height) = match (along_k, short) {
            (false, 1) => (0, 1),
            (false, _) => (1, 4),
            (true, 1) => (2, 1),
            (true, _) => (3, 4),
        };
        let passes = short.div_ceil(height);
        let parts = u64::from(splits) * u64::from(request.batch);
        let grid = [
            u64::from(long).div_ceil(columns as u64),
            u64::from(passes),
            parts,
        ];
        let blocks = grid[0] * grid[1] * grid[2];
        let meeting = (splits > 1).then_some(blocks * u64::from(height) * columns as u64);
        if meeting.is_some() && blocks / u64::from(splits) > u64::from(MOST_CUT) {
            return None;
        }
        let (entry, resident) = entries[kind];
        let elements = f64::from(long) * f64::from(k) * f64::from(request.batch);
        let few = Few {
            bytes: elements * f64::from(self.element_bytes),
            along_k,
            vectors: request.vectors[usize::from(n >= m)],
            several: short > 1,
            passes,
            splits,
            blocks,
            resident,
            multiprocessors: request.multiprocessors,
        };
        let choice = Choice {
            entry,
            grid,
            threads: skinny::THREADS as u32,
            shared_bytes: 0,
            splits,
            k_per_split,
            slice: slices::WHOLE,
            cut: None,
            meeting,
        };
        Some((few.clocks(), choice))
    }

    /// The slices in which blocks sum parts of k up to this extent, and the shared memory of one. There are several only where their
    /// totals leave room for all blocks that a multiprocessor would hold without them.
    fn sliced(&self, tile: &Instance, request: &Request, k: u32) -> (u32, u32) {
        let [rows, columns, _] = tile.tile;
        let bytes = tile.shared_bytes + rows * columns * self.element_bytes;
        let room = request.shared_bytes + RESERVED_BYTES;
        let slice = tile.slice.map(|longest| slices::extent(k, longest));
        match slice {
            Some(slice) if k > slice && tile.resident * (bytes + RESERVED_BYTES) <= room => {
                (slice, bytes)
            }
            _ => (slices::WHOLE, tile.shared_bytes),
        }
    }

    fn model(&self, tile: &Instance) -> Model {
        let of = |model: &&Model| tile.tile[..2] == model.tile;
        let known = self.models.iter().find(of).or(self.models.last());
        *known.expect("each type has a model")
    }

    /// Clocks of writing partial products, and of the kernel that reads them.
    fn reducing(&self, request: &Request, splits: u32) -> f64 {
        let [m, n, _] = request.extents;
        let elements = f64::from(m) * f64::from(n) * f64::from(request.batch);
        let (_, [_, lanes]) = self.reduce_launch(request.extents, request.batch, splits);
        cost::reducing(splits, elements * f64::from(self.element_bytes), lanes)
    }
}

/// Bytes of shared memory that each block takes beside its own, and that a multiprocessor has beyond what a single one may take
/// (CUDA programming guide, "Compute Capabilities").
const RESERVED_BYTES: u32 = 1 << 10;

/// Threads that the reducing kernel has at least, if there are parts enough: half of what a large GPU holds.
const REDUCING_THREADS: u64 = 1 << 17;

/// Numbers of parts of k that are tried.
const SPLITS: [u32; 22] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 22, 24, 32, 48, 64, 96, 132, 200, 264,
];

/// The most parts of a tile that is cut: one block takes up the sums of all.
const MOST_PARTS_OF_TILE: u64 = 8;

/// The most blocks of a grid in y.
const MOST_ROWS_OF_BLOCKS: u32 = 65_535;

/// The most parts of all matrices of a batch: blocks of a grid in z.
const MOST_PARTS: u32 = 65_535;

/// The number of parts and their extent, multiples of `unit`, for about so many; `None` where k has not as many.
fn split(k: u32, wanted: u32, unit: u32) -> Option<(u32, u32)> {
    if wanted == 1 {
        return Some((1, k.max(1)));
    }
    if k == 0 {
        return None;
    }
    let extent = k.div_ceil(wanted).next_multiple_of(unit);
    let splits = k.div_ceil(extent);
    (splits > 1 && splits <= wanted).then_some((splits, extent))
}

/// How many times as long the multiply-adds take with slices of this extent.
fn longer(tile: &Instance, slice: u32) -> f64 {
    let shared = tile.resident > 1 && tile.ways == [way::K_MAJOR; 2];
    if slice != slices::WHOLE && shared {
        1.0 + cost::SLICES_ALONG_K
    } else {
        1.0
    }
}

/// Whether an instance can compute this.
fn fits(tile: &Instance, request: &Request) -> bool {
    let lies = |way: u32, along_k: bool, vectors: bool| match way {
        way::K_MAJOR => along_k,
        way::VECTORS => !along_k && vectors,
        way::ELEMENTS => !along_k,
        _ => true,
    };
    let [rows, columns, _] = tile.tile;
    let [m, n, _] = request.extents;
    lies(tile.ways[0], !request.transposed[0], request.vectors[0])
        && lies(tile.ways[1], request.transposed[1], request.vectors[1])
        && tile.shared_bytes <= request.shared_bytes
        && m.div_ceil(rows) <= MOST_ROWS_OF_BLOCKS
        && n.div_ceil(columns) <= i32::MAX as u32
        && request.batch <= MOST_PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Request = Request {
        extents: [4096, 4096, 4096],
        transposed: [false; 2],
        vectors: [true; 2],
        batch: 1,
        multiprocessors: 132,
        shared_bytes: 227 << 10,
    };

    fn chosen(extents: [u32; 3]) -> Choice {
        SGEMM.choose(&Request { extents, ..H200 })
    }

    #[test]
    fn large_products_take_large_tiles_and_few_tiles_split_k() {
        let large = chosen([4096; 3]);
        assert_eq!((large.entry, large.splits), ("sgemm_128x256_nn", 1));
        let few = chosen([128, 128, 16384]);
        assert!(few.splits > 16, "{few:?}");
        // 512 tiles on 132 multiprocessors: 116 are left for the last round, and 16 places are idle.
        let cut = large.cut.unwrap();
        assert_eq!((cut.whole, cut.parts), (396, 2));
        assert!(8 * cut.k_rest <= cut.k_first, "{cut:?}");
    }

    #[test]
    fn rows_that_are_no_vectors_and_small_shared_memory_take_other_instances() {
        let odd = SGEMM.choose(&Request {
            extents: [4095; 3],
            vectors: [false; 2],
            ..H200
        });
        assert_eq!(odd.entry, "sgemm_128x128_nn");
        let small = SGEMM.choose(&Request {
            shared_bytes: 64 << 10,
            ..H200
        });
        assert_eq!(small.entry, "sgemm_128x128_nn");
    }

    #[test]
    fn long_chains_are_cut_into_slices_where_their_totals_have_room() {
        let large = chosen([4096; 3]);
        assert_eq!((large.slice, large.shared_bytes), (1024, 231_488));
        // 3 parts of k, each in two slices.
        let parts = chosen([5000, 200, 3000]);
        assert_eq!((parts.k_per_split, parts.slice), (1008, 512));
        // Parts of k as short as the shortest slice are one chain.
        let short = chosen([1024; 3]);
        assert_eq!((short.k_per_split, short.slice), (256, slices::WHOLE));
        // Two blocks with their totals are more than this device has room for.
        let small = SGEMM.choose(&Request {
            shared_bytes: 163 << 10,
            vectors: [false; 2],
            ..H200
        });
        assert_eq!(small.entry, "sgemm_128x128_nn");
        assert_eq!(small.slice, slices::WHOLE);
    }

    #[test]
    fn a_short_side_is_not_tiled() {
        assert_eq!(chosen([1, 4096, 4096]).entry, "sgemm_rows_1");
        assert_eq!(chosen([4096, 1, 4096]).entry, "sgemm_dots_1");
        let transposed = Request {
            extents: [1, 4096, 4096],
            transposed: [false, true],
            ..H200
        };
        assert_eq!(DGEMM.choose(&transposed).entry, "dgemm_dots_1");
    }

    #[test]
    fn parts_cover_k_and_every_size_has_a_choice() {
        let sizes = [1, 2, 7, 8, 9, 31, 33, 64, 127, 500, 1009, 4096, 100_000];
        for m in sizes {
            for n in sizes {
                for k in [0, 1, 7, 16, 17, 333, 4096, 100_000] {
                    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                        let request = Request {
                            extents: [m, n, k],
                            transposed,
                            vectors: [false; 2],
                            ..H200
                        };
                        for instances in [SGEMM, DGEMM, SGEMM_PORTABLE, OF_BF16] {
                            let choice = instances.choose(&request);
                            if let Some(cut) = choice.cut {
                                assert_eq!(cut.k_first + (cut.parts - 1) * cut.k_rest, k);
                                assert!(cut.k_rest > 0 && choice.splits == 1);
                            }
                            assert!(
                                u64::from(choice.splits) * u64::from(choice.k_per_split)
                                    >= u64::from(k)
                            );
                            assert!((choice.splits - 1) * choice.k_per_split < k.max(1));
                            assert!(choice.grid.iter().all(|&extent| extent > 0));
                        }
                    }
                }
            }
        }
    }
}
