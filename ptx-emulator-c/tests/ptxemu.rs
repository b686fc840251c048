//! The library as programs use it: the header's functions, a program in C, one in Python, and an
//! emulated GPU's `ptx_run`. What needs a compiler of C or Python is skipped without it.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxemu as _;

const HEADER: &str = include_str!("../include/ptxemu.h");
const ADD: &str = include_str!("add.ptx");

/// The folder of this crate.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file that cargo builds of the library, beside this test.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let deps = test.parent().expect("a folder");
    let mut places = [deps.join(name), deps.join("..").join(name)].into_iter();
    let found = places.find(|path| path.exists());
    found
        .expect("cargo builds the library")
        .canonicalize()
        .expect("it is there")
}

/// Whether a program is there; says so where it is not.
fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output();
    let there = there.is_ok_and(|output| output.status.success());
    if !there {
        println!("skipped: there is no {program}");
    }
    there
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}\n{error}");
    text + &error
}

/// Names of functions of this library in a text: words that a parenthesis follows.
fn functions(text: &str) -> BTreeSet<&str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let pieces = text.split('(').filter(|before| !before.is_empty());
    let words = pieces.filter_map(|before| before.rsplit(|c: char| !is_part(c)).next());
    words
        .filter(|word| word.starts_with("ptxemu_") || *word == "ptx_run")
        .collect()
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let without_comments: String = HEADER
        .split("/*")
        .map(|part| part.split_once("*/").map_or(part, |(_, rest)| rest))
        .collect();
    let mut exported = BTreeSet::new();
    for file in std::fs::read_dir(folder().join("src")).expect("sources") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        let all = text.split("#[unsafe(no_mangle)]").skip(1);
        exported.extend(all.map(|item| {
            let name = item.split("fn ").nth(1).expect("a function");
            name.split('(').next().expect("a name").to_string()
        }));
    }
    let declared: BTreeSet<String> = functions(&without_comments)
        .into_iter()
        .map(str::to_string)
        .collect();
    assert!(declared.len() > 30, "{declared:?}");
    assert_eq!(declared, exported);
    let version = format!("#define PTXEMU_VERSION {}u", ptxemu::VERSION);
    assert!(HEADER.contains(&version));
    assert_eq!(ptxemu::ptxemu_version(), ptxemu::VERSION);
    // SAFETY: the text is a constant.
    let name = |status| unsafe { CStr::from_ptr(ptxemu::ptxemu_status_name(status)) };
    for status in 0..=9 {
        let name = name(status).to_str().expect("ASCII");
        assert!(HEADER.contains(&format!("  {name} = {status}")), "{name}");
    }
    assert_eq!(name(10), c"unknown status");
}

#[test]
fn a_program_in_c_adds_vectors() {
    if !is_there("cc") {
        return;
    }
    let out = tempfile::tempdir().expect("a folder");
    let source = folder().join("tests/vector_add.c");
    let shared = library("libptxemu.so");
    let expected = "8 blocks, 0 findings";
    let compile = |program: &Path| {
        let mut command = Command::new("cc");
        command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
        command
            .arg(folder().join("include"))
            .arg(&source)
            .arg("-o")
            .arg(program);
        command
    };
    let program = out.path().join("shared");
    let beside = shared.parent().expect("a folder").to_path_buf();
    run(compile(&program).arg("-L").arg(&beside).arg("-lptxemu"));
    let ptx = folder().join("tests/add.ptx");
    let text = run(Command::new(&program)
        .arg(&ptx)
        .env("LD_LIBRARY_PATH", &beside));
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.contains("\"kernel\":\"add\"") && text.contains("\"flops\":1000"),
        "{text}"
    );

    let program = out.path().join("static");
    let archive = library("libptxemu.a");
    run(compile(&program)
        .arg(&archive)
        .args(["-lpthread", "-ldl", "-lm"]));
    assert!(run(Command::new(&program).arg(&ptx)).starts_with(expected));
}

#[test]
fn a_program_in_python_adds_vectors() {
    if !is_there("python3") {
        return;
    }
    let text = run(Command::new("python3")
        .arg(folder().join("tests/vector_add.py"))
        .arg(library("libptxemu.so"))
        .arg(folder().join("tests/add.ptx")));
    assert!(text.starts_with("1000 FLOPs, 0 findings"), "{text}");
    assert!(
        text.contains("out of bounds") && text.contains("PTX line"),
        "{text}"
    );
}

// What follows calls the exported functions as C does.

type Opaque = *mut c_void;

