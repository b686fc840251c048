//! Printing from kernels, and assertions with a message.
//!
//! [`print!`](crate::print) and [`println!`](crate::println) take what `std`'s do, and write
//! through the driver's `vprintf` (CUDA Programming Guide, "Formatted Output"): the text goes to a
//! buffer of 1 MiB on the device, unless the host sets another limit, and reaches the standard
//! output when the host synchronises. They need no heap: the text is made in local memory.
//!
//! [`assert!`](crate::assert), [`assert_eq!`](crate::assert_eq) and
//! [`assert_ne!`](crate::assert_ne) of this crate call the driver's `__assertfail`: the message,
//! the file, the line and the thread are printed, and the launch ends with `CUDA_ERROR_ASSERT`.
//! A `panic!`, and with it `core`'s assertions, ends the kernel without a message.

use core::fmt;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Formats and prints: `valist` points to the arguments, each aligned to its size.
    ///
    /// # Safety
    /// `format` ends with a zero byte, and `valist` holds what it asks for.
    pub fn vprintf(format: *const u8, valist: *const core::ffi::c_void) -> i32;

    /// Prints a message about a failed assertion and ends the kernel.
    ///
    /// # Safety
    /// The texts end with a zero byte; `char_size` is 1.
    pub fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// The bytes that are printed at once: what is longer may be mixed with the text of other threads.
const LENGTH: usize = 256;

/// Text with a zero byte at its end, in local memory.
struct Text {
    bytes: [core::mem::MaybeUninit<u8>; LENGTH],
    len: usize,
    when_full: WhenFull,
}

/// What becomes of text that is longer than the buffer.
#[derive(Clone, Copy)]
enum WhenFull {
    /// It is printed in parts.
    Print,
    /// The rest is left out.
    LeaveOut,
}

impl Text {
    #[inline]
    fn new(when_full: WhenFull) -> Self {
        Text {
            bytes: [const { core::mem::MaybeUninit::uninit() }; LENGTH],
            len: 0,
            when_full,
        }
    }

    fn push(&mut self, byte: u8) {
        if self.len == LENGTH - 1 {
            match self.when_full {
                WhenFull::Print => self.print(),
                WhenFull::LeaveOut => return,
            }
        }
        self.bytes[self.len].write(byte);
        self.len += 1;
    }

    /// The text, with its zero byte.
    fn terminated(&mut self) -> *const u8 {
        self.bytes[self.len].write(0);
        self.bytes.as_ptr().cast()
    }

    fn print(&mut self) {
        let text = self.terminated();
        #[cfg(target_arch = "nvptx64")]
        {
            // SAFETY: the format asks for one pointer to a text that ends with a zero byte.
            unsafe { vprintf(c"%s".as_ptr().cast(), (&raw const text).cast()) };
            self.len = 0;
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = text;
            panic!("cuda_std: print! runs on a GPU or on the PTX emulator only");
        }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.push(byte));
        Ok(())
    }
}

/// Prints formatted text; [`print!`](crate::print) calls it.
#[doc(hidden)]
#[inline(never)]
pub fn print(arguments: fmt::Arguments<'_>) {
    let mut text = Text::new(WhenFull::Print);
    // Errors come from the formatted values alone: what they have written is printed.
    let _ = fmt::write(&mut text, arguments);
    if text.len > 0 {
        text.print();
    }
}

/// Reports a failed assertion and ends the kernel; [`assert!`](crate::assert) calls it.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn fail(arguments: fmt::Arguments<'_>, file: &str, line: u32) -> ! {
    let mut message = Text::new(WhenFull::LeaveOut);
    let _ = fmt::write(&mut message, arguments);
    let mut name = Text::new(WhenFull::LeaveOut);
    let _ = fmt::Write::write_str(&mut name, file);
    let (message, name) = (message.terminated(), name.terminated());
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: all three texts end with a zero byte.
        unsafe { __assertfail(message, name, line, c"".as_ptr().cast(), 1) };
        // SAFETY: ends the kernel, as `__assertfail` has already.
        unsafe { core::arch::asm!("trap;", options(noreturn)) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (message, name, line);
        panic!("cuda_std: assertions run on a GPU or on the PTX emulator only")
    }
}

/// Prints to the standard output of the program that launched the kernel; see
/// [`io`](mod@crate::io).
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => {
        $crate::io::print(::core::format_args!($($arg)*))
    };
}

/// [`print!`](crate::print) with a line end.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($arg:tt)*) => {
        $crate::io::print(::core::format_args!("{}\n", ::core::format_args!($($arg)*)))
    };
}

/// Ends the kernel with a message where a condition does not hold; see [`io`](mod@crate::io).
#[macro_export]
macro_rules! assert {
    ($condition:expr $(,)?) => {
        if !$condition {
            $crate::io::fail(
                ::core::format_args!("assertion failed: {}", ::core::stringify!($condition)),
                ::core::file!(),
                ::core::line!(),
            )
        }
    };
    ($condition:expr, $($arg:tt)+) => {
        if !$condition {
            $crate::io::fail(::core::format_args!($($arg)+), ::core::file!(), ::core::line!())
        }
    };
}

/// Ends the kernel with a message where two values differ; see [`io`](mod@crate::io).
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(, $($arg:tt)*)?) => {
        $crate::compared!($left, ==, $right $(, $($arg)*)?)
    };
}

/// Ends the kernel with a message where two values are equal; see [`io`](mod@crate::io).
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(, $($arg:tt)*)?) => {
        $crate::compared!($left, !=, $right $(, $($arg)*)?)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! compared {
    ($left:expr, $operator:tt, $right:expr $(,)?) => {
        $crate::compared!($left, $operator, $right, "")
    };
    ($left:expr, $operator:tt, $right:expr, $($arg:tt)+) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left $operator *right) {
                    $crate::io::fail(
                        ::core::format_args!(
                            "assertion failed: {} {} {}\n  left: {:?}\n right: {:?}\n{}",
                            ::core::stringify!($left),
                            ::core::stringify!($operator),
                            ::core::stringify!($right),
                            left,
                            right,
                            ::core::format_args!($($arg)+),
                        ),
                        ::core::file!(),
                        ::core::line!(),
                    )
                }
            }
        }
    };
}
