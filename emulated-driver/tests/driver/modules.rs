//! Modules, their functions and their variables.

use super::*;

#[test]
fn vectors_are_added_and_a_global_scales_them() {
    context();
    let (code, module) = load(ADD);
    assert_eq!(code, 0);
    let (code, add) = function(module, c"add");
    assert_eq!(code, 0);
    let n = 1000;
    let buffers = [alloc(4 * n), alloc(4 * n), alloc(4 * n)];
    let values: Vec<u32> = (0..n as u32).collect();
    assert_eq!(upload(buffers[0], &values), 0);
    assert_eq!(upload(buffers[1], &values), 0);
    assert_eq!(launch(add, NONE, buffers, n as u32), 0);
    let mut result = vec![0; n];
    assert_eq!(download(buffers[2], &mut result), 0);
    assert!(
        result
            .iter()
            .zip(&values)
            .all(|(result, value)| *result == 4 * value)
    );

    let (mut global, mut bytes) = (0u64, 0usize);
    let (to, size): (*mut u64, *mut usize) = (&mut global, &mut bytes);
    let name = c"scale".as_ptr();
    let code = call!(cuModuleGetGlobal_v2(
        to => *mut u64, size => *mut usize, module => Handle, name => *const c_char
    ));
    assert_eq!((code, bytes), (0, 4));
    assert_eq!(upload(global, &[10]), 0);
    assert_eq!(launch(add, NONE, buffers, n as u32), 0);
    assert_eq!(download(buffers[2], &mut result), 0);
    assert!(
        result
            .iter()
            .zip(&values)
            .all(|(result, value)| *result == 11 * value)
    );
}

/// Kernels of a long module are decoded when they are used, but its syntax is checked at once.
#[test]
fn the_syntax_of_a_long_module_is_checked_when_it_is_loaded() {
    context();
    let comment = "// long\n".repeat(1 << 20);
    assert_eq!(load(&format!("{ADD}{comment}")).0, 0);
    for (right, wrong) in [("mad.lo.u32 %r6", "mad.lo.u32 %r6 %r6"), ("ret;", "ret")] {
        assert!(ADD.contains(right));
        let text = format!("{}{comment}", ADD.replace(right, wrong));
        assert_eq!(load(&text).0, 218, "{wrong}");
    }
}

/// What a kernel has of constants and of local memory is what its PTX says.
#[test]
fn attributes_of_a_function() {
    context();
    let text = ADD.replace(
        ".visible .global .align 4 .u32 scale = 3;",
        ".visible .global .align 4 .u32 scale = 3; .const .align 4 .b8 table[20];",
    );
    let text = text.replace(
        ".reg .pred %p<2>;",
        ".local .align 4 .b8 own[40]; .reg .pred %p<2>;",
    );
    let add = function(load(&text).1, c"add").1;
    for (attribute, wanted) in [(1, 0), (2, 20), (3, 40), (5, 70), (6, 90)] {
        let mut found = -1;
        let to: *mut c_int = &mut found;
        let code = call!(cuFuncGetAttribute(
            to => *mut c_int, attribute => c_uint, add => Handle
        ));
        assert_eq!((code, found), (0, wanted), "{attribute}");
    }
    // Programs divide by the registers of a thread.
    let mut registers = 0;
    let to: *mut c_int = &mut registers;
    assert_eq!(
        call!(cuFuncGetAttribute(to => *mut c_int, 4 => c_uint, add => Handle)),
        0
    );
    assert!((1..=64).contains(&registers), "{registers}");
}

