//! Bulk copies of tensors, and MMAs of warpgroups.

use crate::common::{kernel, module, module_with};
use ptx_emulator::counters::{BulkCounts, Counts};
use ptx_emulator::sanitize::{Sanitizer, Tool};
use ptx_emulator::{
    Args, Counters, FaultKind, LaunchConfig, LaunchError, Memory, TENSOR_MAP_BYTES, TensorElement,
    TensorMap, TensorSwizzle,
};

/// Device memory with data, tensor maps and a result.
struct TensorMemory {
    memory: Memory,
    data: u64,
}

/// Bytes in front of the data, for maps.
const MAPS: u64 = 256;

/// Bytes after the maps.
const BYTES: usize = 1 << 16;

impl TensorMemory {
    /// Memory that holds `content` after the space for maps, and zeros.
    fn new(content: &[u8]) -> Self {
        let memory = Memory::with_capacity(1 << 20);
        let data = memory.alloc(MAPS + BYTES as u64).expect("room");
        memory
            .fill(data, MAPS + BYTES as u64, 0)
            .expect("in bounds");
        memory.write(data + MAPS, content).expect("in bounds");
        TensorMemory { memory, data }
    }

    /// Makes a map of what starts at an offset after the maps.
    fn map(&self, index: u64, offset: u64, map: TensorMap) {
        let map = TensorMap {
            address: self.data + MAPS + offset,
            ..map
        };
        let bytes = map.to_bytes().expect("well formed");
        let place = self.data + index * TENSOR_MAP_BYTES as u64;
        self.memory.write(place, &bytes).expect("in bounds");
    }

    fn launch(&self, text: &str, threads: u32) -> Result<(), LaunchError> {
        let mut args = Args::new();
        args.push_u64(self.data);
        let config = LaunchConfig {
            instruction_budget: 1 << 20,
            ..LaunchConfig::new([1, 1, 1], [threads, 1, 1])
        };
        kernel(text)
            .launch(&self.memory, &config, &args)
            .map(|_| ())
    }

    fn counts(&self, text: &str, threads: u32) -> Counts {
        let mut args = Args::new();
        args.push_u64(self.data);
        let config = LaunchConfig::new([1, 1, 1], [threads, 1, 1]);
        let mut counters = Counters::new();
        let done = kernel(text).launch_observed(&self.memory, &config, &args, &mut counters);
        done.unwrap_or_else(|error| panic!("{error}\n{text}"));
        counters.total()
    }

    fn findings(&self, text: &str, threads: u32) -> Vec<String> {
        let mut args = Args::new();
        args.push_u64(self.data);
        let config = LaunchConfig {
            instruction_budget: 1 << 20,
            ..LaunchConfig::new([1, 1, 1], [threads, 1, 1])
        };
        let mut sanitizer = Sanitizer::new(&Tool::ALL);
        let found = sanitizer.launch(&kernel(text), &self.memory, &config, &args);
        let found = found.unwrap_or_else(|error| panic!("{error}\n{text}"));
        found.iter().map(|finding| finding.to_string()).collect()
    }

    fn read(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut content = vec![0; bytes];
        self.memory
            .read(self.data + MAPS + offset, &mut content)
            .expect("in bounds");
        content
    }
}

fn halves(count: usize) -> Vec<u8> {
    (0..count as u16).flat_map(u16::to_le_bytes).collect()
}

/// A matrix of 16-bit elements and its box.
fn matrix(rows: u64, columns: u64, the_box: [u16; 2], swizzle: TensorSwizzle) -> TensorMap {
    TensorMap {
        element_bytes: 2,
        extents: vec![columns, rows],
        strides: vec![2 * columns],
        box_extents: the_box.into(),
        swizzle,
        ..TensorMap::default()
    }
}

