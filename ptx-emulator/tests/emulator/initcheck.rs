//! What the host reads after a launch.

use crate::common::{STORE, kernel, module};
use ptx_emulator::sanitize::{Problem, Severity, Tool};
use ptx_emulator::{Args, Event, LaunchConfig, Memory, Observer, Sanitizer};

fn host_read(sanitizer: &mut Sanitizer, memory: &Memory, address: u64, bytes: u64) {
    sanitizer.notify(Event::HostRead {
        memory,
        address,
        bytes,
    });
}

#[test]
fn a_result_that_was_never_written_is_found_when_the_host_reads_it() {
    let memory = Memory::with_capacity(1 << 16);
    let data = memory.alloc(256).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    // 48 of 64 words, and of those not the seventh.
    let body = format!("mov.b32 %r0, 1; setp.eq.u32 %p1, %thread, 6; @%p1 ret; {STORE}");
    let kernel = kernel(&module(&body));
    let config = LaunchConfig::new([1, 1, 1], [48, 1, 1]);
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let found = sanitizer.launch(&kernel, &memory, &config, &args);
    assert_eq!(found.expect("runs"), []);

    host_read(&mut sanitizer, &memory, data + 28, 41 * 4);
    assert_eq!(sanitizer.findings(), []);
    host_read(&mut sanitizer, &memory, data, 256);
    host_read(&mut sanitizer, &memory, data + 192, 4);
    let found = sanitizer.findings();
    let [finding] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (finding.problem, finding.count),
        (Problem::Uninitialised, 2)
    );
    let region = finding.region.as_ref().expect("an address");
    assert_eq!((region.address, region.bytes), (data + 24, 4));
    assert!(
        finding.to_string().ends_with("\n    read by the host"),
        "{finding}"
    );

    // After a second launch the findings of the first remain.
    sanitizer
        .launch(&kernel, &memory, &config, &args)
        .expect("runs");
    assert_eq!(sanitizer.findings(), []);
    assert_eq!(sanitizer.all_findings(), found);
}

/// Compilers copy a structure with its padding, word by word.
#[test]
fn words_that_are_written_in_part_may_have_padding() {
    let memory = Memory::with_capacity(1 << 16);
    let data = memory.alloc(256).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let body = "mov.b32 %r0, 5; st.global.b8 [%base+4], %r0;
                ld.global.b32 %r0, [%base+4];
                ld.global.b32 %r1, [%base+8];
                add.u32 %r2, %r0, %r1; st.global.b32 [%base+16], %r2;";
    let config = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let found = sanitizer.launch(&kernel(&module(body)), &memory, &config, &args);
    let found = found.expect("runs");
    let of: Vec<_> = found
        .iter()
        .map(|finding| (finding.problem, finding.severity))
        .collect();
    let problem = Problem::Uninitialised;
    assert_eq!(
        of,
        [(problem, Severity::Warning), (problem, Severity::Error)]
    );
    assert!(
        found[0].to_string().contains("it may be padding"),
        "{}",
        found[0]
    );
}
