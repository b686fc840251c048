//! GPU generations.

use std::fmt;
use std::str::FromStr;

macro_rules! generations {
    ($($(#[$attribute:meta])* $name:ident $digits:literal,)*) => {
        /// A GPU generation ("compute capability") to compile for.
        ///
        /// PTX for one generation runs on it and on every later one; with the suffix `a` on that
        /// one only, and with `f` on its family (PTX ISA, "PTX Module Directives: .target").
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[allow(missing_docs)]
        pub enum NvvmArch {
            $($(#[$attribute])* $name,)*
        }

        impl NvvmArch {
            /// All of them, oldest first.
            const ALL: &[Self] = &[$(Self::$name),*];

            fn digits(self) -> &'static str {
                match self {
                    $(Self::$name => $digits,)*
                }
            }

            /// The name in `#[cfg(target_feature = "…")]`, such as `compute_90a`.
            pub fn target_feature(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("compute_", $digits),)*
                }
            }
        }
    };
}

generations! {
    Compute35 "35",
    Compute37 "37",
    Compute50 "50",
    Compute52 "52",
    Compute53 "53",
    Compute60 "60",
    Compute61 "61",
    Compute62 "62",
    #[default]
    Compute70 "70",
    Compute72 "72",
    Compute73 "73",
    Compute75 "75",
    Compute80 "80",
    Compute86 "86",
    Compute87 "87",
    Compute88 "88",
    Compute89 "89",
    Compute90 "90",
    Compute90a "90a",
    Compute100 "100",
    Compute100f "100f",
    Compute100a "100a",
    Compute101 "101",
    Compute101f "101f",
    Compute101a "101a",
    Compute103 "103",
    Compute103f "103f",
    Compute103a "103a",
    Compute110 "110",
    Compute110f "110f",
    Compute110a "110a",
    Compute120 "120",
    Compute120f "120f",
    Compute120a "120a",
    Compute121 "121",
    Compute121f "121f",
    Compute121a "121a",
}

/// What a generation's PTX may use and where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// No suffix: runs on all later generations.
    Base,
    /// `f`: runs on later generations of the same major number.
    Family,
    /// `a`: runs on this one only.
    Architecture,
}

impl NvvmArch {
    /// The oldest generation that the compiler supports.
    pub const OLDEST: Self = Self::Compute70;

    /// All generations, oldest first. The compiler may know fewer: LLVM has none for
    /// [`Compute73`](Self::Compute73).
    pub fn iter() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied()
    }

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

    /// The same as [`capability`](Self::capability), under Rust-CUDA's name.
    pub fn capability_value(self) -> u32 {
        self.capability()
    }

    /// The major number of the compute capability: 9 of `sm_90a`.
    pub fn major_version(self) -> u32 {
        self.capability() / 10
    }

    /// The minor number of the compute capability: 0 of `sm_90a`.
    pub fn minor_version(self) -> u32 {
        self.capability() % 10
    }

    /// The generations whose `target_feature` is set while a crate is compiled for this one.
    ///
    /// Those without a suffix up to this one; with a suffix also those of the family (`f`) with the
    /// same major and no higher minor number; with `a` this one itself.
    ///
    /// ```
    /// # use cuda_builder::NvvmArch;
    /// let features = NvvmArch::Compute103f.all_target_features();
    /// assert!(features.contains(&NvvmArch::Compute90));
    /// assert!(features.contains(&NvvmArch::Compute100f));
    /// assert!(!features.contains(&NvvmArch::Compute90a));
    /// ```
    pub fn all_target_features(self) -> Vec<Self> {
        let older = |arch: Self| arch.capability() <= self.capability();
        let own_family = |arch: Self| arch.major_version() == self.major_version();
        Self::iter()
            .filter(|&arch| match arch.variant() {
                Variant::Base => older(arch),
                Variant::Family => {
                    self.variant() != Variant::Base && own_family(arch) && older(arch)
                }
                Variant::Architecture => arch == self,
            })
            .collect()
    }

    /// Whether it has no suffix.
    pub fn is_base_variant(self) -> bool {
        self.variant() == Variant::Base
    }

    /// Whether it has the suffix `f`.
    pub fn is_family_variant(self) -> bool {
        self.variant() == Variant::Family
    }

    /// Whether it has the suffix `a`.
    pub fn is_architecture_variant(self) -> bool {
        self.variant() == Variant::Architecture
    }

    /// The same generation without a suffix.
    pub fn base_architecture(self) -> Self {
        let mut variants = Self::variants_for_capability(self.capability()).into_iter();
        variants.find(|arch| arch.is_base_variant()).unwrap_or(self)
    }

    /// The same generation without a suffix, and with each that it has.
    pub fn get_variants(self) -> Vec<Self> {
        Self::variants_for_capability(self.capability())
    }

    /// The generations of this [`capability`](Self::capability); none where there is no such one.
    pub fn variants_for_capability(capability: u32) -> Vec<Self> {
        Self::iter()
            .filter(|arch| arch.capability() == capability)
            .collect()
    }

    fn variant(self) -> Variant {
        match self.digits().as_bytes().last() {
            Some(b'a') => Variant::Architecture,
            Some(b'f') => Variant::Family,
            _ => Variant::Base,
        }
    }
}

