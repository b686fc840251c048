//! What A and B may be made of, and which kernels multiply that.

use super::float8::{E4m3, E5m2, Float8Format, Float8Operands, Scales};
use super::{COMPUTE_CAPABILITY, Description, HOPPER, PORTABLE, Precision};
use crate::device::ComputeCapability;
use crate::element::Element;
use crate::ptx;
use cuda_std::float::GpuFloat;
use half::{bf16, f16};
use kernels_gpu::gemm::epilogue::convert::c_type;
use kernels_gpu::gemm::planner::KernelSet;
use kernels_gpu::gemm::planner::kernel_set::{
    DGEMM, DGEMM_90, DGEMM_PORTABLE, OF_BF16, OF_BF16_80, OF_BF16_90, OF_BF16_TO_BF16,
    OF_BF16_TO_BF16_80, OF_BF16_TO_BF16_90, OF_F16, OF_F16_80, OF_F16_90, OF_F16_TO_F16,
    OF_F16_TO_F16_80, OF_F16_TO_F16_90, OF_F32_SPLIT_80, OF_F32_SPLIT_90, OF_FP8_90,
    OF_FP8_BLOCKS_90, OF_FP8_BLOCKS_TO_16_BITS_90, OF_FP8_FAST_90, OF_FP8_FAST_TO_16_BITS_90,
    OF_FP8_TO_16_BITS_90, OF_I8_80, OF_I8_90, OF_I8_TO_16_BITS_90, OF_TF32_80, OF_TF32_90, SGEMM,
    SGEMM_90, SGEMM_PORTABLE,
};

/// An element type of A and B: `f32` and `f64`, which C has as well; [`f16`](struct@f16), [`bf16`],
/// [`Tf32`], [`E4m3`] and [`E5m2`], which are multiplied exactly and summed in `f32`; and `i8`,
/// which is summed in `i32`. [`GemmInto`] says what C may be made of.
///
/// Sums of `i8` are exact modulo 2³². Those of up to 131,071 products cannot overflow: a product is
/// at most 2¹⁴.
pub trait GemmInput: bytemuck::Pod {
    /// Element type of α and β, and of C unless that is of the 16-bit type of A and B.
    type Output: GemmElement;

    /// Its name.
    const NAME: &'static str;

    /// What kind of 8-bit elements it is, if any.
    const EIGHT_BIT: Option<EightBit> = None;

    /// Whether there are kernels for a compute capability.
    fn is_supported(_: ComputeCapability) -> bool {
        true
    }

    /// The kernels for a compute capability, of a module that is embedded; for a
    /// [16-bit C](super::Description::c_16bit) where `c_16bit`.
    fn kernels(compute_capability: ComputeCapability, c_16bit: bool) -> &'static KernelSet;

    /// The kernels of [`Precision::F32Split`](super::Precision::F32Split), where there are any.
    fn split_kernels(_: ComputeCapability) -> Option<&'static KernelSet> {
        None
    }

    /// The kernels of 8-bit floats for these operands, where those are others.
    fn float8_kernels(_: &Float8Operands, _c_16bit: bool) -> Option<&'static KernelSet> {
        None
    }

    /// The kernels with which [operators](super::Fusion) can be fused, where they are others.
    fn fusing_kernels(_: ComputeCapability, _c_16bit: bool) -> Option<&'static KernelSet> {
        None
    }

    /// The same product of `f32`, where the elements are such and its result is at least as near.
    fn in_f32(_: &Description<Self>) -> Option<Description<f32>> {
        None
    }
}

/// Kinds of 8-bit elements, whose kernels store C of several types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EightBit {
    /// Integers.
    Integer,
    /// Floats.
    Float(Float8Format),
}

/// `kernels` where the module of compute capability 8.0 is embedded and the device takes it.
fn of_ampere(
    compute_capability: ComputeCapability,
    kernels: &'static KernelSet,
) -> Option<&'static KernelSet> {
    (newest(compute_capability, &[COMPUTE_CAPABILITY]) == COMPUTE_CAPABILITY).then_some(kernels)
}

