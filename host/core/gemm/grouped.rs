//! Lists of products in one launch: which products it takes, and what its kernel reads of them.

use super::operand::Oriented;
use super::parameters::bytes;
use super::{Description, DeviceLimits, GemmInput, HOPPER};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::launch::{DevicePtr, Dim3, Param, TENSOR_MAP_BYTES, TensorMap};
use crate::plan::{Plan, PlannedLaunch};
use kernels_gpu::gemm::planner::{GemmProblem, KernelSet};
use kernels_gpu::gemm::scheduler::persistent::TileGrid;
use kernels_gpu::gemm::tile_config::TileConfig;
use kernels_gpu::gemm::wgmma::boxes::OperandBoxes;
use kernels_gpu::gemm::wgmma::grouped::{GroupExtents, GroupParams, GroupProblem, GroupTile};

/// Most tiles of a list. More of them take so long that launches beside that do not count.
const MAX_TILES: u64 = 1 << 16;

/// A product that the kernel takes as it lies.
pub(crate) struct Member {
    /// The tensor maps of A and B; none where k is 0.
    operands: Option<[TensorMap; 2]>,
    /// That of C, where TMA can store it.
    output: Option<TensorMap>,
    /// What the kernel reads beside them. The address of C is not in it yet.
    extents: GroupExtents,
    k: u32,
    problem: GemmProblem,
}

/// The addresses of A, B and C of a product.
pub(crate) type Addresses = [DevicePtr; 3];

/// A list of products, whose members are as they were given.
pub(crate) struct Group<'a> {
    members: &'a [Member],
    kernels: &'a KernelSet,
    config: &'static TileConfig,
    tiles: Vec<GroupTile>,
    blocks: u32,
    c_16bit: bool,
}

impl Member {
    /// A product as a member of a list. `None` where it has no elements, or the kernel does not
    /// take it: it is one of a batch or of other elements, has fused operators, or TMA does not
    /// take an operand as it lies.
    pub fn of<T: GemmInput>(description: &Description<T>, device: DeviceLimits) -> Option<Self> {
        let config = description.kernels(device).ok()?.grouped?;
        let Description {
            extents: [m, n, k],
            leading,
            batch,
            ..
        } = *description;
        let is_plain = batch == 1 && description.fusion.is_none();
        if !is_plain || m == 0 || n == 0 || config.shared_bytes > device.shared_bytes() {
            return None;
        }
        let oriented = Oriented {
            product: *description,
            inputs: [0, 1],
            is_transposed: false,
            takes_sparse_boxes: false,
        };
        let [bm, bn, _] = config.tile;
        let operands = match k {
            0 => None,
            _ => Some([oriented.stored_map(0, bm)?, oriented.stored_map(1, bn)?]),
        };
        let k_major = [0, 1].map(|side| oriented.is_stored_k_major(side));
        let boxes = |side: usize, extent: u32, of_tile: u32| {
            OperandBoxes::new(extent, of_tile, size_of::<T>(), k_major[side], 1)
        };
        let output = oriented.output_map();
        Some(Member {
            operands,
            extents: GroupExtents {
                c: 0,
                m,
                n,
                ldc: leading[2],
                tma_store: output.is_some().into(),
                boxes: [boxes(0, m, bm), boxes(1, n, bn)],
                a_k_major: k_major[0].into(),
                b_k_major: k_major[1].into(),
            },
            output,
            k,
            problem: description.problem(device),
        })
    }

    /// Clocks of a launch of it alone.
    pub fn clocks(&self, kernels: &KernelSet) -> Option<f64> {
        kernels.clocks(&self.problem)
    }

    /// Its tiles of C.
    fn grid(&self, [bm, bn, _]: [u32; 3]) -> TileGrid {
        TileGrid::new([self.extents.m, self.extents.n], [bm, bn], 1)
    }

    /// The number of its tiles.
    fn tile_count(&self, [bm, bn, _]: [u32; 3]) -> u64 {
        u64::from(self.extents.m.div_ceil(bm)) * u64::from(self.extents.n.div_ceil(bn))
    }

    /// Bytes of A and B, of elements of 2 bytes.
    fn operand_bytes(&self) -> f64 {
        let GroupExtents { m, n, .. } = self.extents;
        2.0 * (f64::from(m) + f64::from(n)) * f64::from(self.k)
    }
}

