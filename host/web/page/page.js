// The page: what to run, and what came of it.
import {byId, bytes, make} from "./dom.js";
import {Emulator} from "./emulator.js";
import {launchTitle, show} from "./results.js";
import {SAMPLE} from "./sample.js";

const form = byId("form"),
  result = byId("result"),
  status = byId("status");
const book = document.documentElement.dataset.book;
const WASM = "warpladder_web.wasm",
  EXERCISES = "exercises.ptx";

let emulator = null,
  rungs = new Map(),
  exercises = new Map(),
  running = false;
// The launches that the form shows: each with the PTX and the extents that were planned for it.
let planned = [];
// Texts of source files, by name; an empty text where there is none.
const texts = new Map();

const say = (sentence, is_bad = false) => {
  status.textContent = sentence;
  status.className = is_bad ? "bad" : "";
};
const number = id => byId(id).valueAsNumber || 0;
const what = () => form.elements.what.value;
const size = () => ({m: number("m"), n: number("n"), k: number("k")});
const watched = () => ({
  block: ["x", "y", "z"].map(axis => number("watched-" + axis)),
  warp: number("watched-warp"),
});

const fetched = async name => {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response.text();
};

// Groups of a choice, in their order.
const choices = (select, groups) =>
  select.replaceChildren(
    ...[...groups].map(([label, names]) =>
      make("optgroup", {label}, ...names.map(name => make("option", {value: name}, name))),
    ),
  );

// The fields of one launch. A kernel that has its own launches gives no extents.
const launchFields = ({entry, grid, block, ptx}, index) => {
  const id = part => `${part}-${index}`;
  const extent = (part, extents) =>
    extents &&
    make(
      "fieldset",
      {className: "row"},
      make("legend", {}, part === "grid" ? "Grid, in blocks" : "Block, in threads"),
      ...["x", "y", "z"].map((axis, place) =>
        make(
          "label",
          {},
          axis + " ",
          make("input", {
            type: "number",
            min: "0",
            required: true,
            id: id(part + axis),
            value: extents[place],
          }),
        ),
      ),
    );
  const title = planned.length > 1 ? `Launch ${index + 1}: ${entry}` : `Launch of ${entry}`;
  const editor = make("textarea", {
    id: id("ptx"),
    value: ptx,
    spellcheck: false,
    wrap: "off",
    ariaLabel: `PTX of ${entry}`,
  });
  if (what() === "ptx") editor.addEventListener("change", () => attempt(readKernels));
  return make(
    "fieldset",
    {},
    make("legend", {}, title),
    make("div", {className: "row"}, extent("grid", grid), extent("block", block)),
    make("details", {open: what() === "ptx"}, make("summary", {}, "PTX, to be changed"), editor),
  );
};

const showLaunches = launches => {
  planned = launches;
  byId("launches").replaceChildren(...launches.map(launchFields));
};
const extentsOf = (part, index) => ["x", "y", "z"].map(axis => number(`${part}${axis}-${index}`));
const ptxOf = index => byId(`ptx-${index}`).value;
const same = (a, b) => a.join() === b.join();

// What the reader changed of the planned launches.
const edits = () =>
  planned.map(({grid, block, ptx}, index) => {
    const edit = {},
      [now_grid, now_block] = [extentsOf("grid", index), extentsOf("block", index)];
    if (!same(now_grid, grid)) edit.grid = now_grid;
    if (!same(now_block, block)) edit.block = now_block;
    if (ptxOf(index) !== ptx) edit.ptx = ptxOf(index);
    return edit;
  });

// Does something with the emulator, and says why where it fails.
const attempt = async action => {
  try {
    await action();
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  }
};

// A kernel of the ladder.

const plan = async () => {
  const {ok} = await emulator.ask({do: "plan", rung: byId("rung").value, size: size()});
  showLaunches(ok.launches);
  say("Ready");
};

const chooseRung = async () => {
  const rung = rungs.get(byId("rung").value);
  byId("k-label").hidden = !rung.uses_k;
  for (const axis of ["m", "n", "k"]) byId(axis).value = rung.size[axis];
  const {summary, element, takes, compute_capability} = rung;
  byId("rung-summary").textContent =
    `${summary}. ${element}; takes ${takes}; compute capability ${compute_capability} or newer.`;
  await plan();
};

const runRung = async () => {
  const request = {
    do: "run",
    rung: byId("rung").value,
    size: size(),
    seed: number("seed"),
    edits: edits(),
    watched: watched(),
  };
  const {ok, seconds} = await emulator.ask(request);
  const all = ok.launches.length;
  const launches = ok.launches.map((launch, index) => ({
    ...launch,
    title: launchTitle({...launch, index, all}),
  }));
  return {ran: ok, launches, seconds};
};

