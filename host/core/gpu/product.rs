//! Products on the device: planned once for a size, then launched.

use super::grouped::Groups;
use super::queue::Queue;
use super::scaling::{self, Scaling};
use super::{DeviceArray, Error, Layout, MatrixMut, MatrixRef};
use crate::device::ComputeCapability;
use crate::engine::Engine;
use crate::engine::streams::StreamId;
use crate::gemm::{
    self, Activation, BiasAxis, Description, DeviceLimits, Float8Format, Float8Operands, Fusion,
    GemmInput, GemmInto, Precision, Scales, Source, tuning,
};
use crate::launch::{DevicePtr, Launch};
use crate::plan::{Operands, Prepared};
use crate::sync::lock;
use bytemuck::Pod;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// What may be asked of a product beside its operands: C ← f(α · A · B + β · C + bias) + residual,
/// where f is the activation, or with β · C as a [factor](Source::Factor).
#[derive(Clone, Copy)]
pub struct GemmOptions<'a, O> {
    /// The generation of GPUs whose kernels compute it, by the compute capability: an older one
    /// than the device's, such as 8.0 for products by `mma.sync` on a Hopper GPU. Without one, the
    /// newest that the device has.
    pub generation: Option<ComputeCapability>,
    /// How f32 is multiplied.
    pub precision: Precision,
    /// A vector with an element for each row of C, or for each column, that all of these get.
    pub bias: Option<(BiasAxis, &'a DeviceArray<O>)>,
    /// The function that is applied to each element.
    pub activation: Activation,
    /// A matrix of the size of C that is added behind the activation. Its neighbours are those of
    /// C: both are row-major, or both column-major. A batch lies as far apart as that of C.
    pub residual: Option<MatrixRef<'a, O>>,
    /// What β · C is: a summand, or a factor of all else.
    pub source: Source,
    /// Scales of operands of 8-bit floats.
    pub scaling: Scaling<'a>,
    /// Whether sums of products of 8-bit floats stay on the tensor cores, which keep about 14 bits
    /// of them: cuBLASLt's "fast accumulation". Otherwise they are added to f32 after every 128
    /// elements along k, as always with scales of blocks. Other elements have one accumulation.
    pub fast_accumulation: bool,
}

impl<O> Default for GemmOptions<'_, O> {
    /// The product alone.
    fn default() -> Self {
        GemmOptions {
            generation: None,
            precision: Precision::Native,
            bias: None,
            activation: Activation::None,
            residual: None,
            source: Source::Summand,
            scaling: Scaling::None,
            fast_accumulation: false,
        }
    }
}

/// Plans that are kept. A program that has more sizes than this makes them anew.
pub(super) const MAX_PLANS: usize = 1024;

/// Sets of operands of a plan whose tensor maps are kept.
const MAX_TENSOR_MAPS: usize = 64;

/// Products of a device, with what they need beside their operands.
pub(super) struct Products {
    pub(super) device: DeviceLimits,
    plans: Mutex<HashMap<Key, Arc<Planned>>>,
    pub(super) groups: Groups,
    /// What `warpladder tune` found on this device, read when the first product is planned.
    tuned: OnceLock<tuning::Choices>,
    /// Memory for partial products, by the stream, and the number of bytes at its start that hold
    /// zeros between launches: these must stay so. Launches of a stream run one after the
    /// other, so that one of each kind is enough.
    workspaces: Mutex<Workspaces>,
}

/// Memory for partial products, by the stream and the bytes at its start that hold zeros.
type Workspaces = HashMap<(StreamId, usize), DeviceArray<u8>>;

/// A product into a row-major C, and where its matrices lie.
pub(super) struct Described<T: GemmInput> {
    pub description: Description<T>,
    /// A and B.
    pub inputs: [(DevicePtr, u64); 2],
    pub output: DevicePtr,
    /// C, as kernels write it.
    layout: Layout,
    /// Whether that C is the transpose of the one that was asked for.
    is_transposed: bool,
}

/// A product that is planned, and what it is launched with.
pub(super) struct Ready<F> {
    pub planned: Arc<Planned>,
    /// A, B, and what is beside them.
    pub inputs: [(DevicePtr, u64); 4],
    pub output: DevicePtr,
    /// α and β.
    pub factors: [F; 2],
}

/// A plan, and the tensor maps of the operands that it was started with.
pub(super) struct Planned {
    prepared: Prepared,
    maps: Mutex<HashMap<[u64; 4], DeviceArray<u8>>>,
}

