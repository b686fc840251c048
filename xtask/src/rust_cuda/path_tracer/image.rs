// Renders Rust-CUDA's path tracer on the CPU. `cargo xtask rust-cuda` compiles this file with the
// checkout's crate of kernels, for the host. The loop is that of the example's `src/cpu/mod.rs`.
//
// Standard output: the arguments of the kernels and the image, each with its length in bytes in
// front (u64, little-endian): viewport, objects, materials, random states, accumulated colours.

use glam::{USizeVec2, UVec2, Vec2, Vec3};
use gpu_rand::{DefaultRand, GpuRand};
use path_tracer_kernels::material::{
    DielectricMaterial, DiffuseMaterial, MaterialKind, MetallicMaterial,
};
use path_tracer_kernels::render::generate_ray;
use path_tracer_kernels::scene::Scene;
use path_tracer_kernels::sphere::Sphere;
use path_tracer_kernels::{Object, Viewport};
use std::io::Write;

const SEED: u64 = 932174513921034;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let (width, height): (usize, usize) = (arguments.next().unwrap(), arguments.next().unwrap());
    let samples = arguments.next().unwrap();

    let (origin, target) = (Vec3::new(0.0, 0.5, 2.0), Vec3::new(0.0, 0.0, -0.5));
    let half = (70.0f32.to_radians() / 2.0).tan();
    let w = (origin - target).normalize();
    let u = Vec3::Y.cross(w).normalize();
    let horizontal = 2.0 * half * (width as f32 / height as f32) * u;
    let vertical = 2.0 * half * w.cross(u);
    let viewport = Viewport {
        bounds: USizeVec2::new(width, height),
        lower_left: origin - horizontal / 2.0 - vertical / 2.0 - w,
        horizontal,
        vertical,
        origin,
    };
    let metal = |color, roughness| MaterialKind::Metallic(MetallicMaterial { color, roughness });
    let materials = [
        metal(Vec3::new(1.0, 0.85, 0.45), 0.0),
        MaterialKind::Diffuse(DiffuseMaterial {
            color: Vec3::new(0.5, 0.5, 1.0),
        }),
        metal(Vec3::new(1.0, 0.7, 0.7), 0.2),
        MaterialKind::Dielectric(DielectricMaterial {
            ior: 1.0,
            color: Vec3::ONE,
        }),
    ];
    let sphere = |x, y, z, radius, material| {
        Object::Sphere(Sphere::new(Vec3::new(x, y, z), radius, material))
    };
    let objects = [
        sphere(0.0, 0.0, -1.0, 0.5, 0),
        sphere(1.1, 0.2, -0.7, 0.2, 2),
        sphere(-0.5, 0.4, -0.9, 0.3, 3),
        sphere(0.7, 0.0, -0.2, 0.2, 1),
    ];
    let scene = Scene {
        objects: &objects,
        materials: &materials,
    };
    let mut states = DefaultRand::initialize_states(SEED, width * height);
    write(&[viewport]);
    write(&objects);
    write(&materials);
    write(&states);

    let mut colours = vec![Vec3::ZERO; width * height];
    for _ in 0..samples {
        for (i, (colour, state)) in colours.iter_mut().zip(&mut states).enumerate() {
            let pixel = UVec2::new((i % width) as u32, (i / width) as u32);
            let offset = Vec2::from(state.normal_f32_2());
            let ray = generate_ray(pixel, &viewport, offset);
            *colour += scene.ray_color(ray, state);
        }
    }
    write(&colours);
}

fn write<T: Copy>(values: &[T]) {
    let bytes = std::mem::size_of_val(values);
    // SAFETY: the bytes are those of the slice. Padding among them is passed on, as cust does.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), bytes) };
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(&(bytes.len() as u64).to_le_bytes())
        .unwrap();
    stdout.write_all(bytes).unwrap();
}