/// Loads a box at (x, y) to shared memory and copies the first 1024 bytes of that to offset 32768.
fn load_box(x: i32, y: i32, bytes: u32, wait: &str) -> String {
    module(&format!(
        ".shared .align 1024 .b8 tile[4096]; .shared .align 8 .b8 full[8];
         mov.u32 %r1, tile; mov.u32 %r2, full; mov.u32 %r3, {x}; mov.u32 %r4, {y}; mov.u32 %r5, 0;
         setp.ne.u32 %p1, %thread, 0; @%p1 bra READY;
         mbarrier.init.shared.b64 [%r2], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%base, {{%r3, %r4}}], [%r2];
         READY: bar.sync 0;
         {wait}
         mad.lo.u32 %r6, %thread, 32, %r1; mad.wide.u32 %x1, %thread, 32, %base;
         ld.shared.v4.b32 {{%r7, %r8, %r9, %r10}}, [%r6]; st.global.v4.b32 [%x1+33024], {{%r7, %r8, %r9, %r10}};
         ld.shared.v4.b32 {{%r7, %r8, %r9, %r10}}, [%r6+16]; st.global.v4.b32 [%x1+33040], {{%r7, %r8, %r9, %r10}};"
    ))
}

const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r5; @!%p2 bra W;";

#[test]
fn boxes_are_swizzled_and_filled_with_zeros() {
    for (swizzle, span) in [
        (TensorSwizzle::None, 16),
        (TensorSwizzle::Bytes32, 32),
        (TensorSwizzle::Bytes64, 64),
        (TensorSwizzle::Bytes128, 128),
        (TensorSwizzle::Bytes128By32, 128),
    ] {
        let columns = span.max(32) / 2;
        let rows = 1024 / (2 * columns);
        let device = TensorMemory::new(&halves(100 * 40));
        device.map(
            0,
            0,
            matrix(40, 100 - 4, [columns as u16, rows as u16], swizzle),
        );
        for (x, y) in [(0, 0), (8, 3), (-3, -2), (90, 37), (200, 0)] {
            device
                .launch(&load_box(x, y, 1024, WAIT), 32)
                .expect("runs");
            let found = device.read(32768, 1024);
            for row in 0..rows {
                for column in 0..columns {
                    let (gx, gy) = (x + column as i32, y + row as i32);
                    let inside = (0..96).contains(&gx) && (0..40).contains(&gy);
                    let expected = if inside { (gy * 96 + gx) as u16 } else { 0 };
                    let at = 2 * (row * columns + column);
                    // Bits 7 and up, as many as the span has chunks.
                    let at = match swizzle {
                        TensorSwizzle::Bytes128By32 => at ^ (at >> 7 & 3) << 5,
                        _ => at ^ ((at >> 7) & (span / 16 - 1)) << 4,
                    };
                    let value = u16::from_le_bytes([found[at], found[at + 1]]);
                    assert_eq!(value, expected, "{swizzle:?} ({x}, {y}): {row}, {column}");
                }
            }
        }
    }
}

/// Elements of 4 and 6 bits, which are packed in global memory; some are padded in shared memory.
#[test]
fn narrow_elements_are_copied_in_groups_of_sixteen() {
    let content: Vec<u8> = (0..4096u32).map(|at| (at * 7 + at / 256) as u8).collect();
    for (element, group, padded) in [
        (TensorElement::U4, 8, 8),
        (TensorElement::U4Padded, 8, 16),
        (TensorElement::U6Padded, 12, 16),
    ] {
        let device = TensorMemory::new(&content);
        let map = |extents: [u64; 2]| TensorMap {
            element_bytes: 1,
            extents: extents.into(),
            strides: vec![16 * group],
            box_extents: vec![128, 8],
            element,
            ..TensorMap::default()
        };
        device.map(0, 0, map([256, 10]));
        for (x, y) in [(0, 0), (64, 1), (192, 5)] {
            let told = 8 * 8 * group as u32;
            let body = load_box(x, y, told, WAIT);
            device
                .launch(&body, 32)
                .unwrap_or_else(|error| panic!("{element:?}: {error}"));
            let found = device.read(32768, 8 * 8 * padded);
            for (at, found) in found.iter().enumerate() {
                let (row, unit, byte) = (at / (8 * padded), at / padded % 8, at % padded);
                let (row, unit) = (row + y as usize, unit + x as usize / 16);
                let is_data = byte < group as usize && row < 10 && unit < 16;
                let place = row * 16 * group as usize + unit * group as usize + byte;
                let wanted = if is_data { content[place] } else { 0 };
                assert_eq!(*found, wanted, "{element:?} at ({x}, {y}): byte {at}");
            }
        }
        // An extent or a coordinate that is no multiple of the elements that share bytes.
        let odd = device.launch(&load_box(1, 0, 512, WAIT), 32);
        assert!(odd.is_err_and(|error| error.to_string().contains("must be multiples of")));
        device.map(0, 0, map([255, 10]));
        let odd = device.launch(&load_box(0, 0, 512, WAIT), 32);
        assert!(odd.is_err_and(|error| error.to_string().contains("an extent of 255")));
    }
}

