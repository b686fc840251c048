// The PTX that a reader begins with: it scales an array, and does not ask where the array ends.
export const SAMPLE = {
  entry: "scale",
  grid: [4, 1, 1],
  block: [64, 1, 1],
  arguments: {array: "f32[250]=iota", factor: "f32:2"},
  ptx: `.version 8.0
.target sm_70
.address_size 64

// array[i] = factor * array[i], by thread i
.visible .entry scale(.param .u64 array, .param .f32 factor)
{
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [array];
    ld.param.f32 %f1, [factor];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
    ret;
}
`,
};
