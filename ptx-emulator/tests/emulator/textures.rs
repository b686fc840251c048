//! Textures, against the formulas of the CUDA C++ Programming Guide, "Texture Fetching".

use crate::common::{STORE, kernel, module, module_with};
use ptx_emulator::{
    AddressMode, Args, Fault, Filter, Image, ImageKind, Kernel, LaunchConfig, LaunchError, Memory,
    Module, Sampler, TexelFormat, Texture,
};

/// A module whose kernel takes the data and a handle, which it finds in `%x20`.
pub(super) fn with_handle(body: &str) -> Kernel {
    let text = module(&format!("ld.param.u64 %x20, [handle];\n{body}"));
    let text = text.replace(
        "(.param .u64 data)",
        "(.param .u64 data, .param .u64 handle)",
    );
    kernel(&text)
}

/// Runs a kernel on words of data and a handle.
pub(super) fn launch(
    kernel: &Kernel,
    memory: &Memory,
    handle: u64,
    data: &[u32],
) -> Result<Vec<u32>, LaunchError> {
    let address = memory.alloc(4 * data.len() as u64).expect("room");
    let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(address, &bytes).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(address).push_u64(handle);
    let config = LaunchConfig::new([1; 3], [32, 1, 1]);
    let outcome = kernel.launch(memory, &config, &args);
    let mut bytes = vec![0; bytes.len()];
    memory.read(address, &mut bytes).expect("in bounds");
    memory.free(address).expect("allocated");
    outcome.map(|_| words(&bytes))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

pub(super) fn fault(outcome: Result<Vec<u32>, LaunchError>) -> Fault {
    match outcome {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("{other:?}"),
    }
}

/// An image of f32 whose texel at (x, y, z) of its only channel is 100 z + 10 y + x.
pub(super) fn numbered(memory: &Memory, kind: ImageKind, extents: [u32; 3]) -> Image {
    let [width, height, depth] = extents;
    let address = memory
        .alloc(4 * u64::from(width) * u64::from(height) * u64::from(depth))
        .expect("room");
    let mut bytes = Vec::new();
    for z in 0..depth {
        for y in 0..height {
            for x in 0..width {
                bytes.extend(((100 * z + 10 * y + x) as f32).to_le_bytes());
            }
        }
    }
    memory.write(address, &bytes).expect("in bounds");
    Image::packed(address, kind, (TexelFormat::F32, 1), extents)
}

fn texture(memory: &Memory, image: Image, sampler: Sampler) -> u64 {
    let levels = vec![image];
    memory
        .create_texture(Texture { levels, sampler })
        .expect("sound")
}

/// Coordinates around and in an image of a few texels: 32 of them.
fn coordinates(scale: f32) -> Vec<f32> {
    (0..32).map(|i| (i as f32 * 0.37 - 4.1) * scale).collect()
}

#[test]
fn lines_are_filtered_and_addressed() {
    const WIDTH: u32 = 3;
    let kernel = with_handle(&format!(
        "mad.wide.u32 %x1, %thread, 4, %base; ld.global.f32 %r1, [%x1];
         tex.1d.v4.f32.f32 {{%r0, %r2, %r3, %r4}}, [%x20, {{%r1, %r1, %r1, %r1}}]; {STORE}"
    ));
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Line, [WIDTH, 1, 1]);
    for mode in [
        AddressMode::Wrap,
        AddressMode::Clamp,
        AddressMode::Mirror,
        AddressMode::Border,
    ] {
        for normalized in [false, true] {
            for filter in [Filter::Point, Filter::Linear] {
                let sampler = Sampler {
                    addressing: [mode; 3],
                    filter,
                    normalized_coordinates: normalized,
                    border: [-7.0, 0.0, 0.0, 0.0],
                    ..Sampler::default()
                };
                let handle = texture(&memory, image, sampler);
                let given = coordinates(if normalized { 1.0 / WIDTH as f32 } else { 1.0 });
                let data: Vec<u32> = given.iter().map(|x| x.to_bits()).collect();
                let found = launch(&kernel, &memory, handle, &data).expect("runs");
                let texel = |index: f64| -> f64 {
                    let n = f64::from(WIDTH);
                    match mode {
                        AddressMode::Border if index < 0.0 || index >= n => -7.0,
                        AddressMode::Wrap if normalized => index.rem_euclid(n),
                        AddressMode::Mirror if normalized => {
                            let within = index.rem_euclid(2.0 * n);
                            within.min(2.0 * n - 1.0 - within)
                        }
                        _ => index.clamp(0.0, n - 1.0),
                    }
                };
                for (x, found) in given.iter().zip(found) {
                    let mut at = f64::from(*x);
                    if normalized {
                        at *= f64::from(WIDTH);
                    }
                    let wanted = match filter {
                        Filter::Point => texel(at.floor()),
                        Filter::Linear => {
                            let first = (at - 0.5).floor();
                            let weight = ((at - 0.5 - first) * 256.0).round() / 256.0;
                            (1.0 - weight) * texel(first) + weight * texel(first + 1.0)
                        }
                    };
                    let found = f64::from(f32::from_bits(found));
                    // A weight may round to the other side.
                    assert!(
                        (found - wanted).abs() < 0.05,
                        "{mode:?} {normalized} {filter:?} at {x}: {found}, not {wanted}"
                    );
                }
            }
        }
    }
}

