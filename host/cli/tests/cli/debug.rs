//! `warpladder debug`: scripts of commands on kernels of a file and of the catalogue.

use super::emulate::Folder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Kernels as a CUDA compiler writes them, with lines of `k.cu` in the second.
const KERNELS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(
    .param .u64 scale_param_0,
    .param .f32 scale_param_1,
    .param .u32 scale_param_2
)
{
    .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [scale_param_0];
    ld.param.f32 %f1, [scale_param_1];
    ld.param.u32 %r2, [scale_param_2];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra $L__BB0_2;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
$L__BB0_2:
    ret;
}
.func (.reg .b32 %out) next(.reg .b32 %in)
{
    .loc 1 2 5
    add.s32 %out, %in, 1;
    .loc 1 2 9
    ret;
}
.visible .entry called(.param .u64 out)
{
    .shared .align 4 .b8 tile[128];
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    .loc 1 5 3
    mov.u32 %r1, %tid.x;
    .loc 1 6 3
    call (%r2), next, (%r1);
    .loc 1 7 3
    mov.u32 %r3, tile;
    mad.lo.s32 %r3, %r1, 4, %r3;
    st.shared.u32 [%r3], %r2;
    .loc 1 8 3
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    .loc 1 9 3
    st.global.u32 [%rd3], %r2;
    ret;
}
.file 1 \"k.cu\"
";

/// What `k.cu` would be.
const SOURCE: &str = "__device__ int next(int i) {\n    return i + 1;\n}\n\
    __global__ void called(int *out) {\n  int i = threadIdx.x;\n  int n = next(i);\n  \
    tile[i] = n;\n  int *to = out + i;\n  *to = n;\n}\n";

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    std::fs::write(folder.0.join("k.ptx"), KERNELS).unwrap();
    std::fs::write(folder.0.join("k.cu"), SOURCE).unwrap();
    folder
}

fn debug(folder: &Path, args: &[&str], commands: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .arg("debug")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that is refused does not read.
    _ = child.stdin.take().unwrap().write_all(commands);
    child.wait_with_output().unwrap()
}

/// The transcript of commands on a kernel that is there.
fn transcript(folder: &Path, args: &[&str], commands: &[&str]) -> String {
    let output = debug(folder, args, commands.join("\n").as_bytes());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*complaint), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

/// What a command printed in a transcript: all up to the next command.
fn answer<'t>(transcript: &'t str, command: &str) -> &'t str {
    let prompt = format!("(warpladder) {command}\n");
    let start = transcript.find(&prompt);
    let start = start.unwrap_or_else(|| panic!("no {command:?} in\n{transcript}"));
    let rest = &transcript[start + prompt.len()..];
    &rest[..rest.find("(warpladder) ").unwrap_or(rest.len())]
}

