//! Running cargo and rustc on a crate of kernels.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::arch::NvvmArch;
use crate::builder::{CudaBuilder, EmitOption};
use crate::error::{self, CudaBuilderError, PtxTextError};
use crate::manifest;
use crate::ptx_text::{self, PtxOutput};
use crate::stable_names::stable_names;
use crate::toolchain::Toolchain;

/// Settings of the release profile that shape the PTX. They are given on the command line, which
/// overrides whatever the workspace, the user's cargo configuration and the environment say.
pub(crate) const PROFILE: [&str; 7] = [
    "profile.release.codegen-units=1",
    // The flag of rustc sets what is wanted.
    "profile.release.debug=false",
    "profile.release.debug-assertions=false",
    "profile.release.incremental=false",
    // So that both ways to compile a crate take the same dependencies, which are bitcode alone.
    "profile.release.lto=\"fat\"",
    "profile.release.opt-level=3",
    "profile.release.overflow-checks=false",
];

const TARGET: &str = "nvptx64-nvidia-cuda";

/// Variables that a build script inherits from the cargo that runs it, and that would steer the
/// inner one.
const INHERITED: [&str; 2] = ["CARGO", "RUST"];

/// Those of them that say where things are and how to reach the network.
const KEPT: [&str; 7] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
    "RUSTUP_HOME",
];

/// Features of rustc that the macros of `cuda_std` need in the crate of kernels. Rust-CUDA's
/// sources do not ask for them.
const FEATURES: [&str; 2] = ["abi_ptx", "asm_experimental_arch"];

/// How calls between crates are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// They are not: whatever is called across crates is generic or inlined.
    OneCrate,
    /// By rustc, which optimises all crates as one module.
    WholeProgram,
}

/// What one run of the compiler gave.
pub(crate) struct Compilation {
    pub(crate) output: PtxOutput,
    /// Where the finished PTX lies.
    pub(crate) ptx_path: PathBuf,
    /// The files that cargo says it is made of.
    pub(crate) sources: Vec<PathBuf>,
    /// Where the compiler wrote its PTX.
    raw_path: PathBuf,
}

impl Compilation {
    /// Copies what LLVM wrote of the module besides its PTX to `path`.
    pub(crate) fn copy_module(
        &self,
        emit: EmitOption,
        path: &Path,
    ) -> Result<(), CudaBuilderError> {
        let (_, extension) = emit.names();
        let from = self.raw_path.with_extension(extension);
        std::fs::copy(&from, path).map_err(error::io(path))?;
        Ok(())
    }
}

/// Compiles `builder`'s crate.
pub(crate) fn run(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
) -> Result<Compilation, CudaBuilderError> {
    let crate_path = &builder.path_to_crate;
    if !crate_path.join("Cargo.toml").is_file() {
        return Err(CudaBuilderError::CratePathDoesntExist(crate_path.clone()));
    }
    let arch = builder.arch.target_cpu();
    if builder.arch < NvvmArch::OLDEST {
        return Err(CudaBuilderError::UnsupportedArch(arch));
    }
    let workspace = workspace_root(crate_path, toolchain)?;
    let known = toolchain.target_cpus(TARGET)?;
    if !known.contains(&arch) {
        return Err(CudaBuilderError::UnknownArch { arch, known });
    }
    // One folder per architecture: they share nothing, and would otherwise evict each other's core.
    let target_dir = std::path::absolute(builder.target_dir_or_default())
        .map_err(error::io(&builder.target_dir_or_default()))?
        .join(&arch);
    std::fs::create_dir_all(&target_dir).map_err(error::io(&target_dir))?;
    let build = Build {
        builder,
        toolchain,
        rustflags: rustflags(builder, toolchain, &workspace),
        locked: builder.locked && workspace.join("Cargo.lock").is_file(),
        target_dir,
        arch,
    };
    let compilation = match builder.linkage() {
        Some(linkage) => build.compile(linkage),
        None => match build.compile(Linkage::OneCrate) {
            Err(CudaBuilderError::PtxText {
                source: PtxTextError::Unresolved(_),
                ..
            }) => build.compile(Linkage::WholeProgram),
            result => result,
        },
    }?;
    if let Some(path) = builder.final_module() {
        compilation.copy_module(EmitOption::LlvmIr, path)?;
    }
    Ok(compilation)
}

/// A build whose inputs are known.
struct Build<'a> {
    builder: &'a CudaBuilder,
    toolchain: &'a Toolchain,
    rustflags: OsString,
    /// Whether the workspace's lock file must be as it is.
    locked: bool,
    target_dir: PathBuf,
    arch: String,
}

