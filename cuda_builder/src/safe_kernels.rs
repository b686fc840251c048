//! PTX of the safe form of kernels as data of a program: what `cuda_std::safe::include_ptx!`
//! includes.

use std::path::Path;

use crate::error::{self, CudaBuilderError};

/// Writes `safe_kernels.rs` into `folder`, which makes `PTX` of the text at `ptx`.
pub(crate) fn write(folder: &Path, ptx: &Path) -> Result<(), CudaBuilderError> {
    error::write(&folder.join("safe_kernels.rs"), &source(ptx))
}

fn source(ptx: &Path) -> String {
    format!(
        "/// The PTX of this package's kernels.\n\
         #[allow(unsafe_code)]\n\
         // SAFETY: the build script compiled the text from this package.\n\
         pub static PTX: ::cuda_std::safe::Ptx = unsafe {{\n    \
         ::cuda_std::safe::Ptx::of_package(include_str!({ptx:?}), env!(\"CARGO_PKG_NAME\"))\n\
         }};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_names_the_file_and_the_package() {
        assert_eq!(
            source(Path::new("/out/a \"b\".ptx")),
            r#"/// The PTX of this package's kernels.
#[allow(unsafe_code)]
// SAFETY: the build script compiled the text from this package.
pub static PTX: ::cuda_std::safe::Ptx = unsafe {
    ::cuda_std::safe::Ptx::of_package(include_str!("/out/a \"b\".ptx"), env!("CARGO_PKG_NAME"))
};
"#
        );
    }
}