/// Runs a fetch whose coordinates are functions of the thread, and gives the first channel.
fn fetch(memory: &Memory, handle: u64, body: &str) -> Vec<f32> {
    let kernel = with_handle(&format!("cvt.rn.f32.u32 %r1, %thread; {body} {STORE}"));
    let found = launch(&kernel, memory, handle, &[0; 32]).expect("runs");
    found.into_iter().map(f32::from_bits).collect()
}

#[test]
fn every_kind_of_image_has_its_coordinates() {
    let memory = Memory::with_capacity(1 << 20);
    let cases = [
        // (kind, extents, fetch at texel 1 of row 2 of plane 1, its number)
        (ImageKind::Line, [5, 1, 1], "1d", "{one}", 1.0),
        (ImageKind::Plane, [5, 3, 1], "2d", "{one, two}", 21.0),
        (
            ImageKind::Volume,
            [5, 3, 2],
            "3d",
            "{one, two, one, _}",
            121.0,
        ),
        (ImageKind::Lines, [5, 1, 3], "a1d", "{1, one}", 101.0),
        (
            ImageKind::Planes,
            [5, 3, 3],
            "a2d",
            "{1, one, two, _}",
            121.0,
        ),
    ];
    for (kind, extents, name, at, wanted) in cases {
        let image = numbered(&memory, kind, extents);
        let handle = texture(&memory, image, Sampler::default());
        for (ctype, one, two) in [("f32", "0f3FC00000", "0f40200000"), ("s32", "1", "2")] {
            let at = at.replace("one", one).replace("two", two).replace("_", one);
            let found = fetch(
                &memory,
                handle,
                &format!("tex.{name}.v4.f32.{ctype} {{%r0, _, _, _}}, [%x20, {at}];"),
            );
            assert_eq!(found, vec![wanted; 32], "{name} {ctype}");
        }
    }
    // Cubes: face 2 of the second one, whose middle is at texel (1, 1) of 3 by 3.
    let image = numbered(&memory, ImageKind::Cubes, [3, 3, 12]);
    let handle = texture(&memory, image, Sampler::default());
    let found = fetch(
        &memory,
        handle,
        "tex.acube.v4.f32.f32 {%r0, _, _, _}, [%x20, {1, 0f00000000, 0f40000000, 0f00000000}];",
    );
    assert_eq!(found, vec![811.0; 32]);
}

#[test]
fn a_single_coordinate_needs_no_braces_and_variables_hold_handles() {
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Line, [40, 1, 1]);
    let handle = texture(&memory, image, Sampler::default());
    let text = module_with(
        ".global .texref table;",
        &format!("tex.1d.v4.f32.s32 {{%r0, %r1, %r2, %r3}}, [table, %thread]; {STORE}"),
    );
    let module = Module::parse(&text).expect("well formed");
    let (address, bytes) = module
        .variable(&memory, "table")
        .expect("room")
        .expect("declared");
    assert_eq!(bytes, 8);
    memory
        .write(address, &handle.to_le_bytes())
        .expect("in bounds");
    let kernel = module.kernel("test").expect("known");
    let data = memory.alloc(128).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([1; 3], [31, 1, 1]);
    kernel.launch(&memory, &config, &args).expect("runs");
    let mut bytes = vec![0; 31 * 4];
    memory.read(data, &mut bytes).expect("in bounds");
    let found: Vec<f32> = words(&bytes).into_iter().map(f32::from_bits).collect();
    assert_eq!(found, (0..31u8).map(f32::from).collect::<Vec<_>>());
}

