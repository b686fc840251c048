//! Times the reading of a PTX module and prints the best of several runs.
//!
//! `cargo run --release -p ptx-syntax --example parse_speed FILE.ptx`

use ptx_syntax::{Bodies, parse};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

const RUNS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args()
        .nth(1)
        .ok_or("name a file: parse_speed FILE.ptx")?;
    let text = std::fs::read_to_string(&file)?;
    let index = best(|| parse(&text, Bodies::Skip).map(|tree| tree.functions.len()))?;
    let whole = best(|| parse(&text, Bodies::Check).map(|tree| tree.functions.len()))?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:.1} MB: {:.2} ms to parse without bodies, {:.2} ms with them",
        text.len() as f64 / 1e6,
        ms(index),
        ms(whole),
    );
    Ok(())
}

/// The shortest time that `action` takes.
fn best<T, E>(action: impl Fn() -> Result<T, E>) -> Result<Duration, E> {
    let mut shortest = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        black_box(action()?);
        shortest = shortest.min(start.elapsed());
    }
    Ok(shortest)
}