const SCALE: [&str; 12] = [
    "k.ptx",
    "scale",
    "--grid",
    "2",
    "--block",
    "40",
    "--arg",
    "f32[70]=iota",
    "--arg",
    "f32:0.5",
    "--arg",
    "u32:70",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn registers_and_memory_are_exact_at_a_breakpoint() {
    let folder = folder("debug_scale");
    let shown = transcript(
        &folder.0,
        &SCALE,
        &[
            "break ptx:25",
            "run",
            "print %f2",
            "print %f3",
            "print %r1",
            "print/x %rd3",
            "print/x %f1",
            "print %tid.x",
            "print %r9",
            "stepi",
            "print %f3",
            "print global 0[29..33]",
            "print global 0[0..2] as u32",
            "print/x global 0[1]",
            "info launch",
            "delete",
            "continue",
            "print global 0[68..70]",
            "quit",
        ],
    );
    let rows = "%f2:\n  lane  0:   0   1   2   3   4   5   6   7\n";
    assert!(answer(&shown, "print %f2").starts_with(rows), "{shown}");
    assert_eq!(answer(&shown, "print %f3"), "%f3: no lane has written it\n");
    assert!(
        answer(&shown, "print %r1").contains("lane 24:  24  25"),
        "{shown}"
    );
    assert!(
        answer(&shown, "print/x %rd3").contains("lane 24:  0x60  0x64"),
        "{shown}"
    );
    assert_eq!(
        answer(&shown, "print/x %f1"),
        "%f1 = 0x3f000000 in lanes 0-31\n"
    );
    assert!(
        answer(&shown, "print %tid.x").contains("lane 24:  24  25"),
        "{shown}"
    );
    assert!(
        answer(&shown, "print %r9").starts_with("there is no register %r9"),
        "{shown}"
    );
    // The second time, behind the product.
    let later = &shown[shown.find("(warpladder) stepi").unwrap()..];
    let halves = "%f3:\n  lane  0:     0   0.5     1   1.5     2   2.5     3   3.5\n";
    assert!(answer(later, "print %f3").starts_with(halves), "{shown}");
    let elements = "global 0[29..33], f32:\n  29:  29  30  31  32\n";
    assert_eq!(answer(&shown, "print global 0[29..33]"), elements);
    let bits = "global 0[0..2], u32:\n  0:           0  1065353216\n";
    assert_eq!(answer(&shown, "print global 0[0..2] as u32"), bits);
    assert_eq!(
        answer(&shown, "print/x global 0[1]"),
        "global 0[1] = 0x3f800000\n"
    );
    let launch = answer(&shown, "info launch");
    assert!(
        launch.contains("grid (2, 1, 1), block (40, 1, 1)"),
        "{shown}"
    );
    assert!(
        launch.contains("parameter 2, `scale_param_2`: 0x46"),
        "{shown}"
    );
    assert_eq!(answer(&shown, "continue"), "kernel `scale` has ended\n");
    let end = "global 0[68..70], f32:\n  68:    34  34.5\n";
    assert_eq!(answer(&shown, "print global 0[68..70]"), end);
}

#[test]
fn a_breakpoint_stops_each_warp_and_the_focus_follows() {
    let folder = folder("debug_warps");
    let shown = transcript(
        &folder.0,
        &SCALE,
        &[
            "b $L__BB0_2",
            "r",
            "info warps",
            "c",
            "warp 0",
            "lane 3",
            "c",
            "c",
            "info warps",
            "info breakpoints",
            "d 1",
            "c",
        ],
    );
    let stops: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("lanes"))
        .collect();
    assert!(
        shown.contains("breakpoint 1 at PTX line 28: *15"),
        "{shown}"
    );
    assert!(
        stops
            .iter()
            .any(|line| line.contains("block (0, 0, 0), warp 1")),
        "{shown}"
    );
    let first = answer(&shown, "info warps");
    let expected = "* 0  lanes 0-31  PTX line 28, *15  can run\n  \
                      1  lanes 0-7   PTX line 12, *0   can run\n";
    assert_eq!(first, expected, "{shown}");
    assert!(answer(&shown, "warp 0").contains("has exited"), "{shown}");
    // The last warp: lanes 30 to 39 of block 1 are behind the end, and jump.
    assert!(shown.contains("block (1, 0, 0), warp 1"), "{shown}");
    assert!(shown.contains("breakpoint 1: $L__BB0_2: *15"), "{shown}");
    assert!(shown.ends_with("kernel `scale` has ended\n"), "{shown}");
}

