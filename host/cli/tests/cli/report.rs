//! The report: the page is well formed, complete and leads nowhere else; in a browser nothing is
//! cut off or covered.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use test_sample::Sample;
use warpladder_lab::catalogue;
use warpladder_report::{Data, Report};

/// The program with these arguments.
fn warpladder(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpladder"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The page of the results that ship, made once for all tests: it counts every kernel.
fn shipped() -> &'static str {
    static PAGE: LazyLock<String> =
        LazyLock::new(|| Report::new(Data::shipped().unwrap()).html().unwrap());
    &PAGE
}

/// A start tag: its name and its attributes, a value of each.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

/// Elements without an end tag.
const VOID: [&str; 4] = ["meta", "link", "br", "hr"];

/// All start tags of a page whose elements are properly nested; the style sheet and the script are
/// text.
fn tags(html: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html
        .strip_prefix("<!DOCTYPE html>")
        .expect("a document type");
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
            continue;
        }
        let closed = tag.strip_suffix('/');
        let tag = closed.unwrap_or(tag);
        let (name, mut text) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while let Some((key, value)) = text.split_once("=\"") {
            let (value, after) = value.split_once('"').expect("a value ends");
            attributes.push((key.trim(), value));
            text = after;
        }
        if closed.is_none() && !VOID.contains(&name) {
            open.push(name);
        }
        if name == "style" || name == "script" {
            let end = format!("</{name}>");
            rest = &rest[rest.find(&end).expect("the style sheet or the script ends")..];
        }
        tags.push(Tag { name, attributes });
    }
    assert_eq!(open, [""; 0]);
    tags
}

#[test]
fn the_page_is_well_formed_and_its_links_stay_inside() {
    let html = shipped();
    let tags = tags(html);
    let attributes = || tags.iter().flat_map(|tag| &tag.attributes);
    let ids: Vec<&str> = attributes()
        .filter(|(key, _)| *key == "id")
        .map(|&(_, value)| value)
        .collect();
    let unique: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "an id is there twice");
    for &(key, value) in attributes() {
        match key {
            "href" if value == "data:," => {}
            "href" => {
                let id = value.strip_prefix('#').expect("a link inside the page");
                assert!(unique.contains(id), "{value}");
            }
            "aria-labelledby" => assert!(unique.contains(value), "{value}"),
            "src" | "onclick" => panic!("{key}={value}"),
            _ => {}
        }
    }
    let count = |name: &str| tags.iter().filter(|tag| tag.name == name).count();
    // One script, of the page's own: small, and without it the page reads the same.
    assert_eq!((count("script"), count("img"), count("iframe")), (1, 0, 0));
    let (before, script) = html.rsplit_once("<script>").unwrap();
    assert!(script.len() < 8 << 10, "{} bytes of script", script.len());
    assert!(before.contains("</main>"), "the script comes last");
    assert!(html.len() < 3 << 19, "{} bytes", html.len());
    for part in ["url(", "@import", "http://", "https://"] {
        let elsewhere = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains(part), "{part}");
    }
}

#[test]
fn every_kernel_has_its_part_with_its_source() {
    let html = shipped();
    let data = Data::shipped().unwrap();
    let names: HashSet<&str> = data
        .measured
        .iter()
        .map(|record| &record.kernel[..])
        .collect();
    assert!(names.len() > 90);
    for rung in catalogue::rungs().filter(|rung| names.contains(rung.name)) {
        let start = format!("<article id=\"kernel-{}\">", rung.name);
        let Some((_, article)) = html.split_once(&start) else {
            panic!("{} is missing", rung.name);
        };
        let (article, _) = article.split_once("</article>").unwrap();
        assert!(article.contains(rung.summary.split(['<', '&', '"']).next().unwrap()));
        let has_source = article.contains("kernels-gpu/src/");
        assert_eq!(has_source, !rung.name.starts_with("cpu_"), "{}", rung.name);
    }
    for section in [
        "ladders", "roofline", "sizes", "warps", "sources", "kernels",
    ] {
        assert!(
            html.contains(&format!("<h2 id=\"{section}\">")),
            "{section}"
        );
    }
}

