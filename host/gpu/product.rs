//! Products on the device: planned once for a size, then launched.

use super::{DeviceArray, Error, Layout, MatrixMut, MatrixRef};
use crate::element::ElementType;
use crate::engine::{Arg, DevicePtr, Dim3, Engine, KernelId, Launch};
use crate::gemm::{self, Description, Device, GemmElement};
use crate::plan::{Plan, PlannedLaunch};
use crate::problem::Param;
use crate::ptx;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Plans that are kept. A program that has more sizes than this makes them anew.
const MOST_PLANS: usize = 1024;

/// Most bytes of a parameter that is passed by value, and most parameters of a kernel.
const MOST_BYTES: usize = 128;
const MOST_PARAMS: usize = 16;

/// Products of a device, with what they need beside their operands.
pub(super) struct Products {
    device: Device,
    plans: RefCell<HashMap<Key, Rc<Prepared>>>,
    /// Memory for partial products. Launches run one after the other: one is enough.
    workspace: RefCell<Option<DeviceArray<u8>>>,
}

/// What a plan depends on: a description without its factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    element: ElementType,
    extents: [u32; 3],
    transposed: [bool; 2],
    leading: [u32; 3],
    batch: u32,
    strides: [u64; 3],
    aligned: [bool; 2],
}

/// A plan whose kernels are loaded.
struct Prepared {
    launches: Vec<(KernelId, PlannedLaunch)>,
    workspace_bytes: usize,
}

/// The operands of a product as kernels take them.
struct Operands {
    /// A and B with the elements behind them, and C.
    inputs: [(DevicePtr, u64); 2],
    output: DevicePtr,
    workspace: DevicePtr,
}

impl Products {
    pub(super) fn new(device: Device) -> Self {
        Products {
            device,
            plans: RefCell::default(),
            workspace: RefCell::default(),
        }
    }

    /// Starts C ← α · A · B + β · C.
    pub(super) fn start<T: GemmElement>(
        &self,
        engine: &Rc<dyn Engine>,
        factors: [T; 2],
        a: MatrixRef<'_, T>,
        b: MatrixRef<'_, T>,
        c: MatrixMut<'_, T>,
    ) -> Result<(), Error> {
        for (matrix, array) in [("A", a.array), ("B", b.array), ("C", &*c.array)] {
            if !array.is_on(engine) {
                return Err(Error::Foreign { matrix });
            }
        }
        matching(a.layout, b.layout, c.layout)?;
        // Kernels write rows. A column-major C is the transpose of Bᵀ · Aᵀ.
        let (a, b, output) = match c.layout.leading_of_rows() {
            Some(_) => (a, b, c.layout),
            None => (b.t(), a.t(), c.layout.transposed()),
        };
        let place = |array: &DeviceArray<T>, offset: usize| {
            DevicePtr(array.pointer().0 + (offset * size_of::<T>()) as u64)
        };
        let input = |matrix: &MatrixRef<'_, T>| {
            let offset = matrix.layout.offset.min(matrix.array.len());
            let behind = (matrix.array.len() - offset) as u64;
            (place(matrix.array, offset), behind)
        };
        let inputs = [input(&a), input(&b)];
        let description = describe(
            a.layout,
            b.layout,
            output,
            factors,
            inputs.map(|(pointer, _)| pointer),
        )?;
        let prepared = self.prepared(engine, &description)?;
        let operands = Operands {
            inputs,
            output: place(c.array, c.layout.offset.min(c.array.len())),
            workspace: self.workspace(engine, prepared.workspace_bytes)?,
        };
        prepared.launches.iter().try_for_each(|(kernel, launch)| {
            enqueue(&**engine, *kernel, launch, &operands, factors)
        })
    }

    /// The plan of a product, made where there is none yet.
    fn prepared<T: GemmElement>(
        &self,
        engine: &Rc<dyn Engine>,
        description: &Description<T>,
    ) -> Result<Rc<Prepared>, Error> {
        let key = Key {
            element: T::TYPE,
            extents: description.extents,
            transposed: description.transposed,
            leading: description.leading,
            batch: description.batch,
            strides: description.strides,
            aligned: description.aligned,
        };
        let mut plans = self.plans.borrow_mut();
        if let Some(prepared) = plans.get(&key) {
            return Ok(Rc::clone(prepared));
        }
        description.check(self.device)?;
        let plan = gemm::plan(description, self.device);
        let prepared = Rc::new(Prepared::new(&**engine, plan)?);
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(key, Rc::clone(&prepared));
        Ok(prepared)
    }

    /// Memory of at least so many bytes.
    fn workspace(&self, engine: &Rc<dyn Engine>, bytes: usize) -> Result<DevicePtr, Error> {
        if bytes == 0 {
            return Ok(DevicePtr(0));
        }
        let mut workspace = self.workspace.borrow_mut();
        match &*workspace {
            Some(array) if array.len() >= bytes => Ok(array.pointer()),
            _ => {
                // What was started may still use the old one.
                engine.synchronize()?;
                *workspace = None;
                let array = workspace.insert(DeviceArray::new(engine, bytes)?);
                Ok(array.pointer())
            }
        }
    }
}

