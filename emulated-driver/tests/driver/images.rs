//! Arrays, textures and surfaces.

use super::*;

/// A tensor map whose address is replaced is the one that is made with that address.
#[test]
fn the_address_of_a_tensor_map_is_replaced() {
    context();
    let (first, second) = (alloc(4096), alloc(4096));
    let (extents, strides, boxes, steps) = ([16u64, 16], [64u64], [8u32, 8], [1u32, 1]);
    let mut maps = [[0u64; 16]; 2];
    let [made, expected] = maps.each_mut().map(|map| map.as_mut_ptr());
    for (map, address) in [(made, first), (expected, second)] {
        let code = call!(cuTensorMapEncodeTiled(
            map => *mut u64, 7 => c_uint, 2 => c_uint, address => u64,
            extents.as_ptr() => *const u64, strides.as_ptr() => *const u64,
            boxes.as_ptr() => *const u32, steps.as_ptr() => *const u32, 0 => c_uint, 0 => c_uint,
            0 => c_uint, 0 => c_uint
        ));
        assert_eq!(code, 0);
    }
    let replace = |address: u64| {
        call!(cuTensorMapReplaceAddress(
            made => *mut u64, address => u64
        ))
    };
    assert_eq!((replace(second + 8), replace(second)), (1, 0));
    assert_eq!(maps[0], maps[1]);
}

const READ: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.visible .entry read(.param .u64 from, .param .u64 to, .param .u64 surface) {
    .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u64 %rd3, [surface];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    cvt.rn.f32.u32 %f1, %r1;
    cvt.rn.f32.u32 %f2, %r2;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd2, %rd2, %rd4;
    st.global.f32 [%rd2], %f3;
    add.f32 %f3, %f3, 0f3f800000;
    mov.b32 %r6, %f3;
    shl.b32 %r5, %r1, 2;
    sust.b.2d.b32.trap [%rd3, {%r5, %r2}], {%r6};
    ret;
}
"#;

/// `CUDA_MEMCPY2D` between an array and the host.
fn copy(array: Handle, host: *mut f32, [width, height]: [usize; 2], to_array: bool) -> u32 {
    let of_host = [0, 0, 1, host.expose_provenance(), 0, 0, 4 * width];
    let of_array = [0, 0, 3, 0, 0, array.addr(), 0];
    let (from, to) = if to_array {
        (of_host, of_array)
    } else {
        (of_array, of_host)
    };
    let mut words = [from, to].concat();
    words.extend([4 * width, height]);
    let params = words.as_ptr();
    call!(cuMemcpy2D_v2(params => *const usize))
}

fn array(extents: [usize; 2]) -> Handle {
    let (code, array) = array_of(extents, 0x20, 1);
    assert_eq!(code, 0);
    array
}

/// An array of a `CUarray_format`, for surfaces.
fn array_of([width, height]: [usize; 2], format: u64, channels: u64) -> (u32, Handle) {
    let mut array = NONE;
    let descriptor: [u64; 5] = [width as u64, height as u64, 0, format | channels << 32, 2];
    let (to, from): (*mut Handle, *const [u64; 5]) = (&mut array, &descriptor);
    let code = call!(cuArray3DCreate_v2(to => *mut Handle, from => *const [u64; 5]));
    (code, array)
}

fn resource(array: Handle) -> [u64; 18] {
    let mut words = [0u64; 18];
    words[1] = array.addr() as u64;
    words
}

/// Clamped, nearest texels, coordinates in texels.
fn texture_of(array: Handle) -> u64 {
    let (mut texture, resource) = (0u64, resource(array));
    let mut descriptor = [0u32; 26];
    descriptor[..3].copy_from_slice(&[1, 1, 1]);
    let (place, words, how): (*mut u64, *const [u64; 18], *const [u32; 26]) =
        (&mut texture, &resource, &descriptor);
    let code = call!(cuTexObjectCreate(
        place => *mut u64, words => *const [u64; 18], how => *const [u32; 26], NONE => Handle
    ));
    assert_eq!(code, 0);
    texture
}

fn surface_of(array: Handle) -> u64 {
    let (mut surface, resource) = (0u64, resource(array));
    let (place, words): (*mut u64, *const [u64; 18]) = (&mut surface, &resource);
    let code = call!(cuSurfObjectCreate(place => *mut u64, words => *const [u64; 18]));
    assert_eq!(code, 0);
    surface
}

/// Launches [`READ`] with a texture, the memory of its texels, and a surface: one block.
fn run_read(read: Handle, arguments: &[u64], [width, height]: [c_uint; 2]) {
    let mut arguments: Vec<*const u64> = arguments.iter().map(|value| &raw const *value).collect();
    let each = arguments.as_mut_ptr();
    let code = call!(cuLaunchKernel(
        read => Handle, 1 => c_uint, 1 => c_uint, 1 => c_uint, width => c_uint, height => c_uint,
        1 => c_uint, 0 => c_uint, NONE => Handle, each => *mut *const u64, NONE => Handle
    ));
    assert_eq!((code, call!(cuCtxSynchronize())), (0, 0));
}

