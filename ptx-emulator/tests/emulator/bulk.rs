//! Bulk copies of bytes, reductions of them, asynchronous stores, and tensor maps that a kernel
//! changes.

use crate::common::{STORE, kernel, module, module_with};
use ptx_emulator::sanitize::{Sanitizer, Tool};
use ptx_emulator::{
    Args, Fault, FaultKind, LaunchConfig, LaunchError, Memory, Module, TENSOR_MAP_BYTES,
    TensorElement, TensorMap,
};

/// Memory of 1024 words, and launches on it.
struct BulkLaunch {
    memory: Memory,
    data: u64,
    config: LaunchConfig,
}

impl BulkLaunch {
    /// With a cluster of some blocks, and words in front.
    fn new(blocks: u32, words: &[u32]) -> Self {
        let memory = Memory::with_capacity(1 << 20);
        let data = memory.alloc(4096).expect("room");
        memory.fill(data, 4096, 0).expect("in bounds");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(data, &bytes).expect("in bounds");
        BulkLaunch {
            memory,
            data,
            config: LaunchConfig {
                cluster: Some([blocks, 1, 1]),
                instruction_budget: 1 << 20,
                ..LaunchConfig::new([blocks, 1, 1], [32, 1, 1])
            },
        }
    }

    /// Runs a body under all sanitizers, which must find nothing.
    fn run(&self, body: &str) -> Vec<u32> {
        let mut args = Args::new();
        args.push_u64(self.data);
        let kernel = kernel(&module(body));
        let mut sanitizer = Sanitizer::new(&Tool::ALL);
        let found = sanitizer.launch(&kernel, &self.memory, &self.config, &args);
        let found = found.unwrap_or_else(|error| panic!("{error}\n{body}"));
        let found: Vec<String> = found.iter().map(|finding| finding.to_string()).collect();
        assert_eq!(found, [""; 0], "{body}");
        self.read()
    }

    fn read(&self) -> Vec<u32> {
        let mut bytes = vec![0; 4096];
        self.memory.read(self.data, &mut bytes).expect("in bounds");
        let words = bytes.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect()
    }

    fn fault(&self, body: &str) -> Fault {
        let mut args = Args::new();
        args.push_u64(self.data);
        match kernel(&module(body)).launch(&self.memory, &self.config, &args) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("{other:?}\n{body}"),
        }
    }
}

/// Thread 0 loads bytes from a place of the data and stores them at another.
fn there_and_back(from: u32, bytes: u32, to: u32, how: &str) -> String {
    format!(
        ".shared .align 128 .b8 tile[2048]; .shared .align 8 .b8 full[8];
         setp.ne.u32 %p1, %thread, 0; @%p1 bra DONE;
         mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster;
         mov.b32 %r1, {bytes}; add.s64 %x1, %base, {from}; add.s64 %x2, %base, {to};
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], %r1;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x1], %r1, [full];
         W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0; @!%p2 bra W;
         {how} [%x2], [tile], %r1;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
         DONE:"
    )
}

#[test]
fn bytes_are_loaded_and_stored() {
    let words: Vec<u32> = (0..257).map(|i| i * 7 + 1).collect();
    for count in [4, 12, 124, 252] {
        let device = BulkLaunch::new(1, &words);
        let store = "cp.async.bulk.global.shared::cta.bulk_group";
        let data = device.run(&there_and_back(16, 4 * count, 2048, store));
        let count = count as usize;
        assert_eq!(data[512..512 + count], words[4..4 + count]);
        assert_eq!(data[512 + count..], vec![0; 512 - count]);
    }
}

