//! The report: the page is well formed, complete and leads nowhere else; in a browser nothing is
//! cut off or covered.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
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

fn shipped() -> String {
    Report::new(Data::shipped().unwrap()).html().unwrap()
}

/// A start tag: its name and its attributes, a value of each.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

/// Elements without an end tag.
const VOID: [&str; 4] = ["meta", "link", "br", "hr"];

/// All start tags of a page whose elements are properly nested; the style sheet is text.
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
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("the style sheet ends")..];
        }
        tags.push(Tag { name, attributes });
    }
    assert_eq!(open, [""; 0]);
    tags
}

#[test]
fn the_page_is_well_formed_and_its_links_stay_inside() {
    let html = shipped();
    let tags = tags(&html);
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
    let names: HashSet<&str> = tags.iter().map(|tag| tag.name).collect();
    assert!(!names.contains("script") && !names.contains("img"));
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
    assert!(!html.contains("H200"), "results of another device");
    tags(&html);

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
    std::fs::write(&run, "[]").unwrap();
    refused(&["report", "--from", &run], "holds no records");
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
}

/// A browser without a window, where there is one.
fn browser() -> Option<&'static str> {
    let candidates = ["chromium", "chromium-browser", "google-chrome"];
    candidates.into_iter().find(|name| {
        let mut command = Command::new(name);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// A page that shows the report this wide and says what is wrong with it.
fn inspection(width: u32) -> String {
    format!(
        r#"<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" src="report.html" style="width:{width}px;height:900px;border:0"></iframe><pre id="found"></pre>
<script>
document.getElementById("page").addEventListener("load", event => {{
  const page = event.target.contentDocument, found = [];
  const root = page.documentElement;
  for (const details of page.querySelectorAll("details")) details.open = true;
  if (root.scrollWidth > {width}) found.push("the page is " + root.scrollWidth + " wide");
  const inside = (element, selector) => element.closest(selector) !== null;
  for (const element of page.querySelectorAll("body *")) {{
    if (inside(element, ".scroll, nav ul, svg, .skip")) continue;
    const box = element.getBoundingClientRect();
    if (box.right > {width} + 1 || box.left < -1) found.push("cut off: " + element.outerHTML.slice(0, 80));
  }}
  let texts = 0;
  for (const svg of page.querySelectorAll("svg")) {{
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    const boxes = [...svg.querySelectorAll("text")].map(text => [text.getBoundingClientRect(), text.textContent.trim()]);
    texts += boxes.length;
    boxes.forEach(([box, name], index) => {{
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        found.push("outside of its plot: " + name);
      for (const [other, second] of boxes.slice(index + 1)) {{
        const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (across > 1 && down > 3) found.push(name + " covers " + second);
      }}
    }});
  }}
  document.getElementById("found").textContent = "texts: " + texts + "\n" + found.join("\n") + "\nend";
}});
</script>"#
    )
}

#[test]
fn in_a_browser_nothing_is_cut_off_or_covered() {
    let Some(browser) = browser() else {
        println!("skipped: no chromium, chromium-browser or google-chrome");
        return;
    };
    let folder = folder("report-browser");
    std::fs::write(folder.join("report.html"), shipped()).unwrap();
    for width in [360, 1440] {
        let page = folder.join(format!("inspect-{width}.html"));
        std::fs::write(&page, inspection(width)).unwrap();
        let output = Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--allow-file-access-from-files",
            ])
            .args([
                "--enable-logging=stderr",
                "--virtual-time-budget=20000",
                "--dump-dom",
            ])
            .arg(format!(
                "--user-data-dir={}",
                folder.join("profile").display()
            ))
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
        let texts = found.first().and_then(|line| line.strip_prefix("texts: "));
        let texts: usize = texts
            .and_then(|count| count.parse().ok())
            .unwrap_or_default();
        assert!(
            texts > 300,
            "the page was not inspected at {width}: {found:?}"
        );
        let wrong: Vec<&&str> = found[1..].iter().filter(|line| !line.is_empty()).collect();
        assert!(wrong.is_empty(), "at {width} pixels: {wrong:#?}");
    }
}