/// Formats of normalised integers name their channels, and kernels store floats in them.
#[test]
fn kernels_store_floats_in_normalised_arrays() {
    context();
    // UNORM_INT8X4, and with the channels of another.
    assert_eq!(array_of([13, 7], 0xc2, 2).0, 1);
    assert_eq!(array_of([13, 7], 0xcc, 4).0, 801);
    let (code, to) = array_of([13, 7], 0xc2, 4);
    assert_eq!(code, 0);
    let surface = surface_of(to);
    let text = READ
        .replace("shl.b32 %r5, %r1, 2;", "mov.b32 %r7, 0f3e4ccccd;")
        .replace(
            "sust.b.2d.b32.trap [%rd3, {%r5, %r2}], {%r6}",
            "sust.p.2d.v4.b32.trap [%rd3, {%r1, %r2}], {%r7, %r6, %r7, %r6}",
        );
    let from = array([13, 7]);
    let mut values = vec![-1.0f32; 91];
    values[5] = 0.0;
    assert_eq!(copy(from, values.as_mut_ptr(), [13, 7], true), 0);
    let texture = texture_of(from);
    let read = function(load(&text).1, c"read").1;
    let out = alloc(4 * 91);
    run_read(read, &[texture, out, surface], [13, 7]);
    let mut written = vec![0.0f32; 91];
    assert_eq!(copy(to, written.as_mut_ptr(), [13, 7], false), 0);
    let bytes: Vec<[u8; 4]> = written
        .iter()
        .map(|texel| texel.to_bits().to_le_bytes())
        .collect();
    for (at, texel) in bytes.iter().enumerate() {
        // 1/5, and the value of the texture and 1.
        let wanted = if at == 5 { 255 } else { 0 };
        assert_eq!(*texel, [51, wanted, 51, wanted], "{at}");
    }
}

#[test]
fn kernels_read_textures_and_write_surfaces() {
    context();
    let extents = [13usize, 7];
    let (from, to) = (array(extents), array(extents));
    let mut values: Vec<f32> = (0..91).map(|value| value as f32 / 2.0).collect();
    assert_eq!(copy(from, values.as_mut_ptr(), extents, true), 0);
    let (texture, surface) = (texture_of(from), surface_of(to));

    let read = function(load(READ).1, c"read").1;
    let out = alloc(4 * 91);
    run_read(read, &[texture, out, surface], [13, 7]);
    let mut bits = vec![0; 91];
    assert_eq!(download(out, &mut bits), 0);
    let read: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
    assert_eq!(read, values);
    let mut written = vec![0.0f32; 91];
    assert_eq!(copy(to, written.as_mut_ptr(), extents, false), 0);
    assert!(
        written
            .iter()
            .zip(&values)
            .all(|(written, value)| *written == value + 1.0)
    );

    assert_eq!(call!(cuTexObjectDestroy(texture => u64)), 0);
    assert_eq!(call!(cuTexObjectDestroy(texture => u64)), 1);
    assert_eq!(call!(cuArrayDestroy(from => Handle)), 0);
    assert_eq!(call!(cuArrayDestroy(from => Handle)), 400);
}

/// A view has the layers and the format that it names, and texels of the array's size.
#[test]
fn kernels_read_what_a_view_shows() {
    context();
    let mut layered = NONE;
    // 3 by 2 texels of f32 in five layers.
    let descriptor: [u64; 5] = [3, 2, 5, 0x20 | 1 << 32, 1];
    let (to, from): (*mut Handle, *const [u64; 5]) = (&mut layered, &descriptor);
    assert_eq!(
        call!(cuArray3DCreate_v2(to => *mut Handle, from => *const [u64; 5])),
        0
    );
    let values: Vec<u32> = (0..30).map(|value| (value << 16) | (7 * value)).collect();
    let mut copied = [0usize; 25];
    // From the host, in rows of 12 bytes and planes of two rows, to the array.
    (copied[4], copied[5]) = (1, values.as_ptr().expose_provenance());
    (copied[9], copied[10], copied[15], copied[18]) = (12, 2, 3, layered.addr());
    copied[22..25].copy_from_slice(&[12, 2, 5]);
    let params: *const [usize; 25] = &copied;
    let copied = call!(cuMemcpy3D_v2(params => *const [usize; 25]));
    assert_eq!(copied, 0);
    let resource = resource(layered);
    let mut how = [0u32; 26];
    // Texels are read as they are.
    how[4] = 1;
    let view = |format: u64, [first, last]: [u64; 2], width: u64| {
        let mut texture = 0u64;
        let view = [
            format,
            width,
            2,
            5,
            0,
            first | last << 32,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ];
        let to: *mut u64 = &mut texture;
        let words: (*const [u64; 18], *const [u32; 26], *const [u64; 14]) =
            (&resource, &how, &view);
        let code = call!(cuTexObjectCreate(
            to => *mut u64, words.0 => *const [u64; 18], words.1 => *const [u32; 26],
            words.2 => *const [u64; 14]
        ));
        (code, texture)
    };
    // More layers than there are, other extents, smaller texels, compressed ones.
    assert_eq!(view(0x16, [1, 5], 3).0, 1);
    assert_eq!(view(0x16, [2, 1], 3).0, 1);
    assert_eq!(view(0x16, [1, 2], 4).0, 1);
    assert_eq!(view(0x13, [1, 2], 3).0, 1);
    assert_eq!(view(0x19, [1, 2], 3).0, 801);
    // UINT_2X16.
    let (code, texture) = view(8, [1, 3], 3);
    assert_eq!(code, 0);
    let mut found = [0u64; 14];
    let to: *mut [u64; 14] = &mut found;
    let code = call!(cuTexObjectGetResourceViewDesc(to => *mut [u64; 14], texture => u64));
    assert_eq!((code, found[0], found[5]), (0, 8, 1 | 3 << 32));
    let text = r#"
.version 7.0
.target sm_70
.address_size 64
.visible .entry read(.param .u64 from, .param .u64 to) {
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    // Layer 2 of the view, row 1.
    mov.u32 %r1, %tid.x;
    tex.a2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {2, %r1, 1, 1}];
    mad.wide.u32 %rd2, %r1, 8, %rd2;
    st.global.v2.u32 [%rd2], {%r2, %r3};
    ret;
}
"#;
    let text = text.replace("{2, %r1, 1, 1}", "{%r6, %r1, %r7, %r7}");
    let text = text.replace(
        "mov.u32 %r1,",
        "mov.u32 %r6, 2; mov.u32 %r7, 1; mov.u32 %r1,",
    );
    let read = function(load(&text).1, c"read").1;
    let out = alloc(24);
    run_read(read, &[texture, out], [3, 1]);
    let mut read = [0; 6];
    assert_eq!(download(out, &mut read), 0);
    // Layer 3 of the array: texels 18 to 23.
    assert_eq!(read, [147, 21, 154, 22, 161, 23]);
}

