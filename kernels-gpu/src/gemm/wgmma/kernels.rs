//! `wgmma_bf16`, `wgmma_f16`, `wgmma_tf32`, `wgmma_bf16_narrow`, `wgmma_f16_narrow`, and
//! `wgmma_f32_split`, whose operands are [in terms](super::split): the GEMM,
//! C ← α · op(A) · op(B) + β · C, as [`gemm`](crate::gemm) describes it.
//!
//! # Idea
//! The rungs before it have one idea each: `wgmma_bf16_tma_store` the epilogue by TMA,
//! `wgmma_bf16_stream_k` the tiles of the partial wave, and `wgmma_bf16_multicast` the clusters.
//! Here each is used where it pays, as the planner says.
//!
//! The number of tiles is rarely a multiple of the multiprocessors. Here those of the partial wave
//! are [stream-K tiles](crate::gemm::scheduler::persistent), of which all blocks compute splits.
//! The last block to arrive at a tile reduces its partial sums; no block waits for another one.
//! Where that block would have much to load, [a reduction kernel](crate::gemm::reduction::stream_k)
//! reduces all tiles. Where all tiles are stream-K tiles of few splits, the blocks of a tile are a
//! cluster, and [reduce](crate::gemm::reduction::dsmem) through DSMEM, each some of the columns.
//! Where fewer multiprocessors are left than there are tiles, they compute the tail splits of
//! several tiles.
//!
//! The blocks of a cluster, a rectangle of tiles that a launch chooses, can load A and B for each
//! other [by multicast](crate::gemm::wgmma::multicast). GEMMs that are too small for other tiles
//! have tiles of 64 rows.
//!
//! A launch begins while the one before it computes its last tiles: [`cuda_std::griddepcontrol`].
//!
//! The tensor cores take TF32 operands from shared memory only if they are K-major, and a row-major
//! B is MN-major. An MN-major A can go [through registers](crate::gemm::wgmma::rs), and Cᵀ = Bᵀ ·
//! Aᵀ is a GEMM whose A is that B.
//!
//! C has elements of `f32`, or of the type of A and B: the names of those kernels end with `_to_`
//! and the type. Accumulators, α, β and partial sums are `f32` in both cases; a scaled accumulator
//! is rounded once, when it is stored. An epilogue tile of 16-bit elements has 64 columns instead
//! of 32, and the stores of C take half of the time. Kernels of 16-bit inputs take an operator that
//! is [fused](crate::gemm::epilogue::fusion): bias, activation and residual.
//!
//! # Thread mapping
//! As in `wgmma_bf16_persistent`, with tiles of 256, 192, 128 or 64 columns. Kernels for tiles of
//! 64 rows and of 192 or 64 columns have 256 threads, of which warpgroup 1 is the consumer. Where
//! operands have 16 bits a launch may choose [fewer columns](super::source::narrowest), in steps of
//! 16: the kernel has a main loop for each width, and one epilogue.
//!
//! # Preconditions
//! The matrices A and B, their rows and the matrices of a batch begin at multiples of 16 bytes; k
//! is less than 2³² minus one k-tile. TF32 operands are K-major, but for a row-major B. Other
//! operands are [copied](super::pack) first. C may have any alignment.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_stream_k`: layouts, leading dimensions, batches, α and β; several tile sizes
//! and reductions, with a planner; multicast; launches that overlap; a 16-bit C.
//!
//! # Source
//! Beyond the sources; for stream-K tiles see [`persistent`](crate::gemm::scheduler::persistent).

use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::epilogue::fusion::{Chosen, Fused, FusionParams};
use crate::gemm::epilogue::output_op::LinearCombination;
use crate::gemm::scheduler::persistent::TileSchedulerParams;
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::boxes::OperandBoxes;
use crate::gemm::wgmma::multicast::{ALONE, UP_TO_8};
use crate::gemm::wgmma::rs::RS;
use crate::gemm::wgmma::source::{SS, narrowest};
use crate::gemm::wgmma::split::SplitSS;
use crate::gemm::wgmma::stage::{TensorMaps, WM};
use crate::gemm::wgmma::warp_specialized::{WgmmaTile, body, threads};
use core::marker::PhantomData;
use cuda_std::float16::{bf16, f16};
use cuda_std::mma::{Bf16, F16, Tf32};
use cuda_std::wgmma::{K_MAJOR, MN_MAJOR};

/// BM of the largest tiles, of two consumer warpgroups.
pub const MAX_ROWS: u32 = 2 * WM as u32;

