//! The driver's codes for what is wrong.

use super::*;

#[test]
fn what_is_wrong_has_the_drivers_code() {
    let context = context();
    let (_, module) = load(ADD);
    assert_eq!(function(module, c"sub").0, 500);
    assert_eq!(function(context, c"add").0, 400);
    assert_eq!(call!(cuStreamSynchronize(context => Handle)), 400);
    let none: *mut u64 = std::ptr::null_mut();
    assert_eq!(call!(cuMemAlloc_v2(none => *mut u64, 4 => usize)), 1);
    assert_eq!(upload(alloc(8), &[1, 2, 3]), 1);
    assert_eq!(call!(cuArrayDestroy(NONE => Handle)), 400);
    assert_eq!(
        call!(cuEGLStreamConsumerConnect(NONE => Handle, 0 => u64)),
        801
    );

    let text = CString::new(ADD.replace("mad.lo.u32 %r6", "mad.lo.u32 %undeclared"));
    let text = text.expect("no null byte");
    let mut log = [0 as c_char; 200];
    let options: [c_uint; 2] = [5, 6];
    let mut values = [log.as_mut_ptr() as usize, log.len()];
    let mut module = NONE;
    let (to, options, values): (*mut Handle, *const c_uint, *mut usize) =
        (&mut module, options.as_ptr(), values.as_mut_ptr());
    let code = call!(cuModuleLoadDataEx(
        to => *mut Handle, text.as_ptr() => *const c_char, 2 => c_uint, options => *const c_uint,
        values => *mut usize
    ));
    assert_eq!(code, 218);
    // SAFETY: the function ends the text in a null byte.
    let log = unsafe { CStr::from_ptr(log.as_ptr()) }
        .to_string_lossy()
        .into_owned();
    assert!(
        log.contains("%undeclared") && log.contains("line 2"),
        "{log}"
    );
    assert_eq!(load(&ADD.replace("sm_70", "sm_100")).0, 218);
    // An instruction that is refused with a reason concerns the kernel that has it alone.
    let refused = ".visible .entry refused() { tcgen05.shift.cta_group::1.down [0]; ret; }";
    let (code, module) = load(&format!("{ADD}\n{refused}\n"));
    assert_eq!(code, 0);
    assert_eq!(function(module, c"refused").0, 801);
    assert_eq!(function(module, c"add").0, 0);
}

#[test]
fn an_illegal_address_breaks_the_context() {
    let context = context();
    let add = function(load(ADD).1, c"add").1;
    let good = alloc(256);
    assert_eq!(launch(add, NONE, [good, good, good + (1 << 30)], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 700);
    assert_eq!(download(good, &mut [0; 4]), 700);
    assert_eq!(launch(add, NONE, [good; 3], 64), 700);
    assert_eq!(call!(cuCtxDestroy_v2(context => Handle)), 0);
}

/// `trap` is legal: the launch failed, and not by an illegal instruction (715).
#[test]
fn a_kernel_that_traps_is_a_failed_launch() {
    let context = context();
    let add = function(
        load(&ADD.replace("mul.wide.u32 %rd4", "trap; mul.wide.u32 %rd4")).1,
        c"add",
    );
    let good = alloc(256);
    assert_eq!(launch(add.1, NONE, [good; 3], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 719);
    assert_eq!(call!(cuCtxDestroy_v2(context => Handle)), 0);
}

/// A program may ask for the name of any code of `cuda.h`.
#[test]
fn every_code_has_a_name() {
    for (code, expected) in [
        (1, Some("CUDA_ERROR_INVALID_VALUE")),
        (202, Some("CUDA_ERROR_CONTEXT_ALREADY_CURRENT")),
        (214, Some("CUDA_ERROR_ECC_UNCORRECTABLE")),
        (919, Some("CUDA_ERROR_FABRIC_NOT_READY")),
        (4711, None),
    ] {
        let mut texts: [*const c_char; 2] = [std::ptr::null(); 2];
        let (name, text): (*mut *const c_char, *mut *const c_char) =
            (&raw mut texts[0], &raw mut texts[1]);
        let found = call!(cuGetErrorName(code => u32, name => *mut *const c_char));
        let told = call!(cuGetErrorString(code => u32, text => *mut *const c_char));
        assert_eq!(found, u32::from(expected.is_none()), "{code}");
        assert_eq!(told, found, "{code}");
        if let Some(expected) = expected {
            // SAFETY: the function has stored a text that ends in a null byte.
            let name = unsafe { CStr::from_ptr(texts[0]) };
            assert_eq!(name.to_str(), Ok(expected));
            assert!(!texts[1].is_null());
        }
    }
}
