//! General products on tensor cores, C ← α · op(A) · op(B) + β · C: layouts, leading dimensions, batches, factors and shared
//! tiles, on the emulator and, where there is one, on a GPU.

#[path = "common/gpu.rs"]
mod gpu;

use half::{bf16, f16};
use kernels_gpu::ampere::gemm::Gemm;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use warpladder::check;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Arg, Buffer, DevicePtr, Dim3, Engine, Launch, MatrixMap};
use warpladder::gemm::wgmma::{COMPUTE_CAPABILITY, TensorGemm};
use warpladder::plan::Plan;
use warpladder::problem::{Param, Place, TensorInput, TensorMap};
use warpladder::ptx;

/// Sizes that meet edges of tiles and of stages.
const EXTENTS: [[u32; 3]; 6] = [
    [1, 1, 1],
    [33, 31, 17],
    [130, 72, 40],
    [5, 300, 200],
    [257, 3, 129],
    [64, 64, 0],
];

/// Tiles that are few, and a few more than a multiple of the multiprocessors: their steps are shared.
const SHARED: [[u32; 3]; 2] = [[100, 60, 4000], [700, 60, 2000]];

/// One product.
struct Case {
    product: TensorGemm,
    /// A and B as they are stored, and their values.
    stored: [Vec<u8>; 2],
    values: [Vec<f64>; 2],
    c: Vec<f32>,
}

/// The bits of the nearest element, and its value.
fn round(input: TensorInput, value: f32) -> (Vec<u8>, f64) {
    match input {
        TensorInput::F16 => {
            let element = f16::from_f32(value);
            (element.to_le_bytes().into(), element.into())
        }
        TensorInput::Bf16 => {
            let element = bf16::from_f32(value);
            (element.to_le_bytes().into(), element.into())
        }
        TensorInput::Tf32 => {
            let element = f32::from_bits(value.to_bits() & !0x1fff);
            (element.to_le_bytes().into(), element.into())
        }
    }
}

impl Case {
    /// A random one, with `padding` elements between rows and between matrices. What is not to be read holds NaN.
    fn new(
        input: TensorInput,
        [m, n, k]: [u32; 3],
        transposed: [bool; 2],
        padding: u32,
        batch: u32,
        [alpha, beta]: [f32; 2],
    ) -> Self {
        let mut rng = StdRng::seed_from_u64(u64::from(m * 31 + n * 7 + k));
        let rows_a = if transposed[0] { [k, m] } else { [m, k] };
        let rows_b = if transposed[1] { [n, k] } else { [k, n] };
        let stride = |[rows, columns]: [u32; 2]| {
            u64::from(rows) * u64::from(columns + padding) + u64::from(padding)
        };
        let mut matrices = |[rows, columns]: [u32; 2], known: bool| {
            let length = (stride([rows, columns]) * u64::from(batch)).max(1);
            let mut elements = vec![f32::NAN; length as usize];
            for matrix in 0..u64::from(batch) {
                for row in 0..u64::from(rows) {
                    let start =
                        matrix * stride([rows, columns]) + row * u64::from(columns + padding);
                    for element in &mut elements[start as usize..][..columns as usize] {
                        if known {
                            *element = rng.random_range(-1.0..1.0);
                        }
                    }
                }
            }
            elements
        };
        let operands = [rows_a, rows_b].map(|extents| {
            let rounded = matrices(extents, true);
            let rounded = rounded.into_iter().map(|value| round(input, value));
            let (bytes, values): (Vec<Vec<u8>>, Vec<f64>) = rounded.unzip();
            (bytes.concat(), values)
        });
        // With β = 0 BLAS does not read C.
        let c = matrices([m, n], beta != 0.0);
        let [(stored_a, a), (stored_b, b)] = operands;
        Case {
            product: TensorGemm {
                input,
                gemm: Gemm {
                    lda: rows_a[1] + padding,
                    ldb: rows_b[1] + padding,
                    ldc: n + padding,
                    stride_a: stride(rows_a),
                    stride_b: stride(rows_b),
                    stride_c: stride([m, n]),
                    alpha,
                    beta,
                    ..Gemm::dense([m, n, k], transposed)
                },
                batch,
                aligned: [true; 3],
            },
            stored: [stored_a, stored_b],
            values: [a, b],
            c,
        }
    }

    fn plan(&self, engine: &dyn Engine) -> Plan {
        self.product.plan(engine.multiprocessors())
    }

