//! The one dispatch over element types.

/// Runs an expression with `T` as the Rust type of an
/// [`ElementType`](warpladder::element::ElementType).
///
/// ```
/// use warpladder::element::ElementType;
/// use warpladder_lab::dispatch_element;
///
/// let bytes = dispatch_element!(ElementType::Bf16, T => size_of::<T>());
/// assert_eq!(bytes, 2);
/// ```
#[macro_export]
macro_rules! dispatch_element {
    ($element:expr, $T:ident => $run:expr) => {
        match $element {
            ::warpladder::element::ElementType::F16 => {
                type $T = $crate::element::f16;
                $run
            }
            ::warpladder::element::ElementType::Bf16 => {
                type $T = $crate::element::bf16;
                $run
            }
            ::warpladder::element::ElementType::F32 => {
                type $T = f32;
                $run
            }
            ::warpladder::element::ElementType::F64 => {
                type $T = f64;
                $run
            }
        }
    };
}

#[doc(hidden)]
pub use half::{bf16, f16};