impl Prepared {
    fn new(engine: &dyn Engine, plan: Plan) -> Result<Self, Error> {
        // Nothing to compute is nothing to launch: a grid of no blocks is refused.
        let launches = plan
            .launches
            .into_iter()
            .filter(|launch| !launch.grid.contains(&0));
        let load = |launch: PlannedLaunch| {
            let module = ptx::module(launch.compute_capability);
            let kernel = engine.load(&module.only(launch.entry), launch.entry)?;
            Ok((kernel, launch))
        };
        Ok(Prepared {
            launches: launches.map(load).collect::<Result<_, Error>>()?,
            workspace_bytes: plan.workspace_bytes as usize,
        })
    }
}

/// Starts one launch of a plan, from the stack alone.
fn enqueue<T: GemmElement>(
    engine: &dyn Engine,
    kernel: KernelId,
    launch: &PlannedLaunch,
    operands: &Operands,
    factors: [T; 2],
) -> Result<(), Error> {
    let mut bytes = [0; MOST_BYTES];
    let bytes = launch
        .params
        .iter()
        .find_map(|param| match param {
            Param::Bytes(parameters) => Some(parameters),
            _ => None,
        })
        .map_or(&[][..], |parameters| {
            let len = parameters.len();
            bytes[..len].copy_from_slice(parameters);
            // The parameters end with α and β.
            bytes[len - size_of_val(&factors)..len].copy_from_slice(bytemuck::bytes_of(&factors));
            &bytes[..len]
        });
    let mut args = [Arg::U32(0); MOST_PARAMS];
    let mut count = 0;
    let mut push = |arg| {
        args[count] = arg;
        count += 1;
    };
    for param in &launch.params {
        match param {
            Param::Input(index) => {
                let (pointer, len) = operands.inputs[*index];
                push(Arg::Ptr(pointer));
                push(Arg::U64(len));
            }
            Param::InputPtr(index) => push(Arg::Ptr(operands.inputs[*index].0)),
            Param::Output => push(Arg::Ptr(operands.output)),
            Param::Workspace => push(Arg::Ptr(operands.workspace)),
            Param::Bytes(_) => push(Arg::Bytes(bytes)),
            Param::U32(value) => push(Arg::U32(*value)),
            Param::F32(value) => push(Arg::F32(*value)),
            Param::WorkspaceAt(_) | Param::TensorMaps(_) => {
                unreachable!("products of this type have none")
            }
        }
    }
    engine.enqueue(&Launch {
        kernel,
        grid: Dim3::from(launch.grid.map(|extent| extent as u32)),
        block: launch.block,
        shared_bytes: launch.shared_bytes,
        args: &args[..count],
    })?;
    Ok(())
}

/// Refuses matrices that cannot be multiplied into one another.
fn matching(a: Layout, b: Layout, c: Layout) -> Result<(), Error> {
    let advice = if a.columns != b.rows {
        "the first has as many columns as the second has rows"
    } else if [a.rows, b.columns] != [c.rows, c.columns] {
        "the result has the rows of the first and the columns of the second"
    } else {
        let serves = |batch: usize, stride: usize| batch == c.batch || (batch == 1 && stride == 0);
        if serves(a.batch, a.batch_stride) && serves(b.batch, b.batch_stride) {
            return Ok(());
        }
        return Err(Error::Batch {
            a: a.batch,
            b: b.batch,
            c: c.batch,
        });
    };
    let size = |layout: Layout| [layout.rows, layout.columns];
    Err(Error::Product {
        a: size(a),
        b: size(b),
        c: size(c),
        advice,
    })
}

/// The product of matrices whose layouts match, into a row-major C.
fn describe<T: GemmElement>(
    a: Layout,
    b: Layout,
    c: Layout,
    [alpha, beta]: [T; 2],
    places: [DevicePtr; 2],
) -> Result<Description<T>, Error> {
    let number =
        |what, value: usize| u32::try_from(value).map_err(|_| Error::TooLarge { what, value });
    // Columns where those are neighbours, otherwise rows: one of the two, by `Layout::fault`.
    let operand = |layout: Layout| match layout.leading_of_rows() {
        Some(leading) => (false, leading),
        None => (true, layout.column_stride),
    };
    let ((transposed_a, lda), (transposed_b, ldb)) = (operand(a), operand(b));
    let aligned = |DevicePtr(address): DevicePtr| address.is_multiple_of(16);
    Ok(Description {
        extents: [
            number("m", c.rows)?,
            number("n", c.columns)?,
            number("k", a.columns)?,
        ],
        transposed: [transposed_a, transposed_b],
        leading: [
            number("the leading dimension of A", lda)?,
            number("the leading dimension of B", ldb)?,
            number("the leading dimension of C", c.row_stride)?,
        ],
        batch: number("the batch", c.batch)?,
        strides: [a, b, c].map(|layout| layout.batch_stride as u64),
        alpha,
        beta,
        aligned: places.map(aligned),
    })
}