/// What a plan depends on: a description without its factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    element: TypeId,
    extents: [u32; 3],
    transposed: [bool; 2],
    leading: [u32; 3],
    batch: u32,
    strides: [u64; 3],
    aligned: [bool; 3],
    c_16bit: bool,
    c_type: u32,
    float8: Float8Operands,
    precision: Precision,
    fusion: Fusion,
    device: DeviceLimits,
}

impl Key {
    /// That of a product on a device.
    pub fn of<T: GemmInput>(description: &Description<T>, device: DeviceLimits) -> Self {
        Key {
            element: TypeId::of::<T>(),
            extents: description.extents,
            transposed: description.transposed,
            leading: description.leading,
            batch: description.batch,
            strides: description.strides,
            aligned: description.aligned,
            c_16bit: description.c_16bit,
            c_type: description.c_type,
            float8: description.float8,
            precision: description.precision,
            fusion: description.fusion,
            device,
        }
    }
}

impl Products {
    pub(super) fn new(device: DeviceLimits) -> Self {
        Products {
            device,
            plans: Mutex::default(),
            groups: Groups::default(),
            tuned: OnceLock::new(),
            workspaces: Mutex::default(),
        }
    }

    /// Describes C ← α · A · B + β · C. Elements of B have as many bytes as those of A.
    pub(super) fn described<T: GemmInto<O>, U: Pod, O: Pod>(
        &self,
        engine: &Arc<dyn Engine>,
        factors: [T::Output; 2],
        (a, b): (MatrixRef<'_, T>, MatrixRef<'_, U>),
        c: &MatrixMut<'_, O>,
    ) -> Result<Described<T>, Error> {
        const { assert!(size_of::<T>() == size_of::<U>()) };
        let here = [
            ("A", a.array.is_on(engine)),
            ("B", b.array.is_on(engine)),
            ("C", c.array.is_on(engine)),
        ];
        if let Some((what, _)) = here.into_iter().find(|(_, here)| !here) {
            return Err(Error::WrongDevice { what });
        }
        matching(a.layout, b.layout, c.layout)?;
        // Kernels write rows. A column-major C is the transpose of Bᵀ · Aᵀ.
        let is_transposed = c.layout.leading_of_rows().is_none();
        let (a, b) = (
            (place(a.array, a.layout), a.layout),
            (place(b.array, b.layout), b.layout),
        );
        let ((a_place, a_layout), (b_place, b_layout), layout) = match is_transposed {
            false => (a, b, c.layout),
            true => {
                let transposed = |(place, layout): (_, Layout)| (place, layout.transposed());
                (transposed(b), transposed(a), c.layout.transposed())
            }
        };
        let (output, _) = place(c.array, layout);
        let places = [a_place.0, b_place.0, output];
        Ok(Described {
            description: describe::<T, O>([a_layout, b_layout, layout], factors, places)?,
            inputs: [a_place, b_place],
            output,
            layout,
            is_transposed,
        })
    }

    /// Plans C ← f(α · A · B + β · C + bias) + residual, or with β · C as a factor. Elements of B
    /// have as many bytes as those of A; of 8-bit floats, `formats` are those of both.
    pub(super) fn ready<T: GemmInto<O>, U: Pod, O: Pod>(
        &self,
        queue: &Queue,
        options: &GemmOptions<'_, O>,
        factors: [T::Output; 2],
        operands: (MatrixRef<'_, T>, MatrixRef<'_, U>),
        c: &MatrixMut<'_, O>,
        formats: Option<[Float8Format; 2]>,
    ) -> Result<Ready<T::Output>, Error> {
        let engine = &queue.engine;
        let device = self.device.with_generation(options.generation)?;
        let Described {
            mut description,
            inputs: [a_place, b_place],
            output,
            layout,
            is_transposed,
        } = self.described(engine, factors, operands, c)?;
        let (fusion, mut beside) = fusion(engine, options, layout, is_transposed)?;
        (description.precision, description.fusion) = (options.precision, fusion);
        let operands = Float8Side {
            formats,
            is_transposed,
            batch: layout.batch,
        };
        if let Some(scales) = operands.describe(engine, options, &mut description)? {
            // No kernel has both: what is fused is refused below.
            beside = scales;
        }
        // Factors and what they allow are no part of a plan.
        description.check()?;
        Ok(Ready {
            planned: self.planned(engine, &description, device)?,
            inputs: [a_place, b_place, beside[0], beside[1]],
            output,
            factors,
        })
    }