#[test]
fn independent_samplers_levels_offsets_and_gathers() {
    let memory = Memory::with_capacity(1 << 20);
    let large = numbered(&memory, ImageKind::Plane, [4, 4, 1]);
    let small = numbered(&memory, ImageKind::Plane, [2, 2, 1]);
    let sampler = Sampler {
        normalized_coordinates: true,
        level_filter: Filter::Linear,
        level_clamp: [0.0, 1.0],
        ..Sampler::default()
    };
    let levels = vec![large, small];
    let handle = memory
        .create_texture(Texture { levels, sampler })
        .expect("sound");
    let at = "[%x20, {0f3F400000, 0f3F400000}]";
    // Texel (3, 3) of the large image, (1, 1) of the small one.
    for (lod, wanted) in [
        ("0fBF800000", 33.0),
        ("0f3F000000", 22.0),
        ("0f40400000", 11.0),
    ] {
        let body = format!("tex.level.2d.v4.f32.f32 {{%r0, _, _, _}}, {at}, {lod};");
        assert_eq!(fetch(&memory, handle, &body), vec![wanted; 32]);
    }
    // With integer coordinates the level is an integer, as ptxas has it.
    for (lod, wanted) in [(0, 10.0), (-3, 10.0), (9, 10.0)] {
        let body = format!("tex.level.2d.v4.f32.s32 {{%r0, _, _, _}}, [%x20, {{0, 1}}], {lod};");
        assert_eq!(fetch(&memory, handle, &body), vec![wanted; 32], "{lod}");
    }
    for (lod, wanted) in [(0, 33.0), (1, 11.0)] {
        let body = format!("tex.level.2d.v4.f32.s32 {{%r0, _, _, _}}, [%x20, {{3, 3}}], {lod};");
        assert_eq!(fetch(&memory, handle, &body), vec![wanted; 32], "{lod}");
    }
    // Two texels of the large image apart: level 1.
    let body = format!(
        "tex.grad.2d.v4.f32.f32 {{%r0, _, _, _}}, {at}, {{0f3F000000, 0f00000000}}, \
         {{0f00000000, 0f00000000}};"
    );
    assert_eq!(fetch(&memory, handle, &body), vec![11.0; 32]);
    let body = format!("tex.2d.v4.f32.f32 {{%r0, _, _, _}}|%p1, {at}, {{-1, -2}}; @!%p1 trap;");
    assert_eq!(fetch(&memory, handle, &body), vec![12.0; 32]);
    let wanted = [2.0 * 10.0 + 1.0, 22.0, 12.0, 11.0];
    for (at, wanted) in wanted.into_iter().enumerate() {
        let mut to = ["_"; 4];
        to[at] = "%r0";
        let to = to.join(", ");
        let body = format!("tld4.r.2d.v4.f32.f32 {{{to}}}, [%x20, {{0f3F000000, 0f3F000000}}];");
        assert_eq!(fetch(&memory, handle, &body), vec![wanted; 32]);
    }
    // The sampler of the instruction decides, not that of the texture.
    let texels = memory.create_sampler(Sampler::default()).expect("sound");
    let body = format!(
        "mov.u64 %x21, {texels}; tex.2d.v4.f32.f32 {{%r0, _, _, _}}, \
         [%x20, %x21, {{0f3F400000, 0f40200000}}];"
    );
    assert_eq!(fetch(&memory, handle, &body), vec![20.0; 32]);
}

/// The four channels of the only texel of an image, read by `tex` with results of a type.
fn texel(
    ty: &str,
    memory: &Memory,
    address: u64,
    texels: (TexelFormat, u32),
    sampler: Sampler,
) -> Vec<u32> {
    let image = Image::packed(address, ImageKind::Line, texels, [1; 3]);
    let handle = texture(memory, image, sampler);
    let kernel = with_handle(&format!(
        "tex.1d.v4.{ty}.s32 {{%r0, %r1, %r2, %r3}}, [%x20, {{0}}];
         st.global.v4.b32 [%base], {{%r0, %r1, %r2, %r3}};",
    ));
    launch(&kernel, memory, handle, &[9; 4]).expect("runs")
}

