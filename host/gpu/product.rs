//! Products on the device: planned once for a size, then launched.

use super::{DeviceArray, Error, Layout, MatrixMut, MatrixRef};
use crate::element::ElementType;
use crate::engine::{DevicePtr, Engine};
use crate::gemm::{self, Description, Device, GemmElement, Operands, Prepared, tuning};
use kernels_gpu::ampere::choose::Choice;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Plans that are kept. A program that has more sizes than this makes them anew.
const MOST_PLANS: usize = 1024;

/// Products of a device, with what they need beside their operands.
pub(super) struct Products {
    device: Device,
    plans: RefCell<HashMap<Key, Rc<Prepared>>>,
    /// What `warpladder tune` found on this device, read when the first product is planned.
    tuned: OnceCell<HashMap<tuning::Case, tuning::Tuned>>,
    /// Memory for partial products, by the number of bytes at its start that hold zeros between launches: these must stay so.
    /// Launches run one after the other, so that one of each kind is enough.
    workspaces: RefCell<HashMap<usize, DeviceArray<u8>>>,
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

impl Products {
    pub(super) fn new(device: Device) -> Self {
        Products {
            device,
            plans: RefCell::default(),
            tuned: OnceCell::new(),
            workspaces: RefCell::default(),
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
            workspace: self.workspace(engine, &prepared)?,
        };
        Ok(prepared.enqueue(&**engine, &operands, factors)?)
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
        let plan = match self.tuned(&**engine, description) {
            Some(choice) => gemm::plan_choice(description, self.device, &choice),
            None => gemm::plan(description, self.device),
        };
        let prepared = Rc::new(Prepared::new(&**engine, plan)?);
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(key, Rc::clone(&prepared));
        Ok(prepared)
    }

    /// The choice that was measured for this product, if any was.
    fn tuned<T: GemmElement>(
        &self,
        engine: &dyn Engine,
        description: &Description<T>,
    ) -> Option<Choice> {
        let tuned = self.tuned.get_or_init(|| {
            // A file that cannot be read is none: `warpladder tune` says what is wrong with it.
            let all = tuning::path().and_then(|path| tuning::read(&path));
            tuning::of_place(all.unwrap_or_default(), &tuning::Place::of(engine))
        });
        let tuned = tuned.get(&tuning::Case::of(description))?;
        let (instances, _) = T::instances(self.device.compute_capability);
        let request = description.request(self.device);
        let mut all = instances.candidates(&request).map(|(_, choice)| choice);
        all.find(|choice| tuned.is(choice))
    }

    /// The workspace of a plan.
    fn workspace(&self, engine: &Rc<dyn Engine>, plan: &Prepared) -> Result<DevicePtr, Error> {
        let (bytes, zeroed) = (plan.workspace_bytes(), plan.zeroed_bytes());
        if bytes == 0 {
            return Ok(DevicePtr(0));
        }
        let mut workspaces = self.workspaces.borrow_mut();
        if let Some(array) = workspaces.get(&zeroed)
            && array.len() >= bytes
        {
            return Ok(array.pointer());
        }
        // What was started may still use the old one.
        engine.synchronize()?;
        workspaces.remove(&zeroed);
        let array = DeviceArray::new(engine, bytes)?;
        let pointer = array.pointer();
        engine.upload(pointer, &vec![0; zeroed])?;
        workspaces.insert(zeroed, array);
        Ok(pointer)
    }
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
