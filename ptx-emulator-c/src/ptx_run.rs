//! `ptx_run`, the one function of gpuocelot that emulated GPUs call: PTX text, the arguments as
//! pointers, and kernels that use addresses of the process.

use std::collections::HashMap;
use std::ffi::c_int;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use ptx_emulator::{Args, Kernel, LaunchConfig, Memory, Module};

use crate::error::{Failure, Result, guard};
use crate::memory::map;
use crate::module::ptx_text;
use crate::pointer::{Array, Bytes, Text};

/// Texts whose kernels are kept decoded.
const KEPT: usize = 4096;

fn kernel(text: &str) -> Result<Kernel> {
    static KERNELS: Mutex<Option<HashMap<String, Kernel>>> = Mutex::new(None);
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let kernels = kernels.get_or_insert_default();
    if let Some(kernel) = kernels.get(text) {
        return Ok(kernel.clone());
    }
    let module = Module::parse(ptx_text(text.as_bytes())?)?;
    let name = module.kernel_names().next();
    let name = name.ok_or_else(|| Failure::invalid("the PTX has no kernel"))?;
    let kernel = module.kernel(name)?;
    if kernels.len() == KEPT {
        kernels.clear();
    }
    kernels.insert(text.to_string(), kernel.clone());
    Ok(kernel)
}

/// The ranges of the process that can be read and written; those without a gap are one.
fn writable(maps: &str) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (Some(range), Some(access)) = (words.next(), words.next()) else {
            continue;
        };
        let Some((start, end)) = range.split_once('-') else {
            continue;
        };
        let number = |text| u64::from_str_radix(text, 16);
        let (Ok(start), Ok(end), true) = (number(start), number(end), access.starts_with("rw"))
        else {
            continue;
        };
        match all.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => all.push((start, end)),
        }
    }
    all
}

/// Memory in which the ranges around all addresses among the arguments are those of the process.
fn memory_around(values: &[u64]) -> Result<Memory> {
    let memory = Memory::with_capacity(u64::MAX);
    let maps = std::fs::read_to_string("/proc/self/maps");
    let maps = maps
        .map_err(|error| Failure::invalid(format!("the process's memory is not known: {error}")))?;
    for (start, end) in writable(&maps) {
        if values.iter().any(|value| (start..end).contains(value)) {
            map(&memory, start, Bytes::at_address(start), end - start)?;
        }
    }
    Ok(memory)
}

fn run(text: &str, each: &Array, count: usize, config: &LaunchConfig) -> Result {
    let kernel = kernel(text)?;
    let (name, params) = (kernel.name(), kernel.params());
    if count != params.len() {
        let expected = params.len();
        return Err(Failure::invalid(format!(
            "kernel `{name}` takes {expected} arguments, not {count}"
        )));
    }
    let (mut args, mut addresses) = (Args::new(), Vec::new());
    for (index, param) in params.iter().enumerate() {
        // The pointer itself is the argument.
        let value = each.at(index)?.address().to_le_bytes();
        let Some(bytes) = value.get(..param.bytes as usize) else {
            let (parameter, bytes) = (&param.name, param.bytes);
            return Err(Failure::invalid(format!(
                "parameter `{parameter}` of kernel `{name}` has {bytes} bytes: a pointer has 8"
            )));
        };
        args.push_bytes(bytes);
        if bytes.len() == 8 {
            addresses.push(u64::from_le_bytes(value));
        }
    }
    let memory = memory_around(&addresses)?;
    let ended = kernel.launch(&memory, config, &args);
    let mut out = std::io::stdout().lock();
    // A closed standard output is no failure of a launch.
    _ = out
        .write_all(&memory.take_printed())
        .and_then(|()| out.flush());
    Ok(ended.map(drop)?)
}

/// `ptx_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_run(
    text: Text,
    count: c_int,
    each: Array,
    block_x: c_int,
    block_y: c_int,
    block_z: c_int,
    grid_x: c_int,
    grid_y: c_int,
    grid_z: c_int,
    shared_bytes: c_int,
) {
    let status = guard(|| {
        let natural = |value: c_int| {
            u32::try_from(value).map_err(|_| Failure::invalid(format!("{value} is negative")))
        };
        let grid = [natural(grid_x)?, natural(grid_y)?, natural(grid_z)?];
        let block = [natural(block_x)?, natural(block_y)?, natural(block_z)?];
        let mut config = LaunchConfig::new(grid, block);
        config.dynamic_shared_bytes = natural(shared_bytes)?;
        run(text.get()?, &each, natural(count)? as usize, &config)
    });
    if status != 0 {
        crate::error::print_last("ptx_run");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writable_ranges_without_a_gap_are_one() {
        let maps = "1000-2000 r--p 0 0:0 0\n2000-3000 rw-p 0 0:0 0\n3000-5000 rw-p 0 0:0 0 [heap]\n\
                    6000-7000 rw-s 0 0:0 0\n7000-8000 ---p 0 0:0 0\nnonsense\n\nx-y rw-p\n";
        assert_eq!(writable(maps), [(0x2000, 0x5000), (0x6000, 0x7000)]);
    }
}