#[test]
fn a_report_of_the_emulator_is_made_from_its_file() {
    let folder = folder("report-emulator");
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (run, page) = (file("run.json"), file("report.html"));
    let kernels = [
        "--kernel",
        "naive,transpose_padded,cpu_naive",
        "--shape",
        "32",
        // What is predicted names its GPU; results of an H200 must not be there.
        "--device",
        "V100",
    ];
    let ended = warpladder(&[&["--engine", "emulator", "--json", &run], &kernels[..]].concat());
    assert!(ended.status.success(), "{ended:?}");
    let ended = warpladder(&["report", "--from", &run, "--out", &page]);
    assert!(ended.status.success(), "{ended:?}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("kernel-transpose_padded") && html.contains("all 3 passed"));
    let title = "warpladder on the emulator: counted, and predicted for the H200";
    assert!(html.contains(&format!("<title>{title}</title>")));
    assert!(html.contains("No GPU was measured."));
    // Nothing of the results that ship, and no rate of the emulator: those of the CPU are of the
    // product on the CPU.
    assert!(
        !html.contains("NVIDIA H200") && !html.contains("cuBLAS"),
        "results of another"
    );
    let (_, article) = html.split_once("<article id=\"kernel-naive\">").unwrap();
    let (article, _) = article.split_once("</article>").unwrap();
    assert!(
        article.contains("predicted, ms") && !article.contains("GFLOP/s"),
        "{article}"
    );
    tags(&html);

    // For another GPU: what it cannot run is said. The shapes are too small to be measured.
    let for_gpu =
        |device: &str| warpladder(&["report", "--from", &run, "--device", device, "--out", &page]);
    assert!(for_gpu("GTX 1080").status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("predicted for the GTX 1080") && !html.contains("H200"));

    // Neither what is no run, nor runs of two devices.
    let refused = |args: &[&str], part: &str| {
        let ended = warpladder(args);
        let error = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{error}");
        assert!(
            error.starts_with("error: ") && error.lines().count() == 1 && error.contains(part),
            "{error}"
        );
    };
    refused(&["report", "--from", "/no such file"], "cannot read");
    refused(
        &["report", "--from", &page],
        "give files that `warpladder run --json` wrote",
    );
    let shipped = format!("{}/results/h200/run.json", warpladder::SOURCE_ROOT);
    refused(
        &["report", "--from", &shipped, "--from", &run],
        "make a report for each",
    );
    refused(
        &["report", "--from", &shipped, "--device", "A100"],
        "leave out --device",
    );
    let other = file("other.json");
    std::fs::write(&other, r#"{"schema": 3, "records": [{"answer": 42}]}"#).unwrap();
    refused(&["report", "--from", &other], "records of no command");
    std::fs::write(&run, "[]").unwrap();
    refused(&["report", "--from", &run], "holds no records");
}

/// The files that ship, some of their kernels alone, under another name of the GPU.
fn renamed(folder: &Path, name: &str, kernels: &[&str]) -> Vec<String> {
    let file = |file: &str| format!("{}/results/h200/{file}", warpladder::SOURCE_ROOT);
    let files = [
        "run.json",
        "compare-sgemm.json",
        "sweep-add_one.json",
        "reproduce.json",
    ];
    let written = files.into_iter().map(|source| {
        let text = std::fs::read_to_string(file(source)).unwrap();
        let records: Vec<serde_json::Value> = warpladder_lab::results::read(&text).unwrap();
        let records = records.into_iter().filter_map(|mut record| {
            if record["device"] == "NVIDIA H200" {
                record["device"] = name.into();
            }
            let is_run = source == "run.json";
            let kernel = record["kernel"].as_str().unwrap_or_default();
            (!is_run || kernels.contains(&kernel)).then_some(record)
        });
        // In the form of newer files.
        let records: Vec<_> = records.collect();
        let envelope = serde_json::json!({"schema": 3, "complete": false, "records": records});
        let path = folder.join(source);
        std::fs::write(&path, envelope.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    });
    written.collect()
}

/// Kernels of results under another name: few, since each is predicted.
const RENAMED: [&str; 5] = ["naive", "copy", "copy_1", "transpose_padded", "wgmma_bf16"];

#[test]
fn a_report_is_that_of_the_files_it_is_given_alone() {
    let folder = folder("report-files");
    let files = renamed(&folder, "NVIDIA A100-SXM4-40GB", &RENAMED);
    let page = folder.join("report.html");
    let page = page.to_str().unwrap();
    let mut args = vec!["report", "--out", page, "--from"];
    args.extend(files.iter().map(String::as_str));
    let ended = warpladder(&args);
    assert!(ended.status.success(), "{ended:?}");
    let html = std::fs::read_to_string(page).unwrap();
    tags(&html);
    assert!(html.contains("<title>warpladder on NVIDIA A100-SXM4-40GB</title>"));
    assert!(!html.contains("NVIDIA H200"), "what the program ships");
    for section in [
        "ladders", "roofline", "sizes", "warps", "sources", "kernels",
    ] {
        assert!(
            html.contains(&format!("<h2 id=\"{section}\">")),
            "{section}"
        );
    }
    // No file has one, and the page says which command writes it.
    assert!(!html.contains("<h2 id=\"calibration\">"));
    for part in [
        "<code>warpladder calibrate</code>",
        "came out on the NVIDIA A100-SXM4-40GB",
        "cannot run wgmma_bf16, which these results say it did",
        "Faster than the peaks that the table of devices has",
        "Interrupted, and so without all kernels",
        "No prediction: wgmma_bf16 cannot run on A100",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn plots_are_files_of_their_own() {
    let folder = folder("report-plots");
    let out = folder.to_str().unwrap();
    let ended = warpladder(&["plot", "roofline", "size", "--out", out]);
    assert!(ended.status.success(), "{ended:?}");
    let names: HashSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.contains("roofline.svg") && names.contains("size-sgemm.svg"),
        "{names:?}"
    );
    assert!(
        !names.iter().any(|name| name.starts_with("ladder")),
        "{names:?}"
    );
    let svg = std::fs::read_to_string(folder.join("roofline.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("<title>Roofline of the H200</title>"));
    assert!(svg.contains(">Roofline of the H200</text>"));
}

/// A page that shows the report this wide, uses its tools and says what is wrong with it.
fn inspection(width: u32, axe: &str) -> String {
    include_str!("inspect.html")
        .replace("@WIDTH@", &width.to_string())
        .replace("@AXE@", axe)
}

/// What a browser finds wrong with the report in a folder, and how many texts its plots have.
fn inspected(
    browser: &str,
    folder: &Path,
    width: u32,
    dark: bool,
    axe: &str,
) -> (usize, Vec<String>) {
    let page = folder.join(format!("inspect-{width}-{dark}.html"));
    std::fs::write(&page, inspection(width, axe)).unwrap();
    let scheme = format!("--blink-settings=preferredColorScheme={}", u32::from(!dark));
    let output = test_browser::command(browser, &folder.join("profile"))
        .args(["--allow-file-access-from-files", &scheme])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=60000",
            "--dump-dom",
        ])
        .arg(format!("--window-size={},1000", width.max(800)))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    assert!(console.is_empty(), "{console:#?}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom
        .split_once("<pre id=\"found\">")
        .map_or("", |(_, rest)| rest);
    let found: Vec<&str> = found
        .lines()
        .take_while(|line| !line.starts_with("end"))
        .collect();
    let head = found.first().and_then(|line| line.strip_prefix("texts: "));
    let (texts, scheme) = head
        .and_then(|head| head.split_once(' '))
        .unwrap_or_default();
    assert_eq!(
        scheme,
        if dark { "dark" } else { "light" },
        "{width}: {found:?}"
    );
    let wrong = found[1..].iter().filter(|line| !line.is_empty());
    (
        texts.parse().unwrap_or_default(),
        wrong.map(|line| (*line).to_owned()).collect(),
    )
}

#[test]
fn in_a_browser_nothing_is_cut_off_or_covered_and_axe_finds_nothing_serious() {
    let Some(browser) = test_browser::find() else {
        println!("skipped: {}", test_browser::NONE);
        return;
    };
    let axe = test_browser::axe().unwrap_or_else(|| {
        println!("without axe-core: .ci/axe fetches it");
        String::new()
    });
    let folder_of_shipped = folder("report-browser");
    std::fs::write(folder_of_shipped.join("report.html"), shipped()).unwrap();
    // Widths have no colours: what depends on both is looked at where the page is narrow or wide.
    let views = vec![
        (360, false),
        (390, false),
        (390, true),
        (1280, true),
        (1440, false),
        (1920, false),
    ];
    let (sample, count) = (Sample::from_env(), views.len());
    let drawn = sample.draw(views, count, |view| format!("{view:?}"));
    sample.report(drawn.len(), count, "views of the report");
    for (width, dark) in drawn {
        let axe = if [390, 1280].contains(&width) {
            &*axe
        } else {
            ""
        };
        let (texts, wrong) = inspected(browser, &folder_of_shipped, width, dark, axe);
        assert!(
            texts > 300,
            "the page was not inspected at {width}: {wrong:?}"
        );
        assert!(
            wrong.is_empty(),
            "at {width} pixels, dark {dark}: {wrong:#?}"
        );
    }
    // Of the emulator: other columns, and nothing measured.
    let emulated = folder("report-browser-emulator");
    let run = emulated.join("run.json");
    let run = run.to_str().unwrap();
    let kernels = [
        "--kernel",
        "naive,tiled_32,transpose_padded,copy",
        "--shape",
        "64",
    ];
    let ended = warpladder(&[&["--engine", "emulator", "--json", run], &kernels[..]].concat());
    assert!(ended.status.success(), "{ended:?}");
    let data = Data::from_files(&[run.into()], None).unwrap();
    std::fs::write(
        emulated.join("report.html"),
        Report::new(data).html().unwrap(),
    )
    .unwrap();
    let (texts, wrong) = inspected(browser, &emulated, 390, true, &axe);
    assert!(texts > 10 && wrong.is_empty(), "{texts}: {wrong:#?}");
}
