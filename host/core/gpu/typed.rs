//! Launches whose arguments have the types of the kernel's parameters: kernels of the safe form.

use super::Timing;
use super::args::{ArgList, for_numbers};
use super::{ContractError, DeviceArray, Error, Gpu, Grid, Kernel, Layout, MatrixMut, MatrixRef};
use crate::engine::Engine;
use crate::launch::{Arg, DevicePtr};
use crate::timing::Sampling;
use bytemuck::Pod;
use cuda_std::safe::{self, BlockShape, Element, Entry, Ptx, Tiling};
use std::any::{TypeId, type_name};
use std::marker::PhantomData;
use std::sync::Arc;

/// Most extents of a launch: two for each of 16 arguments.
const MAX_EXTENTS: usize = 32;

/// A kernel of the safe form that is loaded: [`Gpu::typed_kernel`].
///
/// Its arguments are a tuple, in the order of the kernel's parameters. The block and tiles in
/// shared memory are no arguments:
///
/// | parameter of the kernel | argument |
/// |---|---|
/// | `Vector<T, N>` | `&DeviceArray<T>` |
/// | `VectorMut<T, N>` | `&mut DeviceArray<T>` |
/// | `Matrix<T, R, C>` | `MatrixRef<T>`, row-major without gaps |
/// | `MatrixMut<T, R, C, …>` | `MatrixMut<T>`, row-major without gaps |
/// | a number | the number |
pub struct TypedKernel<K> {
    kernel: Kernel,
    entry: PhantomData<fn() -> K>,
}

/// What the host gives for a parameter of this type.
pub trait TypedArgument {
    /// The type of the argument.
    type Given<'a>;

    /// Whether the kernel writes it.
    #[doc(hidden)]
    const IS_OUTPUT: bool = false;

    /// Adds it to a launch.
    #[doc(hidden)]
    fn add(given: &Self::Given<'_>, launch: &mut TypedLaunch<'_>) -> Result<(), Error>;
}

/// What the host gives for all parameters: a tuple of up to 16 of [`TypedArgument`].
pub trait TypedArguments {
    /// The tuple of the arguments.
    type Given<'a>;

    /// Whether the kernel writes any of them.
    #[doc(hidden)]
    const HAS_OUTPUT: bool;

    /// Adds them to a launch.
    #[doc(hidden)]
    fn add(given: &Self::Given<'_>, launch: &mut TypedLaunch<'_>) -> Result<(), Error>;
}

/// A launch whose arguments are being checked.
pub struct TypedLaunch<'a> {
    kernel: &'static str,
    block: [u32; 2],
    list: ArgList<'a>,
    /// Of the argument that is being added.
    argument: usize,
    extents: [Option<Dimension>; MAX_EXTENTS],
    /// The blocks that the first output takes.
    blocks: Option<[usize; 2]>,
}

/// The extent of a dimension, as an argument gave it.
#[derive(Clone, Copy)]
struct Dimension {
    id: TypeId,
    extent: usize,
    argument: usize,
}

impl<K: Entry<Parameters: TypedArguments>> TypedKernel<K> {
    /// Loads it: [`Gpu::typed_kernel`].
    pub(super) fn load(gpu: &Gpu, ptx: &Ptx) -> Result<Self, Error> {
        if ptx.package() != K::PACKAGE {
            return Err(Error::Contract(ContractError::Package {
                kernel: K::NAME,
                package: K::PACKAGE,
                given: ptx.package(),
            }));
        }
        Ok(TypedKernel {
            kernel: gpu.module(ptx.text())?.kernel(K::NAME)?,
            entry: PhantomData,
        })
    }

    /// The kernel without its types.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Starts the kernel, with a grid that covers its outputs, and does not wait for it. Where they
    /// have no elements, nothing is started.
    ///
    /// Arguments of another number or type do not compile, nor does an array that is an output and
    /// another argument.
    ///
    /// # Errors
    /// [`Error::Contract`] where extents do not match or are no multiples of what the kernel's
    /// parameters say, [`Error::WrongDevice`], and what the device refuses.
    pub fn launch(
        &self,
        gpu: &Gpu,
        arguments: <K::Parameters as TypedArguments>::Given<'_>,
    ) -> Result<(), Error> {
        let (grid, list) = Self::check(gpu, &arguments)?;
        let Some(grid) = grid else { return Ok(()) };
        // SAFETY: the PTX is of the package that the kernel's type is of (`load`), and its contract
        // has been checked: `safe::Parameter::from_entry`. Outputs are borrowed mutably, and
        // arrays are freed by functions that wait for the device.
        unsafe { self.kernel.start_list(gpu, grid, &list) }
    }

