//! Separately compiled device code (`nvcc -rdc=true`): the fat binaries of translation units, whose
//! PTX is linked.

use super::runtime::{Dim3, fat_binary, malloc};
use super::*;

/// Calls a function and reads a variable of the other unit.
const CALLER: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 out) helper(.param .b32 in);
.extern .global .align 4 .u32 addend;
.weak .func (.param .b32 out) twice(.param .b32 in) {
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [in];
    add.u32 %r1, %r1, %r1;
    st.param.b32 [out], %r1;
    ret;
}
.visible .entry caller(.param .u64 to) {
    .reg .b32 %r<4>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, 20;
    {
        .param .b32 in; .param .b32 out;
        st.param.b32 [in], %r1;
        call.uni (out), helper, (in);
        ld.param.b32 %r2, [out];
    }
    ld.global.u32 %r3, [addend];
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    ret;
}
"#;

/// Defines both, and again the weak function.
const HELPER: &str = r#"
.version 7.1
.target sm_75
.address_size 64
.visible .global .align 4 .u32 addend = 2;
.weak .func (.param .b32 out) twice(.param .b32 in) {
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [in];
    add.u32 %r1, %r1, %r1;
    st.param.b32 [out], %r1;
    ret;
}
.visible .func (.param .b32 out) helper(.param .b32 in) {
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [in];
    {
        .param .b32 in2; .param .b32 out2;
        st.param.b32 [in2], %r1;
        call.uni (out2), twice, (in2);
        ld.param.b32 %r2, [out2];
    }
    st.param.b32 [out], %r2;
    ret;
}
"#;

/// The handle of a program whose units have these texts.
fn register(units: &[&str]) -> Handle {
    // The second word of a wrapper is the address of its fat binary.
    // SAFETY: the wrappers live as long as the test and have three words.
    let image = |text: &str| unsafe { *fat_binary(text).add(1) };
    // Without a text it has no entry at all.
    let empty = Box::leak(Box::new([0x0010_0001_ba55_ed50u64, 0])).as_ptr();
    let address = |place: *const u64| place.expose_provenance() as u64;
    let image = |text: &&str| match text.is_empty() {
        true => address(empty),
        false => image(text),
    };
    let mut list: Vec<u64> = units.iter().map(image).collect();
    list.push(0);
    let list = Box::leak(list.into_boxed_slice()).as_ptr();
    // Version 2: separately compiled.
    let wrapper = [0x2_4662_43b1, address(empty), address(list)];
    let wrapper = Box::leak(Box::new(wrapper));
    // SAFETY: the types are those of CUDA's host_runtime.h.
    let register = unsafe {
        library().get::<unsafe extern "C" fn(*const u64) -> Handle>(b"__cudaRegisterFatBinary\0")
    };
    // SAFETY: the wrapper, its list and its images live as long as the test.
    unsafe { register.expect("exported")(wrapper.as_ptr()) }
}

/// What a launch and the copy behind it return, and what the kernel has stored.
fn launch_caller(units: &[&str]) -> (u32, u32, u32) {
    let binary = register(units);
    let kernel: *mut Handle = Box::leak(Box::new(NONE));
    let (name, none) = (c"caller".as_ptr(), NONE);
    call!(__cudaRegisterFunction(
        binary => Handle, kernel => *mut Handle, name => *const c_char, name => *const c_char,
        -1 => c_int, none => Handle, none => Handle, none => Handle, none => Handle, none => Handle
    ));
    call!(__cudaRegisterFatBinaryEnd(binary => Handle));
    let to = malloc(4);
    let mut arguments: [*const c_void; 1] = [(&raw const to).cast()];
    let each = arguments.as_mut_ptr();
    let launched = call!(cudaLaunchKernel(
        kernel => *mut Handle, Dim3(1, 1, 1) => Dim3, Dim3(1, 1, 1) => Dim3,
        each => *mut *const c_void, 0 => usize, NONE => Handle
    ));
    let mut value = [0];
    let copied = download(to, &mut value);
    (launched, copied, value[0])
}

#[test]
fn separately_compiled_units_are_linked() {
    context();
    assert_eq!(launch_caller(&[CALLER, HELPER]), (0, 0, 42));
    assert_eq!(launch_caller(&[HELPER, CALLER]), (0, 0, 42));
    // A unit of machine code alone, as that of CUDA's device runtime.
    assert_eq!(launch_caller(&[CALLER, "", HELPER]), (0, 0, 42));
    // Without any PTX, and without the unit that is called, where the call is the fault.
    assert_eq!(launch_caller(&[]).0, 209);
    assert_eq!(launch_caller(&[CALLER]), (0, 718, 0));
}