/// The same through variables of the module, as `texture<>` of CUDA 11 and older becomes.
#[test]
fn kernels_read_and_write_what_references_are_bound_to() {
    context();
    let text = READ.replace(
        ".visible .entry",
        ".global .texref table;\n.global .surfref out;\n.visible .entry",
    );
    let text = text
        .replace("[%rd1, {", "[table, {")
        .replace("[%rd3, {", "[out, {");
    let module = load(&text).1;
    let reference = |name: &CStr, is_texture: bool| {
        let (mut found, name) = (NONE, name.as_ptr());
        let to: *mut Handle = &mut found;
        let code = match is_texture {
            true => call!(cuModuleGetTexRef(
                to => *mut Handle, module => Handle, name => *const c_char
            )),
            false => call!(cuModuleGetSurfRef(
                to => *mut Handle, module => Handle, name => *const c_char
            )),
        };
        (code, found)
    };
    // A variable of the other kind, and none at all.
    assert_eq!(reference(c"out", true).0, 500);
    assert_eq!(reference(c"tables", true).0, 500);
    let ((code, table), (_, surface)) = (reference(c"table", true), reference(c"out", false));
    assert_eq!(code, 0);
    assert_eq!(reference(c"table", true), (0, table));
    let extents = [13usize, 7];
    let (to, out) = (array(extents), alloc(4 * 91));
    assert_eq!(
        call!(cuSurfRefSetArray(surface => Handle, to => Handle, 0 => c_uint)),
        0
    );
    let read = function(module, c"read").1;
    let run = || {
        run_read(read, &[0, out, 0], [13, 7]);
        let mut bits = vec![0; 91];
        assert_eq!(download(out, &mut bits), 0);
        bits.into_iter().map(f32::from_bits).collect::<Vec<f32>>()
    };
    let mut values: Vec<f32> = (0..91).map(|value| value as f32 / 2.0).collect();
    let from = array(extents);
    assert_eq!(copy(from, values.as_mut_ptr(), extents, true), 0);
    assert_eq!(
        call!(cuTexRefSetArray(table => Handle, from => Handle, 1 => c_uint)),
        0
    );
    assert_eq!(run(), values);

    // Bound to pitched memory, with another format, and to nothing that kernels know.
    let linear = alloc(512 * 7);
    let bytes: Vec<u32> = (0..128 * 7).map(|word: u32| (word % 128) << 8).collect();
    assert_eq!(upload(linear, &bytes), 0);
    let plane: [u64; 3] = [13, 7, 1 | 4 << 32];
    let plane: *const [u64; 3] = &plane;
    let code = call!(cuTexRefSetAddress2D_v3(
        table => Handle, plane => *const [u64; 3], linear => u64, 512 => usize
    ));
    assert_eq!(code, 0);
    let (mut format, mut channels) = (0, 0);
    let places: (*mut c_uint, *mut c_uint) = (&mut format, &mut channels);
    let code = call!(cuTexRefGetFormat(
        places.0 => *mut c_uint, places.1 => *mut c_uint, table => Handle
    ));
    assert_eq!((code, format, channels), (0, 1, 4));
    // The first of four bytes is 0 in each texel.
    assert_eq!(run(), [0.0; 91]);
}
