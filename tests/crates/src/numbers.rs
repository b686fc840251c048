//! glam, nalgebra, num-traits, num-complex, libm, half, fixed, rand and rand_pcg.

use cuda_std::kernel;
use fixed::types::I16F16;
use glam::{Mat3, Quat, Vec3};
use nalgebra::{Matrix3, Vector3};
use num_complex::Complex32;
use num_traits::{Float, PrimInt};
use rand::{Rng, RngCore, SeedableRng};
use rand_pcg::Pcg32;

/// glam: the vector (1, 2, 3) turned by a quarter about z, then times 2.
///
/// # Safety
/// `output` has 3 elements.
#[kernel]
pub unsafe fn with_glam(output: *mut f32, angle: f32) {
    let turned = Quat::from_rotation_z(angle) * Vec3::new(1.0, 2.0, 3.0);
    let doubled = Mat3::from_diagonal(Vec3::splat(2.0)) * turned;
    // SAFETY: 3 elements.
    unsafe { output.cast::<[f32; 3]>().write(doubled.to_array()) };
}

/// nalgebra: the solution of a system of three equations, and the determinant.
///
/// # Safety
/// `matrix` has 9 elements by columns, `output` 4.
#[kernel]
pub unsafe fn with_nalgebra(matrix: &[f64], output: *mut f64) {
    let matrix = Matrix3::from_column_slice(matrix);
    let solution = matrix.lu().solve(&Vector3::new(1.0, 2.0, 3.0));
    let solution = solution.unwrap_or_default();
    let all = [solution.x, solution.y, solution.z, matrix.determinant()];
    // SAFETY: 4 elements.
    unsafe { output.cast::<[f64; 4]>().write(all) };
}

/// num-traits: a generic power, and a sum of roots.
///
/// # Safety
/// `output` has 2 elements.
#[kernel]
pub unsafe fn with_num_traits(output: *mut f64, x: f64, n: u32) {
    fn roots<T: Float>(x: T) -> T {
        x.sqrt() + x.cbrt()
    }
    fn bits<T: PrimInt>(n: T) -> u32 {
        n.count_ones() + n.trailing_zeros()
    }
    // SAFETY: 2 elements.
    unsafe { output.cast::<[f64; 2]>().write([roots(x), f64::from(bits(n))]) };
}

/// num-complex: the square of a number, and its exponential.
///
/// # Safety
/// `output` has 4 elements.
#[kernel]
pub unsafe fn with_num_complex(output: *mut f32, re: f32, im: f32) {
    let z = Complex32::new(re, im);
    let (square, exp) = (z * z, z.exp());
    // SAFETY: 4 elements.
    unsafe { output.cast::<[f32; 4]>().write([square.re, square.im, exp.re, exp.im]) };
}

/// libm: the gamma function and the error function.
///
/// # Safety
/// `output` has 2 elements.
#[kernel]
pub unsafe fn with_libm(output: *mut f64, x: f64) {
    // SAFETY: 2 elements.
    unsafe { output.cast::<[f64; 2]>().write([libm::tgamma(x), libm::erf(x)]) };
}

/// half: the product of two numbers as the bits of each 16-bit type.
///
/// # Safety
/// `output` has 2 elements.
#[kernel]
pub unsafe fn with_half(output: *mut u16, a: f32, b: f32) {
    let half = half::f16::from_f32(a) * half::f16::from_f32(b);
    let brain = half::bf16::from_f32(a) * half::bf16::from_f32(b);
    // SAFETY: 2 elements.
    unsafe { output.cast::<[u16; 2]>().write([half.to_bits(), brain.to_bits()]) };
}

/// fixed: a quotient and a product of numbers with 16 bits behind the point.
///
/// # Safety
/// `output` has 2 elements.
#[kernel]
pub unsafe fn with_fixed(output: *mut i32, a: i32, b: i32) {
    let (a, b) = (I16F16::from_bits(a), I16F16::from_bits(b));
    // SAFETY: 2 elements.
    unsafe { output.cast::<[i32; 2]>().write([(a / b).to_bits(), (a * b).to_bits()]) };
}

/// rand and rand_pcg: three numbers of a sequence, and one of 1 to 6.
///
/// # Safety
/// `output` has 4 elements.
#[kernel]
pub unsafe fn with_rand(output: *mut u32, seed: u64) {
    let mut sequence = Pcg32::new(seed, 54);
    let mut die = Pcg32::seed_from_u64(seed);
    let numbers = [
        sequence.next_u32(),
        sequence.next_u32(),
        sequence.next_u32(),
        die.random_range(1..=6),
    ];
    // SAFETY: 4 elements.
    unsafe { output.cast::<[u32; 4]>().write(numbers) };
}