#[test]
fn a_load_without_a_wait_is_late_and_a_race() {
    let device = TensorMemory::new(&halves(512));
    device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::None));
    device.launch(&load_box(0, 0, 1024, ""), 32).expect("runs");
    assert_eq!(device.read(32768, 1024), vec![0; 1024]);
    assert_eq!(device.findings(&load_box(0, 0, 1024, WAIT), 32), [""; 0]);
    assert!(!device.findings(&load_box(0, 0, 1024, ""), 32).is_empty());
}

#[test]
fn wrong_bulk_copies_are_faults() {
    let device = TensorMemory::new(&[]);
    let fault = |text: &str| match device.launch(text, 32) {
        Err(LaunchError::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    };
    assert!(matches!(
        fault(&load_box(0, 0, 1024, WAIT)),
        FaultKind::BadTensor(_)
    ));
    device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::None));
    // More bytes than the copy brings: the phase never completes.
    assert!(matches!(
        fault(&load_box(0, 0, 2048, WAIT)),
        FaultKind::Deadlock(_)
    ));
    device.map(0, 0, matrix(8, 64, [64, 33], TensorSwizzle::None));
    assert!(matches!(
        fault(&load_box(0, 0, 1024, WAIT)),
        FaultKind::OutOfBounds(_)
    ));
    device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::Bytes64));
    assert!(matches!(
        fault(&load_box(0, 0, 1024, WAIT)),
        FaultKind::BadTensor(_)
    ));
    device.map(0, BYTES as u64, matrix(8, 64, [64, 8], TensorSwizzle::None));
    assert!(matches!(
        fault(&load_box(0, 0, 1024, WAIT)),
        FaultKind::BadTensor(_)
    ));
}

/// One copy by all lanes of a warp is as one store of one value; copies to several places are not.
#[test]
fn lanes_may_store_the_same_box() {
    let store = |row: &str| {
        let body = format!(
            ".shared .align 128 .b8 tile[1024]; mov.u32 %r1, tile; mov.u32 %r3, 0; {row}
             mad.lo.u32 %r5, %thread, 32, %r1; mov.u32 %r2, 0;
             FILL: st.shared.b32 [%r5], %r2; add.u32 %r5, %r5, 4; add.u32 %r2, %r2, 1;
             setp.lt.u32 %p1, %r2, 8; @%p1 bra FILL;
             fence.proxy.async.shared::cta; bar.sync 0;
             cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%base, {{%r3, %r4}}], [%r1];
             cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
        );
        let device = TensorMemory::new(&[]);
        device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::None));
        device.findings(&module(&body), 32)
    };
    let found = store("mov.u32 %r4, 0;");
    assert!(found.is_empty(), "{found:#?}");
    let found = store("and.b32 %r4, %thread, 1;");
    assert!(found.iter().any(|one| one.contains("race")), "{found:#?}");
}

