//! `warpladder cuda`: what becomes of the program that it starts when it is told to end itself.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether the emulated driver was built beside the program.
fn has_library() -> bool {
    let output = Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .args(["cuda", "--", "true"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let is_missing = text.contains("no libwarpladder_cuda.so beside");
    if is_missing {
        println!("skipped: the emulated driver was not built");
    } else {
        assert!(output.status.success(), "{text}");
    }
    !is_missing
}

/// A program that `warpladder cuda` runs.
struct Running {
    warpladder: Child,
    /// The process of the program.
    program: libc::pid_t,
}

impl Running {
    /// `script` is one of a shell, which has written its own number.
    fn start(script: &str) -> Running {
        let mut warpladder = Command::new(env!("CARGO_BIN_EXE_warpladder"))
            .args(["cuda", "--", "sh", "-c", &format!("echo $$\n{script}")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = warpladder.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let program = line.trim().parse().unwrap();
        let running = Running {
            warpladder,
            program,
        };
        assert!(running.program_runs());
        running
    }

    /// Whether the program has not ended; one whose status was not read yet counts as ended.
    fn program_runs(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program));
        let stat = stat.unwrap_or_default();
        // The state follows the name, which is in parentheses.
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        !matches!(state, None | Some('Z' | 'X'))
    }

    /// Sends a signal to `warpladder` alone.
    fn signal(&self, signal: libc::c_int) {
        // SAFETY: `kill` touches no memory of this process.
        let sent = unsafe { libc::kill(self.warpladder.id().cast_signed(), signal) };
        assert_eq!(sent, 0);
    }

    /// The exit status of `warpladder`; none where a signal ended it.
    fn status(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.warpladder.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "warpladder goes on");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn assert_program_ends(&self) {
        let start = Instant::now();
        while self.program_runs() {
            assert!(start.elapsed() < PATIENCE, "the program goes on");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    /// Leaves no process behind where a test fails.
    fn drop(&mut self) {
        if self.program_runs() {
            // SAFETY: `kill` touches no memory of this process.
            unsafe { libc::kill(self.program, libc::SIGKILL) };
        }
        _ = self.warpladder.kill();
        _ = self.warpladder.wait();
    }
}

#[test]
fn a_program_ends_with_the_process_that_started_it() {
    if !has_library() {
        return;
    }
    let mut running = Running::start("exec sleep 120");
    running.signal(libc::SIGKILL);
    assert_eq!(running.status(), None);
    running.assert_program_ends();
}

#[test]
fn a_program_gets_the_requests_to_end() {
    if !has_library() {
        return;
    }
    let mut running = Running::start("exec sleep 120");
    running.signal(libc::SIGTERM);
    assert_eq!(running.status(), Some(128 + libc::SIGTERM));
    running.assert_program_ends();
}

#[test]
fn a_program_may_handle_an_interrupt() {
    if !has_library() {
        return;
    }
    let script = "trap 'exit 7' INT; for second in $(seq 1200); do sleep 0.1; done";
    let mut running = Running::start(&format!("{script}; exit 1"));
    // The shell may not have come to the trap yet: further interrupts reach it.
    let start = Instant::now();
    while running.warpladder.try_wait().unwrap().is_none() && start.elapsed() < PATIENCE {
        std::thread::park_timeout(Duration::from_millis(300));
        running.signal(libc::SIGINT);
    }
    assert_eq!(running.status(), Some(7));
    running.assert_program_ends();
}