    /// Computes it on an engine, `times` times, with what the first one has left in the workspace.
    fn run(&self, engine: &dyn Engine, times: usize) -> Vec<f32> {
        let plan = self.plan(engine);
        let buffer = |bytes: &[u8]| {
            let buffer = Buffer::new(engine, bytes.len()).unwrap();
            buffer.upload(bytes).unwrap();
            buffer
        };
        let inputs = self.stored.each_ref().map(|bytes| buffer(bytes));
        let output = Buffer::new(engine, size_of_val(&self.c[..])).unwrap();
        let workspace = Buffer::new(engine, plan.workspace_bytes as usize).unwrap();
        workspace
            .upload(&vec![0u8; plan.zeroed_bytes as usize])
            .unwrap();
        let start = |place: Place| match place {
            Place::Input(index) => inputs[index].ptr(),
            Place::Output => output.ptr(),
            Place::Workspace(offset) => DevicePtr(workspace.ptr().0 + offset),
        };
        for _ in 0..times {
            output.upload(&self.c).unwrap();
            for launch in &plan.launches {
                let maps = maps(engine, &launch.params, start);
                let mut args = Vec::new();
                for param in &launch.params {
                    let arg = match param {
                        Param::Input(index) => {
                            args.push(Arg::Ptr(inputs[*index].ptr()));
                            Arg::U64(self.values[*index].len() as u64)
                        }
                        Param::InputPtr(index) => Arg::Ptr(inputs[*index].ptr()),
                        Param::Output => Arg::Ptr(output.ptr()),
                        Param::Workspace => Arg::Ptr(workspace.ptr()),
                        Param::WorkspaceAt(offset) => Arg::Ptr(start(Place::Workspace(*offset))),
                        Param::TensorMaps(_) => Arg::Ptr(maps.ptr()),
                        Param::Bytes(bytes) => Arg::Bytes(bytes),
                        Param::U32(value) => Arg::U32(*value),
                        other => panic!("{other:?} is no parameter of a general product"),
                    };
                    args.push(arg);
                }
                let text = ptx::module(launch.compute_capability).only(launch.entry);
                engine
                    .run(&Launch {
                        kernel: engine.load(&text, launch.entry).unwrap(),
                        grid: Dim3::from(launch.grid.map(|extent| extent as u32)),
                        block: launch.block,
                        shared_bytes: launch.shared_bytes,
                        args: &args,
                    })
                    .unwrap_or_else(|error| panic!("{error}"));
            }
        }
        let mut found = self.c.clone();
        output.download(&mut found).unwrap();
        found
    }

    /// Compares every element with the same product in f64; padding must be what it was.
    fn check(&self, output: &[f32]) -> Result<(), String> {
        let Gemm {
            m,
            n,
            k,
            lda,
            ldb,
            ldc,
            ..
        } = self.product.gemm;
        let gemm = &self.product.gemm;
        let (alpha, beta): (f64, f64) = (gemm.alpha.into(), gemm.beta.into());
        let tolerance = check::tensor_tolerance(k as usize + 2) * (alpha.abs() + beta.abs());
        let mut expected: Vec<f64> = self.c.iter().map(|&element| element.into()).collect();
        let at = |matrix: u64, stride: u64, leading: u32, [row, column]: [u32; 2]| {
            (matrix * stride + u64::from(row) * u64::from(leading) + u64::from(column)) as usize
        };
        let turned = |transposed: u32, [row, column]: [u32; 2]| match transposed {
            0 => [row, column],
            _ => [column, row],
        };
        for matrix in 0..u64::from(self.product.batch) {
            for i in 0..m {
                for j in 0..n {
                    let mut sum = 0.0;
                    for l in 0..k {
                        let of_a = turned(gemm.transpose_a, [i, l]);
                        let of_b = turned(gemm.transpose_b, [l, j]);
                        sum += self.values[0][at(matrix, gemm.stride_a, lda, of_a)]
                            * self.values[1][at(matrix, gemm.stride_b, ldb, of_b)];
                    }
                    let place = at(matrix, gemm.stride_c, ldc, [i, j]);
                    let old = expected[place];
                    let kept = if beta == 0.0 { 0.0 } else { beta * old };
                    expected[place] = alpha * sum + kept;
                }
            }
        }
        for (place, (&found, &expected)) in output.iter().zip(&expected).enumerate() {
            let found: f64 = found.into();
            let untouched = found.is_nan() && expected.is_nan();
            let right = (found - expected).abs() <= tolerance;
            if !untouched && !right {
                return Err(format!("element {place} is {found}, not {expected}"));
            }
        }
        Ok(())
    }
}

