//! The lines of the kernels' sources that statements of PTX come from.

use std::collections::HashMap;
use std::path::Path;

/// The sources that a module was compiled from, read when first asked for.
#[derive(Default)]
pub struct Sources {
    /// The paths of the module's files, by the numbers that it gives them.
    paths: HashMap<String, String>,
    /// The lines of each file, by its path.
    texts: HashMap<String, Vec<String>>,
}

/// The folder of the kernels. A statement may come from a function of another folder, such as a
/// barrier from `cuda_std`; the line of the kernels that calls it tells statements apart.
const KERNELS: &str = "kernels-gpu/";

impl Sources {
    /// Reads the names of a module's files from its lines.
    pub fn files_of(&mut self, lines: &[&str]) {
        let files = lines.iter().filter_map(|line| {
            let (number, path) = line.trim().strip_prefix(".file")?.split_once('"')?;
            Some((number.trim().to_owned(), path.split('"').next()?.to_owned()))
        });
        self.paths = files.collect();
    }

    /// The last line of the kernels' sources that is named before a statement, after the stem of
    /// its file: `store: if row < m {`. `before` are the statements before it.
    pub fn line(&mut self, before: &[&str]) -> String {
        let named = before.iter().rev().find_map(|line| {
            let mut words = line.strip_prefix(".loc")?.split_whitespace();
            let path = self.paths.get(words.next()?)?;
            let number: usize = words.next()?.parse().ok()?;
            // Line 0 is the compiler's own code.
            (number > 0 && path.starts_with(KERNELS)).then(|| (path.clone(), number))
        });
        let Some((path, number)) = named else {
            return "no line".to_owned();
        };
        let stem = stem(&path);
        let lines = self.texts.entry(path).or_insert_with_key(|path| {
            let file = Path::new(warpladder::SOURCE_ROOT).join(path);
            let text = std::fs::read_to_string(&file);
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let text = lines.get(number - 1).map_or("", String::as_str);
        format!("{stem}: {text}")
    }
}

/// The name of a file without its folder and its extension: for `gemm/mod.rs`, that of the folder.
fn stem(path: &str) -> String {
    let file = Path::new(path).with_extension("");
    let is_module = file.ends_with("mod");
    let named = if is_module {
        file.parent()
    } else {
        Some(&*file)
    };
    let name = named.and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}
