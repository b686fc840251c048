//! `printf`, `new`, `delete` and `assert` by nvcc.

use super::{Launch, ptx};
use ptx_emulator::sanitize::Problem;

#[test]
fn lists_on_the_device_heap_are_printed() {
    let mut launch = Launch::new(ptx!("print"), "lists");
    let sums = launch.output::<i32>(64);
    launch.value(&6u32.to_le_bytes());
    launch.run([1, 1, 1], [64, 1, 1]);
    let wanted: Vec<i32> = (0..64).map(|thread| 15 * thread).collect();
    assert_eq!(launch.read(&sums), wanted);
    let printed = String::from_utf8(launch.printed()).expect("text");
    assert_eq!(
        printed,
        "5 4 3 2 1 0 of thread 1:  3.75 -1099511627776 x%\n"
    );
}

#[test]
fn a_failed_assertion_is_a_finding_with_its_text() {
    let mut launch = Launch::new(ptx!("print"), "checked");
    launch.input(&[0, 1, 2, 3]);
    let findings = launch.findings([1, 1, 1], [4, 1, 1]);
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(finding.problem, Problem::Stopped);
    let text = finding.to_string();
    assert!(text.contains("values[threadIdx.x] < 3"), "{text}");
    assert!(
        text.contains("print.cu:37") && text.contains("thread (3, 0, 0)"),
        "{text}"
    );
}