#[test]
fn bytes_are_reduced_in_global_memory() {
    let f16 = |value: f32| u32::from(half::f16::from_f32(value).to_bits());
    let twice = |half: u32| half | half << 16;
    let minus = |value: i32| value as u32;
    let [one, two, three] = [1f32, 2.0, 3.0].map(f32::to_bits);
    let cases: [(&str, u32, u32, u32); 7] = [
        ("add.u32", u32::MAX, 3, 2),
        ("min.s32", 5, minus(-3), minus(-3)),
        ("max.u32", 5, minus(-3), minus(-3)),
        ("inc.u32", 7, 7, 0),
        ("or.b64", 5, 3, 7),
        ("add.f32", two, one, three),
        (
            "add.noftz.f16",
            twice(f16(1.5)),
            twice(f16(2.25)),
            twice(f16(3.75)),
        ),
    ];
    for (name, before, operand, wanted) in cases {
        let mut words = vec![operand; 12];
        words.resize(512, 0);
        words.extend(vec![before; 13]);
        let device = BulkLaunch::new(1, &words);
        let how = format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}");
        let data = device.run(&there_and_back(0, 48, 2048, &how));
        assert_eq!(data[512..524], [wanted; 12], "{name}");
        assert_eq!(data[524], before, "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_copy_of_bytes_is_named() {
    let device = BulkLaunch::new(1, &[1; 64]);
    let store = "cp.async.bulk.global.shared::cta.bulk_group";
    for (from, bytes, words) in [
        (8, 16, "must be multiples of 16"),
        (0, 24, "must be multiples of 16"),
        (4080, 32, "out of bounds"),
        (0, 2064, "the block has"),
    ] {
        let fault = device.fault(&there_and_back(from, bytes, 2048, store));
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

/// The start of a kernel of a cluster of two blocks: each makes an mbarrier that expects bytes, and
/// `%r10`, `%r11` are the tile and the mbarrier of the other block.
fn pair(bytes: u32) -> String {
    format!(
        ".shared .align 128 .b8 tile[256]; .shared .align 128 .b8 own[256];
         .shared .align 8 .b8 full[8];
         setp.eq.u32 %p1, %thread, 0;
         shl.b32 %r1, %thread, 2; mov.u32 %r2, tile; add.u32 %r2, %r2, %r1;
         mov.u32 %r3, own; add.u32 %r3, %r3, %r1;
         mov.u32 %r20, %cluster_ctarank; mad.lo.u32 %r21, %r20, 100, %thread;
         mov.b32 %r4, 1000; st.shared.b32 [%r2], %r4; st.shared.b32 [%r3], %r21;
         @%p1 mbarrier.init.shared.b64 [full], 1;
         @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {bytes};
         fence.mbarrier_init.release.cluster; fence.proxy.async;
         barrier.cluster.arrive; barrier.cluster.wait;
         xor.b32 %r22, %r20, 1; mov.u32 %r10, tile; mov.u32 %r11, full;
         mapa.shared::cluster.u32 %r10, %r10, %r22; mapa.shared::cluster.u32 %r11, %r11, %r22;"
    )
}

const RECEIVE: &str = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [full], 0;
     @!%p2 bra W; ld.shared.b32 %r0, [%r2]; mad.lo.u32 %thread, %r20, 32, %thread;";

const LEAVE: &str = "barrier.cluster.arrive; barrier.cluster.wait;";

#[test]
fn bytes_are_copied_and_reduced_between_blocks() {
    for (how, of_old) in [
        (
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
            0,
        ),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32",
            1,
        ),
    ] {
        let device = BulkLaunch::new(2, &[]);
        let data = device.run(&format!(
            "{} @%p1 {how} [%r10], [own], 112, [%r11]; {RECEIVE} {STORE} {LEAVE}",
            pair(112)
        ));
        for (at, found) in data[..64].iter().enumerate() {
            let (rank, thread) = (at as u32 / 32, at as u32 % 32);
            let sent = 100 * (1 - rank) + thread;
            let wanted = if thread < 28 {
                sent + of_old * 1000
            } else {
                1000
            };
            assert_eq!(*found, wanted, "{how}: thread {thread} of block {rank}");
        }
    }
}

#[test]
fn stores_and_reductions_to_another_block_signal_its_mbarrier() {
    let at = "shl.b32 %r12, %thread, 2; add.u32 %r12, %r12, %r10;";
    let cases = [
        (
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32",
            0u32,
        ),
        (
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32",
            1,
        ),
        (
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32",
            2,
        ),
    ];
    for (how, kind) in cases {
        let device = BulkLaunch::new(2, &[]);
        let data = device.run(&format!(
            "{} {at} {how} [%r12], %r21, [%r11]; {RECEIVE} {STORE} {LEAVE}",
            pair(128)
        ));
        for (at, found) in data[..64].iter().enumerate() {
            let sent = 100 * (1 - at as u32 / 32) + at as u32 % 32;
            let wanted = [sent, sent + 1000, 1000][kind as usize];
            assert_eq!(*found, wanted, "{how}: {at}");
        }
    }
    // Two values of each lane of the first half.
    let device = BulkLaunch::new(2, &[]);
    let how = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32";
    let data = device.run(&format!(
        "{} shl.b32 %r12, %thread, 3; add.u32 %r12, %r12, %r10; setp.lt.u32 %p3, %thread, 16;
         @%p3 {how} [%r12], {{%r21, %r22}}, [%r11]; {RECEIVE} {STORE} {LEAVE}",
        pair(128)
    ));
    for (at, found) in data[..32].iter().enumerate() {
        let wanted = if at % 2 == 0 { 100 + at as u32 / 2 } else { 0 };
        assert_eq!(*found, wanted, "{at}");
    }
}

/// A map of 4 × 8 words at byte 1024 of the data.
fn map(device: &BulkLaunch, element: TensorElement) -> TensorMap {
    TensorMap {
        address: device.data + 1024,
        element_bytes: 4,
        extents: vec![8, 4],
        strides: vec![32],
        box_extents: vec![4, 3],
        element,
        ..TensorMap::default()
    }
}

fn write_map(device: &BulkLaunch, map: &TensorMap) {
    let bytes = map.to_bytes().expect("well formed");
    assert_eq!(bytes.len(), TENSOR_MAP_BYTES);
    device.memory.write(device.data, &bytes).expect("in bounds");
}

#[test]
fn boxes_are_reduced_by_the_type_of_their_map() {
    let body = |function: &str| {
        format!(
            ".shared .align 128 .b8 tile[128];
             mov.u32 %r1, tile; mad.lo.u32 %r1, %thread, 4, %r1; cvt.rn.f32.u32 %r2, %thread;
             st.shared.b32 [%r1], %r2; fence.proxy.async; bar.sync 0;
             setp.ne.u32 %p1, %thread, 0; @%p1 bra DONE; mov.u32 %r3, 6; mov.u32 %r4, 1;
             cp.reduce.async.bulk.tensor.2d.global.shared::cta.{function}.tile.bulk_group
               [%base, {{%r3, %r4}}], [tile];
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
             DONE:"
        )
    };
    let mut words = vec![0; 256];
    words.extend((0..32u32).map(|i| (1000 * i) as f32).map(f32::to_bits));
    let device = BulkLaunch::new(1, &words);
    write_map(&device, &map(&device, TensorElement::F32));
    let data = device.run(&body("add"));
    for (at, found) in data[256..288].iter().enumerate() {
        let (x, y) = (at % 8, at / 8);
        // The box begins at (6, 1) and reaches two columns over the edge.
        let added = if x >= 6 && y >= 1 {
            4 * (y - 1) + x - 6
        } else {
            0
        };
        assert_eq!(
            f32::from_bits(*found),
            (1000 * at + added) as f32,
            "({x}, {y})"
        );
    }
    let fault = device.fault(&body("min"));
    assert!(matches!(fault.kind, FaultKind::BadTensor(_)), "{fault}");
    write_map(&device, &map(&device, TensorElement::Bits));
    let fault = device.fault(&body("add"));
    assert!(
        fault
            .to_string()
            .contains("Bits elements cannot be reduced"),
        "{fault}"
    );
}

#[test]
fn a_kernel_changes_a_tensor_map() {
    let mut words = vec![0; 256];
    words.extend((0..64u32).map(|i| 500 + i));
    let device = BulkLaunch::new(1, &words);
    write_map(&device, &map(&device, TensorElement::U32));
    // The map is copied to shared memory, and goes back with another address and box.
    let data = device.run(
        ".shared .align 128 .b8 tile[128]; .shared .align 128 .b8 edited[128];
         .shared .align 8 .b8 full[8];
         mad.wide.u32 %x1, %thread, 4, %base; ld.global.b32 %r1, [%x1];
         mov.u32 %r2, edited; mad.lo.u32 %r3, %thread, 4, %r2; st.shared.b32 [%r3], %r1;
         bar.sync 0;
         setp.ne.u32 %p1, %thread, 0; @%p1 bra EDITED;
         add.s64 %x2, %base, 1152; mov.b32 %r4, 2;
         tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %x2;
         tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, %r4;
         tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 1, %r4;
         tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 0, 1;
         tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 1;
         EDITED: bar.sync 0;
         tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
           [%base], [%r2], 128;
         bar.sync 0; @%p1 bra DONE;
         fence.proxy.tensormap::generic.acquire.gpu [%base], 128;
         mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32;
         mov.u32 %r5, 3; mov.u32 %r6, 0;
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
           [tile], [%base, {%r5, %r6}], [full];
         W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0; @!%p2 bra W;
         ld.shared.v4.b32 {%r7, %r8, %r9, %r10}, [tile];
         ld.shared.v4.b32 {%r11, %r12, %r13, %r14}, [tile+16];
         st.global.v4.b32 [%base+2048], {%r7, %r8, %r9, %r10};
         st.global.v4.b32 [%base+2064], {%r11, %r12, %r13, %r14};
         DONE:",
    );
    assert_eq!(data[512..520], [535, 536, 537, 538, 543, 544, 545, 546]);
    for (edit, words) in [
        (
            "element_stride.global.b1024.b32 [%base], 0, 2",
            "ElementStride 2 is not supported",
        ),
        (
            "fill_mode.global.b1024.b32 [%base], 1",
            "Fill 1 is not supported",
        ),
        (
            "rank.global.b1024.b32 [%base], 5",
            "Rank 5 is not supported",
        ),
        (
            "global_stride.global.b1024.b64 [%base], 4, 16",
            "no Stride number 4",
        ),
        (
            "rank.global.b1024.b32 [%base+1024], 1",
            "there is neither a tensor map nor 128 zero bytes",
        ),
    ] {
        let fault = device.fault(&format!("tensormap.replace.tile.{edit};"));
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

/// A kernel may begin with zeros and set the fields that there are, as Triton's do.
#[test]
fn a_kernel_makes_a_tensor_map() {
    let mut words = vec![0; 256];
    words.extend((0..64u32).map(|i| 500 + i));
    let device = BulkLaunch::new(1, &words);
    let fields = [
        "global_address.shared::cta.b1024.b64 [%r2], %x2",
        "rank.shared::cta.b1024.b32 [%r2], 1",
        "box_dim.shared::cta.b1024.b32 [%r2], 0, 4",
        "box_dim.shared::cta.b1024.b32 [%r2], 1, 2",
        "global_dim.shared::cta.b1024.b32 [%r2], 0, 8",
        "global_dim.shared::cta.b1024.b32 [%r2], 1, 8",
        "global_stride.shared::cta.b1024.b64 [%r2], 0, %x3",
        "element_stride.shared::cta.b1024.b32 [%r2], 0, 1",
        "element_stride.shared::cta.b1024.b32 [%r2], 1, 1",
        "elemtype.shared::cta.b1024.b32 [%r2], 2",
        "interleave_layout.shared::cta.b1024.b32 [%r2], 0",
        "swizzle_mode.shared::cta.b1024.b32 [%r2], 0",
        "fill_mode.shared::cta.b1024.b32 [%r2], 0",
    ];
    let body = |fields: &[&str]| {
        let edits = fields
            .iter()
            .map(|field| format!("tensormap.replace.tile.{field};\n"));
        format!(
            ".shared .align 128 .b8 tile[128]; .shared .align 128 .b8 made[128];
             .shared .align 8 .b8 full[8];
             mov.u32 %r2, made; mad.lo.u32 %r3, %thread, 4, %r2; mov.b32 %r1, 0;
             st.shared.b32 [%r3], %r1; bar.warp.sync -1;
             setp.ne.u32 %p1, %thread, 0; @%p1 bra MADE;
             add.s64 %x2, %base, 1024; mov.b64 %x3, 32; {}
             MADE: bar.warp.sync -1;
             tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
               [%base], [%r2], 128;
             bar.sync 0; @%p1 bra DONE;
             fence.proxy.tensormap::generic.acquire.gpu [%base], 128;
             mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster;
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32;
             mov.u32 %r5, 3; mov.u32 %r6, 1;
             cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
               [tile], [%base, {{%r5, %r6}}], [full];
             W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0; @!%p2 bra W;
             ld.shared.v4.b32 {{%r7, %r8, %r9, %r10}}, [tile];
             ld.shared.v4.b32 {{%r11, %r12, %r13, %r14}}, [tile+16];
             st.global.v4.b32 [%base+2048], {{%r7, %r8, %r9, %r10}};
             st.global.v4.b32 [%base+2064], {{%r11, %r12, %r13, %r14}};
             DONE:",
            edits.collect::<String>()
        )
    };
    let data = device.run(&body(&fields));
    assert_eq!(data[512..520], [511, 512, 513, 514, 519, 520, 521, 522]);
    // Fields whose number is 0 need not be set.
    assert_eq!(device.run(&body(&fields[..10]))[512..520], data[512..520]);
    // Without an extent of its box it is none, and without its rank it has one dimension.
    for (missing, words) in [(3, "there is no tensor map"), (1, "dimensions")] {
        let mut fields = fields.to_vec();
        fields.remove(missing);
        let fault = device.fault(&body(&fields));
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

#[test]
fn what_cannot_run_is_refused_with_its_name_and_the_reason() {
    for (instruction, words) in [
        (
            "multimem.st.weak.global.f32 [%base], %r1",
            "`multimem` is not supported: multicast",
        ),
        (
            "tcgen05.shift.cta_group::1.down [%r1]",
            "the shift of rows of tensor memory",
        ),
        (
            "sured.p.add.1d.b64.trap [%x1, {%r1}], %x2",
            "no surface has samples of 64 bits",
        ),
        (
            "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes \
             [%r1], [%x0, {%r1,%r2,%r3}], [%r2], {%h1}",
            "im2col",
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%x1], [%r1], %r2, %h1",
            "cp_mask",
        ),
    ] {
        let text = module_with("", &format!("{instruction};"));
        let module = Module::parse(&text).expect("well formed");
        let error = module
            .kernel("test")
            .expect_err("it cannot run")
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}
