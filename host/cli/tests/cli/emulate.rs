//! `warpladder emulate`: kernels of any PTX file, with arguments from the command line and NumPy
//! files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `y[i] = a * x[i] + y[i]` for `i < n`, but for `i <= n` in `beyond`.
const SAXPY: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u32 %r1, [n];
    ld.param.f32 %r2, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r3, %r3, %r4, %r5;
    setp.ge.u32 %p, %r3, %r1;
    @%p ret;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %r6, [%rd1];
    ld.global.f32 %r7, [%rd2];
    fma.rn.f32 %r7, %r2, %r6, %r7;
    st.global.f32 [%rd2], %r7;
    ret;
}
.visible .entry add_halves(.param .u64 data) {
    .reg .b16 %h<3>; .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 2;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.b16 %h1, [%rd1];
    add.rn.f16 %h1, %h1, %h1;
    st.global.b16 [%rd1], %h1;
    ret;
}
.visible .entry endless() { again: bra again; }
";

/// A folder for a test's files, which are gone afterwards.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(test: &str) -> Self {
        let name = format!("warpladder-emulate-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("k.ptx"), SAXPY).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Runs `emulate k.ptx` in the folder.
    fn emulate(&self, args: &[&str]) -> Output {
        self.emulate_file("k.ptx", args)
    }

    fn emulate_file(&self, file: &str, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_warpladder"))
            .args(["emulate", file])
            .args(args)
            .current_dir(&self.0)
            .output()
            .unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it does no harm.
        _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn text(output: &Output) -> (Option<i32>, &str, &str) {
    (
        output.status.code(),
        std::str::from_utf8(&output.stdout).unwrap(),
        std::str::from_utf8(&output.stderr).unwrap(),
    )
}

/// A file of version 1.0 as NumPy writes it.
pub(super) fn write_npy(path: &Path, description: &str, shape: &str, elements: &[u8]) {
    let mut header =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': {shape}, }}");
    while (11 + header.len()) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut content = b"\x93NUMPY\x01\x00".to_vec();
    content.extend((header.len() as u16).to_le_bytes());
    content.extend(header.as_bytes());
    content.extend(elements);
    std::fs::write(path, content).unwrap();
}

/// Header and elements of such a file.
fn read_npy(path: &str) -> (String, Vec<u8>) {
    let content = std::fs::read(path).unwrap();
    let length = usize::from(u16::from_le_bytes([content[8], content[9]]));
    let header = String::from_utf8(content[10..10 + length].to_vec()).unwrap();
    (
        header.trim_end().to_owned(),
        content[10 + length..].to_vec(),
    )
}

#[test]
fn a_kernel_runs_on_arrays_and_files_and_its_output_is_a_file() {
    let folder = Folder::new("files");
    let y: Vec<u8> = (0..6)
        .flat_map(|i| (10.0 * i as f32).to_le_bytes())
        .collect();
    write_npy(&folder.0.join("y.npy"), "<f4", "(2, 3)", &y);
    let output = folder.emulate(&[
        "saxpy",
        "--grid",
        "2",
        "--block",
        "4",
        "--arg",
        "u32:6",
        "--arg",
        "f32:0.5",
        "--arg",
        "f32[6]=iota",
        "--arg",
        "f32[]=y.npy",
        "--out",
        "3:out.npy",
    ]);
    let expected =
        "argument 2: f32[6] = 0 1 2 3 4 5\nargument 3: f32[2,3] = 0 10.5 21 31.5 42 52.5\n";
    assert_eq!(text(&output), (Some(0), expected, ""));
    let (header, elements) = read_npy(&folder.path("out.npy"));
    assert_eq!(
        header,
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    );
    let values: Vec<f32> = elements
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!(values, [0.0, 10.5, 21.0, 31.5, 42.0, 52.5]);
}

#[test]
fn halves_and_a_seed() {
    let folder = Folder::new("halves");
    let args = ["add_halves", "--block", "8", "--arg", "f16[8]=random:3"];
    let output = folder.emulate(&args);
    let (code, out, _) = text(&output);
    assert_eq!(code, Some(0));
    let values = out.trim_end().split(" = ").nth(1).unwrap();
    for value in values.split(' ').filter(|value| *value != "...") {
        assert!(
            (-2.0..=2.0).contains(&value.parse::<f32>().unwrap()),
            "{out}"
        );
    }
    assert_eq!(
        folder.emulate(&args).stdout,
        output.stdout,
        "a seed gives the same again"
    );
}

/// Each block stores its index and waits for all others before it reads that of the next one.
const NEXT: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry next(.param .u64 data) {
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %envreg1;
    mov.u32 %r2, %envreg2;
    mov.b64 %rd2, {%r2, %r1};
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %nctaid.x;
    mad.wide.u32 %rd3, %r3, 4, %rd1;
    st.global.u32 [%rd3], %r3;
    sub.u32 %r5, 0x80000001, %r4;
    setp.eq.u32 %p1, %r3, 0;
    selp.b32 %r5, %r5, 1, %p1;
    atom.add.release.gpu.u32 %r6, [%rd2+4], %r5;
poll:
    ld.acquire.gpu.u32 %r7, [%rd2+4];
    xor.b32 %r7, %r7, %r6;
    setp.gt.s32 %p2, %r7, -1;
    @%p2 bra poll;
    add.u32 %r8, %r3, 1;
    rem.u32 %r8, %r8, %r4;
    mad.wide.u32 %rd4, %r8, 4, %rd1;
    ld.global.u32 %r8, [%rd4];
    add.u64 %rd3, %rd3, 64;
    st.global.u32 [%rd3], %r8;
    ret;
}
";

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    let folder = Folder::new("cooperative");
    std::fs::write(folder.path("next.ptx"), NEXT).unwrap();
    let args = [
        "next",
        "--grid",
        "5",
        "--arg",
        "u32[32]=0",
        "--out",
        "0:next.npy",
    ];
    let output = folder.emulate_file(
        "next.ptx",
        &[&args[..], &["--cooperative", "--sanitize"]].concat(),
    );
    let (code, out, error) = text(&output);
    assert_eq!(code, Some(0), "{out}{error}");
    let (_, bytes) = read_npy(&folder.path("next.npy"));
    let words = bytes.chunks_exact(4).map(|word| word[0]);
    assert_eq!(words.skip(16).take(5).collect::<Vec<_>>(), [1, 2, 3, 4, 0]);
    // The same in a script; without the option there is no workspace.
    let script = "buffer x u32[32]=0\nlaunch next grid=5 cooperative=1 @x\nshow x\n";
    std::fs::write(folder.path("steps.txt"), script).unwrap();
    let output = folder.emulate_file("next.ptx", &["--script", "steps.txt"]);
    let (code, out, error) = text(&output);
    assert_eq!(code, Some(0), "{out}{error}");
    let output = folder.emulate_file("next.ptx", &args);
    let (code, _, error) = text(&output);
    assert_eq!(code, Some(1), "{error}");
    let script = script.replace("cooperative=1", "cooperative=yes");
    std::fs::write(folder.path("steps.txt"), script).unwrap();
    let output = folder.emulate_file("next.ptx", &["--script", "steps.txt"]);
    let (code, _, error) = text(&output);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("cooperative=yes: write 0 or 1"), "{error}");
}

