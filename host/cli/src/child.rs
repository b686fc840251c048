//! A program that this one starts: signals reach it, and it ends where this one ends.

use std::io;
use std::process::{Command, ExitStatus};

/// Runs a program to its end.
///
/// On Linux a request to end, or an interrupt, that is sent to this process goes on to the program,
/// and this process waits for what the program makes of it. Where this process is killed, the
/// kernel kills the program, too, but not what the program has started.
///
/// # Errors
/// Those of [`Command::spawn`] and of [`Child::wait`](std::process::Child::wait).
pub(super) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    #[cfg(target_os = "linux")]
    return linux::run(command);
    #[cfg(not(target_os = "linux"))]
    command.status()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitStatus};
    use std::sync::atomic::{AtomicI32, Ordering};

    use libc::{c_int, c_void, pid_t, siginfo_t};

    /// The signals that the program gets.
    const FORWARDED: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

    /// The program that runs; 0 for none.
    static PROGRAM: AtomicI32 = AtomicI32::new(0);

    /// A signal that came before the program ran; 0 for none.
    static EARLY: AtomicI32 = AtomicI32::new(0);

    pub(super) fn run(command: &mut Command) -> io::Result<ExitStatus> {
        for signal in FORWARDED {
            take_over(signal)?;
        }
        end_with_this_process(command);
        let mut child = command.spawn()?;
        let id = child.id().cast_signed();
        PROGRAM.store(id, Ordering::SeqCst);
        send_early(id);
        let ended = wait_for_end(id);
        // From here on the number may be that of another process.
        PROGRAM.store(0, Ordering::SeqCst);
        ended?;
        child.wait()
    }

    /// Lets the kernel kill the program when this thread ends, which starts it.
    fn end_with_this_process(command: &mut Command) {
        let parent = std::process::id().cast_signed();
        let ask = move || {
            // SAFETY: `prctl` with this option touches no memory of the process.
            let is_asked = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0;
            if !is_asked {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: `getppid` touches no memory of the process.
            match unsafe { libc::getppid() } == parent {
                true => Ok(()),
                // It has ended before the kernel was asked.
                false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        };
        // SAFETY: the function makes system calls that are safe after a fork, and allocates
        // nothing.
        unsafe { command.pre_exec(ask) };
    }

    /// Waits until the program has ended, and leaves its status to be read.
    fn wait_for_end(id: pid_t) -> io::Result<()> {
        loop {
            // SAFETY: zeros are a value of this structure.
            let mut info: siginfo_t = unsafe { std::mem::zeroed() };
            let options = libc::WEXITED | libc::WNOWAIT;
            // SAFETY: `info` is valid for the write.
            let done = unsafe { libc::waitid(libc::P_PID, id.cast_unsigned(), &mut info, options) };
            if done == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Installs [`forward`] for a signal.
    fn take_over(signal: c_int) -> io::Result<()> {
        // SAFETY: zeros are a value of this structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = forward;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // SAFETY: the handler has the signature that `SA_SIGINFO` asks for, and calls functions
        // alone that are safe in a handler.
        match unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends a signal on, unless the terminal has sent it: then the program has it already.
    extern "C" fn forward(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
        let program = PROGRAM.load(Ordering::SeqCst);
        if program == 0 {
            EARLY.store(signal, Ordering::SeqCst);
            send_early(PROGRAM.load(Ordering::SeqCst));
            return;
        }
        // SAFETY: the kernel gives a handler with `SA_SIGINFO` a valid pointer.
        let is_of_process = unsafe { (*info).si_code } <= libc::SI_USER;
        if is_of_process {
            send(program, signal);
        }
    }

    /// Sends the signal that came before the program ran, if one did and the program runs.
    fn send_early(program: pid_t) {
        if program != 0 {
            let signal = EARLY.swap(0, Ordering::SeqCst);
            if signal != 0 {
                send(program, signal);
            }
        }
    }

    fn send(program: pid_t, signal: c_int) {
        // SAFETY: `kill` touches no memory. The program is not waited for, so its number is its
        // own.
        unsafe { libc::kill(program, signal) };
    }
}
