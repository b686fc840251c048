// What a run came to, for readers.
import {byId, count, make, number, ratio, row, table, text} from "./dom.js";

// Totals of memory: what is counted, and in which pieces it is moved.
const GLOBAL = [
  ["global loads", "global_loads"],
  ["global stores", "global_stores"],
  ["global atomics", "global_atomics"],
  ["bulk loads", "bulk_loads"],
  ["bulk stores", "bulk_stores"],
];
const SHARED = [
  ["shared loads", "shared_loads"],
  ["shared stores", "shared_stores"],
  ["shared atomics", "shared_atomics"],
];

const facts = ({total, footprint, average_active_lanes, flops_per_byte_moved}) => {
  const fact = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
  const lanes = average_active_lanes === null ? "none ran" : `${ratio(average_active_lanes)} of 32`;
  return make(
    "dl",
    {className: "facts"},
    fact("instructions of warps", count(total.warp_instructions)),
    fact("active lanes, on average", lanes),
    fact("branches that diverge", `${count(total.divergent_branches)} of ${count(total.branches)}`),
    fact("barriers, by warps", count(total.barriers)),
    fact("FLOP", count(total.flops)),
    fact("FLOP per byte moved", ratio(flops_per_byte_moved) || "none"),
    fact("distinct bytes read", count(footprint.bytes_read)),
    fact("distinct bytes written", count(footprint.bytes_written)),
  );
};

const memory = ({total}) => {
  const global = ([name, key]) => {
    const {requests, sectors, bytes} = total[key];
    if (!bytes) return null;
    const each = requests ? `${ratio(sectors / requests)} per request` : "";
    return row(
      text(name),
      number(requests === undefined ? "" : count(requests)),
      number(count(bytes)),
      text(`${count(sectors)} sectors`),
      text(each),
    );
  };
  const shared = ([name, key]) => {
    const {requests, wavefronts, ideal_wavefronts, bytes, worst_conflict} = total[key];
    if (!requests) return null;
    const over = ideal_wavefronts ? `${ratio(wavefronts / ideal_wavefronts)} times the ideal` : "";
    const conflicts = worst_conflict > 1 ? `, bank conflicts up to ${worst_conflict}-way` : "";
    return row(
      text(name),
      number(count(requests)),
      number(count(bytes)),
      text(`${count(wavefronts)} wavefronts`),
      text(over + conflicts),
    );
  };
  const rows = [...GLOBAL.map(global), ...SHARED.map(shared)].filter(Boolean);
  if (!rows.length) return make("p", {}, "It accesses neither global nor shared memory.");
  return table("Memory", ["access", "requests", "bytes", "moved in", ""], rows);
};

// A line of a listing. `heat` is its share of all instructions, from 0 to 1.
const line = (id, line_number, found, figures, heat, code) => {
  const cell = make("td", {className: "code"}, code);
  cell.style.setProperty("--h", `${Math.min(100, Math.round(heat * 250))}%`);
  const numbered = make("th", {scope: "row", className: "n"}, `${found ? "▶ " : ""}${line_number}`);
  const listed = row(...figures.map(figure => number(figure)), numbered, cell);
  if (found) numbered.append(make("span", {className: "hidden"}, " with a finding"));
  return Object.assign(listed, {id, className: found ? "found" : ""});
};

const HEADS = ["% of all", "sectors per request", "wavefronts over ideal", "line", "code"];
const percent = share => (share >= 0.0005 ? (share * 100).toFixed(1) : "");
const several = ratios => ratios.map(ratio).join(", ");

// The lines of one source file that did something, or where something was found.
const sourceTable = ({file, lines}, texts, findings) => {
  const places = findings.flatMap(({places}) => places).filter(place => place.file === file);
  const found = new Set(places.map(place => place.line));
  const listed = new Map(lines.map(entry => [entry.number, entry]));
  for (const number of found) if (!listed.has(number)) listed.set(number, {number, counters: null});
  const rows = [...listed.values()]
    .sort((a, b) => a.number - b.number)
    .map(entry => {
      const {share = 0, sectors_per_request = [], wavefronts_per_ideal = []} = entry.counters ?? {};
      const figures = [percent(share), several(sectors_per_request), several(wavefronts_per_ideal)];
      return line(
        `${file}:${entry.number}`,
        entry.number,
        found.has(entry.number),
        figures,
        share,
        texts[entry.number - 1] ?? entry.text,
      );
    });
  return table(`Lines of ${file}`, HEADS, rows, "source");
};

const ptxTable = (ptx, counted, findings) => {
  const by_line = new Map(counted.ptx_lines.map(entry => [entry.line, entry]));
  const found = new Set(findings.flatMap(({ptx_lines}) => ptx_lines));
  const all = counted.total.warp_instructions || 1;
  const rows = ptx
    .trimEnd()
    .split("\n")
    .map((code, index) => {
      const entry = by_line.get(index + 1) ?? {};
      const share = (entry.warp_instructions ?? 0) / all;
      const figures = [
        percent(share),
        ratio(entry.sectors_per_request),
        ratio(entry.wavefronts_per_ideal),
      ];
      return line(`ptx:${index + 1}`, index + 1, found.has(index + 1), figures, share, code);
    });
  return table("Lines of the PTX", HEADS, rows, "source");
};

