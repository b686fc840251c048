//! The driver's functions: printing, the heap, and failed assertions; and libdevice's names.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use cuda_std::float::{FloatExt, GpuFloat};
use cuda_std::prelude::*;
use cuda_std::{assert, assert_eq, intrinsics, print, println};

/// Prints a line for each thread, formatted by `core`.
///
/// # Safety
/// Any launch.
#[kernel]
pub unsafe fn print_lines(x: f32) {
    let i = thread::index();
    println!("thread {i}: {:?} and {:>6.2} %s", Some(i * 3), x);
    if i == 0 {
        print!("{}", "no line end; ");
        println!();
    }
}

/// A vector, a box, a string and aligned memory on the heap: the sum of 0 to n, and the bytes of a
/// text.
///
/// # Safety
/// `output` has 4 elements for each thread of the grid.
#[kernel]
pub unsafe fn on_the_heap(n: u32, output: *mut u32) {
    #[repr(align(64))]
    struct Aligned(u32);

    let i = thread::index();
    let numbers: Vec<u32> = (0..=n).map(|k| k + i).collect();
    let boxed: Box<dyn Fn(u32) -> u32> = Box::new(move |x| x * n + i);
    let text: String = format!("{}-{:03}", n, i);
    let aligned = Box::new(Aligned(i + 1));
    let at = (&raw const *aligned).addr();
    let row = [
        numbers.iter().sum(),
        boxed(2),
        text.bytes().map(u32::from).sum(),
        if at % 64 == 0 { aligned.0 } else { 0 },
    ];
    // SAFETY: 4 elements for each thread.
    unsafe { output.cast::<[u32; 4]>().add(i as usize).write(row) };
}

/// Ends the kernel with a message where `x` is not 3.
///
/// # Safety
/// `output` has an element.
#[kernel]
pub unsafe fn assert_three(x: u32, output: *mut u32) {
    assert!(x < 100, "{x} is too large");
    assert_eq!(x, 3);
    // SAFETY: one element.
    unsafe { output.write(x) };
}

/// Functions of floats that `libm` computes, in both types. 12 columns a thread.
///
/// # Safety
/// `output` and `output_f64` have 12 elements for each one of `input`.
#[kernel]
pub unsafe fn functions(input: &[f64], output: *mut f32, output_f64: *mut f64) {
    macro_rules! row {
        ($x:expr) => {{
            let x = $x;
            [
                GpuFloat::exp(x),
                GpuFloat::sin(x),
                GpuFloat::atan(x),
                GpuFloat::hypot(x, 2.0),
                GpuFloat::powf(x, 1.5),
                GpuFloat::rem_euclid(x, 0.7),
                x.error_function(),
                x.norm_cdf(),
                x.log_gamma(),
                x.j0(),
                x.rcbrt(),
                x.scaled_complementary_error_function(),
            ]
        }};
    }
    let i = thread::index() as usize;
    if let Some(&x) = input.get(i) {
        // SAFETY: 12 columns.
        unsafe {
            output.cast::<[f32; 12]>().add(i).write(row!(x as f32));
            output_f64.cast::<[f64; 12]>().add(i).write(row!(x));
        }
    }
}

/// Instructions with a rounding of their own, by libdevice's names.
///
/// # Safety
/// `output` has 16 elements.
#[kernel]
pub unsafe fn rounded(a: f32, b: f32, d: f64, output: *mut u64) {
    let single = |x: f32| u64::from(x.to_bits());
    let values = [
        single(intrinsics::fadd_rd(a, b)),
        single(intrinsics::fadd_ru(a, b)),
        single(intrinsics::fmul_rz(a, b)),
        single(intrinsics::fdiv_ru(a, b)),
        single(intrinsics::fsqrt_rd(a)),
        single(intrinsics::frcp_rn(b)),
        single(intrinsics::fmaf_ru(a, b, a)),
        single(intrinsics::double2float_rd(d)),
        intrinsics::double2int_ru(d) as u64,
        intrinsics::float2ll_rd(a) as u64,
        single(intrinsics::ll2float_ru(16_777_217)),
        intrinsics::ll2double_rz(i64::MAX).to_bits(),
        intrinsics::dadd_ru(d, 1e-30).to_bits(),
        intrinsics::dmul_rd(d, d).to_bits(),
        intrinsics::fma_rz(d, d, -d).to_bits(),
        intrinsics::umulhi(-1, 2) as u64,
    ];
    // SAFETY: 16 elements.
    unsafe { output.cast::<[u64; 16]>().write(values) };
}