#[test]
fn the_accesses_of_a_warp_are_drawn() {
    let folder = Folder::new("draw");
    let draw = |extra: &[&str]| {
        let args = ["saxpy", "--grid", "2", "--block", "64"];
        let values = ["u32:70", "f32:2", "f32[70]=iota", "f32[70]=1"];
        let values = values.iter().flat_map(|value| ["--arg", *value]);
        let args: Vec<&str> = args.into_iter().chain(values).collect();
        folder.emulate(&[&args[..], extra].concat())
    };
    let output = draw(&["--draw", "-", "--draw-block", "1", "--sanitize"]);
    let (code, out, error) = text(&output);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.starts_with("<svg"), "{out}");
    // Of 70 elements the last 6 are of the second block.
    for part in [
        "saxpy: block (1, 0, 0), warp 0",
        "6 lanes read 4 bytes each: 1 sector, 32 bytes moved.",
        "6 lanes write 4 bytes each: 1 sector, 32 bytes moved.",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let output = draw(&["--draw", "-", "--draw-block", "1", "--draw-warp", "1"]);
    let (code, _, error) = text(&output);
    assert_eq!(code, Some(2), "{error}");
    let last = error.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: saxpy has no accesses"), "{error}");
    assert!(last.ends_with("--draw-block and --draw-warp"), "{error}");
}

#[test]
fn profile_and_sanitize() {
    let folder = Folder::new("profile");
    let launch = |extra: &[&str]| {
        let args = [
            "saxpy",
            "--block",
            "32",
            "--arg",
            "u32:32",
            "--arg",
            "f32:2",
            "--arg",
            "f32[32]=iota",
            "--arg",
            "f32[32]=1",
        ];
        folder.emulate(&[&args[..], extra].concat())
    };
    let output = launch(&["--profile", "--sanitize"]);
    let (code, out, _) = text(&output);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.starts_with("no findings\nargument 2: "), "{out}");
    assert!(out.contains("64 FLOP"), "{out}");
    assert!(
        out.contains("2 requests, 8 sectors (4.00 per request)"),
        "{out}"
    );

    let fresh = [
        "saxpy",
        "--block",
        "32",
        "--arg",
        "u32:32",
        "--arg",
        "f32:2",
        "--arg",
        "f32[32]=iota",
        "--arg",
        "f32[32]",
        "--sanitize",
    ];
    let output = folder.emulate(&fresh);
    let (code, out, _) = text(&output);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.starts_with("initcheck: kernel `saxpy`: read of memory that was never written"),
        "{out}"
    );
}