#[test]
fn channels_are_read_as_stored_or_as_fractions() {
    let memory = Memory::with_capacity(1 << 20);
    let address = memory.alloc(64).expect("room");
    memory
        .write(address, &[0, 51, 128, 255])
        .expect("in bounds");
    let with = |format, channels, normalized_float, srgb| {
        let sampler = Sampler {
            normalized_float,
            srgb,
            ..Sampler::default()
        };
        texel("u32", &memory, address, (format, channels), sampler)
    };
    assert_eq!(with(TexelFormat::U8, 4, false, false), [0, 51, 128, 255]);
    let minus = |value: i32| value as u32;
    assert_eq!(
        with(TexelFormat::S8, 4, false, false),
        [0, 51, minus(-128), minus(-1)]
    );
    assert_eq!(
        with(TexelFormat::U16, 2, false, false),
        [51 * 256, 255 * 256 + 128, 0, 0]
    );
    let floats = |found: Vec<u32>| -> Vec<f32> { found.into_iter().map(f32::from_bits).collect() };
    assert_eq!(
        floats(with(TexelFormat::U8, 4, true, false)),
        [0.0, 0.2, 128.0 / 255.0, 1.0]
    );
    assert_eq!(
        floats(with(TexelFormat::S8, 4, true, false)),
        [0.0, 51.0 / 127.0, -1.0, -1.0 / 127.0]
    );
    let linear = floats(with(TexelFormat::U8, 4, true, true));
    assert!(
        (linear[1] - 0.033_104_767).abs() < 1e-6 && linear[3] == 1.0,
        "{linear:?}"
    );
    let half = floats(with(TexelFormat::F16, 2, false, false));
    assert_eq!(half[0], half::f16::from_bits(51 * 256).to_f32());
}

#[test]
fn queries_give_the_numbers_of_the_ptx_isa() {
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Planes, [5, 3, 7]);
    let sampler = Sampler {
        addressing: [AddressMode::Border, AddressMode::Clamp, AddressMode::Wrap],
        filter: Filter::Linear,
        ..Sampler::default()
    };
    let handle = texture(&memory, image, sampler);
    for (query, wanted) in [
        ("width", 5),
        ("height", 3),
        ("array_size", 7),
        ("depth", 1),
        ("channel_data_type", 0x10de),
        ("channel_order", 0x10b0),
        ("normalized_coords", 0),
        ("num_mipmap_levels", 1),
        ("num_samples", 1),
        ("filter_mode", 1),
        ("addr_mode_0", 4),
        ("addr_mode_2", 0),
    ] {
        let kernel = with_handle(&format!("txq.{query}.b32 %r0, [%x20]; {STORE}"));
        let found = launch(&kernel, &memory, handle, &[0; 32]).expect("runs");
        assert_eq!(found, vec![wanted; 32], "{query}");
    }
}

#[test]
fn normalised_formats_are_read_as_floats() {
    let memory = Memory::with_capacity(1 << 20);
    let address = memory.alloc(16).expect("room");
    memory
        .write(address, &[0, 51, 255, 0x81])
        .expect("in bounds");
    for (format, channels, wanted) in [
        (TexelFormat::Unorm8, 4, [0.0, 0.2, 1.0, 129.0 / 255.0]),
        (
            TexelFormat::Snorm8,
            4,
            [0.0, 51.0 / 127.0, -1.0 / 127.0, -1.0],
        ),
        (
            TexelFormat::Unorm16,
            2,
            [13056.0 / 65535.0, 33279.0 / 65535.0, 0.0, 0.0],
        ),
    ] {
        let sampler = Sampler {
            filter: Filter::Linear,
            ..Sampler::default()
        };
        let found = texel("f32", &memory, address, (format, channels), sampler);
        assert_eq!(found, wanted.map(f32::to_bits), "{format:?}");
    }
}