/// f32 of which tensor cores take the sign, the exponent and 10 bits of the fraction, from compute
/// capability 8.0 on. All of its bits are used before that, and where that is faster: for products
/// of which tensor cores would wait for copies of the operands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Tf32(pub f32);

// SAFETY: it is an f32, which is plain old data.
unsafe impl bytemuck::Zeroable for Tf32 {}

// SAFETY: it is an f32, which is plain old data.
unsafe impl bytemuck::Pod for Tf32 {}

impl From<Tf32> for f64 {
    fn from(Tf32(value): Tf32) -> f64 {
        value.into()
    }
}

/// An element type of A and B whose products may be stored to a C of `C`: sums are rounded to it
/// once, to the nearest, ties to even.
pub trait GemmInto<C: bytemuck::Pod>: GemmInput {
    /// See [`Description::c_16bit`](super::Description::c_16bit).
    const C_16BIT: bool;

    /// The type of C, as kernels of 8-bit elements take it; others know it.
    const C_TYPE: u32 = c_type::F32;
}

macro_rules! into_any {
    ($($input:ident { $($c:ty, $c_16bit:literal, $c_type:ident;)* })*) => {
        $($(
            impl GemmInto<$c> for $input {
                const C_16BIT: bool = $c_16bit;
                const C_TYPE: u32 = c_type::$c_type;
            }
        )*)*
    };
}

into_any! {
    i8 {
        i32, false, I32;
        f32, false, F32;
        f16, true, F16;
        bf16, true, BF16;
    }
    E4m3 {
        f32, false, F32;
        f16, true, F16;
        bf16, true, BF16;
    }
    E5m2 {
        f32, false, F32;
        f16, true, F16;
        bf16, true, BF16;
    }
}

impl GemmInto<f32> for f32 {
    const C_16BIT: bool = false;
}

impl GemmInto<f64> for f64 {
    const C_16BIT: bool = false;
}

impl GemmInto<f32> for Tf32 {
    const C_16BIT: bool = false;
}

impl GemmInto<f32> for f16 {
    const C_16BIT: bool = false;
}

impl GemmInto<f16> for f16 {
    const C_16BIT: bool = true;
}

impl GemmInto<f32> for bf16 {
    const C_16BIT: bool = false;
}

impl GemmInto<bf16> for bf16 {
    const C_16BIT: bool = true;
}

/// An element type that all of A, B and C may have, with sums of it.
pub trait GemmElement: GemmInput<Output = Self> + GemmInto<Self> + Element + GpuFloat {}

impl GemmElement for f32 {}

impl GemmElement for f64 {}

impl GemmInput for f32 {
    type Output = f32;
    const NAME: &'static str = "f32";

    fn kernels(compute_capability: ComputeCapability, _: bool) -> &'static KernelSet {
        match newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]) {
            PORTABLE => &SGEMM_PORTABLE,
            HOPPER => &SGEMM_90,
            _ => &SGEMM,
        }
    }

    fn split_kernels(compute_capability: ComputeCapability) -> Option<&'static KernelSet> {
        match newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]) {
            HOPPER => of_ampere(compute_capability, &OF_F32_SPLIT_90),
            _ => of_ampere(compute_capability, &OF_F32_SPLIT_80),
        }
    }

    /// By fused multiply-adds, which are as accurate as its terms.
    fn in_f32(of: &Description<f32>) -> Option<Description<f32>> {
        // No kernel of f32 fuses operators.
        let is_split = of.precision == Precision::F32Split && of.fusion.is_none();
        is_split.then_some(Description {
            precision: Precision::Native,
            ..*of
        })
    }
}

impl GemmInput for f64 {
    type Output = f64;
    const NAME: &'static str = "f64";

