//! Arguments of kernels, by their Rust types.

use super::{DeviceArray, Error};
use crate::engine::Engine;
use crate::launch::{Arg, DevicePtr};
use bytemuck::Pod;
use ptx_syntax::signature::{Kind, Parameter};
use std::sync::Arc;

/// Most arguments of a launch: they are kept on the stack, so that a launch allocates nothing.
const MAX_ARGUMENTS: usize = 64;

/// The arguments of a launch so far.
pub struct ArgList<'a> {
    engine: &'a Arc<dyn Engine>,
    args: [Arg<'a>; MAX_ARGUMENTS],
    count: usize,
}

/// An argument of a kernel.
///
/// | argument | parameter of the PTX entry |
/// |---|---|
/// | `&DeviceArray<T>`, `&mut DeviceArray<T>` | the address: 8 bytes; give the second where the kernel writes |
/// | [`Slice`] of an array | the address and the number of elements, as a Rust kernel takes `&[T]`: two of 8 bytes |
/// | `u32`, `i32`, `u64`, `i64` | an integer of 4 or 8 bytes |
/// | `f32`, `f64` | a float of 4 or 8 bytes |
/// | [`ByValue`] of anything plain | its bytes, as a C structure passed by value |
pub trait KernelArg {
    /// Adds it to the list.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for an array of another device, [`Error::TooLarge`] for more than 64
    /// arguments.
    fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error>;
}

/// All arguments of a kernel, in the order of its parameters: a tuple of up to 16 of [`KernelArg`].
pub trait KernelArgs {
    /// Adds them to the list.
    ///
    /// # Errors
    /// As [`KernelArg::push`].
    fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error>;
}

/// An array as a Rust kernel's `&[T]`: its address and its length.
#[derive(Clone, Copy)]
pub struct Slice<'a, T>(pub &'a DeviceArray<T>);

/// A plain value, passed as its bytes.
#[derive(Clone, Copy, Debug)]
pub struct ByValue<T>(pub T);

impl<'a> ArgList<'a> {
    pub(super) fn new(engine: &'a Arc<dyn Engine>) -> Self {
        ArgList {
            engine,
            args: [Arg::U32(0); MAX_ARGUMENTS],
            count: 0,
        }
    }

    pub(super) fn args(&self) -> &[Arg<'a>] {
        &self.args[..self.count]
    }

    pub(super) fn engine(&self) -> &'a Arc<dyn Engine> {
        self.engine
    }

    pub(super) fn add(&mut self, arg: Arg<'a>) -> Result<(), Error> {
        let place = self.args.get_mut(self.count).ok_or(Error::TooMany)?;
        *place = arg;
        self.count += 1;
        Ok(())
    }

    fn add_array<T: Pod>(&mut self, array: &DeviceArray<T>) -> Result<(), Error> {
        if !array.is_on(self.engine) {
            return Err(Error::WrongDevice {
                what: "an argument",
            });
        }
        self.add(Arg::Ptr(array.pointer()))
    }

    /// Compares the arguments with the parameters of a kernel.
    pub(super) fn check(&self, kernel: &str, parameters: &[Parameter]) -> Result<(), Error> {
        if self.count != parameters.len() {
            return Err(Error::ArgumentCount {
                kernel: kernel.to_owned(),
                takes: parameters.len(),
                given: self.count,
            });
        }
        let fits = |arg: &Arg<'_>, parameter: &Parameter| {
            let (bytes, kind) = nature(arg);
            bytes == parameter.bytes
                && (kind == parameter.kind || [kind, parameter.kind].contains(&Kind::Bits))
        };
        let mut pairs = self.args().iter().zip(parameters).enumerate();
        match pairs.find(|(_, (arg, parameter))| !fits(arg, parameter)) {
            None => Ok(()),
            Some((index, (arg, parameter))) => {
                let (bytes, kind) = nature(arg);
                Err(Error::Argument {
                    kernel: kernel.to_owned(),
                    index,
                    given: words(bytes, kind),
                    takes: words(parameter.bytes, parameter.kind),
                })
            }
        }
    }
}

/// Size and kind of an argument.
fn nature(arg: &Arg<'_>) -> (usize, Kind) {
    match arg {
        Arg::Ptr(_) | Arg::U64(_) => (8, Kind::Integer),
        Arg::U32(_) => (4, Kind::Integer),
        Arg::F32(_) => (4, Kind::Float),
        Arg::F64(_) => (8, Kind::Float),
        Arg::Bytes(bytes) => (bytes.len(), Kind::Bits),
    }
}

fn words(bytes: usize, kind: Kind) -> String {
    let kind = match kind {
        Kind::Integer => "an integer or address",
        Kind::Float => "a float",
        Kind::Bits => "a value",
    };
    format!("{kind} of {bytes} bytes")
}

impl<T: Pod> KernelArg for &DeviceArray<T> {
    fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error> {
        list.add_array(self)
    }
}

impl<T: Pod> KernelArg for &mut DeviceArray<T> {
    fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error> {
        list.add_array(self)
    }
}

impl<T: Pod> KernelArg for Slice<'_, T> {
    fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error> {
        list.add_array(self.0)?;
        list.add(Arg::U64(self.0.len() as u64))
    }
}

impl<T: Pod> KernelArg for ByValue<T> {
    fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error> {
        list.add(Arg::Bytes(bytemuck::bytes_of(&self.0)))
    }
}

impl KernelArg for DevicePtr {
    fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error> {
        list.add(Arg::Ptr(*self))
    }
}

/// Gives the types of numbers, each with the function that makes it an [`Arg`], to a macro.
macro_rules! for_numbers {
    ($implement:ident) => {
        $implement! {
            u32 => Arg::U32;
            i32 => |number: i32| Arg::U32(number.cast_unsigned());
            u64 => Arg::U64;
            i64 => |number: i64| Arg::U64(number.cast_unsigned());
            f32 => Arg::F32;
            f64 => Arg::F64;
        }
    };
}
pub(super) use for_numbers;

macro_rules! implement {
    ($($number:ty => $arg:expr;)*) => {
        $(impl KernelArg for $number {
            fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error> {
                list.add($arg(*self))
            }
        })*
    };
}

for_numbers!(implement);

macro_rules! tuples {
    ($($first:ident $($rest:ident)*)?) => {
        $(
            impl<$first: KernelArg, $($rest: KernelArg),*> KernelArgs for ($first, $($rest,)*) {
                fn push<'a>(&'a self, list: &mut ArgList<'a>) -> Result<(), Error> {
                    #[expect(non_snake_case, reason = "elements go by the names of their types")]
                    let ($first, $($rest,)*) = self;
                    $first.push(list)?;
                    $($rest.push(list)?;)*
                    Ok(())
                }
            }
            tuples!($($rest)*);
        )?
    };
}

tuples!(A B C D E F G H I J K L M N O P);

impl KernelArgs for () {
    fn push<'a>(&'a self, _: &mut ArgList<'a>) -> Result<(), Error> {
        Ok(())
    }
}