/// The constant of [`layout`] for one of `wgmma`.
const fn layout_of(major: i32) -> u32 {
    match major {
        K_MAJOR => layout::K_MAJOR,
        _ => layout::MN_MAJOR,
    }
}

macro_rules! wgmma_kernels {
    (
        all: $all:tt
        operands_of_32_bits: $of_32_bits:tt
        terms: $terms:tt
        operands_of_16_bits: $of_16_bits:tt
        $($types:literal: $kernels:ident, $element:ident, $input:ty => $output:ty, $suffix:literal,
        $op:ty, $fusing:tt {
            $($layout:ident: $source:ident<$a:ident, $b:ident>, $tiles:ident;)*
        })*
    ) => {
        $(
            $(wgmma_kernels! {
                @$tiles [$all $of_32_bits $terms $of_16_bits]
                [
                    $types $kernels $element $input, $output, $op, $fusing $suffix $layout $source
                    $a $b
                ]
            })*

            pastey::paste! {
                #[doc = concat!("The kernels of each layout. ", $types, ".")]
                pub const $kernels: &[&[TileConfig]] = &[$([<$kernels _ $layout:upper>]),*];
            }
        )*
    };

    // Which of the lists a layout has.
    (@of_32_bits [$all:tt $of_32_bits:tt $terms:tt $of_16_bits:tt] $kernels:tt) => {
        wgmma_kernels! { @kernels $kernels $all $of_32_bits }
    };
    (@terms [$all:tt $of_32_bits:tt $terms:tt $of_16_bits:tt] $kernels:tt) => {
        wgmma_kernels! { @kernels $kernels $terms }
    };
    (@of_16_bits [$all:tt $of_32_bits:tt $terms:tt $of_16_bits:tt] $kernels:tt) => {
        wgmma_kernels! { @kernels $kernels $all $of_16_bits }
    };

    // The kernels of one layout.
    (
        @kernels
        [
            $types:literal $kernels:ident $element:ident $input:ty, $output:ty, $op:ty,
            $fusing:tt $suffix:literal $layout:ident $source:ident $a:ident $b:ident
        ]
        $([$($name:literal: $bm:literal x $bn:literal in $clusters:ident;)*])*
    ) => {
        pastey::paste! {
            $($(wgmma_kernels! {
                @kernel $fusing $name $bm $bn
                [
                    $types $element $input, $output, $op, $suffix $layout $source $a $b
                ]
            })*)*

            const [<$kernels _ $layout:upper>]: &[TileConfig] = &[$($(
                TileConfig::new::<
                    WgmmaTile<$source<$input, $a, $b>, [f32; $bn / 2], { $bm / WM }>
                >(
                    stringify!([<wgmma_ $element _ $layout $name $suffix>]),
                    [layout_of($a), layout_of($b)],
                )
                .narrowed_to(narrowest::<$source<$input, $a, $b>, $output>($bm / WM, $bn))
                .in_clusters($clusters),
            )*)*];
        }
    };

    // A kernel, with an operator that a launch chooses where `fusion` is named.
    (
        @kernel [$($fusion:ident, $bias:ident, $residual:ident)?]
        $name:literal $bm:literal $bn:literal
        [
            $types:literal $element:ident $input:ty, $output:ty, $op:ty, $suffix:literal
            $layout:ident $source:ident $a:ident $b:ident
        ]
    ) => {
        pastey::paste! {
            #[doc = concat!(
                $types, ", A ", stringify!($a), ", B ", stringify!($b), ", tiles of ", $bm, " × ",
                $bn, "."
            )]
            ///
            /// # Safety
            /// `maps` are as [`TensorMaps`] says, of the matrices that `params` describe, and `c`
            /// is C. `workspace` has zeroed counters and the partial sums of the splits of
            /// `scheduler`, and no other launch uses it meanwhile. Blocks have the threads and the
            /// dynamic shared memory of their [`TileConfig`]. They form clusters of the shape that
            /// `scheduler` has, or of the splits with
            /// [`Cluster`](crate::gemm::scheduler::persistent::ReductionMode::Cluster). Bias and
            /// residual are as [`Chosen::new`] asks, of the type of C.
            #[cuda_std::kernel(max_threads = threads($bm) as u32, min_blocks = 1)]
            pub unsafe fn [<wgmma_ $element _ $layout $name $suffix>](
                maps: *const TensorMaps,
                c: *mut $output,
                workspace: *mut f32,
                params: GemmParams<f32>,
                scheduler: TileSchedulerParams,
                boxes: [OperandBoxes; 2],
                $($fusion: FusionParams, $bias: *const u8, $residual: *const u8,)?
            ) {
                let operator = |op: $op| {
                    $(
                        let fusion = FusionParams {
                            c_16bit: (size_of::<$output>() == 2) as u32,
                            ..$fusion
                        };
                        // SAFETY: this kernel has the contract of `Chosen::new`.
                        let then = unsafe { Chosen::new(fusion, [$bias, $residual]) };
                        let op = op.then(then);
                    )?
                    op
                };
                // SAFETY: this kernel has the contract of `body`.
                unsafe {
                    body::<
                        $source<$input, $a, $b>, [f32; $bn / 2], $output,
                        $op, { $bm / WM },
                    >(
                        maps, (c, workspace), params, (scheduler, boxes),
                        ($source(PhantomData), operator),
                    )
                }
            }
        }
    };
}

