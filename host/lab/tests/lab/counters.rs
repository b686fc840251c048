//! What the sources predict of each rung, as counts of the emulator.

use kernels_gpu::ladder::matmul::wgmma_stream_k;
use ptx_emulator::counters::{Counters, Counts, SharedCounts};
use ptx_emulator::{InstructionClass, Space};
use std::sync::OnceLock;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::problem::{Operation, Shape};
use warpladder_lab::profile::{Profile, profile};
use warpladder_lab::run::preflight;

/// A size that every rung takes: the largest tile is 128 and the widest row of threads 256.
const SIZE: u32 = 256;

/// Profiles of every kernel of the catalogue.
fn profiles() -> &'static [Profile] {
    static ALL: OnceLock<Vec<Profile>> = OnceLock::new();
    ALL.get_or_init(|| {
        let engine = EmulatorEngine::new();
        let kernels = catalogue::rungs()
            .filter(|rung| !matches!(rung.implementation, Implementation::Cpu(_)));
        kernels.map(|rung| profile_of(&engine, rung)).collect()
    })
}

fn counters(name: &str) -> &'static Counters {
    let found = profiles().iter().find(|profile| profile.rung.name == name);
    &found.expect("a kernel of the catalogue").counters
}

fn profile_of(engine: &EmulatorEngine, rung: &'static Rung) -> Profile {
    let shape = Shape {
        m: SIZE,
        n: SIZE,
        k: SIZE,
    };
    let profile = preflight(engine, rung, shape)
        .and_then(|admitted| profile(engine, &admitted, 1))
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(profile.verdict.ok, "{}: {:?}", rung.name, profile.verdict);
    profile
}

fn total(name: &str) -> Counts {
    counters(name).total()
}

/// Sectors per request of each instruction that loads or stores global memory, without repetitions.
fn sectors_per_request(counters: &Counters, stores: bool) -> Vec<f64> {
    let instructions = counters.instructions();
    let accesses = instructions.iter().map(|(_, counts)| match stores {
        true => counts.global_stores,
        false => counts.global_loads,
    });
    let mut ratios: Vec<f64> = accesses
        .filter_map(|global| global.sectors_per_request())
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios.dedup();
    ratios
}

/// Products do 2mnk FLOP and no more, whatever the tiling. Those of the GEMM library multiply with
/// α, and reduce partial sums, besides.
#[test]
fn flops_are_those_of_the_operation() {
    for profile in profiles() {
        let Profile { rung, .. } = profile;
        // Six products of terms, and what makes the terms.
        if rung.name == "gemm_f32_split" {
            continue;
        }
        let exact = match rung.operation {
            Operation::Product | Operation::ColumnMajorProduct => 2 * u64::from(SIZE).pow(3),
            // Chains also add up their results, and start at different values.
            Operation::FmaChains { .. } => continue,
            // Kernels that are told their size compute all 32 rows and store as many as are wanted.
            Operation::MatVec { any: true, .. } => continue,
            // Lanes without an element add 0, edges are left out, sums are scaled: how many
            // operations a rung does is what these families are about.
            Operation::Sum
            | Operation::Softmax
            | Operation::LayerNorm
            | Operation::Stencil { .. }
            | Operation::SpMv
            | Operation::Attention { .. } => continue,
            operation => operation.flops(Shape {
                m: SIZE,
                n: SIZE,
                k: SIZE,
            }) as u64,
        };
        let all = profile.launches();
        // The kernel of a plan that multiplies: others copy operands, or reduce partial sums.
        let flops = all.map(|counters| counters.total().flops).max();
        let flops = flops.expect("there is at least one kernel");
        if let Implementation::Planned { .. } = rung.implementation {
            let most = exact + exact / 50;
            assert!((exact..=most).contains(&flops), "{}: {flops}", rung.name);
        } else {
            assert_eq!(flops, exact, "{}", rung.name);
        }
    }
}

