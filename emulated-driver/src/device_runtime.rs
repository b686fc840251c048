//! Functions of CUDA's device runtime, which is a library of machine code, as PTX.

use std::borrow::Cow;

use crate::device_launch;

/// Name and definition of each.
const FUNCTIONS: [(&str, &str); 3] = [
    ("cudaGraphSetConditional", SET_CONDITIONAL),
    ("cudaCGGetIntrinsicHandle", GET_HANDLE),
    ("cudaCGSynchronize", SYNCHRONIZE),
];

/// Sets the condition of nodes of a graph, whose handle is the condition's address.
const SET_CONDITIONAL: &str = "
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)
{
    .reg .b32 %value;
    .reg .b64 %handle;
    ld.param.u64 %handle, [handle];
    ld.param.u32 %value, [value];
    st.global.u32 [%handle], %value;
    ret;
}
";

/// The handle of a grid is the workspace of its cooperative launch; 0 for other launches and other
/// scopes than a grid (1).
const GET_HANDLE: &str = "
.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
    .reg .pred %is_grid;
    .reg .b32 %scope, %low, %high;
    .reg .b64 %handle;
    ld.param.u32 %scope, [scope];
    mov.u32 %high, %envreg1;
    mov.u32 %low, %envreg2;
    mov.b64 %handle, {%low, %high};
    setp.eq.u32 %is_grid, %scope, 1;
    selp.b64 %handle, %handle, 0, %is_grid;
    st.param.b64 [handle], %handle;
    ret;
}
";

/// The barrier of a grid, as `this_grid().sync()` of cooperative groups: blocks count in the second
/// word of the workspace, the first block so that the last one turns its highest bit over.
/// `cudaErrorInvalidValue` where there is no workspace.
const SYNCHRONIZE: &str = "
.visible .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
    .reg .pred %holds;
    .reg .b32 %thread, %more, %extent, %blocks, %count, %before, %now;
    .reg .b64 %handle;
    ld.param.u64 %handle, [handle];
    setp.ne.u64 %holds, %handle, 0;
    @%holds bra HAS_WORKSPACE;
    st.param.b32 [error], 1;
    ret;
HAS_WORKSPACE:
    mov.u32 %thread, %tid.x;
    mov.u32 %more, %tid.y;
    or.b32 %thread, %thread, %more;
    mov.u32 %more, %tid.z;
    or.b32 %thread, %thread, %more;
    barrier.sync 0;
    setp.ne.u32 %holds, %thread, 0;
    @%holds bra OUT;
    mov.u32 %blocks, %nctaid.x;
    mov.u32 %extent, %nctaid.y;
    mul.lo.u32 %blocks, %blocks, %extent;
    mov.u32 %extent, %nctaid.z;
    mul.lo.u32 %blocks, %blocks, %extent;
    sub.u32 %count, 0x80000001, %blocks;
    mov.u32 %before, %ctaid.x;
    mov.u32 %more, %ctaid.y;
    or.b32 %before, %before, %more;
    mov.u32 %more, %ctaid.z;
    or.b32 %before, %before, %more;
    setp.eq.u32 %holds, %before, 0;
    selp.b32 %count, %count, 1, %holds;
    atom.add.release.gpu.u32 %before, [%handle+4], %count;
POLL:
    ld.acquire.gpu.u32 %now, [%handle+4];
    xor.b32 %now, %now, %before;
    setp.gt.s32 %holds, %now, -1;
    @%holds bra POLL;
OUT:
    barrier.sync 0;
    st.param.b32 [error], 0;
    ret;
}
";

/// A text with the functions that it declares and does not define.
pub(crate) fn with_device_runtime(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for (name, definition) in FUNCTIONS {
        if text.contains(name) && is_only_declared(&text, name) {
            text.to_mut().push_str(definition);
        }
    }
    let launches = device_launch::functions()
        .filter(|(name, _)| text.contains(name.as_str()) && is_only_declared(&text, name));
    let launches: String = launches.map(|(_, definition)| definition).collect();
    if !launches.is_empty() {
        let heap = device_launch::HEAP.into_iter();
        let heap = heap.filter(|(name, _)| {
            launches.contains(&format!(" {name},")) && !is_only_declared(&text, name)
        });
        let heap: String = heap.map(|(_, declaration)| declaration).collect();
        let text = text.to_mut();
        text.push_str(&heap);
        text.push_str(&device_launch::queue());
        text.push_str(&launches);
    }
    text
}

/// Whether a function stands in a text behind `.extern`, and behind no other directive.
fn is_only_declared(text: &str, name: &str) -> bool {
    let is_part_of_word = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '$' | '%');
    let mut is_declared = false;
    for line in text.lines().filter(|line| line.contains(".func")) {
        let mut words = line.split(|one: char| !is_part_of_word(one));
        if words.any(|word| word == name) {
            match line.trim_start().starts_with(".extern") {
                true => is_declared = true,
                false => return false,
            }
        }
    }
    is_declared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_and_not_defined_is_added() {
        let declared = ".version 8.0\n.extern .func cudaGraphSetConditional\n(\n)\n;\n";
        let added = with_device_runtime(declared);
        assert_eq!(
            added
                .matches(".visible .func cudaGraphSetConditional")
                .count(),
            1
        );
        assert!(!added.contains("cudaCGSynchronize"));
        let defined = format!("{declared}.func cudaGraphSetConditional() {{ ret; }}\n");
        assert_eq!(with_device_runtime(&defined), defined);
        let called = ".version 8.0\n// cudaCGSynchronize\n.extern .func cudaCGSynchronizeGrids();";
        assert_eq!(with_device_runtime(called), called);
        let result = ".extern .func  (.param .b64 r) cudaCGGetIntrinsicHandle\n(.param .b32 s);\n";
        assert!(with_device_runtime(result).contains("%envreg1"));
    }
}
