//! The attributes of warpladder's `cuda_std`: `#[kernel]`, `#[address_space]` and others.
//!
//! Use it through `cuda_std::prelude`, where it is documented together with the rest of the
//! library.

mod attributes;
mod kernel;
mod safe;

use proc_macro::TokenStream;

/// Turns an `unsafe fn` into a GPU kernel: an entry point of the PTX module with the function's own
/// name.
///
/// ```text
/// #[kernel(max_threads = 256, min_blocks = 2)]
/// pub unsafe fn scale(input: &[f32], output: *mut f32, factor: f32) { /* … */ }
/// ```
///
/// # Parameters as the caller passes them
///
/// | written | passed by the host |
/// |---|---|
/// | `T`, `*const T`, `*mut T` | the value itself |
/// | `&T` | a device pointer; loads through it use the read-only path (`ld.global.nc`) |
/// | `&[T]` | a device pointer and a `usize` length; loads use the read-only path |
/// | `&mut [T]` | a device pointer and a `usize` length |
///
/// # Launch bounds
///
/// `max_threads = N` becomes the PTX directive `.maxntid N, 1, 1` (PTX ISA, "Performance-Tuning
/// Directives"), `min_blocks = N` becomes `.minnctapersm N` and `max_registers = N` becomes
/// `.maxnreg N`. Each takes a constant expression. They reach the PTX through `cuda_builder`.
///
/// # Errors
///
/// A function that is not `unsafe`, returns a value, is `async`, `const`, generic or a method, or
/// takes a pattern for a parameter is refused at compile time.
///
/// # On other targets
///
/// On a host target the function stays an ordinary `unsafe fn` with the parameters as written: it
/// type-checks, documents and lints, but the index functions panic when it is called.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attr.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Turns a `fn` into a GPU kernel of the safe form: `cuda_std::safe::kernel`.
///
/// ```text
/// #[kernel]
/// pub fn add(block: Block<256>, a: Vector<f32, N>, mut c: VectorMut<f32, N>) { /* … */ }
///
/// #[kernel(instances(scale_f32 = <f32>, scale_f64 = <f64>))]
/// pub fn scale<T: Element + Mul<Output = T>>(
///     block: Block<256>,
///     factor: T,
///     mut x: VectorMut<T, N>,
/// ) { /* … */ }
/// ```
///
/// The first parameter is the block. Those marked `#[shared]` are shared tiles, which a launch does
/// not pass. Each other one is passed by the host, as its type says (`cuda_std::safe::Parameter`).
///
/// On the GPU target it makes a PTX entry of the function's name, or one of each instance's name.
/// On a host target it makes a type of the function's name, which the launch names:
/// `gpu.typed_kernel::<add>(&PTX)`, `gpu.typed_kernel::<scale<f32>>(&PTX)`. A launch of an instance
/// that is not in the list does not compile.
///
/// # Launch bounds
///
/// The block's type becomes `.maxntid`; `min_blocks = N` and `max_registers = N` are those of the
/// other `#[kernel]`.
///
/// # Errors
///
/// A function that is `unsafe`, returns a value, is `async`, `const` or a method, has lifetimes, or
/// is generic without instances is refused at compile time, as is an instance with more or fewer
/// arguments than the function has generic parameters.
#[proc_macro_attribute]
pub fn safe_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    safe::expand(attr.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Says in which state space a static is: `shared`, `global` or `constant`.
///
/// ```text
/// #[address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 256] = [const { MaybeUninit::uninit() }; 256];
/// ```
///
/// A shared one stands in a kernel or in a function, before its first use. On a device it becomes a
/// variable of that name, a reference to a shared array of the block; its value is not used, as
/// shared memory is not initialised. So it takes no `&raw mut`: index it, or call its methods.
///
/// The others stay as they are, in global memory; reads of a static that cannot change go through
/// the read-only path.
///
/// # Errors
///
/// Another state space, or a shared static that is not `mut`.
#[proc_macro_attribute]
pub fn address_space(attr: TokenStream, item: TokenStream) -> TokenStream {
    attributes::address_space(attr.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// A function that runs on a device only: on a host it panics, and its body need not compile.
///
/// # Errors
///
/// Arguments.
#[proc_macro_attribute]
pub fn gpu_only(attr: TokenStream, item: TokenStream) -> TokenStream {
    attributes::gpu_only(attr.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// A function that the PTX shows under its name, so that other PTX can call it.
///
/// # Errors
///
/// The function lacks `#[unsafe(no_mangle)]`; arguments.
#[proc_macro_attribute]
pub fn externally_visible(attr: TokenStream, item: TokenStream) -> TokenStream {
    attributes::externally_visible(attr.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