#[test]
fn lines_functions_and_shared_memory() {
    let folder = folder("debug_lines");
    let args = ["k.ptx", "called", "--block", "32", "--arg", "s32[32]=zero"];
    let shown = transcript(
        &folder.0,
        &args,
        &[
            "break 6",
            "run",
            "step",
            "backtrace",
            "step",
            "list",
            "stepi 3",
            "print shared tile[0..4] as s32",
            "print/d shared[31]",
            "info shared",
            "run",
            "next",
            "watch shared tile[5] as s32",
            "continue",
            "findings",
            "continue",
            "print global 0[30..32]",
        ],
    );
    assert!(shown.contains("breakpoint 1 at k.cu:6: *1"), "{shown}");
    let step = answer(&shown, "step");
    assert!(
        step.contains("at k.cu:2, with lanes 0-31\n2\t    return i + 1;\n"),
        "{shown}"
    );
    let trace = answer(&shown, "backtrace");
    assert!(trace.starts_with("#0  next at k.cu:2, *"), "{shown}");
    assert!(
        trace.contains("\n#1  called at k.cu:6, *1  call"),
        "{shown}"
    );
    let listed = answer(&shown, "list");
    assert!(listed.contains("=>  7\t  tile[i] = n;\n"), "{shown}");
    let tile = "shared tile[0..4], s32:\n  0:  1  2  3  4\n";
    assert_eq!(answer(&shown, "print shared tile[0..4] as s32"), tile);
    assert_eq!(answer(&shown, "print/d shared[31]"), "shared[31] = 32\n");
    assert!(
        answer(&shown, "info shared").contains("128 bytes  tile"),
        "{shown}"
    );
    // `run` begins again, and `next` does not stop in the function.
    assert!(
        answer(&shown, "next").contains("at k.cu:7, with lanes 0-31\n7\t  tile[i] = n;"),
        "{shown}"
    );
    let watched =
        "watchpoint 2: shared tile[5]\n  element 5 was 0, is 6\n  changed by block (0, 0, 0)";
    assert!(shown.contains(watched), "{shown}");
    assert!(
        shown.contains("changed by block (0, 0, 0), warp 0, lanes 0-31: *4"),
        "{shown}"
    );
    assert_eq!(answer(&shown, "findings"), "no findings so far\n");
    let end = "global 0[30..32], s32:\n  30:  31  32\n";
    assert_eq!(answer(&shown, "print global 0[30..32]"), end);
}

#[test]
fn wrong_commands_are_answered_and_change_nothing() {
    let folder = folder("debug_wrong");
    let wrong = [
        ("frobnicate", "there is no command"),
        ("print %r99999999999999999999", "there is no register"),
        ("print shared[0]", "lies outside of the 0 bytes"),
        ("print shared[18446744073709551615]", "has no elements"),
        (
            "print global 0[18446744073709551614]",
            "lies behind all memory",
        ),
        ("print global 0[70]", "global 0[70]: "),
        ("print global 1[0]", "has 4 bytes, no pointer"),
        ("print global 7[0]", "there is no parameter 7"),
        ("print global 0x10[0]", "global 0x10[0]: "),
        ("print global %rd4[0]", "lane 0 has not written %rd4"),
        ("print shared none[0]", "there is no shared variable"),
        ("warp 2", "a block has 2 warps"),
        ("warp 4294967295", "a block has 2 warps"),
        ("lane 32", "a warp has 32 lanes"),
        ("block 2", "the grid has (2, 1, 1) blocks"),
        ("block 4294967295,4294967295,4294967295", "the grid has"),
        ("break 1000000", "no instruction from PTX line"),
        ("break nowhere.cu:3", "the kernel has no code of"),
        ("break $L__BB9_9", "there is no label, function or opcode"),
        ("break *18446744073709551615", "there is no instruction"),
        ("x/i 18446744073709551615", "there is no instruction"),
        ("list 4294967295", "has no line"),
        ("delete 3", "there is no breakpoint 3"),
        ("stepi 0", "from 1 on"),
        ("watch shared[0]", "lies outside"),
    ];
    let mut commands: Vec<&str> = wrong.iter().map(|(command, _)| *command).collect();
    commands.extend(["stepi 18446744073709551615", "print global 0[0..2]"]);
    let shown = transcript(&folder.0, &SCALE, &commands);
    for (command, reason) in wrong {
        let answer = answer(&shown, command);
        assert!(answer.contains(reason), "{command}: {answer}");
        assert_eq!(answer.lines().count(), 1, "{command}: {answer}");
    }
    // More steps than there are: the warp's end is the last of them.
    assert!(
        shown.contains("warp 0 of block (0, 0, 0) has exited"),
        "{shown}"
    );
}