/// The tensor maps of a launch in device memory.
fn maps<'e>(
    engine: &'e dyn Engine,
    params: &[Param],
    start: impl Fn(Place) -> DevicePtr,
) -> Buffer<'e> {
    let maps = params.iter().find_map(|param| match param {
        Param::TensorMaps(maps) => Some(maps),
        _ => None,
    });
    let encode = |map: &TensorMap| {
        let bytes = |elements: u64| elements * u64::from(map.element_bytes);
        engine
            .tensor_map(&MatrixMap {
                address: start(map.place),
                element_bytes: map.element_bytes,
                columns: map.columns,
                rows: map.rows,
                matrices: map.matrices,
                row_bytes: bytes(map.pitch.into()),
                matrix_bytes: bytes(map.stride),
                box_columns: map.box_columns,
                box_rows: map.box_rows,
            })
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let bytes: Vec<u8> = maps.into_iter().flatten().flat_map(encode).collect();
    let buffer = Buffer::new(engine, bytes.len()).unwrap();
    buffer.upload(&bytes).unwrap();
    buffer
}

const LAYOUTS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

fn all(engine: &dyn Engine, input: TensorInput) {
    let mut cases = 0;
    let mut test = |extents, transposed, padding, batch, factors| {
        let case = Case::new(input, extents, transposed, padding, batch, factors);
        if let Err(difference) = case.check(&case.run(engine, 1)) {
            panic!(
                "{input:?}, {extents:?}, transposed {transposed:?}, padding {padding}, {batch} in the batch, {factors:?}: {difference}"
            );
        }
        cases += 1;
    };
    for extents in EXTENTS {
        for transposed in LAYOUTS {
            test(extents, transposed, 0, 1, [1.0, 0.0]);
            test(extents, transposed, 3, 2, [-0.5, 2.0]);
            test(extents, transposed, 8, 1, [2.0, 0.0]);
        }
    }
    println!("{cases} cases of {input:?} on {}", engine.device_name());
}

fn shared_tiles(engine: &dyn Engine, input: TensorInput, layouts: &[[bool; 2]]) {
    for extents in SHARED {
        for &transposed in layouts {
            let case = Case::new(input, extents, transposed, 0, 1, [1.0, 0.0]);
            let plan = case.plan(engine);
            assert!(plan.zeroed_bytes > 0, "{extents:?} is not shared: {plan:?}");
            let once = case.run(engine, 1);
            case.check(&once).unwrap_or_else(|difference| {
                panic!("{input:?}, {extents:?}, transposed {transposed:?}: {difference}")
            });
            // The order of the parts does not matter, and the counters are 0 again.
            assert!(
                once == case.run(engine, 2),
                "{extents:?} differ from run to run"
            );
        }
    }
}

#[test]
fn bf16_products_are_right_in_every_layout() {
    all(&EmulatorEngine::new(), TensorInput::Bf16);
}

#[test]
fn f16_products_are_right_in_every_layout() {
    all(&EmulatorEngine::new(), TensorInput::F16);
}

#[test]
fn tf32_products_are_right_in_every_layout() {
    all(&EmulatorEngine::new(), TensorInput::Tf32);
}

#[test]
fn shared_tiles_are_added_up_in_the_same_order() {
    let engine = EmulatorEngine::new().with_multiprocessors(5);
    shared_tiles(&engine, TensorInput::Bf16, &LAYOUTS[..1]);
}

#[test]
fn a_batch_may_have_one_matrix_in_common() {
    let mut case = Case::new(
        TensorInput::Bf16,
        [40, 24, 72],
        [false; 2],
        0,
        1,
        [1.0, 0.0],
    );
    case.product.batch = 3;
    case.product.gemm.stride_a = 0;
    let b = case.product.gemm.stride_b as usize;
    case.stored[1] = case.stored[1].repeat(3);
    case.values[1] = case.values[1].repeat(3);
    case.values[1][b..]
        .iter_mut()
        .for_each(|value| *value = 0.0);
    case.stored[1][2 * b..].fill(0);
    case.c = vec![f32::NAN; 3 * 40 * 24];
    let output = case.run(&EmulatorEngine::new(), 1);
    case.check(&output).unwrap();
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    if gpu.compute_capability() != COMPUTE_CAPABILITY {
        println!("skipped: {} has no wgmma", gpu.device_name());
        return;
    }
    for input in [TensorInput::Bf16, TensorInput::F16, TensorInput::Tf32] {
        all(&*gpu, input);
    }
    shared_tiles(&*gpu, TensorInput::Bf16, &LAYOUTS);
    shared_tiles(&*gpu, TensorInput::Tf32, &LAYOUTS[..1]);
}
