//! A kernel of your own, from PTX text, on the GPU or on the emulator.
//!
//! `cargo run --release --example own_ptx`

use warpladder::engine::{self, Arg, Buffer, Choice, Dim3, EngineError, Launch};

fn main() -> Result<(), EngineError> {
    let (engine, why_not_a_gpu) = engine::open(Choice::Auto)?;
    if let Some(reason) = why_not_a_gpu {
        println!("on the emulator, since there is {reason}");
    }
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut y = vec![1.0_f32; x.len()];
    let on_device = |values: &[f32]| {
        let buffer = Buffer::new(&*engine, size_of_val(values))?;
        buffer.upload(values)?;
        Ok::<_, EngineError>(buffer)
    };
    let (x_buffer, y_buffer) = (on_device(&x)?, on_device(&y)?);
    engine.run(&Launch {
        kernel: engine.load(include_str!("axpy.ptx"), "axpy")?,
        grid: Dim3::new((x.len() as u32).div_ceil(256), 1, 1),
        block: Dim3::new(256, 1, 1),
        shared_bytes: 0,
        args: &[
            Arg::Ptr(x_buffer.ptr()),
            Arg::Ptr(y_buffer.ptr()),
            Arg::F32(0.5),
            Arg::U32(x.len() as u32),
        ],
    })?;
    y_buffer.download(&mut y)?;
    println!("{}: y[999] = {}", engine.device_name(), y[999]);
    assert!(x.iter().zip(&y).all(|(x, y)| *y == 0.5 * x + 1.0));
    Ok(())
}