/// Every kernel writes each byte of its output, and of its workspace, once and no other; of a plan
/// of several kernels, the last one does.
#[test]
fn kernels_write_the_output_once() {
    for profile in profiles() {
        let rung = profile.rung;
        // Behind the kernel that writes C is one that does where terms are not exact.
        if rung.name == "gemm_f32_split" {
            continue;
        }
        let counters = profile.following.last().unwrap_or(&profile.counters);
        let shape = Shape {
            m: SIZE,
            n: SIZE,
            k: SIZE,
        };
        let (_, elements) = rung.operation.elements(shape);
        let mut output = elements as u64 * rung.element.bytes();
        if rung.name == "wgmma_bf16_stream_k" {
            // Two tiles of four k-tiles, of which each is a split. The workspace is written too.
            output += wgmma_stream_k::workspace_elements(2, 4) * size_of::<f32>() as u64;
        }
        let written = counters.footprint().bytes_written;
        let total = counters.total();
        if !rung.operation.is_product() && total.global_atomics.requests > 0 {
            // Blocks add to the output, or say in a workspace how far they are.
            assert!(written >= output, "{}: {written}", rung.name);
            continue;
        }
        assert_eq!(written, output, "{}", rung.name);
        let stored = total.global_stores.bytes + total.bulk_stores.bytes;
        assert_eq!(stored, output, "{}", rung.name);
    }
}

/// 003: a warp of the naive transpose stores to 32 rows, one of the copy to 128 bytes of one row.
#[test]
fn the_naive_transpose_stores_to_32_sectors() {
    for (name, loads, stores) in [
        ("copy", 4.0, 4.0),
        ("transpose_naive", 4.0, 32.0),
        ("transpose_coalesced", 4.0, 4.0),
        ("transpose_padded", 4.0, 4.0),
        ("transpose_swizzled", 4.0, 4.0),
    ] {
        let counters = counters(name);
        assert_eq!(sectors_per_request(counters, false), [loads], "{name}");
        assert_eq!(sectors_per_request(counters, true), [stores], "{name}");
    }
}

/// 003: reading a column of a 32-word-wide tile is a 32-way bank conflict; padding or a swizzle
/// removes it.
#[test]
fn only_the_unpadded_tile_has_bank_conflicts() {
    let requests = u64::from(SIZE * SIZE / 32);
    let expect = |name, loads| {
        let total = total(name);
        let shared = |wavefronts: u64| SharedCounts {
            requests,
            wavefronts: requests * wavefronts,
            ideal_wavefronts: requests,
            worst_conflict: wavefronts as u32,
            bytes: requests * 128,
        };
        assert_eq!(total.shared_loads, shared(loads), "{name}");
        assert_eq!(total.shared_stores, shared(1), "{name}");
    };
    expect("transpose_coalesced", 32);
    expect("transpose_padded", 1);
    expect("transpose_swizzled", 1);
}

/// 000: with x along the columns a warp reads one element of A (a broadcast) and 128 bytes of a row
/// of B, and stores 128 bytes of C. With x along the rows it reads 32 rows of A and stores to 32
/// rows of C; B is the broadcast then.
#[test]
fn uncoalesced_products_need_32_sectors() {
    let naive = counters("naive");
    assert_eq!(sectors_per_request(naive, false), [1.0, 4.0]);
    assert_eq!(sectors_per_request(naive, true), [4.0]);
    let uncoalesced = counters("naive_uncoalesced");
    assert_eq!(sectors_per_request(uncoalesced, false), [1.0, 32.0]);
    assert_eq!(sectors_per_request(uncoalesced, true), [32.0]);
    assert_eq!(
        naive.total().global_loads.requests,
        uncoalesced.total().global_loads.requests
    );
}

/// 001: a tile of T × T is loaded once for T outputs in a row, so each element N/T times instead of
/// N times.
#[test]
fn tiling_loads_each_element_once_per_tile() {
    let inputs = u64::from(2 * SIZE * SIZE) * 4;
    for (name, times) in [
        ("naive", SIZE),
        ("tiled_16", SIZE / 16),
        ("tiled_32", SIZE / 32),
        ("tiled_guarded_32", SIZE / 32),
        ("outputs_8", SIZE / 32),
    ] {
        let counters = counters(name);
        assert_eq!(counters.footprint().bytes_read, inputs, "{name}");
        assert_eq!(
            counters.total().global_loads.bytes,
            inputs * u64::from(times),
            "{name}"
        );
    }
}