unsafe extern "C" {
    fn ptxemu_module_load(text: *const c_char, bytes: usize, to: *mut Opaque) -> u32;
    fn ptxemu_module_free(module: Opaque);
    fn ptxemu_module_kernel_name(module: Opaque, index: usize) -> *const c_char;
    fn ptxemu_module_variable(
        module: Opaque,
        memory: Opaque,
        name: *const c_char,
        address: *mut u64,
        bytes: *mut u64,
    ) -> u32;
    fn ptxemu_kernel_get(module: Opaque, name: *const c_char, to: *mut Opaque) -> u32;
    fn ptxemu_kernel_free(kernel: Opaque);
    fn ptxemu_memory_create(capacity: u64, to: *mut Opaque) -> u32;
    fn ptxemu_memory_free(memory: Opaque);
    fn ptxemu_alloc(memory: Opaque, bytes: u64, to: *mut u64) -> u32;
    fn ptxemu_map(memory: Opaque, address: u64, host: *mut c_void, bytes: u64) -> u32;
    fn ptxemu_unmap(memory: Opaque, address: u64) -> u32;
    fn ptxemu_read(memory: Opaque, address: u64, to: *mut c_void, bytes: usize) -> u32;
    fn ptxemu_write(memory: Opaque, address: u64, from: *const c_void, bytes: usize) -> u32;
    fn ptxemu_launch_packed(
        kernel: Opaque,
        memory: Opaque,
        config: *const c_void,
        block: *const c_void,
        bytes: usize,
        report: *mut Opaque,
    ) -> u32;
    fn ptx_run(
        text: *const c_char,
        count: i32,
        each: *const *const c_void,
        block_x: i32,
        block_y: i32,
        block_z: i32,
        grid_x: i32,
        grid_y: i32,
        grid_z: i32,
        shared_bytes: i32,
    );
}

fn last_error() -> String {
    // SAFETY: the text lives until the thread's next failure.
    let text = unsafe { CStr::from_ptr(ptxemu::ptxemu_last_error()) };
    text.to_string_lossy().into_owned()
}

/// A module, its kernel `add` and a memory of 1 MiB.
fn objects() -> [Opaque; 3] {
    let mut all = [std::ptr::null_mut(); 3];
    // SAFETY: pointers are to local variables, and the text has the length stated.
    unsafe {
        let text = ADD.as_ptr().cast();
        assert_eq!(ptxemu_module_load(text, ADD.len(), &mut all[0]), 0);
        assert_eq!(ptxemu_kernel_get(all[0], c"add".as_ptr(), &mut all[1]), 0);
        assert_eq!(ptxemu_memory_create(1 << 20, &mut all[2]), 0);
    }
    all
}

fn free([module, kernel, memory]: [Opaque; 3]) {
    // SAFETY: the objects are those of `objects`, and no one uses them any more.
    unsafe {
        ptxemu_module_free(module);
        ptxemu_kernel_free(kernel);
        ptxemu_memory_free(memory);
    }
}

#[test]
fn what_is_wrong_has_a_status_and_a_text() {
    let all @ [module, _, memory] = objects();
    let mut none = std::ptr::null_mut();
    let null: Opaque = std::ptr::null_mut();
    // SAFETY: pointers are null, or to local variables of the size stated.
    unsafe {
        assert_eq!(ptxemu_module_load(std::ptr::null(), 5, &mut none), 1);
        assert_eq!(ptxemu_module_load(c"\xff".as_ptr(), 1, &mut none), 1);
        assert!(last_error().contains("cubin"), "{}", last_error());
        let broken = c".version 7.0\n.target sm_70\n.nonsense";
        assert_eq!(
            ptxemu_module_load(broken.as_ptr(), broken.count_bytes(), &mut none),
            2
        );
        assert!(last_error().contains('3'), "{}", last_error());
        assert_eq!(ptxemu_kernel_get(null, c"add".as_ptr(), &mut none), 1);
        assert_eq!(ptxemu_kernel_get(module, c"sub".as_ptr(), &mut none), 3);
        assert!(last_error().contains("`sub`"), "{}", last_error());
        assert_eq!(
            ptxemu_kernel_get(module, c"add".as_ptr(), std::ptr::null_mut()),
            1
        );
        assert!(ptxemu_module_kernel_name(module, 1).is_null());
        assert!(none.is_null());

        let (mut address, mut word) = (0, [0u8; 8]);
        assert_eq!(ptxemu_alloc(memory, 2 << 20, &mut address), 5);
        assert_eq!(ptxemu_alloc(memory, 4, &mut address), 0);
        assert_eq!(ptxemu_read(memory, address, word.as_mut_ptr().cast(), 5), 6);
        assert_eq!(
            ptxemu_read(memory, address, word.as_mut_ptr().cast(), usize::MAX),
            6
        );
        assert_eq!(ptxemu_read(memory, address, null, 4), 1);
        assert_eq!(ptxemu_write(memory, address, word.as_ptr().cast(), 4), 0);
        let host = word.as_mut_ptr().cast();
        assert_eq!(ptxemu_map(memory, address, host, 8), 1);
        assert_eq!(ptxemu_map(memory, 0, null, 8), 1);
        assert_eq!(ptxemu_unmap(memory, 12), 1);
        ptxemu_kernel_free(null);
    }
    free(all);
}

