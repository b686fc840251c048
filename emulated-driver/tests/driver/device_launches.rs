//! Kernels that launch kernels, by functions of CUDA's device runtime.

use super::*;

/// A launch of one thread by one thread, with the address of the list and a value.
fn launch_of(kernel: &str, value: u32, stream: u64) -> String {
    format!(
        "{{ .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s;
           .param .b64 r; mov.u64 %rd2, {kernel}; st.param.b64 [k], %rd2;
           st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
           st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;
           st.param.b32 [s], 0;
           call.uni (r), __cudaCDP2GetParameterBufferV2, (k, g, b, s); ld.param.b64 %rd3, [r]; }}
         st.u64 [%rd3], %rd1; st.u32 [%rd3+8], {value};
         {{ .param .b64 p; .param .b64 t; .param .b32 e;
           st.param.b64 [p], %rd3; st.param.b64 [t], {stream};
           call.uni (e), __cudaCDP2LaunchDeviceV2, (p, t); ld.param.b32 %r2, [e]; }}
         setp.ne.u32 %p1, %r2, 0; @%p1 trap;"
    )
}

/// A module in which `note` adds its value to a list, and `first` and `second` launch others.
fn text(first: &str, second: &str) -> String {
    let kernel = |name: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 list, .param .u32 value) {{
             .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<5>;
             ld.param.u64 %rd1, [list]; {body} ret; }}\n"
        )
    };
    let note = "ld.param.u32 %r1, [value]; atom.global.add.u32 %r2, [%rd1], 1;
                mad.wide.u32 %rd2, %r2, 4, %rd1; st.global.u32 [%rd2+4], %r1;";
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64
         .extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2
         (.param .b64 k, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
         .extern .func (.param .b32 e) __cudaCDP2LaunchDeviceV2 (.param .b64 p, .param .b64 t);
         .extern .func (.param .b32 e) __cudaCDP2Malloc (.param .b64 p, .param .b64 n);
         .extern .func (.param .b32 e) __cudaCDP2Free (.param .b64 p);
         {}{}{}",
        kernel("note", note),
        kernel("second", second),
        kernel("first", first)
    )
}

/// What the list holds after a launch of `first`: how many values, and they.
fn listed(text: &str) -> Vec<u32> {
    let (code, module) = load(text);
    assert_eq!(code, 0);
    let (code, first) = function(module, c"first");
    assert_eq!(code, 0);
    let list = alloc(4 * 64);
    assert_eq!(upload(list, &[0u32; 64]), 0);
    let value = 0u32;
    let mut arguments: [*const c_void; 2] = [(&raw const list).cast(), (&raw const value).cast()];
    let each = arguments.as_mut_ptr();
    let code = call!(cuLaunchKernel(
        first => Handle, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint,
        1 => c_uint, 0 => c_uint, NONE => Handle, each => *mut *const c_void, NONE => Handle
    ));
    assert_eq!(code, 0);
    assert_eq!(call!(cuCtxSynchronize()), 0);
    let mut values = vec![0; 64];
    assert_eq!(download(list, &mut values), 0);
    values[1..=values[0] as usize].to_vec()
}

/// In their order, each with what it launches itself, and the stream of tail launches (3) last.
#[test]
fn grids_of_a_kernel_run_when_it_has_ended() {
    context();
    let first = [
        launch_of("note", 1, 3),
        launch_of("note", 2, 0),
        launch_of("second", 0, 0),
        launch_of("note", 4, 0),
    ];
    let second = [launch_of("note", 5, 3), launch_of("note", 3, 0)];
    let text = text(&first.concat(), &second.concat());
    assert_eq!(listed(&text), [2, 3, 5, 4, 1]);
    // The queue is empty again.
    assert_eq!(listed(&text), [2, 3, 5, 4, 1]);
}

/// Where a limit of the heap has been set: tests share a process, and this one makes the heap.
pub(super) fn memory_of_the_device_heap_is_passed_on() {
    let first = format!(
        ".local .align 8 .b8 place[8]; .reg .b64 %at, %own; mov.u64 %own, %rd1;
         cvta.local.u64 %at, place;
         {{ .param .b64 p; .param .b64 n; .param .b32 e; st.param.b64 [p], %at;
           st.param.b64 [n], 256; call.uni (e), __cudaCDP2Malloc, (p, n);
           ld.param.b32 %r2, [e]; }}
         setp.ne.u32 %p1, %r2, 0; @%p1 trap;
         ld.u64 %rd1, [%at]; st.u32 [%rd1], 0; st.u64 [%rd1+64], %own;
         {}{}",
        launch_of("note", 7, 0),
        launch_of("second", 0, 0)
    );
    // What was noted in memory of the heap goes on to the list.
    let second = format!(
        "ld.u32 %r1, [%rd1+4]; ld.u64 %rd4, [%rd1+64];
         {{ .param .b64 p; .param .b32 e; st.param.b64 [p], %rd1;
           call.uni (e), __cudaCDP2Free, (p); }}
         mov.u64 %rd1, %rd4; st.global.u32 [%rd1+4], %r1; st.global.u32 [%rd1], 1; {}",
        launch_of("note", 8, 0)
    );
    assert_eq!(listed(&text(&first, &second)), [7, 8]);
}
