//! Functions that are one PTX instruction of registers, where LLVM has no intrinsic for it.

/// `name(argument: type, …) -> type = "opcode", class of the result, classes of the arguments`: a
/// function that is this instruction.
///
/// The instruction depends on its operands alone, and has no effect but its result. On a host the
/// function computes the expression behind `host`, or panics where there is none.
macro_rules! instructions {
    ($(
        $(#[$meta:meta])*
        $name:ident($($arg:ident: $ty:ty = $class:ident),*) -> $ret:ty = $to:ident, $opcode:expr
            $(, host $host:expr)?;
    )*) => {
        $(
            $(#[$meta])*
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            pub fn $name($($arg: $ty),*) -> $ret {
                #[cfg(target_arch = "nvptx64")]
                {
                    let result: $ret;
                    // SAFETY: computes in registers, and is defined for every operand.
                    unsafe {
                        core::arch::asm!(
                            concat!($opcode, " {result}", $(", {", stringify!($arg), "}",)* ";"),
                            result = lateout($to) result,
                            $($arg = in($class) $arg,)*
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    result
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    instructions!(@host $name $($arg)*; $($host)?)
                }
            }
        )*
    };
    (@host $name:ident $($arg:ident)*; ) => {{
        $(let _ = $arg;)*
        panic!(concat!("cuda_std: ", stringify!($name), " needs a GPU or the PTX emulator"))
    }};
    (@host $name:ident $($arg:ident)*; $host:expr) => { ($host)($($arg),*) };
}

pub(crate) use instructions;
