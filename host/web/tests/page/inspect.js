// Uses the page as a reader does, and sends what is wrong, and how long things took.
import {Emulator} from "./emulator.js";
const {width, everything: everything_too} = window.inspection;
const found = [],
  seconds = {};
const frame = document.getElementById("page");
const check = (is_right, what) => is_right || found.push(what);
const until = async (what, holds) => {
  for (const end = performance.now() + 60000; performance.now() < end;) {
    if (holds()) return;
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  throw new Error("waited in vain for: " + what);
};
let page = null;
const byId = id => page.getElementById(id);
const status = () => byId("status").textContent;
const fire = (element, event) => element.dispatchEvent(new Event(event, {bubbles: true}));
const set = async (id, value, event = "change") => {
  byId("status").textContent = "";
  byId(id).value = value;
  fire(byId(id), event);
  await until(`${id} = ${value}`, () => status() !== "");
};
const part = async name => {
  byId("status").textContent = "";
  page.querySelector(`input[value=${name}]`).click();
  await until(name, () => status() !== "");
};
const run = async () => {
  byId("run").click();
  await until("an end of the run", () => !byId("run").disabled);
  return byId("verdict")?.textContent;
};
const is = async (expected, what) => {
  const verdict = await run();
  check(
    verdict === expected,
    `${what}: ${verdict} (${byId("why")?.textContent ?? status()}), not ${expected}`,
  );
};
const findings = () => byId("findings").textContent;

// A page that is neither wider than its window nor cut off, and in which axe finds nothing serious.
const look = async what => {
  const root = page.documentElement;
  check(root.scrollWidth <= width, `${what}: ${root.scrollWidth} wide`);
  for (const element of page.querySelectorAll("body *")) {
    if (element.closest(".scroll, .skip, .hidden, textarea, option, script")) continue;
    const {left, right} = element.getBoundingClientRect();
    check(right <= width + 1 && left >= -1, `${what}: cut off: ${element.outerHTML.slice(0, 80)}`);
  }
  const axe = document.getElementById("axe").textContent;
  if (!axe) return;
  if (!frame.contentWindow.axe)
    page.body.append(Object.assign(page.createElement("script"), {textContent: axe}));
  const {violations} = await frame.contentWindow.axe.run(page, {resultTypes: ["violations"]});
  for (const {impact, id, nodes} of violations)
    if (["serious", "critical"].includes(impact))
      found.push(`${what}: axe: ${id}: ${nodes[0].html.slice(0, 120)}`);
};

const ladder = async () => {
  await is("Right", "tiled_16 at 64");
  seconds.result = Number(status().match(/Done in ([0-9.]+) s/)[1]);
  const lines = [...page.querySelectorAll("table.source tbody tr")];
  const product = lines.find(line => line.textContent.includes("sum = (*tile_a"));
  check(
    parseFloat(product?.cells[0].textContent) > 50,
    "the product's line is most of tiled_16: " + product?.textContent,
  );
  const svg = page.querySelector(".picture").shadowRoot.querySelector("svg");
  check(svg.querySelector("desc").textContent.includes("wavefront"), "the picture has no words");
  await look("a kernel of the ladder");
  await set("m", 33);
  check(status().includes("16"), "33 is no multiple of 16, and: " + status());
  await set("rung", "tiled_guarded_16");
  for (const [axis, size] of [
    ["m", 33],
    ["n", 31],
    ["k", 7],
  ])
    await set(axis, size);
  await is("Right", "tiled_guarded_16 at 33, 31, 7");
  byId("gridx-0").value = 1;
  await is("Wrong", "a grid without its last columns");
  await set("rung", "transpose_coalesced");
  await is("Right", "transpose_coalesced");
  check(page.body.textContent.includes("32-way"), "transpose_coalesced has bank conflicts");
};

const races = async () => {
  await set("rung", "tiled_16");
  const ptx = byId("ptx-0").value.replaceAll(/bar(rier)?[.]sync[^;]*;/g, "");
  check(ptx !== byId("ptx-0").value, "tiled_16 has no barrier");
  byId("ptx-0").value = ptx;
  await run();
  check(findings().includes("race"), "without barriers: " + findings());
  const jumps = [...page.querySelectorAll("#findings .link")];
  jumps.at(-1).click();
  const row = page.activeElement;
  check(
    row.className === "found" && row.getBoundingClientRect().height > 0,
    "no line is gone to: " + row.outerHTML.slice(0, 80),
  );
  await look("findings");
  byId("ptx-0").value = ".version 8.0\nthis is no PTX";
  await run();
  check(
    byId("status").className === "bad" && !byId("verdict"),
    "what is no PTX is run: " + status(),
  );
  byId("reset").click();
  await until("the PTX as it was", () => status() === "Ready");
};

const exercises = async () => {
  await part("exercise");
  if (status().includes("not compiled")) return "without exercises";
  await set("exercise", "add_one");
  await is("Not passed", "add_one as it is given");
  await set("version", 1);
  await is("Passed", "add_one solved");
  await look("an exercise");
};

const own = async () => {
  await part("ptx");
  await is("It stopped", "an array that ends too early");
  check(findings().includes("out of bounds"), "out of bounds: " + findings());
  await look("own PTX");
  byId("argument-array").value = "f32[256]=iota";
  await is("It ran to its end", "an array that is long enough");
  check(byId("result").textContent.includes("0 2 4 6"), "0, 2, 4, 6 are the elements");
  byId("argument-array").value = "f32[";
  await run();
  check(byId("status").className === "bad", "an array without its length: " + status());
  await set(
    "ptx-0",
    ".version 8.0\n.target sm_70\n.address_size 64\n.entry endless()\n{\nL: bra L;\n}\n",
  );
  byId("run").click();
  await new Promise(resolve => setTimeout(resolve, 300));
  check(!byId("stop").disabled, "an endless kernel has ended: " + status());
  byId("stop").click();
  await until("a stop", () => status() === "Stopped");
  await part("rung");
  await is("Right", "a kernel after a stop");
};

// A link to an exercise, opened anew.
const linked = async () => {
  frame.src = "index.html?linked#exercise=stale_tile";
  await until("the page of a link", () => {
    page = frame.contentDocument;
    return page?.location.search && page.documentElement?.dataset.ready;
  });
  if (status().includes("not compiled")) return;
  await is("Not passed", "stale_tile as it is given");
  check(findings().includes("never written"), "stale_tile: " + findings());
  await part("rung");
  await is("Right", "a kernel after a link to an exercise");
};

// The whole catalogue and all exercises, in WebAssembly.
const everything = async () => {
  const emulator = await Emulator.load("warpladder_web.wasm");
  const ask = async request => (await emulator.ask(request)).ok;
  const rungs = (await ask({do: "catalogue"})).flatMap(({rungs}) => rungs);
  for (const {name, size} of rungs) {
    const {verdict, fault, findings} = await ask({do: "run", rung: name, size, seed: 1});
    check(
      verdict?.ok && !findings.length,
      `${name}: ${fault ?? JSON.stringify([verdict, findings])}`,
    );
  }
  const all = await (await fetch("exercises.ptx")).text();
  let checked = 0;
  for (const {name, versions} of all ? await ask({do: "exercises"}) : [])
    for (const [index, {entry}] of versions.entries()) {
      const ptx = await ask({do: "alone", ptx: all, entry});
      const {passed, complaint} = await ask({do: "check", exercise: name, ptx, entry});
      check(passed === (index === 1), `${entry}: ${complaint || "passed"}`);
      checked++;
    }
  emulator.stop("done");
  return [rungs.length, checked];
};

let counts = [0, 0],
  without = "";
try {
  await until("the page", () => frame.contentDocument?.documentElement.dataset.ready);
  page = frame.contentDocument;
  seconds.ready = Number(status().match(/after ([0-9.]+) s/)[1]);
  await ladder();
  await races();
  without = (await exercises()) ?? "";
  await own();
  await linked();
  if (everything_too) counts = await everything();
} catch (error) {
  found.push(error.stack ?? String(error));
}
const dark = frame.contentWindow.matchMedia("(prefers-color-scheme:dark)").matches;
await fetch("/done", {
  method: "POST",
  body: JSON.stringify({found, seconds, counts, without, dark}),
});