#[test]
fn the_address_of_a_variable_is_one_of_a_device() {
    let context = context();
    let (code, module) = load(ADD);
    assert_eq!(code, 0);
    let (mut address, mut bytes) = (0, 0);
    let (to, length): (*mut u64, *mut usize) = (&mut address, &mut bytes);
    let name = c"scale".as_ptr();
    assert_eq!(
        call!(cuModuleGetGlobal_v2(
            to => *mut u64, length => *mut usize, module => Handle, name => *const c_char
        )),
        0
    );
    let attribute = |number: c_uint| {
        let mut value = 0u64;
        let to: *mut u64 = &mut value;
        let code = call!(cuPointerGetAttribute(
            to => *mut u64, number => c_uint, address => u64
        ));
        (code, value)
    };
    // Its context, and the type of memory: a device's.
    assert_eq!(attribute(1), (0, context.expose_provenance() as u64));
    assert_eq!(attribute(2), (0, 2));
    // Its range, by an address inside.
    let (mut base, mut range) = (0, 0);
    let (to, length): (*mut u64, *mut usize) = (&mut base, &mut range);
    assert_eq!(
        call!(cuMemGetAddressRange_v2(
            to => *mut u64, length => *mut usize, address + 2 => u64
        )),
        0
    );
    assert_eq!((base, range), (address, bytes));
}

/// A library belongs to no context: it is there for the primary one that comes after it.
#[test]
fn a_library_needs_no_current_context() {
    assert_eq!(call!(cuInit(0 => c_uint)), 0);
    assert_eq!(call!(cuCtxSetCurrent(NONE => Handle)), 0);
    let text = CString::new(ADD).expect("no null byte");
    let (mut library, mut kernel, mut primary) = (NONE, NONE, NONE);
    let to: *mut Handle = &mut library;
    let load = |text: &CString| {
        call!(cuLibraryLoadData(
            to => *mut Handle, text.as_ptr() => *const c_char, NONE => Handle, NONE => Handle,
            0 => c_uint, NONE => Handle, NONE => Handle, 0 => c_uint
        ))
    };
    assert_eq!(load(&text), 0);
    let (to, name): (*mut Handle, _) = (&mut kernel, c"add".as_ptr());
    let code = call!(cuLibraryGetKernel(
        to => *mut Handle, library => Handle, name => *const c_char
    ));
    assert_eq!(code, 0);
    // What a kernel's parameters are is asked for in a context, and a module is loaded in one.
    let (mut offset, mut bytes) = (9usize, 9usize);
    let places: [*mut usize; 2] = [&mut offset, &mut bytes];
    let second = || {
        call!(cuKernelGetParamInfo(
            kernel => Handle, 1 => usize, places[0] => *mut usize, places[1] => *mut usize
        ))
    };
    assert_eq!(second(), 201);
    assert_eq!(self::load(ADD).0, 201);
    let to: *mut Handle = &mut primary;
    let code = call!(cuDevicePrimaryCtxRetain(to => *mut Handle, 0 => c_int));
    assert_eq!((code, call!(cuCtxSetCurrent(primary => Handle))), (0, 0));
    assert_eq!((second(), offset, bytes), (0, 8, 8));
    let buffers = [alloc(4), alloc(4), alloc(4)];
    assert_eq!((upload(buffers[0], &[1]), upload(buffers[1], &[2])), (0, 0));
    assert_eq!(launch(kernel, NONE, buffers, 1), 0);
    let mut found = [0];
    assert_eq!((download(buffers[2], &mut found), found), (0, [7]));
}

/// A block has dynamic shared memory for what the function may have, and not for what is there.
#[test]
fn occupancy_counts_what_a_function_may_have() {
    context();
    let add = function(load(ADD).1, c"add").1;
    let mut bytes = 9usize;
    let to: *mut usize = &mut bytes;
    let available = || {
        let code = call!(cuOccupancyAvailableDynamicSMemPerBlock(
            to => *mut usize, add => Handle, 1 => c_int, 64 => c_int
        ));
        // SAFETY: the pointer is to a local variable.
        (code, unsafe { to.read() })
    };
    assert_eq!(available(), (0, 48 << 10));
    // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
    let code = call!(cuFuncSetAttribute(
        add => Handle, 8 => c_uint, 100 << 10 => c_int
    ));
    assert_eq!((code, available()), (0, (0, 100 << 10)));
    let mut name: *const c_char = std::ptr::null();
    let to: *mut *const c_char = &mut name;
    let code = call!(cuFuncGetName(to => *mut *const c_char, NONE => Handle));
    assert_eq!(code, 1);
}