/// 16 blocks on one thread: counts of a race between them, and what it leaves, are the same.
#[test]
fn one_worker_finds_the_same_each_time() {
    let folder = Folder::new("workers");
    let broken = std::path::absolute("../../tests/broken/ptx/broken_sm_70.ptx").expect("a path");
    let broken = broken.to_str().expect("UTF-8");
    let launch = |workers: &str| {
        let args = [
            "plain_histogram",
            "--grid",
            "16",
            "--block",
            "64",
            "--arg",
            "u32[1024]=1",
            "--arg",
            "u32[8]=zero",
            "--sanitize",
            "--workers",
            workers,
        ];
        folder.emulate_file(broken, &args)
    };
    let output = launch("1");
    let (code, first, _) = text(&output);
    assert_eq!(code, Some(1), "{first}");
    // One for each warp of 16 blocks: the warps of a block lose none of each other's.
    assert!(first.contains("u32[8] = 0 32 0"), "{first}");
    for _ in 0..4 {
        assert_eq!(text(&launch("1")).1, first);
    }
    let output = launch("0");
    let (code, _, error) = text(&output);
    assert_eq!(code, Some(2), "{error}");
}

#[test]
fn a_kernel_that_faults_ends_with_1_and_one_line() {
    let folder = Folder::new("faults");
    let beyond = [
        "saxpy",
        "--block",
        "32",
        "--arg",
        "u32:32",
        "--arg",
        "f32:2",
        "--arg",
        "f32[31]=iota",
        "--arg",
        "f32[32]=1",
    ];
    let output = folder.emulate(&beyond);
    let (code, out, err) = text(&output);
    assert_eq!((code, out.lines().count(), err), (Some(1), 1, ""), "{out}");
    assert!(
        out.contains("out of bounds") && out.contains("thread [31, 0, 0]"),
        "{out}"
    );

    let output = folder.emulate(&["endless", "--budget", "1000"]);
    let (code, out, _) = text(&output);
    assert_eq!((code, out.lines().count()), (Some(1), 1), "{out}");
    assert!(out.contains("budget of 1000 warp instructions"), "{out}");
}

#[test]
fn wrong_usage_ends_with_2_and_one_line() {
    let folder = Folder::new("usage");
    write_npy(&folder.0.join("ints.npy"), "<i4", "(4,)", &[0; 16]);
    std::fs::write(folder.0.join("not.npy"), "no array").unwrap();
    std::fs::write(
        folder.0.join("bad.ptx"),
        ".version 7.0\n.target sm_70\n.visible entry",
    )
    .unwrap();
    for (args, reason) in [
        (
            &["nothing"][..],
            "no kernel `nothing`; it has: saxpy, add_halves, endless",
        ),
        (&["saxpy"], "takes 4 arguments, not 0"),
        (
            &["add_halves", "--arg", "u32:1"],
            "argument 0 of kernel `add_halves` must have 8 bytes, not 4",
        ),
        (
            &["add_halves", "--arg", "half[8]"],
            "argument 0: unknown type \"half\"",
        ),
        (
            &["add_halves", "--arg", "f16[8]=what"],
            "unknown content \"what\"",
        ),
        (
            &["add_halves", "--arg", "f16[]=gone.npy"],
            "gone.npy: cannot be read",
        ),
        (
            &["add_halves", "--arg", "f16[]=not.npy"],
            "not.npy: is no .npy file",
        ),
        (
            &["add_halves", "--arg", "f16[4]=ints.npy"],
            "ints.npy holds s32[4], the argument is f16[4]",
        ),
        (
            &["add_halves", "--arg", "f16[8]", "--out", "0"],
            "write INDEX:FILE.npy",
        ),
        (
            &["add_halves", "--arg", "f16[8]", "--out", "1:a.npy"],
            "there are 1 arguments",
        ),
        (
            &[
                "add_halves",
                "--arg",
                "f16[8]",
                "--out",
                "0:/no such folder/a.npy",
            ],
            "cannot write",
        ),
        (
            &["add_halves", "--arg", "f16[8]", "--block", "2048"],
            "exceeds the 1024",
        ),
        (
            &["add_halves", "--arg", "f16[8]", "--block", "0"],
            "zero extent",
        ),
        (
            &["add_halves", "--arg", "f16[8]", "--shared", "999999"],
            "bytes of shared memory",
        ),
        (
            &["add_halves", "--arg", "f16[99999999999999]"],
            "of device memory do not fit",
        ),
    ] {
        let output = folder.emulate(args);
        let (code, out, err) = text(&output);
        assert_eq!((code, out), (Some(2), ""), "{args:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
        assert!(err.contains(reason), "{args:?}: {err}");
    }
    for (file, reason) in [
        ("gone.ptx", "cannot read gone.ptx"),
        ("bad.ptx", "bad.ptx: "),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_warpladder"))
            .args(["emulate", file, "saxpy"])
            .current_dir(&folder.0)
            .output()
            .unwrap();
        let (code, _, err) = text(&output);
        assert_eq!(code, Some(2));
        assert!(err.contains(reason), "{err}");
    }
}