// An exercise.

let exercises_ptx = null;

const loadExercises = async () => {
  if (exercises.size) return;
  exercises_ptx = await fetched(EXERCISES);
  if (!exercises_ptx)
    throw new Error(
      "the exercises are not compiled in this copy of the page: take a kernel of the ladder",
    );
  const {ok} = await emulator.ask({do: "exercises"});
  exercises = new Map(ok.map(exercise => [exercise.name, exercise]));
  const parts = new Map();
  for (const {part, name} of ok) parts.set(part, [...(parts.get(part) ?? []), name]);
  choices(byId("exercise"), parts);
};

const chooseExercise = async () => {
  const {teaches, chapter, hints, versions} = exercises.get(byId("exercise").value);
  const linked = book
    ? [" Its chapter: ", make("a", {href: `${book}${chapter}.html`}, chapter), "."]
    : [];
  byId("exercise-summary").replaceChildren(`It teaches: ${teaches}.`, ...linked);
  byId("hints").replaceChildren(...hints.map(hint => make("li", {}, hint)));
  byId("hints-details").open = false;
  byId("version").replaceChildren(
    ...versions.map(({title}, index) => make("option", {value: index}, title)),
  );
  await chooseVersion();
};

const version = () => exercises.get(byId("exercise").value).versions[byId("version").value];

const chooseVersion = async () => {
  const {entry, source} = version();
  byId("exercise-source").textContent = source;
  const {ok: ptx} = await emulator.ask({do: "alone", ptx: exercises_ptx, entry});
  showLaunches([{entry, ptx}]);
  say("Ready");
};

const runExercise = async () => {
  const {entry, source} = version(),
    ptx = ptxOf(0);
  const request = {do: "check", exercise: byId("exercise").value, ptx, entry, watched: watched()};
  const {ok, seconds} = await emulator.ask(request);
  const {counted, grid, block} = ok;
  for (const {file} of counted.sources)
    if (file.endsWith(`${entry}.rs`)) texts.set(file, source.split("\n"));
  const title = launchTitle({entry, grid, block, index: 0, all: 1}) + ", the first of its checks";
  return {ran: ok, launches: [{counted, ptx, title}], seconds};
};

// Any PTX.

let kernels = [];

const readKernels = async () => {
  const ptx = ptxOf(0);
  kernels = (await emulator.ask({do: "kernels", ptx})).ok;
  const chosen = byId("entry").value;
  byId("entry").replaceChildren(...kernels.map(({name}) => make("option", {value: name}, name)));
  if (kernels.some(({name}) => name === chosen)) byId("entry").value = chosen;
  if (!kernels.length) throw new Error("there is no kernel in the PTX: write one with .entry");
  chooseEntry();
};

const chooseEntry = () => {
  const {name, params, block} = kernels.find(({name}) => name === byId("entry").value);
  const before = new Map(
    [...byId("arguments").querySelectorAll("input")].map(input => [input.id, input.value]),
  );
  const field = ({name: parameter, bytes, proposed}) => {
    const id = `argument-${parameter}`;
    const value = before.get(id) ?? SAMPLE.arguments[parameter] ?? proposed;
    return make(
      "label",
      {},
      `${parameter}, ${bytes} bytes: `,
      make("input", {id, value, spellcheck: false, autocomplete: "off"}),
    );
  };
  byId("arguments").replaceChildren(make("legend", {}, "Arguments"), ...params.map(field));
  if (name !== SAMPLE.entry)
    ["x", "y", "z"].forEach((axis, place) => (byId(`block${axis}-0`).value = block[place]));
  say("Ready");
};

const showPtx = async ptx => {
  showLaunches([{entry: "the kernel", ptx, grid: SAMPLE.grid, block: SAMPLE.block}]);
  await readKernels();
};

const runPtx = async () => {
  await readKernels();
  const entry = byId("entry").value,
    ptx = ptxOf(0),
    [grid, block] = [extentsOf("grid", 0), extentsOf("block", 0)];
  const inputs = [...byId("arguments").querySelectorAll("input")];
  const {cluster, params} = kernels.find(({name}) => name === entry);
  const request = {
    do: "emulate",
    ptx,
    entry,
    grid,
    block,
    cluster,
    shared_bytes: number("shared"),
    arguments: inputs.map(({value}) => value),
    watched: watched(),
  };
  const {ok, seconds} = await emulator.ask(request);
  for (const array of ok.arrays) array.argument = params[array.argument]?.name ?? array.argument;
  return {
    ran: ok,
    launches: [
      {counted: ok.counted, ptx, title: launchTitle({entry, grid, block, index: 0, all: 1})},
    ],
    seconds,
  };
};