#[test]
fn stores_clip_the_box_and_read_when_they_are_waited_for() {
    let store = |publish: &str, wait: &str| {
        module(&format!(
            ".shared .align 128 .b8 tile[1024]; mov.u32 %r1, tile; mov.u32 %r3, 32; mov.u32 %r4, 6;
             mad.lo.u32 %r5, %thread, 4, %r1; mov.u32 %r6, 0x00070007; mov.u32 %r7, 0x00090009;
             mov.u32 %r8, 0;
             FILL: st.shared.b32 [%r5], %r6; add.u32 %r5, %r5, 128; add.u32 %r8, %r8, 1;
             setp.lt.u32 %p2, %r8, 8; @%p2 bra FILL;
             {publish}
             setp.ne.u32 %p1, %thread, 0; @%p1 bra END;
             cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%base, {{%r3, %r4}}], [%r1];
             cp.async.bulk.commit_group;
             {wait}
             st.shared.b32 [%r1], %r7;
             END:"
        ))
    };
    let expected = |first: u16| -> Vec<u16> {
        let element = |row: usize, column: usize| match (row, column) {
            (6, 32 | 33) => first,
            (6.., 32..) => 7,
            _ => 0,
        };
        (0..8 * 64).map(|at| element(at / 64, at % 64)).collect()
    };
    let publish = "fence.proxy.async.shared::cta; bar.sync 0;";
    let read = "cp.async.bulk.wait_group.read 0;";
    for (wait, first) in [(read, 7), ("", 9)] {
        let device = TensorMemory::new(&[]);
        device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::None));
        device.launch(&store(publish, wait), 32).expect("runs");
        let found = device.read(0, 1024);
        let found: Vec<u16> = found
            .chunks_exact(2)
            .map(|half| u16::from_le_bytes([half[0], half[1]]))
            .collect();
        assert_eq!(found, expected(first), "{wait}");
    }
    // At the end of a row of 61 elements, the second half of a word is written as well.
    let device = TensorMemory::new(&[]);
    let mut odd = matrix(8, 64, [64, 8], TensorSwizzle::None);
    odd.extents[0] = 61;
    device.map(0, 0, odd);
    device.launch(&store(publish, read), 32).expect("runs");
    let end = device.read(2 * (6 * 64 + 60), 8);
    assert_eq!(end, [7, 0, 7, 0, 0, 0, 0, 0]);

    let device = TensorMemory::new(&[]);
    device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::None));
    let counts = device.counts(&store(publish, read), 32);
    // Two rows of 32 elements are inside.
    let inside = BulkCounts {
        sectors: 4,
        bytes: 128,
    };
    assert_eq!(
        (counts.bulk_stores, counts.global_stores.bytes),
        (inside, 0)
    );
    // What a store reads must be written, published, and left alone until it has been read.
    let findings = |publish: &str, wait: &str| {
        let device = TensorMemory::new(&[]);
        device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::None));
        device.findings(&store(publish, wait), 32)
    };
    assert_eq!(findings(publish, read), [""; 0]);
    for (publish, wait) in [
        ("bar.sync 0;", read),
        ("fence.proxy.async.shared::cta;", read),
        ("bar.sync 0; fence.proxy.async.shared::cta;", ""),
    ] {
        let found = findings(publish, wait);
        let is_race = |text: &String| text.contains("race between threads");
        assert!(found.iter().any(is_race), "{publish} {wait}: {found:?}");
    }
    // What is outside of the tensor need not have been written: 16 words of each of two rows are
    // inside.
    for (rows, is_whole) in [(2, true), (1, false)] {
        let device = TensorMemory::new(&[]);
        device.map(0, 0, matrix(8, 64, [64, 8], TensorSwizzle::None));
        let text = store(publish, read)
            .replace("FILL:", "setp.lt.u32 %p3, %thread, 16; FILL: @%p3")
            .replace("%r8, 8;", &format!("%r8, {rows};"));
        let found = device.findings(&text, 32);
        let is_unwritten = |text: &String| text.contains("never written");
        assert_eq!(found.is_empty(), is_whole, "{found:?}");
        assert!(is_whole || found.iter().all(is_unwritten), "{found:?}");
    }
}

/// An MMA of 64 × 8 results with operands copied to shared memory as they are: A's bytes first,
/// then B's at 8192.
struct Product {
    /// `f32.bf16.bf16` and the like.
    types: &'static str,
    depth: usize,
    /// Bits of the descriptors but for the addresses.
    layout: [u64; 2],
    /// Operands after the descriptors: signs, and whether they are MN-major.
    flags: &'static str,
    /// The address of element (row or column, k) of A or B.
    place: fn(usize, usize) -> usize,
    element_bytes: usize,
}

const SWIZZLE_128: u64 = 1 << 62;

fn layout(swizzle: u64, leading: u64, stride: u64) -> u64 {
    swizzle | (stride >> 4) << 32 | (leading >> 4) << 16
}