// A part that opens; what is in it is made when it does.
const opening = (title, is_open, content) => {
  const details = make("details", {}, make("summary", {}, title));
  const fill = () => details.childElementCount > 1 || details.append(content());
  details.addEventListener("toggle", () => details.open && fill());
  if (is_open) fill();
  return Object.assign(details, {open: is_open, fill});
};

const finding = ({severity, tool, text: whole, ptx_lines, places}, jump) => {
  const [first, ...more] = whole.replace(`${tool}: `, "").split("\n");
  const to = (id, title) =>
    make("button", {type: "button", className: "link", onclick: () => jump(id)}, title);
  const name = file => file.split("/").pop();
  const jumps = [
    ...places.map(({file, line}) => to(`${file}:${line}`, `${name(file)}:${line}`)),
    ...ptx_lines.map(number => to(`ptx:${number}`, `PTX line ${number}`)),
  ];
  return make(
    "li",
    {},
    make("strong", {className: "bad"}, `${tool}, ${severity}: `),
    first,
    more.length ? make("pre", {}, more.join("\n").replace(/\n+$/, "")) : null,
    jumps.length ? make("p", {className: "row"}, "Go to ", ...jumps) : null,
  );
};

// SVG in a tree of its own, where its style and its names are.
const picture = svg => {
  const host = make("div", {className: "picture"});
  host.attachShadow({mode: "open"}).innerHTML =
    svg + "<style>svg{width:100%;min-width:40rem;height:auto;max-width:52rem}</style>";
  return make(
    "div",
    {className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Accesses of one warp"},
    host,
  );
};

const extents = ([x, y, z]) => [x, y, z].slice(0, z > 1 ? 3 : y > 1 ? 2 : 1).join(" × ");

// One launch: totals, picture, and listings.
const launch = (counted, ptx, findings, sources, title) => {
  const parts = counted.sources.map((source, index) =>
    opening(source.file, index === 0, () =>
      sourceTable(source, sources.get(source.file) ?? [], findings),
    ),
  );
  const listing = opening("PTX", parts.length === 0, () => ptxTable(ptx, counted, findings));
  return make(
    "section",
    {ariaLabel: title},
    make("h3", {}, title),
    facts(counted),
    memory(counted),
    make("h4", {}, "By line"),
    ...parts,
    listing,
    make("h4", {}, "Memory accesses of one warp"),
    picture(counted.picture),
  );
};

// What came of it: its kind, in short, and in full.
const verdictOf = ({fault, verdict, passed, complaint}) => {
  if (fault) return ["bad", "It stopped", fault];
  if (passed !== undefined)
    return passed ? ["good", "Passed", ""] : ["bad", "Not passed", complaint];
  if (!verdict) return ["good", "It ran to its end", ""];
  const {ok, error, tolerance} = verdict;
  const small = value => (value === 0 ? "0" : value.toExponential(1));
  const largest =
    error === null
      ? "an element is not a number"
      : `the largest error is ${small(error)}, and ${small(tolerance)} is allowed`;
  return ok ? ["good", "Right", largest] : ["bad", "Wrong", verdict.complaint ?? largest];
};

// Shows a run. `launches` are {title, counted, ptx}; `sources` has the lines of files by their name.
export const show = (result, ran, launches, sources) => {
  const [kind, verdict, why] = verdictOf(ran);
  const {findings} = ran;
  const shown = launches.map(({counted, ptx, title}) =>
    launch(counted, ptx, findings, sources, title),
  );
  // Opens what hides a line, and goes there.
  const jump = id => {
    for (const details of result.querySelectorAll("details")) {
      details.fill?.();
      const target = byId(id);
      if (!target) continue;
      target.closest("details").open = true;
      target.closest("section").hidden = false;
      target.scrollIntoView({block: "center"});
      target.tabIndex = -1;
      target.focus();
      return;
    }
  };
  const values = (ran.arrays ?? []).map(({argument, array, elements, count: all}) =>
    row(
      text(argument),
      text(array),
      make("td", {className: "values"}, elements.join(" ") + (all > elements.length ? " …" : "")),
    ),
  );
  result.replaceChildren(
    make("h2", {id: "verdict", className: kind}, verdict),
    why ? make("pre", {id: "why"}, why) : "",
    findings.length
      ? make("ul", {id: "findings"}, ...findings.map(one => finding(one, jump)))
      : make("p", {id: "findings"}, "The sanitizers found nothing."),
    ran.printed ? make("pre", {ariaLabel: "What it printed"}, ran.printed) : "",
    values.length
      ? table("Arrays afterwards", ["argument", "array", "first elements"], values)
      : "",
    ran.output?.length
      ? make("p", {className: "values"}, "Output: " + ran.output.slice(0, 8).join(", ") + " …")
      : "",
    ...shown,
  );
};

export const launchTitle = ({entry, grid, block, index, all}) => {
  const which = all > 1 ? `Launch ${index + 1} of ${all}: ` : "";
  return `${which}${entry}, ${extents(grid)} blocks of ${extents(block)} threads`;
};