/// 0.7f is less than 0.7, by less than a fraction of 8 bits of a texel.
#[test]
fn texels_are_gathered_around_a_place_in_fixed_point() {
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Plane, [4, 5, 1]);
    let sampler = Sampler {
        normalized_coordinates: true,
        ..Sampler::default()
    };
    let handle = texture(&memory, image, sampler);
    let gather = with_handle(
        "mov.b32 %r1, 0f3f000000; mov.b32 %r2, 0f3f333333;
         tld4.r.2d.v4.f32.f32 {%r3, %r4, %r5, %r6}, [%x20, {%r1, %r2}];
         st.global.v4.b32 [%base], {%r3, %r4, %r5, %r6};",
    );
    let found = launch(&gather, &memory, handle, &[0; 4]).expect("runs");
    assert_eq!(found, [41.0f32, 42.0, 32.0, 31.0].map(f32::to_bits));
}

/// Dr.Jit makes its lines so.
#[test]
fn planes_of_one_row_are_read_as_lines() {
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Plane, [4, 1, 1]);
    let sampler = Sampler {
        filter: Filter::Linear,
        addressing: [AddressMode::Border; 3],
        ..Sampler::default()
    };
    let handle = texture(&memory, image, sampler);
    let line = with_handle(
        "mov.b32 %r2, 0f40000000; tex.1d.v4.f32.f32 {%r0, _, _, _}, [%x20, {%r2}];
         st.global.b32 [%base], %r0;",
    );
    // Halfway between the second and the third texel, and of no row beside them.
    let found = launch(&line, &memory, handle, &[0]).expect("runs");
    assert_eq!(found, [1.5f32.to_bits()]);
}

/// Warp reads arrays of one dimension so, at integer coordinates.
#[test]
fn lines_are_read_as_planes_of_one_row() {
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Line, [4, 1, 1]);
    let sampler = Sampler {
        addressing: [AddressMode::Border; 3],
        ..Sampler::default()
    };
    let handle = texture(&memory, image, sampler);
    let row = |y: i32| {
        let text = format!(
            "mov.b32 %r2, 2; mov.b32 %r3, {y}; mov.b32 %r4, 0;
             tex.level.2d.v4.f32.s32 {{%r0, _, _, _}}, [%x20, {{%r2, %r3}}], %r4;
             st.global.b32 [%base], %r0;"
        );
        launch(&with_handle(&text), &memory, handle, &[9]).expect("runs")
    };
    assert_eq!(row(0), [2f32.to_bits()]);
    // There is no second row.
    assert_eq!([row(1), row(-1)], [[0], [0]]);
}

/// Programs leave a filter between levels where there is one level.
#[test]
fn levels_of_integers_are_not_filtered() {
    let memory = Memory::with_capacity(1 << 20);
    let address = memory.alloc(64).expect("room");
    let format = (TexelFormat::U32, 1);
    let image = Image::packed(address, ImageKind::Plane, format, [2, 2, 1]);
    let made = |levels: usize| {
        let sampler = Sampler {
            level_filter: Filter::Linear,
            ..Sampler::default()
        };
        let levels = vec![image; levels];
        memory.create_texture(Texture { levels, sampler }).is_ok()
    };
    assert_eq!([made(1), made(2)], [true, false]);
}

#[test]
fn wrong_handles_are_faults() {
    let memory = Memory::with_capacity(1 << 20);
    let image = numbered(&memory, ImageKind::Plane, [4, 4, 1]);
    let handle = texture(&memory, image, Sampler::default());
    let line = with_handle("tex.1d.v4.f32.s32 {%r0, _, _, _}, [%x20, {1}];");
    let found = fault(launch(&line, &memory, handle, &[0]));
    assert!(
        found
            .to_string()
            .contains("a Plane image is accessed as a Line"),
        "{found}"
    );
    for wrong in [0, 3, handle + 1000, image.address] {
        let found = fault(launch(&line, &memory, wrong, &[0]));
        assert!(found.to_string().contains("no texture"), "{found}");
    }
    let surface = with_handle("suld.b.2d.b32.trap %r0, [%x20, {0, 0}];");
    let found = fault(launch(&surface, &memory, handle, &[0]));
    assert!(found.to_string().contains("is no surface"), "{found}");
    let plane = with_handle("tex.2d.v4.f32.s32 {%r0, _, _, _}, [%x20, {1, 1}];");
    memory.free(image.address).expect("allocated");
    let found = fault(launch(&plane, &memory, handle, &[0]));
    assert!(
        found
            .to_string()
            .starts_with("kernel `test`: use after free"),
        "{found}"
    );
    assert!(memory.destroy_object(handle) && !memory.destroy_object(handle));
}