impl Product {
    fn text(&self, add: bool, wait: &str) -> String {
        let registers: Vec<String> = (0..4).map(|i| format!("%r{}", 20 + i)).collect();
        let shape = format!("m64n8k{}", self.depth);
        module_with(
            "",
            &format!(
                ".shared .align 1024 .b8 tile[16384]; .shared .align 8 .b8 done[8];
                 mov.u32 %r1, tile; mov.u32 %r2, 0;
                 mad.lo.u32 %r3, %thread, 4, %r1; mad.wide.u32 %x1, %thread, 4, %base;
                 COPY: ld.global.b32 %r4, [%x1+256]; st.shared.b32 [%r3], %r4;
                 add.u32 %r3, %r3, 512; add.s64 %x1, %x1, 512; add.u32 %r2, %r2, 1;
                 setp.lt.u32 %p1, %r2, 32; @%p1 bra COPY;
                 fence.proxy.async.shared::cta; bar.sync 0;
                 mov.u32 %r20, 0f3f800000; mov.u32 %r21, %r20; mov.u32 %r22, %r20; mov.u32 %r23, %r20;
                 cvt.u64.u32 %x2, %r1; shr.u64 %x2, %x2, 4; add.s64 %x3, %x2, 512;
                 or.b64 %x2, %x2, {}; or.b64 %x3, %x3, {};
                 setp.ne.u32 %p2, {}, 0;
                 wgmma.fence.sync.aligned;
                 wgmma.mma_async.sync.aligned.{shape}.{} {{{}}}, %x2, %x3, %p2, {};
                 wgmma.commit_group.sync.aligned;
                 {wait}
                 mov.u32 %r5, tile; mad.lo.u32 %r5, %thread, 4, %r5; st.shared.b32 [%r5], %r2;
                 mad.wide.u32 %x1, %thread, 16, %base;
                 st.global.v4.b32 [%x1+33024], {{{}}};",
                self.layout[0],
                self.layout[1],
                u32::from(add),
                self.types,
                registers.join(", "),
                self.flags,
                registers.join(", "),
            ),
        )
    }

    fn encode(&self, value: f32) -> Vec<u8> {
        match self.types {
            "f32.f16.f16" => half::f16::from_f32(value).to_bits().to_le_bytes().to_vec(),
            "f32.bf16.bf16" => half::bf16::from_f32(value).to_bits().to_le_bytes().to_vec(),
            _ => value.to_bits().to_le_bytes().to_vec(),
        }
    }

    fn check(&self) {
        let value =
            |row: usize, k: usize, seed: usize| ((row * 7 + k * 3 + seed) % 17) as f32 - 8.0;
        let mut content = vec![0; 16384];
        for (base, rows, seed) in [(0, 64, 0), (8192, 8, 5)] {
            for row in 0..rows {
                for k in 0..self.depth {
                    let at = base + (self.place)(row, k);
                    let bytes = self.encode(value(row, k, seed));
                    content[at..at + self.element_bytes].copy_from_slice(&bytes);
                }
            }
        }
        let wait = "wgmma.wait_group.sync.aligned 0; bar.sync 0;";
        for add in [false, true] {
            let device = TensorMemory::new(&content);
            device
                .launch(&self.text(add, wait), 128)
                .unwrap_or_else(|error| panic!("{error}"));
            let found = device.read(32768, 128 * 16);
            for thread in 0..128 {
                for i in 0..4 {
                    let (lane, warp) = (thread % 32, thread / 32);
                    let row = 16 * warp + lane / 4 + 8 * (i / 2);
                    let column = 2 * (lane % 4) + i % 2;
                    let sum: f32 = (0..self.depth)
                        .map(|k| value(row, k, 0) * value(column, k, 5))
                        .sum();
                    let sign = if self.flags.starts_with("-1") {
                        -1.0
                    } else {
                        1.0
                    };
                    let expected = sign * sum + if add { 1.0 } else { 0.0 };
                    let at = 16 * thread + 4 * i;
                    let bits = [found[at], found[at + 1], found[at + 2], found[at + 3]];
                    let value = f32::from_le_bytes(bits);
                    assert_eq!(
                        value, expected,
                        "{}: row {row}, column {column}",
                        self.types
                    );
                }
            }
        }
        let device = TensorMemory::new(&content);
        assert_eq!(device.findings(&self.text(true, wait), 128), [""; 0]);
        // The tile is overwritten while an MMA may still read it.
        let late = "bar.sync 0;";
        let mut text = self.text(true, late);
        text.truncate(text.rfind("ret;").expect("the end of the kernel"));
        text += "wgmma.wait_group.sync.aligned 0; ret;\n}\n";
        let found = device.findings(&text, 128);
        assert!(found.iter().any(|text| text.contains("race")), "{found:?}");
    }
}

