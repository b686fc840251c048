//! The GPUs that can be emulated, as the driver describes them.

use crate::code::{Code, Result};

/// What a program can learn of a GPU. Multiprocessors, clocks and memory are those of the
/// datasheets; limits those of the CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability".
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmulatedDevice {
    /// Name with which it is chosen.
    pub(crate) name: &'static str,
    pub(crate) capability: (i32, i32),
    pub(crate) multiprocessors: i32,
    pub(crate) clock_khz: i32,
    pub(crate) memory_clock_khz: i32,
    bus_bits: i32,
    l2_bytes: i32,
    memory_gib: u64,
}

macro_rules! device {
    ($name:literal $major:literal, $minor:literal, $sms:literal $clock:literal $memory_clock:literal
     $bus:literal $l2:literal $gib:literal) => {
        EmulatedDevice {
            name: $name,
            capability: ($major, $minor),
            multiprocessors: $sms,
            clock_khz: $clock * 1000,
            memory_clock_khz: $memory_clock * 1000,
            bus_bits: $bus,
            l2_bytes: $l2 << 20,
            memory_gib: $gib,
        }
    };
}

/// Name, compute capability, multiprocessors, clock and memory clock (MHz), memory bus (bits), L2
/// cache (MiB), memory (GiB).
#[rustfmt::skip]
const DEVICES: [EmulatedDevice; 9] = [
    device!("H100" 9, 0, 132 1980 2619 5120 50 80),
    device!("H200" 9, 0, 132 1980 3201 6144 50 141),
    device!("B200" 10, 0, 148 1965 3996 8192 126 180),
    device!("RTX 5090" 12, 0, 170 2407 14001 512 96 32),
    device!("RTX 4090" 8, 9, 128 2520 10501 384 72 24),
    device!("RTX 3090" 8, 6, 82 1695 9751 384 6 24),
    device!("A100" 8, 0, 108 1410 1215 5120 40 40),
    device!("T4" 7, 5, 40 1590 5001 256 4 16),
    device!("V100" 7, 0, 80 1530 877 4096 6 16),
];

/// Limits of a compute capability: threads, blocks and shared memory (KiB) of a multiprocessor,
/// shared memory of a block that opts in (KiB), throughput of f32 over that of f64.
fn limits(capability: (i32, i32)) -> [i32; 5] {
    match capability {
        (7, 0) => [2048, 32, 96, 96, 2],
        (7, _) => [1024, 16, 64, 64, 32],
        (8, 0) => [2048, 32, 164, 163, 2],
        (8, 6) => [1536, 16, 100, 99, 64],
        (8, _) | (12, _) => [1536, 24, 100, 99, 64],
        _ => [2048, 32, 228, 227, 2],
    }
}

/// The number of a target such as `sm_90a`, and the suffix that follows it.
pub(crate) fn target_number(target: &str) -> (i32, &str) {
    let number = target.strip_prefix("sm_").unwrap_or(target);
    let digits = number.trim_end_matches(|character: char| !character.is_ascii_digit());
    (digits.parse().unwrap_or(0), &number[digits.len()..])
}

impl EmulatedDevice {
    /// The GPUs of a list with commas: `H100` or `h100,a100`.
    ///
    /// # Errors
    /// One line with the names that there are.
    pub(crate) fn parse(list: &str) -> std::result::Result<Vec<EmulatedDevice>, String> {
        let plain = |name: &str| name.to_lowercase().replace([' ', '-', '_'], "");
        let of_name = |name: &str| {
            let wanted = plain(name);
            let found = DEVICES.iter().find(|device| plain(device.name) == wanted);
            found.copied().ok_or_else(|| {
                let known: Vec<&str> = DEVICES.iter().map(|device| device.name).collect();
                format!(
                    "no GPU `{name}` is described: choose from {}",
                    known.join(", ")
                )
            })
        };
        list.split(',').map(of_name).collect()
    }

    /// Whether the device runs PTX of a target.
    ///
    /// # Errors
    /// One line that says which GPU would.
    pub(crate) fn check_target(&self, target: &str) -> std::result::Result<(), String> {
        let (wanted, suffix) = target_number(target);
        let (major, minor) = self.capability;
        let has = 10 * major + minor;
        let fits = match suffix {
            "" => wanted <= has,
            // For later ones of its family, which is the same major number.
            "f" => wanted <= has && wanted / 10 == major,
            // For one compute capability.
            _ => wanted == has,
        };
        match fits {
            true => Ok(()),
            false => Err(format!(
                "PTX for {target} does not run on compute capability {major}.{minor}: choose another \
                 GPU by WARPLADDER_CUDA_DEVICE"
            )),
        }
    }

    /// What `cuDeviceGetName` says.
    pub(crate) fn full_name(&self) -> String {
        format!("Emulated NVIDIA {} (warpladder)", self.name)
    }

