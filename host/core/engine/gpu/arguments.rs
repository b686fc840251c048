//! Arguments of a launch as the driver takes them: one pointer for each parameter.

use crate::launch::{Arg, DevicePtr};
use std::ffi::c_void;

/// Most arguments of a launch: they are passed on from the stack, so that a launch allocates
/// nothing.
pub(super) const MAX_ARGUMENTS: usize = 64;

/// One pointer to each argument's bytes, after their number and sizes are seen to be the
/// parameters'.
pub(super) fn argument_pointers<'p>(
    pointers: &'p mut [*mut c_void; MAX_ARGUMENTS],
    args: &[Arg<'_>],
    parameters: &[usize],
) -> Result<&'p mut [*mut c_void], String> {
    if args.len() != parameters.len() {
        return Err(format!(
            "it takes {} arguments, not {}",
            parameters.len(),
            args.len()
        ));
    }
    if args.len() > MAX_ARGUMENTS {
        return Err(format!(
            "it takes {} arguments, which is more than {MAX_ARGUMENTS}: pass them in a structure",
            args.len()
        ));
    }
    let pair = args.iter().zip(parameters);
    for (index, (pointer, (arg, &size))) in pointers.iter_mut().zip(pair).enumerate() {
        let bytes = argument_bytes(arg);
        if bytes.len() != size {
            return Err(format!(
                "argument {index} has {} bytes, its parameter has {size}",
                bytes.len()
            ));
        }
        *pointer = bytes.as_ptr().cast_mut().cast();
    }
    Ok(&mut pointers[..args.len()])
}

fn argument_bytes<'a>(arg: &'a Arg<'_>) -> &'a [u8] {
    match arg {
        Arg::Ptr(DevicePtr(address)) => bytemuck::bytes_of(address),
        Arg::U32(value) => bytemuck::bytes_of(value),
        Arg::U64(value) => bytemuck::bytes_of(value),
        Arg::F32(value) => bytemuck::bytes_of(value),
        Arg::F64(value) => bytemuck::bytes_of(value),
        Arg::Bytes(bytes) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_must_match_the_parameters() {
        let args = [
            Arg::Ptr(DevicePtr(1)),
            Arg::U32(2),
            Arg::F64(3.0),
            Arg::Bytes(&[0; 16]),
        ];
        let check = |args: &[Arg<'_>], parameters: &[usize]| {
            let mut pointers = [std::ptr::null_mut(); MAX_ARGUMENTS];
            argument_pointers(&mut pointers, args, parameters).map(|list| list.len())
        };
        assert_eq!(check(&args, &[8, 4, 8, 16]), Ok(4));
        let few = check(&args[..1], &[8, 4]).unwrap_err();
        assert_eq!(few, "it takes 2 arguments, not 1");
        let short = check(&args[..2], &[8, 8]).unwrap_err();
        assert_eq!(short, "argument 1 has 4 bytes, its parameter has 8");
        let many = check(&[Arg::U32(0); 65], &[4; 65]).unwrap_err();
        assert!(many.contains("more than 64"), "{many}");
    }

    #[test]
    fn pointers_lead_to_the_values() {
        let args = [Arg::F32(1.5), Arg::U64(u64::MAX - 1)];
        let mut pointers = [std::ptr::null_mut(); MAX_ARGUMENTS];
        let pointers = argument_pointers(&mut pointers, &args, &[4, 8]).unwrap();
        // SAFETY: the pointers are to the values in `args`.
        let values = unsafe {
            (
                pointers[0].cast::<f32>().read(),
                pointers[1].cast::<u64>().read(),
            )
        };
        assert_eq!(values, (1.5, u64::MAX - 1));
    }
}