/// Rows along k of 128 bytes, 16-byte chunks permuted.
fn along_128(row: usize, offset: usize) -> usize {
    let at = row * 128 + offset;
    at ^ ((at >> 7) & 7) << 4
}

#[test]
fn operands_along_k() {
    for (types, flags, depth) in [
        ("f32.bf16.bf16", "1, 1, 0, 0", 16),
        ("f32.f16.f16", "-1, 1, 0, 0", 16),
    ] {
        Product {
            types,
            depth,
            layout: [layout(SWIZZLE_128, 16, 1024); 2],
            flags,
            place: |row, k| along_128(row, 2 * k),
            element_bytes: 2,
        }
        .check();
    }
    Product {
        types: "f32.tf32.tf32",
        depth: 8,
        layout: [layout(SWIZZLE_128, 16, 1024); 2],
        flags: "1, 1",
        place: |row, k| along_128(row, 4 * k),
        element_bytes: 4,
    }
    .check();
}

#[test]
fn operands_without_a_swizzle() {
    // Core matrices of eight consecutive rows; the next core matrix along k is 2048 bytes further.
    Product {
        types: "f32.bf16.bf16",
        depth: 16,
        layout: [layout(0, 2048, 128); 2],
        flags: "1, 1, 0, 0",
        place: |row, k| row / 8 * 128 + row % 8 * 16 + k / 8 * 2048 + k % 8 * 2,
        element_bytes: 2,
    }
    .check();
}

#[test]
fn operands_across_k() {
    // Rows of 64 elements of one k; eight of them make a group.
    Product {
        types: "f32.bf16.bf16",
        depth: 16,
        layout: [layout(SWIZZLE_128, 4096, 1024); 2],
        flags: "1, 1, 1, 1",
        place: |row, k| along_128(k, 2 * row),
        element_bytes: 2,
    }
    .check();
}

fn element_of_b(row: usize, k: usize) -> f32 {
    ((row * 5 + k * 3) % 11) as f32 - 5.0
}

/// What a kernel of four warps reads B from. A is 1 at k = row mod 8, and 0 elsewhere: D is B's
/// elements.
fn rows_of_b() -> Vec<u8> {
    let mut content = vec![0; 8192];
    for column in 0..8 {
        for k in 0..8 {
            let at = along_128(column, 4 * k);
            let bits = element_of_b(column, k).to_bits();
            content[at..at + 4].copy_from_slice(&bits.to_le_bytes());
        }
    }
    content
}

/// The kernel, with what follows the group of its MMA.
fn multiply_rows(wait: &str) -> String {
    module(&format!(
        ".shared .align 1024 .b8 tile[1024]; mov.u32 %r1, tile; mad.lo.u32 %r3, %thread, 8, %r1;
         mad.wide.u32 %x1, %thread, 8, %base; ld.global.b64 %x2, [%x1+256]; st.shared.b64 [%r3], %x2;
         fence.proxy.async.shared::cta; bar.sync 0;
         mov.u32 %r4, %laneid; shr.u32 %r5, %r4, 2; and.b32 %r6, %r4, 3; add.u32 %r7, %r6, 4;
         setp.eq.u32 %p1, %r5, %r6; selp.b32 %r8, 0f3f800000, 0, %p1;
         setp.eq.u32 %p1, %r5, %r7; selp.b32 %r9, 0f3f800000, 0, %p1;
         cvt.u64.u32 %x3, %r1; shr.u64 %x3, %x3, 4; or.b64 %x3, %x3, 4611686293305360384;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {{%r20, %r21, %r22, %r23}}, {{%r8, %r8, %r9, %r9}}, %x3, 0, 1, 1;
         wgmma.commit_group.sync.aligned; {wait}
         mad.wide.u32 %x1, %thread, 16, %base;
         st.global.v4.b32 [%x1+33024], {{%r20, %r21, %r22, %r23}};",
    ))
}