#[test]
fn the_linker_takes_several_texts() {
    context();
    let link_all = |texts: &[&str]| {
        let mut link: Handle = NONE;
        let to: *mut Handle = &mut link;
        let none = NONE;
        assert_eq!(
            call!(cuLinkCreate_v2(
                0 => c_uint, none => Handle, none => Handle, to => *mut Handle
            )),
            0
        );
        let mut code = 0;
        for text in texts {
            code = call!(cuLinkAddData_v2(
                link => Handle, 1 => c_uint, text.as_ptr() => *const u8, text.len() => usize,
                none => Handle, 0 => c_uint, none => Handle, none => Handle
            ));
        }
        (link, code)
    };
    // In the second, both texts have functions of the same names for themselves.
    let own = |text: &str| text.replace(".weak .func", ".func");
    for texts in [[CALLER, HELPER], [&own(CALLER), &own(HELPER)]] {
        let (link, code) = link_all(&texts);
        assert_eq!(code, 0);
        let (mut image, mut bytes) = (NONE, 0usize);
        let (to, length): (*mut Handle, *mut usize) = (&mut image, &mut bytes);
        assert_eq!(
            call!(cuLinkComplete(link => Handle, to => *mut Handle, length => *mut usize)),
            0
        );
        let mut module: Handle = NONE;
        let to: *mut Handle = &mut module;
        assert_eq!(
            call!(cuModuleLoadData(to => *mut Handle, image => Handle)),
            0
        );
        let (code, caller) = function(module, c"caller");
        assert_eq!(code, 0);
        let data = alloc(4);
        assert_eq!(launch(caller, NONE, [data, 0, 0], 1), 0);
        let mut value = [0];
        assert_eq!((download(data, &mut value), value), (0, [42]));
        assert_eq!(call!(cuLinkDestroy(link => Handle)), 0);
    }
}

/// A limit of registers, of the linker and of a load, bounds what a function is said to have.
#[test]
fn registers_are_at_most_what_options_say() {
    context();
    // CU_JIT_MAX_REGISTERS.
    let (options, values) = ([0u32], [std::ptr::without_provenance_mut::<c_void>(2)]);
    let (option, value) = (options.as_ptr(), values.as_ptr());
    let (mut link, mut image) = (NONE, NONE);
    let places: (*mut Handle, *mut Handle) = (&mut link, &mut image);
    let code = call!(cuLinkCreate_v2(
        1 => c_uint, option => *const u32, value => *const Handle, places.0 => *mut Handle
    ));
    assert_eq!(code, 0);
    let text = CString::new(ADD).expect("no null byte");
    let code = call!(cuLinkAddData_v2(
        link => Handle, 1 => c_uint, text.as_ptr() => *const c_char, ADD.len() => usize,
        NONE => Handle, 0 => c_uint, NONE => Handle, NONE => Handle
    ));
    assert_eq!(code, 0);
    let code = call!(cuLinkComplete(link => Handle, places.1 => *mut Handle, NONE => Handle));
    assert_eq!(code, 0);
    let registers = |image: *const c_char, count: u32| {
        let (mut module, mut found) = (NONE, 0);
        let (to, place): (*mut Handle, *mut c_int) = (&mut module, &mut found);
        let code = call!(cuModuleLoadDataEx(
            to => *mut Handle, image => *const c_char, count => c_uint, option => *const u32,
            value => *const Handle
        ));
        assert_eq!(code, 0);
        let (code, add) = function(module, c"add");
        assert_eq!(code, 0);
        let code = call!(cuFuncGetAttribute(place => *mut c_int, 4 => c_uint, add => Handle));
        assert_eq!(code, 0);
        found
    };
    assert_eq!(registers(image.cast_const().cast(), 0), 2);
    assert_eq!(registers(text.as_ptr(), 1), 2);
    assert!(registers(text.as_ptr(), 0) > 2);
    // More threads than the kernel declares are an argument that is not valid.
    let declared = ADD.replacen(") {", ") .maxntid 32, 1, 1 {", 1);
    assert_ne!(declared, ADD);
    let (_, add) = function(load(&declared).1, c"add");
    assert_eq!(launch(add, NONE, [0; 3], 33), 1);
}
