//! The PTX of the device tests, kept beside them: whether it is that of the sources, and what is in
//! it.

use crate::checked_in::TestKernels;
use cuda_builder::{ModuleSpec, NvvmArch};

pub const PTX: &str = include_str!("../../../cuda_std/device-tests/ptx/device_tests_sm_70.ptx");
/// What needs compute capability 9.0.
pub const PTX_90: &str = include_str!("../../../cuda_std/device-tests/ptx/device_tests_sm_90a.ptx");
const MANIFEST: &str = include_str!("../../../cuda_std/device-tests/ptx/manifest.json");

#[test]
fn the_checked_in_ptx_is_that_of_the_sources() {
    let kernels = TestKernels {
        kernels: "cuda_std/device-tests",
        inputs: &[
            "cuda_std/device-tests/Cargo.toml",
            "cuda_std/device-tests/rust-toolchain.toml",
            "cuda_std/device-tests/src",
        ],
        ptx_dir: "cuda_std/device-tests/ptx",
        modules: &[
            ModuleSpec {
                name: "device_tests_sm_70",
                arch: NvvmArch::Compute70,
            },
            ModuleSpec {
                name: "device_tests_sm_90a",
                arch: NvvmArch::Compute90a,
            },
        ],
        // Where the build script of the workspace compiles: core is built already.
        build_folder: "ptx-build",
        files: &[
            ("device_tests_sm_70.ptx", PTX),
            ("device_tests_sm_90a.ptx", PTX_90),
            ("manifest.json", MANIFEST),
        ],
    };
    kernels.check();
}

#[test]
fn the_device_tests_are_compiled_by_the_toolchain_of_the_kernels() {
    assert_eq!(
        include_str!("../../../cuda_std/device-tests/rust-toolchain.toml"),
        include_str!("../../../kernels-gpu/rust-toolchain.toml")
    );
}

/// The kernel `entry` in the PTX: its header and body.
fn kernel_text(entry: &str) -> &'static str {
    let header = format!(".visible .entry {entry}(");
    let found = [PTX, PTX_90]
        .into_iter()
        .find_map(|ptx| Some(&ptx[ptx.find(&header)?..]));
    let text = found.expect(entry);
    &text[..text.find("\n}").expect("a closing brace")]
}

/// How many instructions of the kernel have this opcode.
fn count(entry: &str, opcode: &str) -> usize {
    let opcodes = kernel_text(entry).lines().filter_map(|line| {
        // A guarded instruction has its predicate before the opcode.
        line.split_whitespace().find(|word| !word.starts_with('@'))
    });
    opcodes
        .filter(|word| word.trim_end_matches(';') == opcode)
        .count()
}

#[test]
fn launch_bounds_stand_in_the_header() {
    let text = kernel_text("shared_arrays");
    let header = &text[..text.find('{').unwrap()];
    for bound in [".maxntid 64", ".minnctapersm 2", ".maxnreg 64"] {
        assert!(header.contains(bound), "{bound} is not in {header}");
    }
    let text = kernel_text("barriers");
    assert!(!text[..text.find('{').unwrap()].contains(".maxntid"));
}

#[test]
fn shared_memory_is_accessed_as_such() {
    // Three arrays, each written and read once; none through a generic address.
    assert_eq!(count("shared_arrays", "st.shared.b32"), 3);
    assert_eq!(count("shared_arrays", "ld.shared.b32"), 3);
    assert_eq!(
        count("shared_arrays", "ld.b32") + count("shared_arrays", "st.b32"),
        0
    );
    let declared = |entry| {
        let lines = kernel_text(entry).lines();
        lines
            .filter(|line| line.contains(".shared .align 16 .b8"))
            .count()
    };
    assert_eq!(
        (declared("shared_arrays"), declared("float_vectors")),
        (2, 1)
    );
}

#[test]
fn a_vector_is_one_instruction() {
    let expected = [
        ("float_vectors", "ld.global.nc.v4.b32", 1),
        ("float_vectors", "st.shared.v4.b32", 1),
        ("float_vectors", "ld.shared.v4.b32", 1),
        ("float_vectors", "st.global.v2.b32", 2),
        ("float_vectors", "ld.global.nc.v2.b64", 1),
        ("float_vectors", "st.global.v2.b64", 1),
        ("integer_vectors", "ld.global.nc.v4.b32", 1),
        ("integer_vectors", "st.global.v4.b32", 1),
        ("integer_vectors", "ld.global.nc.v2.b32", 1),
        ("integer_vectors", "st.global.v2.b32", 1),
        ("float_vectors", "ld.global.nc.b32", 0),
        ("float_vectors", "st.global.b32", 0),
        ("integer_vectors", "ld.global.nc.b32", 0),
        ("integer_vectors", "st.global.b32", 0),
    ];
    assert_counts(&expected);
}

