//! The LLVM intrinsics behind the public functions, in one table.
//!
//! Intrinsics, not inline assembly, because LLVM knows which of them are *convergent*: it never
//! moves or duplicates a barrier or a shuffle across a branch. rustc does not mark `asm!` that way.
//!
//! On a host target each is a function of the same signature that panics, so that kernels
//! type-check, document and lint there.

macro_rules! intrinsics {
    ($($link_name:literal => fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
        // Each GPU generation uses its own.
        #[cfg(target_arch = "nvptx64")]
        #[allow(improper_ctypes, dead_code)]
        unsafe extern "unadjusted" {
            $(
                #[link_name = $link_name]
                pub fn $name($($arg: $ty),*) $(-> $ret)?;
            )*
        }

        $(
            #[cfg(not(target_arch = "nvptx64"))]
            pub unsafe fn $name($(_: $ty),*) $(-> $ret)? {
                panic!(concat!("cuda_std: ", stringify!($name), " runs on a GPU or on the PTX emulator only"))
            }
        )*
    };
}

/// What `match.all` returns: the lanes of the mask where all values are equal, else 0, and whether
/// they are.
#[repr(C)]
pub struct Matched {
    pub lanes: u32,
    pub all: bool,
}

/// What a shuffle returns: the value, and whether the source lane was in range.
#[repr(C)]
pub struct Shuffled {
    pub value: i32,
    pub in_range: bool,
}

intrinsics! {
    // Special registers (PTX ISA, "Special Registers").
    "llvm.nvvm.read.ptx.sreg.tid.x" => fn tid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.tid.y" => fn tid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.tid.z" => fn tid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.x" => fn ntid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.y" => fn ntid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.z" => fn ntid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.x" => fn ctaid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.y" => fn ctaid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.z" => fn ctaid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.x" => fn nctaid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.y" => fn nctaid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.z" => fn nctaid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.laneid" => fn laneid() -> u32;
    "llvm.nvvm.read.ptx.sreg.cluster.ctarank" => fn cluster_ctarank() -> u32;
    "llvm.nvvm.read.ptx.sreg.cluster.nctarank" => fn cluster_nctarank() -> u32;

    // Barriers and fences (PTX ISA, "Parallel Synchronization and Communication Instructions").
    "llvm.nvvm.barrier.cta.sync.aligned.all" => fn barrier_sync(id: u32);
    "llvm.nvvm.barrier.cta.red.popc.aligned.all" =>
        fn barrier_red_popc(id: u32, predicate: bool) -> u32;
    "llvm.nvvm.barrier.cta.red.and.aligned.all" =>
        fn barrier_red_and(id: u32, predicate: bool) -> bool;
    "llvm.nvvm.barrier.cta.red.or.aligned.all" =>
        fn barrier_red_or(id: u32, predicate: bool) -> bool;
    "llvm.nvvm.barrier.cluster.arrive.aligned" => fn barrier_cluster_arrive();
    "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned" => fn barrier_cluster_arrive_relaxed();
    "llvm.nvvm.barrier.cluster.wait.aligned" => fn barrier_cluster_wait();
    "llvm.nvvm.membar.cta" => fn membar_cta();
    "llvm.nvvm.membar.gl" => fn membar_gl();
    "llvm.nvvm.membar.sys" => fn membar_sys();
    "llvm.nvvm.nanosleep" => fn nanosleep(nanoseconds: u32);

    // Warp-level operations (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "activemask").
    "llvm.nvvm.activemask" => fn activemask() -> u32;
    "llvm.nvvm.bar.warp.sync" => fn bar_warp_sync(mask: u32);
    "llvm.nvvm.shfl.sync.idx.i32p" =>
        fn shfl_idx(mask: u32, value: i32, lane: u32, clamp: u32) -> Shuffled;
    "llvm.nvvm.shfl.sync.up.i32p" =>
        fn shfl_up(mask: u32, value: i32, delta: u32, clamp: u32) -> Shuffled;
    "llvm.nvvm.shfl.sync.down.i32p" =>
        fn shfl_down(mask: u32, value: i32, delta: u32, clamp: u32) -> Shuffled;
    "llvm.nvvm.shfl.sync.bfly.i32p" =>
        fn shfl_bfly(mask: u32, value: i32, lane_mask: u32, clamp: u32) -> Shuffled;
    "llvm.nvvm.vote.all.sync" => fn vote_all(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.vote.any.sync" => fn vote_any(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.vote.uni.sync" => fn vote_uni(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.vote.ballot.sync" => fn vote_ballot(mask: u32, predicate: bool) -> u32;
    "llvm.nvvm.match.any.sync.i32" => fn match_any(mask: u32, value: u32) -> u32;
    "llvm.nvvm.match.any.sync.i64" => fn match_any_64(mask: u32, value: u64) -> u32;
    "llvm.nvvm.match.all.sync.i32p" => fn match_all(mask: u32, value: u32) -> Matched;
    "llvm.nvvm.match.all.sync.i64p" => fn match_all_64(mask: u32, value: u64) -> Matched;

    // "redux.sync", from compute capability 8.0 on.
    "llvm.nvvm.redux.sync.add" => fn redux_add(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.umin" => fn redux_min_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.umax" => fn redux_max_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.min" => fn redux_min_i32(value: i32, mask: u32) -> i32;
    "llvm.nvvm.redux.sync.max" => fn redux_max_i32(value: i32, mask: u32) -> i32;
    "llvm.nvvm.redux.sync.and" => fn redux_and(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.or" => fn redux_or(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.xor" => fn redux_xor(value: u32, mask: u32) -> u32;
}

/// Arithmetic, which runs on a host as well.
macro_rules! arithmetic {
    ($($link:literal => fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty = $host:expr;)*) => {
        #[cfg(target_arch = "nvptx64")]
        unsafe extern "unadjusted" {
            $(
                #[link_name = $link]
                pub fn $name($($arg: $ty),*) -> $ret;
            )*
        }

        $(
            #[cfg(not(target_arch = "nvptx64"))]
            pub unsafe fn $name($($arg: $ty),*) -> $ret {
                $host($($arg),*)
            }
        )*
    };
}

arithmetic! {
    // Arithmetic that core has no stable name for (LLVM language reference, "llvm.fma.*" and
    // others).
    "llvm.fma.f32" => fn fma_f32(a: f32, b: f32, c: f32) -> f32
        = f32::mul_add;
    "llvm.fma.f64" => fn fma_f64(a: f64, b: f64, c: f64) -> f64
        = f64::mul_add;
    "llvm.sqrt.f32" => fn sqrt_f32(x: f32) -> f32
        = f32::sqrt;
    "llvm.sqrt.f64" => fn sqrt_f64(x: f64) -> f64
        = f64::sqrt;
    "llvm.floor.f32" => fn floor_f32(x: f32) -> f32
        = f32::floor;
    "llvm.floor.f64" => fn floor_f64(x: f64) -> f64
        = f64::floor;
    "llvm.ceil.f32" => fn ceil_f32(x: f32) -> f32
        = f32::ceil;
    "llvm.ceil.f64" => fn ceil_f64(x: f64) -> f64
        = f64::ceil;
    "llvm.trunc.f32" => fn trunc_f32(x: f32) -> f32
        = f32::trunc;
    "llvm.trunc.f64" => fn trunc_f64(x: f64) -> f64
        = f64::trunc;
    "llvm.rint.f32" => fn rint_f32(x: f32) -> f32
        = f32::round_ties_even;
    "llvm.rint.f64" => fn rint_f64(x: f64) -> f64
        = f64::round_ties_even;
}