impl Build<'_> {
    fn compile(&self, linkage: Linkage) -> Result<Compilation, CudaBuilderError> {
        let name = self.output_name(linkage);
        let raw_path = self.target_dir.join(format!("{name}.compiler.ptx"));
        let status = self
            .command(linkage, &raw_path)
            .status()
            .map_err(|error| not_run(self.toolchain, &error))?;
        let path = self.builder.path_to_crate.clone();
        let arch = self.arch.clone();
        if !status.success() {
            return Err(CudaBuilderError::BuildFailed { path, arch, status });
        }
        if !raw_path.is_file() {
            return Err(CudaBuilderError::NoOutput(self.target_dir.clone()));
        }
        let finished = ptx_text::finish(&error::read(&raw_path)?);
        let mut output = finished.map_err(|source| CudaBuilderError::PtxText {
            path,
            arch,
            source: match source {
                PtxTextError::Unresolved(names) if linkage == Linkage::WholeProgram => {
                    PtxTextError::Undefined(names)
                }
                source => source,
            },
        })?;
        output.whole_program = linkage == Linkage::WholeProgram;
        if output.whole_program {
            output.text = stable_names(&output.text);
        }
        output
            .warnings
            .extend(self.builder.warnings.iter().map(|text| (*text).to_owned()));
        let ptx_path = self.target_dir.join(format!("{name}.ptx"));
        error::write(&ptx_path, &output.text)?;
        Ok(Compilation {
            output,
            ptx_path,
            sources: sources(&self.target_dir.join(TARGET).join("release")),
            raw_path,
        })
    }

    /// The command that writes the PTX to `raw_path`.
    fn command(&self, linkage: Linkage, raw_path: &Path) -> Command {
        let builder = self.builder;
        let crate_type = match linkage {
            Linkage::OneCrate => "lib",
            // rustc resolves the calls when it makes an archive, which takes no linker.
            Linkage::WholeProgram => "staticlib",
        };
        let mut command = cargo(&builder.path_to_crate, self.toolchain);
        command
            .args(["rustc", "--lib", "--release", "-Zbuild-std=core,alloc"])
            .args(["--crate-type", crate_type])
            .args(["--target", TARGET, "--target-dir"])
            .arg(&self.target_dir)
            .args(PROFILE.iter().flat_map(|setting| ["--config", setting]))
            .args(&builder.build_args)
            .env("CARGO_ENCODED_RUSTFLAGS", &self.rustflags)
            .stdout(Stdio::null());
        if self.locked {
            command.arg("--locked");
        }
        command.arg("--");
        if linkage == Linkage::OneCrate {
            // What the profile means for a library: bitcode that is to be optimised further.
            command.arg("-Clinker-plugin-lto=no");
        }
        if let Some(threshold) = builder.unroll_threshold_of(linkage) {
            command.arg(format!("-Cllvm-args=--unroll-threshold={threshold}"));
        }
        for feature in FEATURES {
            command.arg(format!("-Zcrate-attr=feature({feature})"));
        }
        // Where the crate enables them itself, or needs none.
        command.args(["-Aduplicate_features", "-Aunused_features"]);
        let emitted = builder.emitted().into_iter().map(EmitOption::names);
        for (kind, extension) in emitted.chain([("asm", "ptx")]) {
            let mut emit = OsString::from(format!("--emit={kind}="));
            emit.push(raw_path.with_extension(extension));
            command.arg(emit);
        }
        command
    }

    /// A file name for what this build writes, which no other build in the same folder has: where
    /// cargo finds nothing to compile, the file must still be that of this crate and these flags.
    fn output_name(&self, linkage: Linkage) -> String {
        let crate_path = &self.builder.path_to_crate;
        let crate_path = crate_path.canonicalize().unwrap_or(crate_path.clone());
        let key = format!(
            "{}\n{:?}\n{:?}\n{:?}\n{:?}\n{linkage:?}\n{}",
            crate_path.display(),
            self.rustflags,
            self.builder.unroll_threshold_of(linkage),
            self.builder.build_args,
            self.builder.emitted(),
            self.toolchain.commit
        );
        let name = crate_path.file_name().unwrap_or_default();
        format!("{}-{:.16}", name.display(), manifest::hash(&key))
    }
}

/// A command that runs the toolchain's cargo in the crate's folder, free of what the environment
/// says about another build.
fn cargo(crate_path: &Path, toolchain: &Toolchain) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let starts_with =
            |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
        if starts_with(&INHERITED) && !starts_with(&KEPT) {
            command.env_remove(&name);
        }
    }
    command
        .current_dir(crate_path)
        // Else cargo takes the `rustc` on the path, which is rustup's choice for the folder.
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_WRAPPER", "")
        .stdin(Stdio::null());
    command
}