// The tiles, BM × BN, each with what the names of its kernels have for it and with the shapes of
// multicast clusters that a launch may choose, and the types: of A and B, of C, and the output
// operator, with the parameters of one that a launch chooses.
wgmma_kernels! {
    all: [
        "": 128 x 256 in UP_TO_8;
        "_192": 128 x 192 in UP_TO_8;
        "_128": 128 x 128 in UP_TO_8;
    ]
    operands_of_32_bits: [
        "_64": 128 x 64 in UP_TO_8;
    ]
    terms: [
        "_192": 128 x 192 in ALONE;
        "_128": 128 x 128 in ALONE;
        "_64": 128 x 64 in ALONE;
    ]
    operands_of_16_bits: [
        "_64x192": 64 x 192 in UP_TO_8;
        "_64x64": 64 x 64 in UP_TO_8;
    ]

    "Inputs are bfloat16": OF_BF16, bf16, Bf16 => f32, "",
    Fused<Chosen<f32>>, [fusion, bias, residual] {
        nn: SS<K_MAJOR, MN_MAJOR>, of_16_bits;
        nt: SS<K_MAJOR, K_MAJOR>, of_16_bits;
        tn: SS<MN_MAJOR, MN_MAJOR>, of_16_bits;
        tt: SS<MN_MAJOR, K_MAJOR>, of_16_bits;
    }
    "Inputs are IEEE binary16": OF_F16, f16, F16 => f32, "",
    Fused<Chosen<f32>>, [fusion, bias, residual] {
        nn: SS<K_MAJOR, MN_MAJOR>, of_16_bits;
        nt: SS<K_MAJOR, K_MAJOR>, of_16_bits;
        tn: SS<MN_MAJOR, MN_MAJOR>, of_16_bits;
        tt: SS<MN_MAJOR, K_MAJOR>, of_16_bits;
    }
    "Inputs and C are bfloat16": OF_BF16_TO_BF16, bf16, Bf16 => bf16, "_to_bf16",
    Fused<Chosen<bf16>>, [fusion, bias, residual] {
        nn: SS<K_MAJOR, MN_MAJOR>, of_16_bits;
        nt: SS<K_MAJOR, K_MAJOR>, of_16_bits;
        tn: SS<MN_MAJOR, MN_MAJOR>, of_16_bits;
        tt: SS<MN_MAJOR, K_MAJOR>, of_16_bits;
    }
    "Inputs and C are IEEE binary16": OF_F16_TO_F16, f16, F16 => f16, "_to_f16",
    Fused<Chosen<f16>>, [fusion, bias, residual] {
        nn: SS<K_MAJOR, MN_MAJOR>, of_16_bits;
        nt: SS<K_MAJOR, K_MAJOR>, of_16_bits;
        tn: SS<MN_MAJOR, MN_MAJOR>, of_16_bits;
        tt: SS<MN_MAJOR, K_MAJOR>, of_16_bits;
    }
    "Inputs are TF32, the upper 19 bits of `f32`": OF_TF32, tf32, Tf32 => f32, "",
    LinearCombination<f32>, [] {
        nn: RS<MN_MAJOR, K_MAJOR>, of_32_bits;
        nt: SS<K_MAJOR, K_MAJOR>, of_32_bits;
    }
    "Inputs are `f32` in terms of bfloat16": OF_F32_SPLIT, f32_split, Bf16 => f32, "",
    LinearCombination<f32>, [] {
        nn: SplitSS<K_MAJOR, MN_MAJOR>, terms;
        nt: SplitSS<K_MAJOR, K_MAJOR>, terms;
        tn: SplitSS<MN_MAJOR, MN_MAJOR>, terms;
        tt: SplitSS<MN_MAJOR, K_MAJOR>, terms;
    }
}
