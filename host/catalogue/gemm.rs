//! The launches of `sgemm` and `dgemm`: an instance for the size, and a second kernel where it splits k.

use crate::engine::Dim3;
use crate::plan::{Plan, PlannedLaunch, Request};
use crate::problem::{Param, Shape};
use kernels_gpu::ampere::choose::{self, DGEMM, DGEMM_90, Instances, SGEMM};
use kernels_gpu::ampere::gemm::{Gemm, partials_pitch};

/// The generation that has asynchronous copies, times ten.
pub(super) const COMPUTE_CAPABILITY: u32 = 80;

/// The generation whose tensor cores have a shape of their own for f64, times ten.
const HOPPER: u32 = 90;

/// `sgemm`.
pub(super) fn sgemm(request: &Request) -> Plan {
    let dense = Gemm::<f32>::dense(extents(request), TRANSPOSED);
    plan(
        (&SGEMM, COMPUTE_CAPABILITY),
        request,
        |splits, k_per_split| {
            bytes(&Gemm {
                splits,
                k_per_split,
                ..dense
            })
        },
    )
}

/// `dgemm`.
pub(super) fn dgemm(request: &Request) -> Plan {
    let dense = Gemm::<f64>::dense(extents(request), TRANSPOSED);
    let instances = match request.compute_capability {
        HOPPER => (&DGEMM_90, HOPPER),
        _ => (&DGEMM, COMPUTE_CAPABILITY),
    };
    plan(instances, request, |splits, k_per_split| {
        bytes(&Gemm {
            splits,
            k_per_split,
            ..dense
        })
    })
}

/// The most dynamic shared memory of a block by generation, in bytes (CUDA programming guide, "Compute Capabilities").
fn shared_bytes(compute_capability: u32) -> u32 {
    match compute_capability {
        80 | 87 => 163 << 10,
        90 | 100 | 101 | 103 | 110 => 227 << 10,
        _ => 99 << 10,
    }
}

/// The rungs take operands as they are.
const TRANSPOSED: [bool; 2] = [false; 2];

fn extents(request: &Request) -> [u32; 3] {
    let Shape { m, n, k } = request.shape;
    [m, n, k]
}

/// The launches of one of the instances, of which those by tiles are in the module of the generation `tiles`; `parameters` are those of the kernels for this many parts of k of this extent.
fn plan(
    (instances, tiles): (&Instances, u32),
    request: &Request,
    parameters: impl Fn(u32, u32) -> Vec<u8>,
) -> Plan {
    let extents = extents(request);
    let [m, n, k] = extents;
    let empty = m == 0 || n == 0;
    let choice = instances.choose(&choose::Request {
        extents: [m.max(1), n.max(1), k],
        transposed: TRANSPOSED,
        // Device memory is allocated in multiples of more than 16 bytes.
        vectors: [k, n].map(|leading| leading.is_multiple_of(16 / instances.element_bytes)),
        batch: 1,
        multiprocessors: request.multiprocessors.max(1),
        shared_bytes: shared_bytes(request.compute_capability),
    });
    let parameters = Param::Bytes(parameters(choice.splits, choice.k_per_split));
    let mut launches = vec![PlannedLaunch {
        entry: choice.entry,
        compute_capability: if instances.skinny.contains(&choice.entry) {
            COMPUTE_CAPABILITY
        } else {
            tiles
        },
        grid: if empty { [0; 3] } else { choice.grid },
        block: Dim3::new(choice.threads, 1, 1),
        shared_bytes: choice.shared_bytes,
        params: vec![
            Param::Input(0),
            Param::Input(1),
            Param::Output,
            Param::Workspace,
            parameters.clone(),
        ],
    }];
    let mut workspace_bytes = 0;
    if choice.splits > 1 {
        let (grid, threads) = instances.reduce_launch(extents, 1);
        launches.push(PlannedLaunch {
            entry: instances.reduce,
            compute_capability: COMPUTE_CAPABILITY,
            grid: if empty { [0; 3] } else { grid },
            block: Dim3::new(threads, 1, 1),
            shared_bytes: 0,
            params: vec![Param::Workspace, Param::Output, parameters],
        });
        let rows = u64::from(m) * u64::from(choice.splits);
        workspace_bytes = rows * partials_pitch(n) as u64 * u64::from(instances.element_bytes);
    }
    Plan {
        launches,
        workspace_bytes,
    }
}

/// The parameters as the kernel reads them.
fn bytes<T>(gemm: &Gemm<T>) -> Vec<u8> {
    const { assert!(size_of::<Gemm<T>>() == 64 + 2 * size_of::<T>()) };
    // SAFETY: a `repr(C)` struct without padding, by the assertion, is as many initialised bytes.
    unsafe {
        std::slice::from_raw_parts(std::ptr::from_ref(gemm).cast::<u8>(), size_of::<Gemm<T>>())
    }
    .to_vec()
}

/// All kernels that a product may be planned with, those for layouts that no rung has among them.
#[cfg(test)]
pub(super) fn entries() -> impl Iterator<Item = (&'static str, u32)> {
    let tiles = DGEMM_90.tiles.iter().map(|tile| (tile.entry, HOPPER));
    let entries = SGEMM.entries().chain(DGEMM.entries());
    entries
        .map(|entry| (entry, COMPUTE_CAPABILITY))
        .chain(tiles)
}
