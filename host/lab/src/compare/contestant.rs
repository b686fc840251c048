//! The two that are compared, with their data on the device.

use super::Layout;
use super::comparer::{CompareError, Comparer};
use super::comparison::{Heuristics, OtherPeer};
use super::products::Products;
use crate::catalogue::{self, Rung};
use crate::peer::product::{DataType, Product};
use crate::problem::product::dense_strides;
use crate::problem::{Operation, Problem, Shape};
use crate::run::{Admitted, LoadedRung, NAN_BYTE, preflight};
use crate::sample::copies_beyond_cache;
use std::fmt;
use warpladder::check::Strides;
use warpladder::check::Verdict;
use warpladder::element::TensorInput;
use warpladder::element::{Element, ElementType};
use warpladder::engine::gpu::GpuEngine;
use warpladder::engine::{Buffer, Engine};
use warpladder::error::EngineError;
use warpladder::launch::DevicePtr;

/// What a kernel is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// cuBLAS, for products
    Cublas,
    /// The fastest algorithm of cuBLASLt, for products
    CublasLt,
    /// The faster of the two, for products
    Best,
    /// The rung `copy`, for transposes: over as many bytes, up to a multiple of its tile
    Copy,
    /// A copy inside of device memory by the driver, for transposes
    Memcpy,
}

impl Peer {
    /// What an operation is compared with unless another is named.
    pub fn usual(operation: Operation) -> Self {
        if operation.is_product() {
            Peer::Cublas
        } else {
            Peer::Memcpy
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Peer::Cublas => "cublas",
            Peer::CublasLt => "cublaslt",
            Peer::Best => "best",
            Peer::Copy => "copy",
            Peer::Memcpy => "memcpy",
        })
    }
}

/// Both contestants.
pub(super) struct Contestants<'e> {
    engine: &'e GpuEngine,
    ours: Vec<LoadedRung<'e>>,
    name: &'static str,
    peer: Opponent<'e>,
}