    /// Times the kernel as [`Gpu::time`] does. It runs many times: what it changes in place is
    /// changed as often. Outputs must not be empty.
    ///
    /// # Errors
    /// As [`launch`](Self::launch); [`ContractError::Empty`] where there is nothing to time; and
    /// where the kernel fails.
    pub fn time(
        &self,
        gpu: &Gpu,
        arguments: <K::Parameters as TypedArguments>::Given<'_>,
        sampling: impl Into<Sampling>,
    ) -> Result<Timing, Error> {
        let (grid, list) = Self::check(gpu, &arguments)?;
        let Some(grid) = grid else {
            return Err(Error::Contract(ContractError::Empty { kernel: K::NAME }));
        };
        // SAFETY: the PTX is of the kernel's package, and the contract has been checked, which
        // holds for each of the launches: extents and borrows stay as they are.
        unsafe { self.kernel.time_list(gpu, grid, &list, &sampling.into()) }
    }

    /// The grid, `None` where outputs have no elements, and the arguments of a launch that keeps
    /// the kernel's contract.
    fn check<'a>(
        gpu: &'a Gpu,
        arguments: &<K::Parameters as TypedArguments>::Given<'_>,
    ) -> Result<(Option<Grid>, ArgList<'a>), Error> {
        const {
            assert!(
                <K::Parameters as TypedArguments>::HAS_OUTPUT,
                "a kernel has an output, which says how many blocks there are"
            );
        };
        let mut launch = TypedLaunch {
            kernel: K::NAME,
            block: <K::Block as BlockShape>::SHAPE,
            list: ArgList::new(&gpu.queue.engine),
            argument: 0,
            extents: [None; MAX_EXTENTS],
            blocks: None,
        };
        K::Parameters::add(arguments, &mut launch)?;
        let blocks = launch.blocks.unwrap_or([0, 0]);
        // Extents fit in 32 bits, and a tile has at least one element.
        let blocks = blocks.map(|blocks| u32::try_from(blocks).unwrap_or(u32::MAX));
        let grid = (!blocks.contains(&0)).then(|| Grid::new(blocks, launch.block));
        Ok((grid, launch.list))
    }
}

impl<K: Entry> std::fmt::Debug for TypedKernel<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedKernel").field(&K::NAME).finish()
    }
}

impl<'a> TypedLaunch<'a> {
    /// Adds an array from its element `offset` on.
    fn add_array<T: Pod>(&mut self, array: &DeviceArray<T>, offset: usize) -> Result<(), Error> {
        if !array.is_on(self.engine()) {
            return Err(Error::WrongDevice {
                what: "an argument",
            });
        }
        let DevicePtr(address) = array.pointer();
        let address = address + (offset * size_of::<T>()) as u64;
        self.list.add(Arg::Ptr(DevicePtr(address)))
    }

    fn engine(&self) -> &'a Arc<dyn Engine> {
        self.list.engine()
    }

    /// Adds the extent of the argument along `D`.
    fn add_extent<D: 'static>(&mut self, extent: usize, multiple: usize) -> Result<(), Error> {
        let (kernel, argument) = (self.kernel, self.argument);
        let dimension = short_name::<D>();
        let Ok(passed) = u32::try_from(extent) else {
            return Err(Error::Contract(ContractError::TooLong {
                kernel,
                argument,
                dimension,
                extent,
            }));
        };
        if !extent.is_multiple_of(multiple) {
            return Err(Error::Contract(ContractError::Multiple {
                kernel,
                argument,
                dimension,
                extent,
                multiple,
            }));
        }
        let id = TypeId::of::<D>();
        for known in &mut self.extents {
            match known {
                Some(known) if known.id != id => {}
                Some(known) if known.extent == extent => return self.list.add(Arg::U32(passed)),
                Some(known) => {
                    return Err(Error::Contract(ContractError::Extent {
                        kernel,
                        argument,
                        dimension,
                        extent,
                        other: known.argument,
                        expected: known.extent,
                    }));
                }
                None => {
                    *known = Some(Dimension {
                        id,
                        extent,
                        argument,
                    });
                    return self.list.add(Arg::U32(passed));
                }
            }
        }
        Err(Error::TooMany)
    }

    /// Adds a matrix.
    fn add_matrix<T: Pod, R: 'static, C: 'static>(
        &mut self,
        array: &DeviceArray<T>,
        layout: Layout,
        multiple: usize,
    ) -> Result<(), Error> {
        if !layout.is_dense_by_rows() {
            return Err(Error::Contract(ContractError::Order {
                kernel: self.kernel,
                argument: self.argument,
                layout,
            }));
        }
        self.add_array(array, layout.offset)?;
        self.add_extent::<R>(layout.rows, multiple)?;
        self.add_extent::<C>(layout.columns, multiple)
    }

    /// Says how many blocks an output takes.
    fn add_blocks(&mut self, blocks: [usize; 2]) -> Result<(), Error> {
        match self.blocks {
            Some(first) if first != blocks => Err(Error::Contract(ContractError::Grids {
                kernel: self.kernel,
                argument: self.argument,
                blocks,
                first,
            })),
            _ => {
                self.blocks = Some(blocks);
                Ok(())
            }
        }
    }
}