#[test]
fn any_bytes_and_the_end_of_the_input_end_well() {
    let folder = folder("debug_input");
    let long = [vec![b'p'; 100_000], b"\n".to_vec()].concat();
    for commands in [
        b"".as_slice(),
        b"\n\n",
        b"\xff\xfe\0",
        b"run",
        &long,
        b"run\nrun\nrun",
    ] {
        let output = debug(&folder.0, &SCALE, commands);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn what_cannot_be_debugged_is_refused_in_a_line() {
    let folder = folder("debug_refused");
    std::fs::write(folder.0.join("bad.ptx"), "no PTX").unwrap();
    for (args, reason) in [
        (&["nothing_of_the_name"][..], "unknown kernel"),
        (&["missing.ptx"], "cannot read missing.ptx"),
        (&["bad.ptx"], "bad.ptx"),
        (&["k.ptx"], "has several kernels: name one of scale, called"),
        (&["k.ptx", "other"], "other"),
        (
            &["k.ptx", "scale", "--shape", "3"],
            "--shape is for kernels of the catalogue",
        ),
        (&["k.ptx", "scale", "--arg", "f33:1"], "unknown type"),
        (&["k.ptx", "scale"], "scale"),
        (&["naive", "--grid", "2"], "plans its launch itself"),
        (&["naive", "entry"], "plans its launch itself"),
        (&["naive", "--shape", "0x3"], "--shape"),
    ] {
        let output = debug(&folder.0, args, b"run\n");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {complaint}");
        assert!(complaint.contains(reason), "{args:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{args:?}: {complaint}");
    }
}

#[test]
fn a_script_of_launches_stops_in_each() {
    let folder = folder("debug_script");
    let script = "buffer x f32[40]=1\nlaunch scale grid=1 block=40 @x f32:2 u32:40\n\
                  launch scale grid=1 block=40 @x f32:4 u32:40\nshow x\n";
    std::fs::write(folder.0.join("two.txt"), script).unwrap();
    let args = ["k.ptx", "--script", "two.txt"];
    let commands = [
        "c",
        "p global 0[39]",
        "c",
        "p/f %f1",
        "c",
        "p global 0[39]",
        "c",
    ];
    let shown = transcript(&folder.0, &args, &commands);
    assert!(shown.contains("global 0[39] = 2\n"), "{shown}");
    assert!(shown.contains("global 0[39] = 8\n"), "{shown}");
    assert!(shown.contains("x: f32[40] = 8 8 8 8 8 8 ...\n"), "{shown}");
}

/// The line of a source file that contains a text.
fn line_of(file: &str, text: &str) -> usize {
    let source = std::fs::read_to_string(root().join(file)).unwrap();
    let found = source.lines().position(|line| line.contains(text));
    1 + found.unwrap_or_else(|| panic!("no {text:?} in {file}"))
}

const BROKEN: &str = "tests/broken/ptx/broken_sm_70.ptx";

#[test]
fn a_deadlock_stops_with_where_each_warp_waits() {
    let args = [BROKEN, "deadlock", "--block", "32", "--arg", "u32[32]=none"];
    let shown = transcript(&root(), &args, &["run", "info warps", "info barriers", "c"]);
    let warps = answer(&shown, "info warps");
    assert!(
        warps.contains("waits at barrier 0: 16 of 32 threads are there"),
        "{shown}"
    );
    assert!(
        warps.contains("\n  0  lanes 16-31  tests/broken/src/lib.rs:"),
        "{shown}"
    );
    assert!(
        warps.contains("waits for the other lanes of its mask"),
        "{shown}"
    );
    assert!(
        answer(&shown, "info barriers").contains("warp 0: lanes 0-15 there, lanes 16-31 missing\n"),
        "{shown}"
    );
    assert!(shown.ends_with("the run has ended\n"), "{shown}");
}

#[test]
fn a_race_stops_where_it_happens() {
    let tile = ["--arg", "f32[32,32]=1"].repeat(2);
    let mut args = vec![
        BROKEN,
        "missing_first_barrier",
        "--grid",
        "2,2",
        "--block",
        "16,16",
    ];
    args.extend(tile);
    args.extend(["--arg", "f32[32,32]=none", "--arg", "u32:32"]);
    let shown = transcript(&root(), &args, &["run", "findings", "list"]);
    let line = line_of("tests/broken/src/lib.rs", "//@ product read");
    let run = answer(&shown, "run");
    assert!(
        run.starts_with("initcheck: ") || run.starts_with("racecheck: "),
        "{shown}"
    );
    assert!(
        run.contains(&format!("tests/broken/src/lib.rs:{line}")),
        "{shown}"
    );
    assert!(
        answer(&shown, "list").contains(&format!("=> {line}\t")),
        "{shown}"
    );
}

#[test]
fn a_wrong_index_stops_at_its_thread() {
    let args = [
        BROKEN,
        "guard_off_by_one",
        "--grid",
        "3",
        "--block",
        "32",
        "--arg",
        "f32[64]=1",
        "--arg",
        "f32[64]=none",
        "--arg",
        "u32:64",
    ];
    let shown = transcript(
        &root(),
        &args,
        &["run", "print %tid.x", "step", "info registers"],
    );
    let line = line_of("tests/broken/src/lib.rs", "//@ guard_off_by_one");
    let run = answer(&shown, "run");
    let place = format!("block (2, 0, 0), warp 0, lane 0 at tests/broken/src/lib.rs:{line}, alone");
    assert!(run.contains(&place), "{shown}");
    assert!(
        answer(&shown, "step").contains("has ended in a fault"),
        "{shown}"
    );
}

#[test]
fn a_kernel_of_the_catalogue_is_debugged_by_its_lines() {
    let file = "kernels-gpu/src/ladder/matmul/outputs_8x8.rs";
    let barrier = line_of(file, "thread::sync_threads()");
    let line = line_of(file, "of_b[s] = *tile_b");
    let breaks = [barrier, line].map(|line| format!("break {line}"));
    let shown = transcript(
        &root(),
        &["outputs_8x8"],
        &[
            "print shared[0..2]",
            &breaks[0],
            "delete",
            "break bar.sync",
            "run",
            "info warps",
            "delete 2",
            &breaks[1],
            "continue",
            "print shared[0..2]",
            "step",
            "info barriers",
        ],
    );
    let zeros = "shared[0..2], f32:\n  0:  0  0\n";
    assert_eq!(answer(&shown, "print shared[0..2]"), zeros);
    let moved =
        format!("breakpoint 1 at {file}:{line}, since line {barrier} has no code of its own");
    assert!(answer(&shown, &breaks[0]).starts_with(&moved), "{shown}");
    assert!(
        answer(&shown, "break bar.sync").starts_with("breakpoint 2 at "),
        "{shown}"
    );
    assert!(answer(&shown, "run").contains("=> *"), "{shown}");
    let warps: Vec<&str> = answer(&shown, "info warps").lines().collect();
    assert_eq!(warps.len(), 8, "{shown}");
    assert!(warps[0].starts_with("* 0  lanes 0-31"), "{shown}");
    let place = format!(" at {file}:{line}, with lanes 0-31\n{line}\t");
    assert!(answer(&shown, "continue").contains(&place), "{shown}");
    let later = &shown[shown.find("(warpladder) continue").expect("typed")..];
    assert_ne!(answer(later, "print shared[0..2]"), zeros, "{shown}");
    assert!(!answer(&shown, "step").contains(&place), "{shown}");
    assert_eq!(
        answer(&shown, "info barriers"),
        "no lanes wait at a barrier\n"
    );
}