    fn kernels(compute_capability: ComputeCapability, _: bool) -> &'static KernelSet {
        match newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]) {
            PORTABLE => &DGEMM_PORTABLE,
            HOPPER => &DGEMM_90,
            _ => &DGEMM,
        }
    }
}

impl GemmInput for Tf32 {
    type Output = f32;
    const NAME: &'static str = "tf32";

    fn kernels(compute_capability: ComputeCapability, _: bool) -> &'static KernelSet {
        match newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]) {
            HOPPER => &OF_TF32_90,
            COMPUTE_CAPABILITY => &OF_TF32_80,
            _ => &SGEMM_PORTABLE,
        }
    }

    fn fusing_kernels(
        compute_capability: ComputeCapability,
        _: bool,
    ) -> Option<&'static KernelSet> {
        of_ampere(compute_capability, &OF_TF32_80)
    }

    /// All bits of the elements are then used.
    fn in_f32(of: &Description<Tf32>) -> Option<Description<f32>> {
        // No kernel of f32 fuses operators.
        of.fusion.is_none().then_some(Description {
            extents: of.extents,
            transposed: of.transposed,
            leading: of.leading,
            batch: of.batch,
            strides: of.strides,
            alpha: of.alpha,
            beta: of.beta,
            aligned: of.aligned,
            c_16bit: of.c_16bit,
            c_type: of.c_type,
            float8: of.float8,
            precision: of.precision,
            fusion: of.fusion,
        })
    }
}

impl GemmInput for f16 {
    type Output = f32;
    const NAME: &'static str = "f16";

    fn kernels(compute_capability: ComputeCapability, c_16bit: bool) -> &'static KernelSet {
        let newest = newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]);
        match (newest, c_16bit) {
            (HOPPER, false) => &OF_F16_90,
            (HOPPER, true) => &OF_F16_TO_F16_90,
            (COMPUTE_CAPABILITY, false) => &OF_F16_80,
            (COMPUTE_CAPABILITY, true) => &OF_F16_TO_F16_80,
            (_, false) => &OF_F16,
            (_, true) => &OF_F16_TO_F16,
        }
    }
}

impl GemmInput for bf16 {
    type Output = f32;
    const NAME: &'static str = "bf16";

    fn kernels(compute_capability: ComputeCapability, c_16bit: bool) -> &'static KernelSet {
        let newest = newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]);
        match (newest, c_16bit) {
            (HOPPER, false) => &OF_BF16_90,
            (HOPPER, true) => &OF_BF16_TO_BF16_90,
            (COMPUTE_CAPABILITY, false) => &OF_BF16_80,
            (COMPUTE_CAPABILITY, true) => &OF_BF16_TO_BF16_80,
            (_, false) => &OF_BF16,
            (_, true) => &OF_BF16_TO_BF16,
        }
    }
}

impl GemmInput for i8 {
    type Output = f32;
    const NAME: &'static str = "i8";
    const EIGHT_BIT: Option<EightBit> = Some(EightBit::Integer);

    fn is_supported(compute_capability: ComputeCapability) -> bool {
        newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]) != PORTABLE
    }

    fn kernels(compute_capability: ComputeCapability, c_16bit: bool) -> &'static KernelSet {
        match (newest(compute_capability, &[HOPPER]), c_16bit) {
            (HOPPER, false) => &OF_I8_90,
            (HOPPER, true) => &OF_I8_TO_16_BITS_90,
            _ => &OF_I8_80,
        }
    }
}