/// The name of a type without its path.
fn short_name<D>() -> &'static str {
    let name = type_name::<D>();
    name.rsplit("::").next().unwrap_or(name)
}

impl<T: Pod + Element, N: 'static, const MULTIPLE: usize> TypedArgument
    for safe::Vector<T, N, MULTIPLE>
{
    type Given<'a> = &'a DeviceArray<T>;

    fn add(given: &Self::Given<'_>, launch: &mut TypedLaunch<'_>) -> Result<(), Error> {
        launch.add_array(given, 0)?;
        launch.add_extent::<N>(given.len(), MULTIPLE)
    }
}

impl<T: Pod + Element, N: 'static, const MULTIPLE: usize> TypedArgument
    for safe::VectorMut<T, N, MULTIPLE>
{
    type Given<'a> = &'a mut DeviceArray<T>;
    const IS_OUTPUT: bool = true;

    fn add(given: &Self::Given<'_>, launch: &mut TypedLaunch<'_>) -> Result<(), Error> {
        launch.add_array(given, 0)?;
        launch.add_extent::<N>(given.len(), MULTIPLE)?;
        let blocks = given.len().div_ceil(launch.block[0] as usize);
        launch.add_blocks([blocks, 1])
    }
}

impl<T, R, C, const MULTIPLE: usize> TypedArgument for safe::Matrix<T, R, C, MULTIPLE>
where
    T: Pod + Element,
    R: 'static,
    C: 'static,
{
    type Given<'a> = MatrixRef<'a, T>;

    fn add(given: &Self::Given<'_>, launch: &mut TypedLaunch<'_>) -> Result<(), Error> {
        launch.add_matrix::<T, R, C>(given.array, given.layout, MULTIPLE)
    }
}

impl<T, R, C, S, const MULTIPLE: usize> TypedArgument for safe::MatrixMut<T, R, C, S, MULTIPLE>
where
    T: Pod + Element,
    R: 'static,
    C: 'static,
    S: Tiling,
{
    type Given<'a> = MatrixMut<'a, T>;
    const IS_OUTPUT: bool = true;

    fn add(given: &Self::Given<'_>, launch: &mut TypedLaunch<'_>) -> Result<(), Error> {
        let layout = given.layout;
        launch.add_matrix::<T, R, C>(given.array, layout, MULTIPLE)?;
        let (down, across) = (
            layout.rows.div_ceil(S::ROWS),
            layout.columns.div_ceil(S::COLUMNS),
        );
        launch.add_blocks(if S::DOWN {
            [down, across]
        } else {
            [across, down]
        })
    }
}

macro_rules! implement {
    ($($number:ty => $arg:expr;)*) => {
        $(
            impl TypedArgument for $number {
                type Given<'a> = $number;

                fn add(given: &$number, launch: &mut TypedLaunch<'_>) -> Result<(), Error> {
                    launch.list.add($arg(*given))
                }
            }
        )*
    };
}

for_numbers!(implement);

macro_rules! tuples {
    ($($first:ident $($rest:ident)*)?) => {
        $(
            impl<$first: TypedArgument, $($rest: TypedArgument),*> TypedArguments
                for ($first, $($rest,)*)
            {
                type Given<'a> = ($first::Given<'a>, $($rest::Given<'a>,)*);
                const HAS_OUTPUT: bool = $first::IS_OUTPUT $(|| $rest::IS_OUTPUT)*;

                #[expect(non_snake_case, reason = "elements go by the names of their types")]
                fn add(
                    ($first, $($rest,)*): &Self::Given<'_>,
                    launch: &mut TypedLaunch<'_>,
                ) -> Result<(), Error> {
                    <$first as TypedArgument>::add($first, launch)?;
                    $(
                        launch.argument += 1;
                        <$rest as TypedArgument>::add($rest, launch)?;
                    )*
                    Ok(())
                }
            }
            tuples!($($rest)*);
        )?
    };
}

tuples!(A B C D E F G H I J K L M N O P);