/// The peer.
enum Opponent<'e> {
    Products(Box<Products<'e>>),
    Kernel {
        copies: Vec<LoadedRung<'e>>,
        /// Its bytes over ours.
        work: f64,
    },
    Memcpy {
        buffers: Vec<[Buffer<'e>; 2]>,
        bytes: usize,
    },
}

impl<'e> Contestants<'e> {
    /// Allocates the data of both and uploads it.
    pub(super) fn new<T: Element>(
        comparer: &'e Comparer<'_>,
        admitted: &Admitted,
        layout: Layout,
        peer: Peer,
        problem: &dyn Problem<T>,
    ) -> Result<Self, CompareError> {
        let engine = comparer.engine;
        let (rung, shape) = (admitted.rung(), admitted.shape());
        let (inputs, output) = rung.operation.elements(shape);
        let set_bytes = (inputs + output) as u64 * rung.element.bytes();
        let sets = copies_beyond_cache(engine, set_bytes);
        let ours = sets_of(engine, admitted, problem, sets)?;
        let refused = |advice| CompareError::Peer {
            rung: rung.name,
            peer,
            advice,
        };
        let is_transpose = matches!(rung.operation, Operation::Transpose | Operation::Copy);
        let peer = match (peer, rung.operation) {
            (Peer::Cublas | Peer::CublasLt | Peer::Best, operation) if operation.is_product() => {
                let output_bytes = problem.output_len() * size_of::<T>();
                let outputs = (0..sets)
                    .map(|_| Buffer::new(engine, output_bytes))
                    .collect::<Result<Vec<_>, _>>()?;
                let products = ours
                    .iter()
                    .zip(&outputs)
                    .map(|(ours, output)| product(rung, shape, layout, ours, output.ptr()))
                    .collect();
                let products = Products::new(comparer, peer, products, outputs)?;
                Opponent::Products(Box::new(products))
            }
            (Peer::Copy, _) if is_transpose => copies(
                engine,
                shape,
                rung.element.bytes(),
                sets,
                comparer.options.seed,
            )?,
            (Peer::Memcpy, _) if is_transpose => {
                let bytes = output as usize * size_of::<T>();
                let pair = |_| Ok([Buffer::new(engine, bytes)?, Buffer::new(engine, bytes)?]);
                Opponent::Memcpy {
                    buffers: (0..sets).map(pair).collect::<Result<_, EngineError>>()?,
                    bytes,
                }
            }
            (Peer::Cublas | Peer::CublasLt | Peer::Best, _) => {
                return Err(refused("it only makes products: leave out --peer"));
            }
            (Peer::Copy | Peer::Memcpy, _) => {
                return Err(refused("copies are for transposes: leave out --peer"));
            }
        };
        Ok(Contestants {
            engine,
            ours,
            name: rung.name,
            peer,
        })
    }

    /// Copies of the data.
    pub(super) fn sets(&self) -> usize {
        self.ours.len()
    }

    /// Name of one side: 0 ours, 1 the peer.
    pub(super) fn name(&self, side: usize) -> &str {
        match (side, &self.peer) {
            (0, _) => self.name,
            (_, Opponent::Products(products)) => products.label(),
            (_, Opponent::Kernel { .. }) => "copy",
            (_, Opponent::Memcpy { .. }) => "the driver's copy",
        }
    }

    /// The peer's name and version.
    pub(super) fn peer_name(&self) -> String {
        match &self.peer {
            Opponent::Products(products) => products.name(),
            _ => self.name(1).to_owned(),
        }
    }

    /// The peer's work over ours.
    pub(super) fn peer_work(&self) -> f64 {
        match self.peer {
            Opponent::Kernel { work, .. } => work,
            Opponent::Products(_) | Opponent::Memcpy { .. } => 1.0,
        }
    }

    /// How cuBLASLt's algorithm was found, and the slower peer.
    pub(super) fn chosen(&self) -> (Option<Heuristics>, Option<OtherPeer>) {
        match &self.peer {
            Opponent::Products(products) => (products.heuristics(), products.other.clone()),
            Opponent::Kernel { .. } | Opponent::Memcpy { .. } => (None, None),
        }
    }

    /// Puts one launch of a side on the stream.
    pub(super) fn queue(&self, side: usize, set: usize) -> Result<(), CompareError> {
        let enqueue = |loaded: &LoadedRung<'_>| {
            loaded.launches(|launches| {
                launches
                    .iter()
                    // SAFETY: the launches are those of a case, whose buffers live as long as it.
                    .try_for_each(|launch| unsafe { self.engine.enqueue(launch) })
            })
        };
        match &self.peer {
            _ if side == 0 => Ok(enqueue(&self.ours[set])?),
            Opponent::Kernel { copies, .. } => Ok(enqueue(&copies[set])?),
            Opponent::Products(products) => {
                // SAFETY: the kernel's matrices live as long as this value, which is longer than
                // what is on the stream: `Comparer::sample` waits for it.
                Ok(unsafe { products.queue(set) }?)
            }
            Opponent::Memcpy { buffers, bytes } => {
                let [from, to] = &buffers[set];
                Ok(self.engine.enqueue_copy(to.ptr(), from.ptr(), *bytes)?)
            }
        }
    }

    /// Runs both once on an output that holds NaN, and checks what they wrote; nothing of a peer
    /// whose work is another.
    pub(super) fn check<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<(Verdict, Option<Verdict>), CompareError> {
        let verdict = self.ours[0].checked(problem)?;
        let Opponent::Products(products) = &self.peer else {
            return Ok((verdict, None));
        };
        let mut output = vec![T::zeroed(); problem.output_len()];
        let buffer = &products.outputs[0];
        self.engine
            .fill(buffer.ptr(), size_of_val(&output[..]), NAN_BYTE)?;
        self.engine
            .time_enqueued(self.name(1), || self.queue(1, 0))?;
        buffer.download(&mut output)?;
        if products.has_integers() {
            let alpha = f64::from(TensorInput::I8.alpha());
            for element in &mut output {
                *element = scaled_integer(element, alpha);
            }
        }
        Ok((verdict, Some(problem.check(&output))))
    }
}

/// α times the i32 whose bits an element of 32 bits is.
fn scaled_integer<T: Element>(element: &T, alpha: f64) -> T {
    let integer: i32 = bytemuck::pod_read_unaligned(bytemuck::bytes_of(element));
    T::from_f64(alpha * f64::from(integer))
}

