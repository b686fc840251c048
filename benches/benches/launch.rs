//! What a launch costs the host: a product through the library beside `cuLaunchKernel` with nothing
//! around it.

#[cfg(target_os = "linux")]
#[path = "launch/linux.rs"]
mod linux;

#[cfg(target_os = "linux")]
use linux::main;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("benchmarks of launches left out: the GPU engine is built on Linux only");
}