    /// Starts products, one after the other, of which each was made ready for matrices that the
    /// caller still borrows.
    pub(super) fn start<F: Pod>(&self, queue: &Queue, products: &[Ready<F>]) -> Result<(), Error> {
        self.start_behind(queue, products, |_| Ok(()))
    }

    /// [`start`](Self::start) behind what `first` starts, with no other thread's launches between.
    pub(super) fn start_behind<F: Pod>(
        &self,
        queue: &Queue,
        products: &[Ready<F>],
        first: impl FnOnce(&Queue) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Held until all launches are started: those of another thread's product on this stream
        // come before or after them, and find the workspace as these leave it.
        let mut workspaces = lock(&self.workspaces);
        first(queue)?;
        products.iter().try_for_each(|product| {
            let planned = &product.planned;
            let mut operands = Operands {
                inputs: &product.inputs,
                output: product.output,
                workspace: workspace(&mut workspaces, queue, &planned.prepared)?,
                maps: DevicePtr(0),
            };
            operands.maps = planned.maps(&queue.engine, &operands)?;
            // SAFETY: the plan was made for these layouts, which their arrays hold (`Layout` is
            // checked against the array where the matrix is made); the workspace and the maps have
            // the sizes that the plan asks for. All of it is freed by functions that wait for the
            // device.
            let start = |launch: &Launch<'_>| unsafe { queue.enqueue(launch) };
            Ok(planned.prepared.start(&operands, product.factors, start)?)
        })
    }

    /// The plan of a product, made where there is none yet.
    pub(super) fn planned<T: GemmInput>(
        &self,
        engine: &Arc<dyn Engine>,
        description: &Description<T>,
        device: DeviceLimits,
    ) -> Result<Arc<Planned>, Error> {
        let key = Key::of(description, device);
        let mut plans = lock(&self.plans);
        if let Some(planned) = plans.get(&key) {
            return Ok(Arc::clone(planned));
        }
        let tuned = self.tuned.get_or_init(|| {
            // A file that cannot be read is none: `warpladder tune` says what is wrong with it.
            let all = tuning::path().and_then(|path| tuning::read(&path));
            tuning::of_environment(all.unwrap_or_default(), &tuning::Environment::of(&**engine))
        });
        let plan = gemm::plan(description, device, tuned)?;
        let planned = Arc::new(Planned {
            prepared: Prepared::new(&**engine, plan)?,
            maps: Mutex::default(),
        });
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(key, Arc::clone(&planned));
        Ok(planned)
    }
}

/// What a product of 8-bit floats is, beside its operands.
struct Float8Side {
    /// The formats of A and B as they were given, where they may differ.
    formats: Option<[Float8Format; 2]>,
    /// Whether the product is the transpose of the one that was asked for.
    is_transposed: bool,
    /// Matrices in the batch.
    batch: usize,
}

impl Float8Side {
    /// Adds formats, accumulation and scales to a description. Returns where the scales of A and B
    /// lie, if there are any.
    fn describe<T: GemmInput, O>(
        self,
        engine: &Arc<dyn Engine>,
        options: &GemmOptions<'_, O>,
        description: &mut Description<T>,
    ) -> Result<Option<[(DevicePtr, u64); 2]>, Error> {
        let float8 = &mut description.float8;
        float8.fast_accumulation = options.fast_accumulation;
        if let Some([a, b]) = self.formats {
            float8.formats = if self.is_transposed { [b, a] } else { [a, b] };
        }
        let extents = description.extents.map(|extent| extent as usize);
        let (batch, is_transposed) = (self.batch, self.is_transposed);
        let (scales, places) =
            scaling::scales(engine, options.scaling, extents, batch, is_transposed)?;
        float8.scales = scales;
        Ok((scales != Scales::None).then_some(places))
    }
}

impl Planned {
    /// Where the tensor maps of these operands lie, if the kernels read any. Those of operands that
    /// the plan was started with before are there already.
    fn maps(&self, engine: &Arc<dyn Engine>, operands: &Operands<'_>) -> Result<DevicePtr, Error> {
        if !self.prepared.has_tensor_maps() {
            return Ok(DevicePtr(0));
        }
        let [a, b] = [0, 1].map(|index| operands.inputs[index].0.0);
        let key = [a, b, operands.output.0, operands.workspace.0];
        let mut kept = lock(&self.maps);
        if let Some(maps) = kept.get(&key) {
            return Ok(maps.pointer());
        }
        if kept.len() >= MAX_TENSOR_MAPS {
            // What was started may still read the old ones.
            engine.synchronize()?;
            kept.clear();
        }
        let maps = self.prepared.tensor_maps(&**engine, operands)?;
        let array = DeviceArray::new(engine, maps.len())?;
        engine.upload(array.pointer(), &maps)?;
        let pointer = array.pointer();
        kept.insert(key, array);
        Ok(pointer)
    }
}