fn workspace_root(crate_path: &Path, toolchain: &Toolchain) -> Result<PathBuf, CudaBuilderError> {
    let output = cargo(crate_path, toolchain)
        .args(["locate-project", "--workspace", "--message-format", "plain"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| not_run(toolchain, &error))?;
    let manifest = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    match manifest.parent() {
        Some(root) if output.status.success() => Ok(root.to_owned()),
        _ => Err(CudaBuilderError::Program {
            program: toolchain.cargo.display().to_string(),
            problem: format!("finds no workspace for {}", crate_path.display()),
        }),
    }
}

fn not_run(toolchain: &Toolchain, error: &std::io::Error) -> CudaBuilderError {
    CudaBuilderError::Program {
        program: toolchain.cargo.display().to_string(),
        problem: format!("does not start: {error}"),
    }
}

/// The flags of rustc, in the form of `CARGO_ENCODED_RUSTFLAGS`, where paths may contain spaces.
fn rustflags(builder: &CudaBuilder, toolchain: &Toolchain, workspace: &Path) -> OsString {
    let mut flags: Vec<OsString> = builder
        .rustc_flags()
        .into_iter()
        .map(OsString::from)
        .collect();
    flags.push(format!("-Ctarget-cpu={}", builder.arch.target_cpu()).into());
    flags.extend(crate_attributes().map(OsString::from));
    flags.extend(target_features(builder.arch).map(OsString::from));
    if let Some(feature) = builder.arch.ptx_feature() {
        flags.push(format!("-Ctarget-feature={feature}").into());
    }
    // rustc takes the last prefix that matches.
    let mut remap = |from: &Path, to: &str| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push("=");
        flag.push(to);
        flags.push(flag);
    };
    // Crates at a path may lie beside the workspace: they are named from there, too.
    let above: Vec<&Path> = workspace.ancestors().collect();
    for (depth, folder) in above.iter().enumerate().skip(1).rev() {
        if folder.parent().is_some() {
            remap(folder, &vec![".."; depth].join("/"));
        }
    }
    if let Some(home) = cargo_home() {
        remap(&home, "/cargo");
    }
    remap(&toolchain.library_root(), "/rustc");
    remap(workspace, ".");
    flags.join(OsStr::new("\u{1f}"))
}

/// What crates written for Rust-CUDA leave to the builder. Most crates say it themselves, which is
/// no reason for a warning.
fn crate_attributes() -> impl Iterator<Item = &'static str> {
    ["-Zcrate-attr=no_std", "-Aunused_attributes"].into_iter()
}

/// `cfg(target_feature = "compute_…")`: rustc's own features of this target are `sm_…`.
fn target_features(arch: NvvmArch) -> impl Iterator<Item = String> {
    let names: Vec<String> = NvvmArch::iter()
        .map(|arch| format!("{:?}", arch.target_feature()))
        .collect();
    let check = format!(
        "--check-cfg=cfg(target_feature, values({}))",
        names.join(", ")
    );
    let set = arch
        .all_target_features()
        .into_iter()
        .map(|arch| format!("--cfg=target_feature=\"{arch}\""));
    // The lint is against values that contradict the compiler's own.
    ["-Aexplicit_builtin_cfgs_in_flags".to_owned(), check]
        .into_iter()
        .chain(set)
}

fn cargo_home() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| env::home_dir().map(|home| home.join(".cargo")))
}

/// The files named by the dependency lists that cargo writes beside the libraries it builds.
///
/// They only tell cargo when to run a build script again, so a list that cannot be read counts as
/// empty.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "d"))
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|list| dependencies(&list))
        .collect();
    files.sort();
    files.dedup();
    files
}

/// The files to the right of the colon in a list `target: file file`, where `\ ` is a space in a
/// name.
fn dependencies(list: &str) -> Vec<PathBuf> {
    let files = list.lines().next().and_then(|line| line.split_once(": "));
    let files = files.map_or(String::new(), |(_, files)| files.replace("\\ ", "\0"));
    files
        .split_whitespace()
        .map(|file| PathBuf::from(file.replace('\0', " ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependency_lists_may_name_files_with_spaces() {
        let list = "/t/libk.rlib: /a\\ b/lib.rs /a/naive.rs\n";
        assert_eq!(
            dependencies(list),
            [Path::new("/a b/lib.rs"), Path::new("/a/naive.rs")]
        );
        assert!(dependencies("").is_empty());
    }

    #[test]
    fn old_architectures_and_missing_crates_are_refused() {
        let toolchain = Toolchain {
            name: "none".into(),
            release: "1.0.0-nightly".into(),
            commit: "0".into(),
            cargo: "/nonexistent/cargo".into(),
            rustc: "/nonexistent/rustc".into(),
            sysroot: "/nonexistent".into(),
        };
        let here = env!("CARGO_MANIFEST_DIR");
        let error = |builder: CudaBuilder| run(&builder, &toolchain).err().unwrap().to_string();
        let old = error(CudaBuilder::new(here).arch(NvvmArch::Compute60));
        assert_eq!(
            old,
            "sm_60 is too old: the compiler supports sm_70 (Volta) and later"
        );
        let missing = error(CudaBuilder::new("/nonexistent/kernels"));
        assert!(
            missing.contains("/nonexistent/kernels is not a crate"),
            "{missing}"
        );
        let unstartable = error(CudaBuilder::new(here));
        assert!(unstartable.contains("does not start"), "{unstartable}");
    }
}