fn check_rows(device: &TensorMemory) {
    let found = device.read(32768, 128 * 16);
    for thread in 0..128 {
        for i in 0..4 {
            let lane = thread % 32;
            let (row, column) = (lane / 4, 2 * (lane % 4) + i % 2);
            let at = 16 * thread + 4 * i;
            let bits = [found[at], found[at + 1], found[at + 2], found[at + 3]];
            assert_eq!(
                f32::from_le_bytes(bits),
                element_of_b(column, row),
                "thread {thread}, {i}"
            );
        }
    }
}

#[test]
fn rows_from_registers() {
    let device = TensorMemory::new(&rows_of_b());
    let text = multiply_rows("wgmma.wait_group.sync.aligned 0;");
    device
        .launch(&text, 128)
        .unwrap_or_else(|error| panic!("{error}"));
    check_rows(&device);
}

/// A group of MMAs is one of the warpgroup: once a warp has waited for it, no warp reads B, and one
/// thread may say so to a producer for all of them.
#[test]
fn a_warp_waits_for_the_mmas_of_its_warpgroup() {
    let overwrite = "setp.eq.u32 %p1, %thread, 0; @%p1 st.shared.v4.b32 [tile], {0, 0, 0, 0};";
    let wait = "wgmma.wait_group.sync.aligned 0;";
    let device = TensorMemory::new(&rows_of_b());
    let text = multiply_rows(&format!("{wait} {overwrite}"));
    device
        .launch(&text, 128)
        .unwrap_or_else(|error| panic!("{error}"));
    check_rows(&device);
    let found = device.findings(&text, 128);
    assert!(found.is_empty(), "{found:#?}");
    // Without the wait, and of what a warp does besides its MMAs.
    let store = "st.shared.b32 [tile+512], %thread;";
    for behind in [[overwrite, wait], [wait, store]] {
        let found = device.findings(&multiply_rows(&behind.concat()), 128);
        assert!(found.iter().any(|one| one.contains("race")), "{found:#?}");
    }
}

/// What warps load before their MMAs has been read when these are done, and one thread may say so
/// for all of them. What they load later, or store, has not.
#[test]
fn loads_before_mmas_end_with_them() {
    let device = TensorMemory::new(&rows_of_b());
    let wait = "wgmma.wait_group.sync.aligned 0;";
    let overwrite = "setp.eq.u32 %p1, %thread, 5; @%p1 st.shared.b32 [tile+520], %thread;";
    let (load, fence) = (
        "ld.shared.b32 %r10, [tile+520];",
        "wgmma.fence.sync.aligned;",
    );
    let findings = |before: &str, behind: &str| {
        let text = multiply_rows(&format!("{behind} {overwrite}"));
        device.findings(&text.replace(fence, &format!("{before} {fence}")), 128)
    };
    let found = findings(load, wait);
    assert!(found.is_empty(), "{found:#?}");
    let store = "setp.eq.u32 %p1, %thread, 70; @%p1 st.shared.b32 [tile+520], 1;";
    let late = format!("{load} {wait}");
    for (before, behind) in [(load, ""), ("", &late), (store, wait)] {
        let found = findings(before, behind);
        let race = found.iter().any(|one| one.contains("race"));
        assert!(race, "{before} {behind}: {found:#?}");
    }
}

#[test]
fn a_warp_without_its_mmas_is_waited_for() {
    let text = multiply_rows("wgmma.wait_group.sync.aligned 0;");
    let skip = "setp.ge.u32 %p3, %thread, 96; @%p3 bar.sync 1; wgmma.fence.sync.aligned;";
    let text = text.replace("wgmma.fence.sync.aligned;", skip);
    let device = TensorMemory::new(&rows_of_b());
    let error = device.launch(&text, 128).unwrap_err().to_string();
    let waits = "96 threads wait for MMAs of the other warps of their warpgroup";
    assert!(error.contains(waits), "{error}");
}
