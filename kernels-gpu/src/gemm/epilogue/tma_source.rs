//! The source of an epilogue by TMA: the elements of C that β multiplies.
//!
//! The source of an epilogue tile comes to where its results leave from, in shared memory. It is
//! loaded two epilogue tiles ahead: that of the first two while the main loop runs, each further
//! one as soon as TMA has read the results of the tile before the last.
//!
//! # Source
//! Beyond the sources. CUTLASS has the same in its collective epilogue, with a warp of its own.

use super::output_op::OutputOp;
use super::tma_store::{BOX_BYTES, BOXES, TmaEpilogue, at_tile};
use crate::gemm::element::Output;
use crate::gemm::scheduler::persistent::TileCoord;
use crate::gemm::wgmma::stage::WARPGROUP;
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::hint::{opaque, rolled};
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::tma;

/// Threads of a warpgroup that start loads and wait for them: the leaders of its TMA stores.
const LEADERS: usize = 2;

/// Bytes of the barriers of a leader, one for each slot, and of their phases.
const LEADER_BYTES: usize = BOXES * Barrier::BYTES as usize + 8;

/// Bytes of shared memory for the barriers of a warpgroup.
pub const BYTES: usize = LEADERS * LEADER_BYTES;

/// The barriers of one leader, to which loads complete, and the parities of their phases. In a
/// register these would be alive through the main loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceBarriers(*mut u8);

impl SourceBarriers {
    /// Those of this thread, as a leader, where those of all consumer warpgroups begin at `start`.
    #[inline(always)]
    pub fn of_leader(start: *mut u8) -> Self {
        // Opaque: the address would else take registers in the main loop.
        let thread = opaque(thread::thread_idx_x() as usize);
        let leader = (thread - WARPGROUP) / (WARPGROUP / LEADERS);
        SourceBarriers(start.wrapping_add(leader * LEADER_BYTES))
    }

    /// The barrier of a slot.
    #[inline(always)]
    fn full(&self, slot: usize) -> Barrier {
        let bytes = slot as u32 * Barrier::BYTES;
        Barrier::new(SharedAddress::of(self.0).at(bytes))
    }

    /// The parities: bit `i` is that of slot `i`.
    #[inline(always)]
    fn parities(&self) -> *mut u32 {
        let behind = self.0.wrapping_add(BOXES * Barrier::BYTES as usize);
        behind.cast()
    }

    /// Waits until the source of an epilogue tile is in `slot`.
    ///
    /// # Safety
    /// The leader executes it, once for each load that it has started.
    #[inline(always)]
    unsafe fn wait(&self, slot: usize) {
        // SAFETY: the barrier is initialised, and its phase is the one that the load completes.
        // The parities are this thread's.
        unsafe {
            let parities = *self.parities();
            self.full(slot).try_wait_loop(parities >> slot & 1);
            *self.parities() = parities ^ 1 << slot;
        }
    }
}

/// Initialises the barriers of `warpgroups` warpgroups, which lie from `start` on.
///
/// # Safety
/// One thread of the block executes it, before any other use of the barriers, and a barrier of the
/// block lies in between. `start` is a multiple of 8, with [`BYTES`] bytes for each warpgroup.
#[inline(always)]
pub unsafe fn init(start: *mut u8, warpgroups: usize) {
    for leader in 0..warpgroups * LEADERS {
        let barriers = SourceBarriers(start.wrapping_add(leader * LEADER_BYTES));
        // SAFETY: the contract is that of this function.
        unsafe {
            for slot in 0..BOXES {
                barriers.full(slot).init(1);
            }
            *barriers.parities() = 0;
        }
    }
}

impl<C: Output<Wide = f32>, Op: OutputOp<f32>> TmaEpilogue<'_, C, Op> {
    /// Whether the source comes by TMA.
    #[inline(always)]
    pub fn loads_source(&self) -> bool {
        self.tma_store != 0 && self.op.is_source_needed()
    }

    /// Starts the loads of the source for the first epilogue tiles of `boxes`.
    ///
    /// # Safety
    /// [`loads_source`](Self::loads_source) is true. All 128 threads of the warpgroup execute it
    /// together, once before each [`store_any`](Self::store_any) and for the same tile. The
    /// barriers are [initialised](init).
    #[inline(always)]
    pub unsafe fn load_first(&self, coord: TileCoord, boxes: Range<u32>) {
        if !self.is_leader() {
            return;
        }
        tma::wait_group_read::<0>();
        let [mut index, end] = [boxes.start, boxes.end].map(|index| index as usize);
        let end = end.min(index + BOXES);
        while index < end {
            // SAFETY: no thread uses the slots between two tiles: a barrier lies behind the last
            // accesses of the tile before, and TMA has read them.
            unsafe { self.load_source(coord, index) };
            index = rolled(index + 1);
        }
    }

    /// Starts the load of the source for epilogue tile `index` of the tile at `coord`.
    ///
    /// # Safety
    /// A leader executes it. Nothing uses the slot until the load is complete.
    #[inline(always)]
    unsafe fn load_source(&self, coord: TileCoord, index: usize) {
        let slot = index % BOXES;
        let full = SourceBarriers::of_leader(self.source_barriers).full(slot);
        let start = self.boxes.wrapping_add(slot * BOX_BYTES);
        let columns = self.columns - (index * Self::BOX_COLUMNS) as u32;
        let coord = at_tile::<C>(coord, index);
        let (to, map, coord) = self.leaders_box(start, coord, columns);
        // SAFETY: the map is that of C by the contract of `store`. The leader has waited for the
        // phase before, and its box has these bytes.
        unsafe {
            full.arrive_expect_tx(self.box_bytes());
            tma::load_3d(to, map, coord, full);
        }
    }

    /// Waits until the source of epilogue tile `index` lies in its slot.
    ///
    /// # Safety
    /// All threads of the warpgroup execute it together, once for each load.
    #[inline(always)]
    pub(super) unsafe fn wait_for_source(&self, index: usize, leader: bool) {
        // SAFETY: the contract is that of this function. The barrier of the warpgroup orders the
        // leader's wait before what the other threads read. That of the warp brings its lanes
        // together again, as the other one asks for.
        unsafe {
            if leader {
                SourceBarriers::of_leader(self.source_barriers).wait(index % BOXES);
            }
            warp::sync_warp(warp::FULL_MASK);
            self.sync(true);
        }
    }

    /// Starts the load of the source for the epilogue tile that takes the slot of `index` next, one
    /// of `boxes`.
    ///
    /// # Safety
    /// A leader executes it, behind its store of epilogue tile `index`.
    #[inline(always)]
    pub(super) unsafe fn load_next(&self, coord: TileCoord, index: usize, boxes: &Range<u32>) {
        let next = index + BOXES;
        if (next as u32) < boxes.end {
            tma::wait_group_read::<0>();
            // SAFETY: TMA has read the slot, which all threads have written.
            unsafe { self.load_source(coord, next) };
        }
    }
}