// All three.

const PARTS = {
  rung: {choose: () => (byId("m").value ? plan() : chooseRung()), run: runRung},
  exercise: {
    choose: async () => {
      await loadExercises();
      await chooseExercise();
    },
    run: runExercise,
  },
  ptx: {choose: () => showPtx(SAMPLE.ptx), run: runPtx},
};

const choosePart = async () => {
  for (const part of Object.keys(PARTS)) {
    const fields = byId(`${part}-part`);
    // What is disabled is not asked for its validity.
    fields.hidden = fields.disabled = part !== what();
  }
  showLaunches([]);
  result.replaceChildren();
  await PARTS[what()].choose();
};

const setRunning = is_running => {
  running = is_running;
  byId("run").disabled = is_running;
  byId("stop").disabled = !is_running;
};

const loadSources = async launches => {
  const files = new Set(launches.flatMap(({counted}) => counted.sources.map(({file}) => file)));
  const load = async file => {
    // Of the standard library the page has no sources.
    if (texts.has(file) || !/^(kernels-gpu|cuda_std)\//.test(file)) return;
    const text = await fetched(`sources/${file}`).catch(() => "");
    texts.set(file, text ? text.split("\n") : []);
  };
  await Promise.all([...files].map(load));
};

const run = async () => {
  if (running || !planned.length || !form.reportValidity()) return;
  setRunning(true);
  say("Running");
  const begun = performance.now();
  const done = await attempt(async () => {
    const {ran, launches, seconds} = await PARTS[what()].run();
    await loadSources(launches);
    show(result, ran, launches, texts);
    const all = (performance.now() - begun) / 1000;
    say(`Done in ${all.toFixed(2)} s, ${seconds.toFixed(2)} s of it on the emulator`);
    result.dataset.done = String(Number(result.dataset.done ?? 0) + 1);
  });
  if (!done) result.replaceChildren();
  setRunning(false);
};

const stop = () => running && emulator.stop("Stopped");

// `#rung=tiled_16&m=33`, `#exercise=add_one&version=1`: a link chooses.
const follow = async () => {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const exercise = wanted.get("exercise"),
    rung = wanted.get("rung");
  if (exercise) {
    form.elements.what.value = "exercise";
    await choosePart();
    if (!exercises.has(exercise))
      throw new Error(`there is no exercise ${exercise}: choose one of the list`);
    byId("exercise").value = exercise;
    await chooseExercise();
    if (wanted.get("version") === "1") {
      byId("version").value = "1";
      await chooseVersion();
    }
  } else {
    if (rung && !rungs.has(rung))
      throw new Error(`there is no kernel ${rung}: choose one of the list`);
    form.elements.what.value = "rung";
    byId("rung").value = rung ?? "tiled_16";
    await choosePart();
    await chooseRung();
    const sizes = ["m", "n", "k"].filter(axis => wanted.has(axis));
    for (const axis of sizes) byId(axis).value = wanted.get(axis);
    if (sizes.length) await plan();
  }
};

const on = (id, event, action) => byId(id).addEventListener(event, () => attempt(action));
on("rung", "change", chooseRung);
for (const axis of ["m", "n", "k"]) on(axis, "change", plan);
on("exercise", "change", chooseExercise);
on("version", "change", chooseVersion);
on("entry", "change", chooseEntry);
on("file", "change", async () => {
  const [file] = byId("file").files;
  if (file) await showPtx(await file.text());
});
on("reset", "click", choosePart);
byId("stop").addEventListener("click", stop);
for (const radio of form.elements.what) radio.addEventListener("change", () => attempt(choosePart));
form.addEventListener("submit", event => {
  event.preventDefault();
  run();
});
addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  if (event.key === "Escape") stop();
});
addEventListener("hashchange", () => attempt(follow));

await attempt(async () => {
  emulator = await Emulator.load(WASM);
  const {ok} = await emulator.ask({do: "catalogue"});
  rungs = new Map(ok.flatMap(({rungs}) => rungs.map(rung => [rung.name, rung])));
  choices(
    byId("rung"),
    ok.map(({family, rungs}) => [family, rungs.map(({name}) => name)]),
  );
  byId("rung").disabled = false;
  await follow();
  const {decodedBodySize} = performance.getEntriesByName(new URL(WASM, location).href)[0] ?? {};
  const loaded = decodedBodySize ? `, of which the emulator is ${bytes(decodedBodySize)}` : "";
  say(`Ready after ${(performance.now() / 1000).toFixed(2)} s${loaded}`);
  byId("run").disabled = false;
  document.documentElement.dataset.ready = "true";
});