#[test]
fn functions_are_their_instructions() {
    let expected = [
        ("floats", "fma.rn.f32", 1),
        ("floats", "fma.rn.f64", 1),
        ("floats", "sqrt.rn.f32", 1),
        ("floats", "sqrt.rn.f64", 1),
        ("floats", "div.rn.f32", 1),
        ("floats", "div.rn.f64", 1),
        ("floats", "cvt.rmi.f32.f32", 1),
        ("floats", "cvt.rpi.f32.f32", 1),
        ("floats", "cvt.rzi.f32.f32", 1),
        ("floats", "cvt.rni.f32.f32", 1),
        ("floats", "cvt.rni.f64.f64", 1),
        ("floats", "ld.global.nc.b32", 1),
        ("barriers", "bar.red.popc.u32", 1),
        ("barriers", "bar.red.and.pred", 1),
        ("barriers", "bar.red.or.pred", 1),
        ("barriers", "membar.cta", 1),
        ("barriers", "membar.gl", 2),
        ("barriers", "membar.sys", 1),
        ("barriers", "nanosleep.u32", 1),
        ("shared_arrays", "bar.sync", 1),
        ("shuffles", "shfl.sync.up.b32", 1),
        ("shuffles", "shfl.sync.down.b32", 1),
        // 64-bit values are moved in two halves.
        ("shuffles", "shfl.sync.bfly.b32", 4),
        ("shuffles", "shfl.sync.idx.b32", 3),
        ("shuffles", "bar.warp.sync", 1),
        ("votes", "vote.sync.all.pred", 1),
        ("votes", "vote.sync.any.pred", 1),
        ("votes", "vote.sync.uni.pred", 1),
        ("votes", "vote.sync.ballot.b32", 1),
        ("votes", "match.any.sync.b32", 1),
        ("matches", "match.any.sync.b64", 1),
        ("matches", "match.all.sync.b32", 2),
        ("matches", "match.all.sync.b64", 2),
        ("reductions", "redux.sync.add.s32", 3),
        ("reductions", "redux.sync.min.s32", 1),
        ("reductions", "redux.sync.max.u32", 2),
        ("reductions_by_shuffles", "shfl.sync.bfly.b32", 60),
        ("device_atomics", "fence.sc.gpu", 1),
        ("device_atomics", "atom.acquire.gpu.add.u32", 1),
        ("device_atomics", "atom.relaxed.gpu.min.s32", 1),
        ("device_atomics", "atom.release.gpu.or.b64", 1),
        ("device_atomics", "atom.acquire.gpu.max.s64", 1),
        ("device_atomics", "atom.acq_rel.gpu.add.f32", 1),
        ("device_atomics", "atom.acq_rel.gpu.cas.b64", 1),
        ("device_atomics", "ld.relaxed.gpu.b64", 1),
        ("scoped_atomics", "atom.acq_rel.cta.add.u32", 1),
        ("scoped_atomics", "atom.relaxed.cta.exch.b32", 1),
        ("scoped_atomics", "ld.acquire.cta.b32", 1),
        ("scoped_atomics", "st.release.cta.b32", 1),
        ("scoped_atomics", "fence.sc.sys", 1),
        ("scoped_atomics", "atom.release.sys.xor.b64", 1),
        ("scoped_atomics", "atom.relaxed.sys.add.f64", 1),
        ("message", "st.release.gpu.b32", 1),
        ("of_the_block", "pmevent", 1),
        ("votes", "activemask.b32", 1),
        ("atomics", "atom.add.f32", 1),
        ("atomics", "atom.add.f64", 1),
        ("opaque", "st.global.b32", 3),
        ("rolled", "st.global.b32", 1),
        ("rolled", ".pragma", 1),
        ("cluster_neighbours", "barrier.cluster.arrive.aligned", 2),
        ("cluster_neighbours", "barrier.cluster.wait.aligned", 2),
        ("cluster_neighbours", "mapa.shared::cluster.u32", 2),
        ("cluster_neighbours", "ld.shared::cluster.u32", 1),
        ("cluster_neighbours", "ld.shared::cluster.v4.f32", 1),
        ("cluster_sums", "st.shared::cluster.v4.f32", 1),
        (
            "cluster_arrivals",
            "barrier.cluster.arrive.relaxed.aligned",
            1,
        ),
    ];
    assert_counts(&expected);
}

fn assert_counts(expected: &[(&str, &str, usize)]) {
    for &(entry, opcode, times) in expected {
        assert_eq!(count(entry, opcode), times, "{opcode} in {entry}");
    }
}