/// A rung with several sets of data, all of which hold the inputs.
fn sets_of<'e, T: Element>(
    engine: &'e GpuEngine,
    admitted: &Admitted,
    problem: &dyn Problem<T>,
    sets: u64,
) -> Result<Vec<LoadedRung<'e>>, CompareError> {
    let first = LoadedRung::new(engine, admitted, problem)?;
    first.upload(problem)?;
    let mut all = vec![first];
    for _ in 1..sets {
        let another = all[0].another(problem)?;
        for (index, input) in problem.inputs().iter().enumerate() {
            // Faster than from the host.
            let [to, from] = [&another, &all[0]].map(|rung| rung.input(index));
            engine.enqueue_copy(to, from, size_of_val(&input[..]))?;
        }
        all.push(another);
    }
    Ok(all)
}

/// The product that a library has to make of our matrices.
fn product(
    rung: &Rung,
    shape: Shape,
    layout: Layout,
    ours: &LoadedRung<'_>,
    c: DevicePtr,
) -> Product {
    let Shape { m, n, k } = shape;
    let [a, b] = [ours.input(0), ours.input(1)];
    let mut strides = dense_strides(rung.operation, shape);
    let transposed = layout.transposed();
    if transposed[0] {
        strides[0] = Strides::column_major(m as usize);
    }
    if transposed[1] {
        strides[1] = Strides::column_major(k as usize);
    }
    let tensor_input = rung.operation.tensor_input();
    let output = match rung.element {
        // Sums themselves: of int8 the libraries have no others at the speed of tensor cores.
        ElementType::F32 if tensor_input == Some(TensorInput::I8) => DataType::I32,
        ElementType::F16 => DataType::F16,
        ElementType::Bf16 => DataType::Bf16,
        ElementType::F32 => DataType::F32,
        ElementType::F64 => DataType::F64,
    };
    let input = match tensor_input {
        Some(TensorInput::F16) => DataType::F16,
        Some(TensorInput::Bf16) => DataType::Bf16,
        Some(TensorInput::I8) => DataType::I8,
        Some(TensorInput::E4m3) => DataType::E4m3,
        Some(TensorInput::Tf32) | None => output,
    };
    let alpha = match output {
        DataType::I32 => 1.0,
        _ => tensor_input.map_or(1.0, TensorInput::alpha),
    };
    let product = Product {
        input,
        output,
        m,
        n,
        k,
        pointers: [a, b, c],
        leading: strides.map(|strides| strides.leading() as u32),
        transposed,
        alpha: alpha.into(),
        beta: 0.0,
        batch: (1, [0; 3]),
        tf32: tensor_input == Some(TensorInput::Tf32),
    };
    if rung.operation != Operation::ColumnMajorProduct {
        return product;
    }
    // Column-major matrices are row-major ones transposed: C' = B' · A'.
    product.column_major()
}

/// The rung `copy` on matrices of `f32` with at least as many bytes as one of `shape`.
fn copies<'e>(
    engine: &'e GpuEngine,
    shape: Shape,
    element_bytes: u64,
    sets: u64,
    seed: u64,
) -> Result<Opponent<'e>, CompareError> {
    let rung = catalogue::find("copy").expect("the catalogue has it, which a test checks");
    let up = |extent: u64| {
        extent.next_multiple_of(u64::from(kernels_gpu::ladder::transpose::TILE as u32))
    };
    let words = u64::from(shape.n) * element_bytes / 4;
    let whole = Shape {
        m: up(shape.m.into()) as u32,
        n: up(words) as u32,
        k: shape.k,
    };
    let admitted = preflight(engine, rung, whole)?;
    let problem = admitted.problem::<f32>(seed);
    let copies = sets_of(engine, &admitted, &*problem, sets)?;
    let bytes =
        |shape: Shape, element: u64| f64::from(shape.m) * f64::from(shape.n) * element as f64;
    Ok(Opponent::Kernel {
        copies,
        work: bytes(whole, 4) / bytes(shape, element_bytes),
    })
}