fn instructions(counters: &Counters, class: InstructionClass, space: Option<Space>) -> u64 {
    let classes = counters.by_class();
    let found = classes
        .iter()
        .filter(|counts| counts.class == class && counts.space == space);
    found.map(|counts| counts.thread_instructions).sum()
}

/// 000: R outputs per thread take R + 1 words from shared memory for R multiply-adds: 2 per FMA
/// with one output, 9/8 with eight.
#[test]
fn outputs_per_thread_save_shared_loads() {
    let words_per_fma = |name: &str| {
        let total = total(name);
        (total.shared_loads.bytes / 4) as f64 / (total.flops / 2) as f64
    };
    for outputs in [1, 2, 4, 8] {
        let words = words_per_fma(&format!("outputs_{outputs}"));
        assert_eq!(
            words,
            f64::from(outputs + 1) / f64::from(outputs),
            "outputs_{outputs}"
        );
    }
    let loads_per_fma = |name: &str| {
        let counters = counters(name);
        let loads = instructions(counters, InstructionClass::Load, Some(Space::Shared));
        loads as f64 / instructions(counters, InstructionClass::Fma32, None) as f64
    };
    let (one, eight) = (loads_per_fma("outputs_1"), loads_per_fma("outputs_8"));
    println!("shared loads per FMA: outputs_1 {one}, outputs_8 {eight}");
    assert!(eight <= one * 9.0 / 16.0, "{eight} against {one}");
}

/// 001, 004: tests in the loop cost instructions and nothing else.
#[test]
fn guards_cost_instructions() {
    for (guarded, exact) in [
        ("tiled_guarded_16", "tiled_16"),
        ("tiled_guarded_32", "tiled_32"),
        ("wolfe_k4_guarded", "wolfe_k4_w32_j2"),
    ] {
        let (with, without) = (total(guarded), total(exact));
        let (more, fewer) = (with.warp_instructions, without.warp_instructions);
        let percent = 100.0 * (more as f64 / fewer as f64 - 1.0);
        println!("{guarded}: {more} warp instructions, {exact}: {fewer}, so {percent:.1} % more");
        assert!(more > fewer, "{guarded} {more}, {exact} {fewer}");
        assert_eq!(with.flops, without.flops);
        assert_eq!(with.global_loads, without.global_loads, "{guarded}");
        assert_eq!(with.divergent_branches, 0, "{guarded}");
    }
}

/// 000: a 128-bit access moves as many sectors as four 32-bit ones, in one request.
#[test]
fn wide_accesses_save_requests_and_no_sectors() {
    let (single, vector) = (total("copy_1"), total("copy_vec4"));
    for (one, four) in [
        (single.global_loads, vector.global_loads),
        (single.global_stores, vector.global_stores),
    ] {
        assert_eq!(four.requests * 4, one.requests);
        assert_eq!((four.sectors, four.bytes), (one.sectors, one.bytes));
    }
    assert!(vector.warp_instructions * 2 < single.warp_instructions);
}

/// 002: with a thread for each element every element of a vector is loaded M times and stores are
/// coalesced; with a thread for each vector it is loaded once and stores go to a sector of their
/// own.
#[test]
fn a_thread_per_element_loads_m_times_and_stores_coalesced() {
    let (vector, element) = (
        counters("matvec_lcs"),
        counters("matvec_thread_per_element"),
    );
    let input = vector.footprint().bytes_read;
    assert_eq!(input, u64::from(SIZE * SIZE) * 4);
    assert_eq!(vector.total().global_loads.bytes, input);
    assert_eq!(element.total().global_loads.bytes, 16 * input);
    assert_eq!(sectors_per_request(element, true), [4.0]);
    assert_eq!(sectors_per_request(vector, true), [32.0]);
    // The matrix is an operand where all lanes want the same element of it, and an access
    // elsewhere.
    assert_eq!(vector.total().constant_loads.requests, 0);
    let constant = element.total().constant_loads;
    assert_eq!(constant.addresses, 16 * constant.requests);
}

/// Spilled registers would be local loads and stores.
#[test]
fn no_kernel_uses_local_memory() {
    for Profile { rung, counters, .. } in profiles() {
        let total = counters.total();
        assert_eq!(
            total.local_loads.requests + total.local_stores.requests,
            0,
            "{}",
            rung.name
        );
    }
}