#[test]
fn variables_and_packed_arguments() {
    let all @ [module, kernel, memory] = objects();
    let (mut address, mut bytes, mut value) = (0, 0, [0u8; 4]);
    // SAFETY: pointers are to local variables of the size stated.
    unsafe {
        let name = c"calls".as_ptr();
        assert_eq!(
            ptxemu_module_variable(module, memory, name, &mut address, &mut bytes),
            0
        );
        assert_eq!(
            ptxemu_read(memory, address, value.as_mut_ptr().cast(), 4),
            0
        );
        assert_eq!((bytes, u32::from_le_bytes(value)), (4, 41));
        let name = c"nothing".as_ptr();
        assert_eq!(
            ptxemu_module_variable(module, memory, name, &mut address, &mut bytes),
            3
        );
    }
    // Odd sizes, at odd places of one array, which kernels know by another address.
    let mut host = vec![1.5f32; 3 * 37 + 1];
    let at = 0x5000_0000_0000u64;
    let place = |index: u64| at + 4 * (1 + 37 * index);
    let mut block = [place(0), place(1), place(2)]
        .map(u64::to_le_bytes)
        .concat();
    block.extend(37u32.to_le_bytes());
    let mut config = [0u64; 10];
    let words: [(usize, u32); 7] = [(0, 80), (2, 2), (3, 1), (4, 1), (5, 31), (6, 1), (7, 1)];
    for (index, word) in words {
        config[index / 2] |= u64::from(word) << (32 * (index % 2));
    }
    // SAFETY: pointers are to local variables of the size stated, and the vector is not used while
    // the kernel runs.
    unsafe {
        let data = host.as_mut_ptr().cast();
        assert_eq!(ptxemu_map(memory, at, data, 4 * 112), 0, "{}", last_error());
        let launch = |bytes: usize, config: &[u64; 10]| {
            let (config, block) = (config.as_ptr().cast(), block.as_ptr().cast());
            ptxemu_launch_packed(kernel, memory, config, block, bytes, std::ptr::null_mut())
        };
        assert_eq!(launch(block.len(), &config), 0, "{}", last_error());
        assert_eq!(launch(27, &config), 1);
        assert!(last_error().contains("`n`"), "{}", last_error());
        let wrong = |place: usize, bits: u64| {
            let mut other = config;
            other[place] ^= bits;
            launch(block.len(), &other)
        };
        assert_eq!(wrong(0, 0x40), 1);
        assert!(last_error().contains("struct_bytes"), "{}", last_error());
        assert_eq!(wrong(1, 2), 7);
        assert_eq!(wrong(7, 0x10 << 32), 1);
        assert!(last_error().contains("0x10"), "{}", last_error());
        assert_eq!(ptxemu_unmap(memory, at), 0);
        assert_eq!(launch(block.len(), &config), 8);
    }
    assert_eq!(host[..75], [1.5; 75]);
    assert_eq!(host[75..], [3.0; 37]);
    free(all);
}

#[cfg(target_os = "linux")]
#[test]
fn emulated_gpus_run_kernels_on_addresses_of_the_process() {
    let (a, b, mut c) = (vec![1.25f32; 531], vec![2.0f32; 531], vec![0.0f32; 531]);
    let text = CString::new(ADD).expect("no null byte");
    let n: *const f32 = std::ptr::without_provenance(531);
    let each = [a.as_ptr(), b.as_ptr(), c.as_mut_ptr().cast_const(), n];
    each.iter()
        .for_each(|pointer| _ = pointer.expose_provenance());
    let each = each.map(<*const f32>::cast::<c_void>);
    // SAFETY: there are four arguments, and the vectors, which the kernel uses by their
    // addresses, are long enough.
    unsafe { ptx_run(text.as_ptr(), 4, each.as_ptr(), 64, 1, 1, 9, 1, 1, 0) };
    assert_eq!(c, vec![3.25; 531]);
    // SAFETY: three arguments are stated, and there are more; one is missing, which is refused.
    unsafe { ptx_run(text.as_ptr(), 3, each.as_ptr(), 64, 1, 1, 9, 1, 1, 0) };
    assert!(
        last_error().contains("4 arguments, not 3"),
        "{}",
        last_error()
    );
}