/// The [`target_feature`](NvvmArch::target_feature).
impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.target_feature())
    }
}

/// A text that names no GPU generation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no GPU generation: use one such as compute_90, sm_90 or 90a")]
pub struct UnknownArch(String);

/// From `compute_90a`, `sm_90a` or `90a`.
impl FromStr for NvvmArch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        let digits = text
            .strip_prefix("compute_")
            .or_else(|| text.strip_prefix("sm_"))
            .unwrap_or(text);
        Self::iter()
            .find(|arch| arch.digits() == digits)
            .ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::NvvmArch::{self, *};

    #[test]
    fn names_and_numbers() {
        assert_eq!(NvvmArch::default().target_cpu(), "sm_70");
        assert_eq!(NvvmArch::Compute90a.target_cpu(), "sm_90a");
        assert_eq!(NvvmArch::Compute90a.capability(), 90);
        assert_eq!(NvvmArch::Compute120f.capability(), 120);
        assert!(NvvmArch::Compute62 < NvvmArch::OLDEST);
    }

    #[test]
    fn every_generation_is_read_from_its_names() {
        for arch in NvvmArch::iter() {
            for name in [arch.to_string(), arch.target_cpu(), arch.digits().into()] {
                assert_eq!(name.parse(), Ok(arch));
            }
        }
        let error = "sm_99".parse::<NvvmArch>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "sm_99 is no GPU generation: use one such as compute_90, sm_90 or 90a"
        );
    }

    #[test]
    fn later_generations_have_the_features_of_older_ones() {
        assert_eq!(
            Compute61.all_target_features(),
            [
                Compute35, Compute37, Compute50, Compute52, Compute53, Compute60, Compute61
            ]
        );
        let with_suffix = |arch: NvvmArch| {
            let mut features = arch.all_target_features();
            features.retain(|arch| !arch.is_base_variant());
            features
        };
        assert_eq!(with_suffix(Compute103), []);
        assert_eq!(
            with_suffix(Compute103f),
            [Compute100f, Compute101f, Compute103f]
        );
        assert_eq!(
            with_suffix(Compute103a),
            [Compute100f, Compute101f, Compute103f, Compute103a]
        );
        assert_eq!(with_suffix(Compute90a), [Compute90a]);
        assert_eq!(with_suffix(Compute120f), [Compute120f]);
    }

    #[test]
    fn variants_of_a_generation() {
        assert_eq!(Compute100a.base_architecture(), Compute100);
        assert_eq!(
            Compute100f.get_variants(),
            [Compute100, Compute100f, Compute100a]
        );
        assert_eq!(NvvmArch::variants_for_capability(99), []);
        assert_eq!(
            (Compute121a.major_version(), Compute121a.minor_version()),
            (12, 1)
        );
    }
}