    /// Device memory, in bytes: that of the GPU, but no more than three quarters of the host's.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.memory_gib << 30).min(host_memory() / 4 * 3)
    }

    /// Most bytes of dynamic and static shared memory of a block that opts in.
    pub(crate) fn shared_optin_bytes(&self) -> i32 {
        limits(self.capability)[3] << 10
    }

    pub(crate) fn warps_and_blocks(&self) -> (i32, i32) {
        let [threads, blocks, ..] = limits(self.capability);
        (threads / 32, blocks)
    }

    pub(crate) fn shared_of_multiprocessor(&self) -> i32 {
        limits(self.capability)[2] << 10
    }

    /// Shared memory that the driver keeps for itself in every block.
    pub(crate) fn reserved_shared(&self) -> i32 {
        if self.capability.0 >= 8 { 1024 } else { 0 }
    }

    /// Bytes in whose multiples a block gets shared memory.
    pub(crate) fn shared_unit(&self) -> u32 {
        if self.capability.0 >= 8 { 128 } else { 256 }
    }

    pub(crate) fn has_clusters(&self) -> bool {
        self.capability.0 >= 9
    }

    /// A `CUdevice_attribute`, by its number in `cuda.h`. Those of graphics are 0: there is none.
    pub(crate) fn attribute(&self, attribute: u32, ordinal: i32) -> Result<i32> {
        let [threads, blocks, shared, optin, ratio] = limits(self.capability);
        Ok(match attribute {
            1..=3 => [1024, 1024, 1024][attribute as usize - 1],
            4 => 64,
            5 => i32::MAX,
            6 | 7 => 65535,
            8 => 48 << 10,
            9 => 64 << 10,
            10 => 32,
            11 => i32::MAX,
            12 | 82 => 65536,
            13 => self.clock_khz,
            14 => 512,
            // Copies beside kernels, mapped host memory, unified addresses, several kernels,
            // priorities, caches, managed memory, preemption, atomics on the host's memory.
            15 | 19 | 31 | 41 | 78 | 79 | 80 | 83 | 90 => 1,
            16 => self.multiprocessors,
            30 => 512,
            33 => ordinal + 1,
            36 => self.memory_clock_khz,
            37 => self.bus_bits,
            38 => self.l2_bytes,
            39 => threads,
            40 => 1,
            51 => 32,
            75 => self.capability.0,
            76 => self.capability.1,
            81 => shared << 10,
            87 => ratio,
            // Managed memory while a kernel runs, streams that wait for values and write them,
            // cooperative launches, registered memory, which has its own address, virtual memory
            // management, files as its handles, pools, their kinds of handles (a set: files alone),
            // events for other processes.
            89 | 91..=95 | 99 | 102 | 103 | 115 | 119 | 122 | 123 | 125 => 1,
            21..=29 | 42..=49 | 52..=74 | 77 => image_limit(attribute),
            97 => optin << 10,
            106 => blocks,
            111 => self.reserved_shared(),
            120 | 127 => i32::from(self.has_clusters()),
            0 | 200.. => return Err(Code::INVALID_VALUE),
            _ => 0,
        })
    }
}

/// Extents of textures and surfaces, and their layers (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability", which has one column for 7.0 to 9.0).
fn image_limit(attribute: u32) -> i32 {
    match attribute {
        // Lines and planes.
        21 | 22 | 56 => 131_072,
        23 | 57 => 65_536,
        // Volumes.
        24..=26 | 47..=49 | 58..=60 => 16_384,
        // Layers; gathers.
        29 | 43 | 62 | 65 => 2048,
        44 => 1,
        // Layers of cubes.
        54 | 68 => 2046,
        // Textures of linear memory: texels, width, height, pitch in bytes.
        69 => 1 << 28,
        70 => 131_072,
        71 => 65_000,
        72 => 2_097_120,
        _ => 32_768,
    }
}

/// Bytes of the host's memory; 8 GiB where it is not known.
fn host_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(8 << 30, |kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::EmulatedDevice;

    #[test]
    fn targets_run_on_their_gpus() {
        for (device, runs, refuses) in [
            ("H100", "sm_52 sm_80 sm_90 sm_90a", "sm_100 sm_100a sm_100f"),
            (
                "B200",
                "sm_90 sm_100 sm_100a sm_100f",
                "sm_90a sm_103 sm_120f",
            ),
            (
                "rtx5090",
                "sm_100 sm_120a sm_120f",
                "sm_100a sm_100f sm_121a",
            ),
        ] {
            let device = EmulatedDevice::parse(device).expect("described")[0];
            for target in runs.split(' ') {
                assert_eq!(device.check_target(target), Ok(()), "{target}");
            }
            for target in refuses.split(' ') {
                assert!(device.check_target(target).is_err(), "{target}");
            }
        }
    }
}
