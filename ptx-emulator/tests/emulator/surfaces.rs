//! Surfaces: their accesses by bytes and by samples.

use crate::textures::{fault, launch, numbered, with_handle};
use ptx_emulator::{Image, ImageKind, Memory, TexelFormat};

#[test]
fn surfaces_are_accessed_by_bytes() {
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Plane, [33, 3, 1]);
    let handle = memory.create_surface(image).expect("sound");
    // Doubles row 1, adds row 1 to row 2 as integers, and reads all but the edge back.
    let kernel = with_handle(
        "shl.b32 %r1, %thread, 2;
         suld.b.2d.b32.trap {%r2}, [%x20, {%r1, 1}];
         add.f32 %r2, %r2, %r2;
         sust.b.2d.b32.trap [%x20, {%r1, 1}], {%r2};
         mov.b32 %r3, 5;
         sured.b.add.2d.u32.trap [%x20, {0, 2}], %r3;
         sust.b.2d.b32.zero [%x20, {-4, 1}], {%r3};
         suld.b.2d.b32.zero %r4, [%x20, {%r1, 3}];
         suld.b.2d.b32.clamp %r5, [%x20, {4096, 0}];
         mad.wide.u32 %x1, %thread, 12, %base;
         st.global.b32 [%x1], %r2; st.global.b32 [%x1+4], %r4; st.global.b32 [%x1+8], %r5;",
    );
    let found = launch(&kernel, &memory, handle, &[9; 96]).expect("runs");
    for (thread, found) in found.chunks(3).enumerate() {
        let doubled = 2.0 * (10.0 + thread as f32);
        let at_the_edge = 32.0f32;
        assert_eq!(
            found,
            [doubled.to_bits(), 0, at_the_edge.to_bits()],
            "thread {thread}"
        );
    }
    let mut sum = [0; 4];
    memory
        .read(image.address + 2 * image.row_bytes, &mut sum)
        .expect("in bounds");
    assert_eq!(u32::from_le_bytes(sum), 20f32.to_bits() + 5 * 32);
    let outside = with_handle("suld.b.2d.b32.trap %r0, [%x20, {132, 0}];");
    let found = fault(launch(&outside, &memory, handle, &[0]));
    assert!(found.to_string().contains("3 rows of 132 bytes"), "{found}");
}

/// Stores of samples count x in texels, convert to the format, and leave out what it does not have.
#[test]
fn surfaces_are_stored_by_samples() {
    const WIDTH: u32 = 33;
    let store = with_handle(
        "mov.b32 %r1, 0f3F000000; mov.b32 %r2, 0fBF800000; mov.b32 %r3, 0f40000000;
         sust.p.2d.v4.b32.trap [%x20, {%thread, 1}], {%r1, %r2, %r3, %r1};",
    );
    // 1/2, -1, 2 and 1/2.
    for (format, channels, wanted) in [
        (TexelFormat::Unorm8, 4, [128, 0, 255, 128].as_slice()),
        (TexelFormat::Snorm8, 4, &[64, 0x81, 127, 64]),
        (TexelFormat::Unorm8, 1, &[128]),
        (TexelFormat::Unorm16, 2, &[0, 0x80, 0, 0]),
        (TexelFormat::Snorm16, 2, &[0, 0x40, 1, 0x80]),
        (TexelFormat::F16, 2, &[0, 0x38, 0, 0xbc]),
    ] {
        let memory = Memory::with_capacity(1 << 20);
        let bytes = wanted.len();
        let address = memory.alloc(u64::from(3 * WIDTH) * 16).expect("room");
        memory
            .write(address, &[7; 3 * WIDTH as usize * 16])
            .expect("in bounds");
        let texels = (format, channels);
        let image = Image::packed(address, ImageKind::Plane, texels, [WIDTH, 3, 1]);
        let handle = memory.create_surface(image).expect("sound");
        launch(&store, &memory, handle, &[0]).expect("runs");
        let mut found = vec![0; 3 * WIDTH as usize * bytes];
        memory.read(address, &mut found).expect("in bounds");
        for (at, texel) in found.chunks(bytes).enumerate() {
            let is_stored = (33..65).contains(&at);
            let wanted = if is_stored { wanted } else { &[7; 8][..bytes] };
            assert_eq!(texel, wanted, "{format:?} {channels} {at}");
        }
    }
}

/// A source of fewer elements than the surface has channels, what lies outside, and the types of
/// integers.
#[test]
fn samples_outside_are_left_out() {
    let memory = Memory::with_capacity(1 << 20);
    let address = memory.alloc(64).expect("room");
    memory.write(address, &[9; 64]).expect("in bounds");
    let image = Image::packed(address, ImageKind::Line, (TexelFormat::S8, 2), [5, 1, 1]);
    let handle = memory.create_surface(image).expect("sound");
    let kernel = with_handle(
        "setp.ne.u32 %p1, %thread, 0; @%p1 ret; mov.b32 %r1, -200; mov.b32 %r2, 5;
         sust.p.1d.b32.zero [%x20, {5}], %r1; sust.p.1d.b32.zero [%x20, {-1}], %r1;
         sust.p.1d.b32.clamp [%x20, {77}], %r1; sust.p.1d.v2.b32.trap [%x20, {1}], {%r2, %r1};",
    );
    launch(&kernel, &memory, handle, &[0]).expect("runs");
    let mut found = [0; 12];
    memory.read(address, &mut found).expect("in bounds");
    assert_eq!(found, [9, 9, 5, 0x80, 9, 9, 9, 9, 0x80, 9, 9, 9]);
    let outside = with_handle("sust.p.1d.b32.trap [%x20, {5}], %r1;");
    let found = fault(launch(&outside, &memory, handle, &[0]));
    assert!(found.to_string().contains("1 rows of 10 bytes"), "{found}");
    // Its type is that of the surface, where that has one.
    let reduce = with_handle("mov.b32 %r1, -7; sured.p.min.1d.b32.trap [%x20, {1}], %r1;");
    let found = fault(launch(&reduce, &memory, handle, &[0]));
    assert!(found.to_string().contains("2 of S8"), "{found}");
    for (format, wanted) in [(TexelFormat::S32, -7), (TexelFormat::U32, 0x0909_0909)] {
        memory.write(address, &[9; 64]).expect("in bounds");
        let image = Image::packed(address, ImageKind::Line, (format, 1), [5, 1, 1]);
        let handle = memory.create_surface(image).expect("sound");
        launch(&reduce, &memory, handle, &[0]).expect("runs");
        let mut found = [0; 8];
        memory.read(address, &mut found).expect("in bounds");
        assert_eq!(found[..4], [9; 4]);
        assert_eq!(found[4..], i32::to_le_bytes(wanted), "{format:?}");
    }
}