/// The workspace of a plan.
fn workspace(
    workspaces: &mut Workspaces,
    queue: &Queue,
    plan: &Prepared,
) -> Result<DevicePtr, Error> {
    let (bytes, zeroed) = (plan.workspace_bytes(), plan.zeroed_bytes());
    if bytes == 0 {
        return Ok(DevicePtr(0));
    }
    let key = (queue.id(), zeroed);
    if let Some(array) = workspaces.get(&key)
        && array.len() >= bytes
    {
        return Ok(array.pointer());
    }
    // What was started may still use the old one.
    queue.synchronize()?;
    workspaces.remove(&key);
    let array = DeviceArray::new(&queue.engine, bytes)?;
    let pointer = array.pointer();
    queue.engine.upload(pointer, &vec![0; zeroed])?;
    workspaces.insert(key, array);
    Ok(pointer)
}

/// The first element of a matrix, and the number of elements of its array from there on.
pub(super) fn place<T: bytemuck::Pod>(array: &DeviceArray<T>, layout: Layout) -> (DevicePtr, u64) {
    let offset = layout.offset.min(array.len());
    let address = array.pointer().0 + (offset * size_of::<T>()) as u64;
    (DevicePtr(address), (array.len() - offset) as u64)
}

/// What is fused with a product into a row-major C of this layout, and where bias and residual lie,
/// in the order of the plan's inputs. With `is_transposed`, that C is the transpose of the one that
/// the options are for.
fn fusion<O: Pod>(
    engine: &Arc<dyn Engine>,
    options: &GemmOptions<'_, O>,
    c: Layout,
    is_transposed: bool,
) -> Result<(Fusion, [(DevicePtr, u64); 2]), Error> {
    let mut fusion = Fusion {
        activation: options.activation,
        source: options.source,
        ..Fusion::default()
    };
    let mut places = Vec::new();
    if let Some((axis, bias)) = options.bias {
        let axis = if is_transposed {
            axis.transposed()
        } else {
            axis
        };
        let elements = match axis {
            BiasAxis::Row => c.rows,
            BiasAxis::Column => c.columns,
        };
        if !bias.is_on(engine) {
            return Err(Error::WrongDevice { what: "the bias" });
        }
        if bias.len() != elements {
            return Err(Error::Bias {
                elements,
                given: bias.len(),
            });
        }
        fusion.bias = Some(axis);
        places.push((bias.pointer(), bias.len() as u64));
    }
    if let Some(residual) = options.residual {
        let residual = if is_transposed {
            residual.t()
        } else {
            residual
        };
        let layout = residual.layout;
        if !residual.array.is_on(engine) {
            return Err(Error::WrongDevice {
                what: "the residual",
            });
        }
        let same = [layout.rows, layout.columns, layout.batch] == [c.rows, c.columns, c.batch]
            && (c.batch == 1 || layout.batch_stride == c.batch_stride);
        let leading = layout.leading_of_rows().filter(|_| same);
        let leading = leading.ok_or(Error::Residual {
            residual: residual.layout,
            c,
        })?;
        let leading = number("the leading dimension of the residual", leading.max(1))?;
        fusion.residual = Some(leading);
        places.push(place(residual.array, layout));
    }
    let nowhere = (DevicePtr(0), 0);
    let place = |index: usize| places.get(index).copied().unwrap_or(nowhere);
    Ok((fusion, [place(0), place(1)]))
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

/// A number that kernels have 32 bits for.
pub(super) fn number(what: &'static str, value: usize) -> Result<u32, Error> {
    u32::try_from(value).map_err(|_| Error::TooLarge { what, value })
}

/// The product of matrices whose layouts match, into a row-major C.
fn describe<T: GemmInto<O>, O: Pod>(
    [a, b, c]: [Layout; 3],
    [alpha, beta]: [T::Output; 2],
    places: [DevicePtr; 3],
) -> Result<Description<T>, Error> {
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
        c_16bit: T::C_16BIT,
        c_type: T::C_TYPE,
        ..Description::dense([0; 3], [false; 2])
    })
}
