//! GPU generations.

/// A GPU generation ("compute capability") to compile for.
///
/// PTX for one generation runs on it and on every later one; with the suffix `a` on that one only,
/// and with `f` on its family (PTX ISA, "PTX Module Directives: .target").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[allow(missing_docs)]
pub enum NvvmArch {
    Compute35,
    Compute37,
    Compute50,
    Compute52,
    Compute53,
    Compute60,
    Compute61,
    Compute62,
    #[default]
    Compute70,
    Compute72,
    Compute75,
    Compute80,
    Compute86,
    Compute87,
    Compute88,
    Compute89,
    Compute90,
    Compute90a,
    Compute100,
    Compute100f,
    Compute100a,
    Compute103,
    Compute103f,
    Compute103a,
    Compute110,
    Compute110f,
    Compute110a,
    Compute120,
    Compute120f,
    Compute120a,
    Compute121,
    Compute121f,
    Compute121a,
}

impl NvvmArch {
    /// The oldest generation that the compiler supports.
    pub const OLDEST: Self = Self::Compute70;

    /// The name in PTX and for rustc's `target-cpu`, such as `sm_90a`.
    pub fn target_cpu(self) -> String {
        format!("sm_{}", self.digits())
    }

    /// The version of PTX to ask for, where LLVM's own choice for the generation is too old for
    /// what the generation can do: on 8.0 it is 7.0, and `mbarrier.test_wait.parity` came with 7.1.
    pub(crate) fn ptx_feature(self) -> Option<&'static str> {
        (self == Self::Compute80).then_some("+ptx71")
    }

    /// Ten times the major plus the minor number of the compute capability, such as 90 for
    /// `sm_90a`.
    pub fn capability(self) -> u32 {
        self.digits()
            .bytes()
            .filter(u8::is_ascii_digit)
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    }

    fn digits(self) -> &'static str {
        match self {
            Self::Compute35 => "35",
            Self::Compute37 => "37",
            Self::Compute50 => "50",
            Self::Compute52 => "52",
            Self::Compute53 => "53",
            Self::Compute60 => "60",
            Self::Compute61 => "61",
            Self::Compute62 => "62",
            Self::Compute70 => "70",
            Self::Compute72 => "72",
            Self::Compute75 => "75",
            Self::Compute80 => "80",
            Self::Compute86 => "86",
            Self::Compute87 => "87",
            Self::Compute88 => "88",
            Self::Compute89 => "89",
            Self::Compute90 => "90",
            Self::Compute90a => "90a",
            Self::Compute100 => "100",
            Self::Compute100f => "100f",
            Self::Compute100a => "100a",
            Self::Compute103 => "103",
            Self::Compute103f => "103f",
            Self::Compute103a => "103a",
            Self::Compute110 => "110",
            Self::Compute110f => "110f",
            Self::Compute110a => "110a",
            Self::Compute120 => "120",
            Self::Compute120f => "120f",
            Self::Compute120a => "120a",
            Self::Compute121 => "121",
            Self::Compute121f => "121f",
            Self::Compute121a => "121a",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NvvmArch;

    #[test]
    fn names_and_numbers() {
        assert_eq!(NvvmArch::default().target_cpu(), "sm_70");
        assert_eq!(NvvmArch::Compute90a.target_cpu(), "sm_90a");
        assert_eq!(NvvmArch::Compute90a.capability(), 90);
        assert_eq!(NvvmArch::Compute120f.capability(), 120);
        assert!(NvvmArch::Compute62 < NvvmArch::OLDEST);
    }
}