macro_rules! floats_of_8_bits {
    ($($ty:ident: $name:literal;)*) => {
        $(
            impl GemmInput for $ty {
                type Output = f32;
                const NAME: &'static str = $name;
                const EIGHT_BIT: Option<EightBit> = Some(EightBit::Float(Float8Format::$ty));

                fn is_supported(compute_capability: ComputeCapability) -> bool {
                    newest(compute_capability, &[HOPPER]) == HOPPER
                }

                fn kernels(_: ComputeCapability, c_16bit: bool) -> &'static KernelSet {
                    match c_16bit {
                        false => &OF_FP8_90,
                        true => &OF_FP8_TO_16_BITS_90,
                    }
                }

                fn float8_kernels(
                    operands: &Float8Operands,
                    c_16bit: bool,
                ) -> Option<&'static KernelSet> {
                    let has_blocks = matches!(operands.scales, Scales::Block { .. });
                    match (has_blocks, operands.is_fast(), c_16bit) {
                        (true, _, false) => Some(&OF_FP8_BLOCKS_90),
                        (true, _, true) => Some(&OF_FP8_BLOCKS_TO_16_BITS_90),
                        (_, true, false) => Some(&OF_FP8_FAST_90),
                        (_, true, true) => Some(&OF_FP8_FAST_TO_16_BITS_90),
                        _ => None,
                    }
                }
            }
        )*
    };
}

floats_of_8_bits! {
    E4m3: "e4m3";
    E5m2: "e5m2";
}

/// The first of `modules` that is embedded and that a device of this compute capability takes;
/// [`PORTABLE`] where there is none.
fn newest(
    compute_capability: ComputeCapability,
    modules: &[ComputeCapability],
) -> ComputeCapability {
    let mut modules = modules.iter().copied();
    modules
        .find(|&module| ptx::find(module).is_some_and(|module| module.runs_on(compute_capability)))
        .unwrap_or(PORTABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::tuning::Choices;
    use crate::gemm::{Description, DeviceLimits};

    const EXTENTS: [[u32; 3]; 3] = [[64, 64, 64], [1000, 1001, 999], [4096, 4096, 4096]];

    /// The modules of the kernels of products on a device of this compute capability.
    fn modules<T: GemmInput>(
        compute_capability: ComputeCapability,
        c_16bit: bool,
    ) -> Vec<ComputeCapability> {
        let device = DeviceLimits::new(132, compute_capability);
        let mut modules = Vec::new();
        for extents in EXTENTS {
            let mut product = Description::<T>::dense(extents, [false, true]);
            product.c_16bit = c_16bit;
            let plan = crate::gemm::plan(&product, device, &Choices::default()).unwrap();
            for launch in plan.launches {
                let module = ptx::find(launch.compute_capability).expect("an embedded module");
                assert!(module.runs_on(compute_capability), "{}", launch.entry);
                assert!(module.entries().any(|entry| entry == launch.entry));
                modules.push(launch.compute_capability);
            }
        }
        modules
    }

    #[test]
    fn products_are_planned_with_embedded_kernels_alone() {
        for compute_capability in [PORTABLE, COMPUTE_CAPABILITY, HOPPER] {
            for c_16bit in [false, true] {
                modules::<f16>(compute_capability, c_16bit);
                modules::<bf16>(compute_capability, c_16bit);
            }
            modules::<f64>(compute_capability, false);
            modules::<f32>(compute_capability, false);
        }
    }

    #[test]
    fn a_c_with_more_tiles_than_a_grid_takes_is_refused() {
        let device = DeviceLimits::new(132, PORTABLE);
        let product = Description::<f32>::dense([1 << 23, 64, 64], [false; 2]);
        let refused = crate::gemm::plan(&product, device, &Choices::default()).unwrap_err();
        assert!(
            refused.to_string().contains("multiply parts of it"),
            "{refused}"
        );
    }

    #[test]
    fn the_newest_embedded_kernels_are_chosen() {
        let ampere = cfg!(feature = "sm_80");
        let hopper = cfg!(feature = "sm_90a");
        for modules in [modules::<f32>(HOPPER, false), modules::<f64>(HOPPER, false)] {
            assert_eq!(modules.contains(&HOPPER), hopper);
            assert_eq!(modules.contains(&COMPUTE_CAPABILITY), ampere && !hopper);
        }
        let f16 = modules::<f16>(HOPPER, false);
        assert_eq!(f16.contains(&HOPPER), hopper);
    }
}