impl<'a> Group<'a> {
    /// The list of these members, of which each is of the elements that `kernels` are for; `None`
    /// where there are more tiles than a list takes, or none.
    pub fn of(
        members: &'a [Member],
        kernels: &'a KernelSet,
        device: DeviceLimits,
        c_16bit: bool,
    ) -> Option<Self> {
        let config = kernels.grouped?;
        let count = |member: &Member| member.tile_count(config.tile);
        let count = (members.iter().map(count)).fold(0, u64::saturating_add);
        if count == 0 || count > MAX_TILES {
            return None;
        }
        let [.., bk] = config.tile;
        let mut tiles = Vec::with_capacity(count as usize);
        for (problem, member) in members.iter().enumerate() {
            let grid = member.grid(config.tile);
            tiles.extend((0..grid.count()).map(|tile| {
                let coord = grid.coord(tile);
                GroupTile {
                    problem: problem as u32,
                    row: coord.row,
                    column: coord.column,
                    k_tiles: member.k.div_ceil(bk),
                }
            }));
        }
        // Blocks take tiles in turn. With the longest ones first, all blocks have as much to do.
        tiles.sort_by_key(|tile| std::cmp::Reverse(tile.k_tiles));
        Some(Group {
            members,
            kernels,
            config,
            blocks: device.multiprocessors.clamp(1, count as u32),
            tiles,
            c_16bit,
        })
    }

    /// The clocks that its launch should take.
    pub fn clocks(&self) -> Option<f64> {
        let mut blocks = vec![[0, 0]; self.blocks as usize];
        for (index, tile) in self.tiles.iter().enumerate() {
            let [tiles, k_tiles] = &mut blocks[index % self.blocks as usize];
            *tiles += 1;
            *k_tiles += u64::from(tile.k_tiles);
        }
        let bytes = self.members.iter().map(Member::operand_bytes).sum();
        self.kernels.grouped_clocks(blocks.into_iter(), bytes)
    }

    /// Byte of the lists at which that of tiles begins.
    pub fn tiles_at(&self) -> u64 {
        (self.members.len() * size_of::<GroupProblem>()) as u64
    }

    /// What lies in device memory: the members, and then their tiles.
    ///
    /// # Errors
    /// Those of [`Engine::tensor_map`].
    pub fn lists(
        &self,
        engine: &dyn Engine,
        addresses: &[Addresses],
    ) -> Result<Vec<u8>, EngineError> {
        let mut lists = Vec::new();
        for (member, &[a, b, c]) in self.members.iter().zip(addresses) {
            let [map_a, map_b] = match &member.operands {
                Some([a, b]) => [Some(a), Some(b)],
                None => [None, None],
            };
            for (map, address) in [(map_a, a), (map_b, b), (member.output.as_ref(), c)] {
                match map {
                    Some(map) => lists.extend(engine.tensor_map(&map.at(address))?),
                    None => lists.extend([0; TENSOR_MAP_BYTES]),
                }
            }
            lists.extend(bytes(&GroupExtents {
                c: c.0,
                ..member.extents
            }));
        }
        lists.extend(self.tiles.iter().flat_map(bytes));
        Ok(lists)
    }

    /// The launch. Inputs 0 and 1 are the lists of members and of tiles.
    pub fn plan(&self) -> Plan {
        let [bm, bn, _] = self.config.tile;
        let least = |side: usize, of_tile: u32| {
            let members = self.members.iter();
            let loaded = members.map(|member| member.extents.boxes[side].least());
            loaded.fold(of_tile, u32::min)
        };
        let params = GroupParams {
            tiles: self.tiles.len() as u32,
            c_16bit: self.c_16bit.into(),
            least: [least(0, bm), least(1, bn)],
            alpha: 1.0,
            beta: 0.0,
        };
        Plan {
            launches: vec![PlannedLaunch {
                entry: self.config.entry,
                compute_capability: HOPPER,
                grid: [self.blocks.into(), 1, 1],
                block: Dim3::new(self.config.threads, 1, 1),
                cluster: Dim3::ONE,
                shared_bytes: self.config.shared_bytes,
                params: vec![
                    Param::InputPtr(0),
                    Param::InputPtr(1),
                    Param::Product(bytes(&params)),
                ],
            }],
            workspace_bytes: 0,
            zeroed_bytes: 0,
        }
    }
}
