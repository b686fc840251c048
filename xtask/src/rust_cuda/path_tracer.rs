//! The path tracer of Rust-CUDA's examples: rendered by its kernels, and by the same crate on the
//! CPU.

use super::cpu::{f32_bytes, f32_values};
use super::device::{Launcher, Program};
use anyhow::{Context, Result, bail, ensure};
use cuda_builder::Toolchain;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that renders on the CPU.
const IMAGE: &str = include_str!("path_tracer/image.rs");

const PROGRAM: &str = "path-tracer-image";

/// The example.
pub const UNIT: &str = "crates/optix/examples/path_tracer/kernels";

const WIDTH: u32 = 48;
const HEIGHT: u32 = 32;
const SAMPLES: u32 = 4;
/// Threads of a block in each direction.
const BLOCK: u32 = 16;

/// Pixels of a thousand that may differ by more than [`TOLERANCE`]: a ray that passes a sphere's
/// edge by a rounding error goes another way.
const STRAY_PER_MILLE: usize = 20;
/// Of a colour's component, from 0 to 1.
const TOLERANCE: f32 = 1e-3;

/// What both renderers start from, and the CPU's image.
struct Scene {
    viewport: Vec<u8>,
    objects: Vec<u8>,
    materials: Vec<u8>,
    states: Vec<u8>,
    colours: Vec<f32>,
}

pub fn run(program: &Program, stage: &Path) -> Result<String> {
    let scene = render_on_cpu(stage)?;
    let mut device = Launcher::new(program);
    let pixels = (WIDTH * HEIGHT) as usize;
    let accumulated = device.place(&vec![0; pixels * 12])?;
    let objects = device.place(&scene.objects)?;
    let materials = device.place(&scene.materials)?;
    let states = device.place(&scene.states)?;
    // Four spheres and four materials, as two slices.
    let slices = [objects.address, 4, materials.address, 4].map(u64::to_le_bytes);
    let slices = device.place(slices.as_flattened())?;
    let grid = [WIDTH / BLOCK + 1, HEIGHT / BLOCK + 1, 1];
    let block = [BLOCK, BLOCK, 1];
    for _ in 0..SAMPLES {
        device.pointer(accumulated).bytes(&scene.viewport);
        device.pointer(slices).pointer(states);
        device.launch("render", grid, block)?;
    }
    let colours = f32_values(&device.read(accumulated)?);
    let stray = stray_pixels(&colours, &scene.colours);
    ensure!(
        stray * 1000 <= pixels * STRAY_PER_MILLE,
        "{stray} of {pixels} pixels differ from the CPU's"
    );

    let scaled = device.allocate(pixels * 12)?;
    device.pointer(accumulated).pointer(scaled);
    device.u32(SAMPLES).bytes(&scene.viewport);
    device.launch("scale_buffer", grid, block)?;
    let want: Vec<f32> = colours.iter().map(|c| c * (1.0 / SAMPLES as f32)).collect();
    ensure!(
        device.read(scaled)? == f32_bytes(&want),
        "scale_buffer does not scale"
    );
    let image = device.allocate(pixels * 3)?;
    device.pointer(scaled).pointer(image).bytes(&scene.viewport);
    device.launch("postprocess", grid, block)?;
    let want: Vec<u8> = want
        .iter()
        .map(|c| (c.sqrt() * 255.0).clamp(0.0, 255.0) as u8)
        .collect();
    ensure!(device.read(image)? == want, "postprocess gives other bytes");
    Ok(format!(
        "{WIDTH} × {HEIGHT} pixels, {SAMPLES} samples: {} of {pixels} within {TOLERANCE}",
        pixels - stray
    ))
}

/// Pixels with a component, for one sample, that differs by more than the tolerance.
fn stray_pixels(got: &[f32], want: &[f32]) -> usize {
    let differs = |(got, want): (&f32, &f32)| {
        let difference = (got - want).abs() / SAMPLES as f32;
        difference.is_nan() || difference > TOLERANCE
    };
    got.chunks(3)
        .zip(want.chunks(3))
        .filter(|(got, want)| got.iter().zip(*want).any(differs))
        .count()
}

/// Compiles the program that renders on the CPU, with the compiler of the kernels: both must agree
/// on how `Object` and `MaterialKind` lie in memory.
///
/// # Errors
///
/// Where it does not build.
pub fn build(stage: &Path) -> Result<()> {
    let folder = image_folder(stage);
    let manifest = format!(
        "[package]\nname = \"{PROGRAM}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nglam = {{ version = \"0.30\", features = [\"cuda\"] }}\n\
         gpu_rand = {{ path = \"../stage/crates/gpu_rand\" }}\n\
         path-tracer-kernels = {{ path = \"../stage/{UNIT}\" }}\n\n[workspace]\n"
    );
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/main.rs"), IMAGE)?;
    std::fs::copy(stage.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let toolchain = Toolchain::find(&stage.join(UNIT))?;
    let program = |name: &str| toolchain.sysroot.join("bin").join(name);
    let output = Command::new(program("cargo"))
        .args(["build", "--quiet", "--release"])
        .current_dir(&folder)
        .env("RUSTC", program("rustc"))
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!(
            "the path tracer does not build for the CPU: {}",
            super::kernel::first_error(&String::from_utf8_lossy(&output.stderr))
        );
    }
    Ok(())
}

fn image_folder(stage: &Path) -> PathBuf {
    stage.with_file_name(PROGRAM)
}

fn render_on_cpu(stage: &Path) -> Result<Scene> {
    let program = image_folder(stage).join("target/release").join(PROGRAM);
    let output = Command::new(&program)
        .args([WIDTH, HEIGHT, SAMPLES].map(|n| n.to_string()))
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(
        output.status.success(),
        "the path tracer does not run on the CPU: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut rest = &output.stdout[..];
    let mut part = || -> Option<Vec<u8>> {
        let (length, behind) = rest.split_first_chunk()?;
        let (bytes, behind) = behind.split_at_checked(u64::from_le_bytes(*length) as usize)?;
        rest = behind;
        Some(bytes.to_vec())
    };
    let mut parts = || {
        Some(Scene {
            viewport: part()?,
            objects: part()?,
            materials: part()?,
            states: part()?,
            colours: f32_values(&part()?),
        })
    };
    parts().context("the CPU's image is cut short")
}
