// SPDX-License-Identifier: Apache-2.0
// Explore: choose a world or draw one, send the arm through it, watch the map grow, compare observers and reactions.
import { choice, download, el, fill, fixed, fmt, part, remover, slider, tick } from "/shared/ui.js";

const LOW = [-0.08, 0.08]; // m: endless cylinders are drawn as posts, not to hide the arm
const TOOLS = { box: "Box", cylinder: "Cylinder", sphere: "Sphere" };
const COLUMNS = [
  ["contacts", "contacts", 0], ["false_alarms", "false alarms", 0], ["arrival_s", "arrival s", 1], ["largest_force_n", "largest force N", 0],
  ["median_delay_s", "delay ms", 1, 1e3], ["simulated_s", "simulated s", 1],
];

export function exploreTab(app) {
  const left = el("div"), right = el("div");
  let runs = [];
  let known = null, drawn = [], selected = null, placing = null, dragging = null, ends = {}, made = 0, job = null;
  let options = { world: "layout-a", reactions: ["back off"], observers: [], duration: 120 };
  const DRAWN = "(drawn)";

  const isDrawn = () => options.world === DRAWN;
  const shapes = () => (isDrawn() ? drawn.map((s) => (s.kind === "box" ? { ...s, rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] } : s.kind === "cylinder" ? { ...s, axis: [0, 0, 1] } : s))
    : known?.find((w) => w.name === options.world)?.shapes ?? []);

  function drawWorld() {
    if (app.tab !== tab) return;
    app.scene.setWorld(shapes(), { endless: LOW });
    const task = isDrawn() ? ends : known?.find((w) => w.name === options.world)?.task;
    const fits = (q) => q && q.length === app.spec.joints.length;
    app.scene.setPose(fits(task?.start) ? task.start : app.tabs.robot.q);
    app.scene.setGhost(fits(task?.goal) ? task.goal : null);
  }

  /** Turn the view to arm and world. */
  function lookAtIt() {
    const points = shapes().filter((s) => s.kind !== "half-space").map((s) => s.centre ?? s.start).filter(Boolean);
    app.lookAt(points);
  }

  function makeLeft() {
    const off = !app.owner;
    const entries = [...(known ?? []).map((w) => [w.name, `${w.name} – ${w.title || `${w.shapes.length} shapes`}`]), [DRAWN, "a world of your own"]];
    const which = choice("World", entries, options.world, (name) => { options.world = name; app.frames.clear(); makeLeft(); drawWorld(); lookAtIt(); });
    const world = known?.find((w) => w.name === options.world);
    const many = (name, words, list) => list.map((x) => tick(x, options[name].includes(x), (on) => { options[name] = on ? [...options[name], x] : options[name].filter((y) => y !== x); }, off).row);
    const misfit = world && world.robots.length && !world.robots.includes(app.spec.name);
    fill(left,
      part("World", which.row,
        world ? el("p", { class: "small muted" }, `Made for ${world.robots.join(", ") || "any arm"}.`) : null,
        misfit ? el("p", { class: "notice" }, `The arm on the page is ${app.spec.name}. `, el("button", { onclick: () => app.ask("robot", { name: world.robots[0] }), disabled: off }, `Take ${world.robots[0]}`)) : null,
        el("div", { class: "row" }, el("button", { onclick: () => file.click(), disabled: off }, "Open world file …"), file,
          el("button", { onclick: save, disabled: !isDrawn() || !drawn.length }, "Save as world file"))),
      isDrawn() ? drawPart(off) : null,
      part("Reactions to a contact", ...many("reactions", "", app.reactions ?? [])),
      part("Observers", el("p", { class: "small muted" }, "None ticked: the one that suits the task."), ...many("observers", "", app.observers ?? [])),
      part("Run", slider({ label: "At most", unit: "s", min: 5, max: 300, step: 5, after: 0, value: options.duration, oninput: (x) => { options.duration = x; }, disabled: off }).row,
        el("div", { class: "row" }, el("button", { class: "primary", onclick: run, disabled: off, id: "explore" }, "Explore"),
          el("button", { onclick: () => { app.frames.clear(); drawWorld(); } }, "Show the world"))),
    );
  }
  const file = el("input", { type: "file", accept: ".toml", hidden: true, onchange: async () => {
    const got = file.files[0] && (await app.upload("world", file.files[0]));
    file.value = "";
    if (!got) return;
    const simple = got.shapes.filter((s) => s.kind in TOOLS && s.height !== null);
    if (simple.length < got.shapes.length) app.complain(`${got.shapes.length - simple.length} of ${got.shapes.length} shapes are neither box, cylinder nor sphere and cannot be drawn here.`);
    drawn = simple.map(({ kind, name, centre, size, radius, height }) => JSON.parse(JSON.stringify({ kind, name, centre, size, radius, height })));
    if (got.task) ends = got.task;
    options.world = DRAWN;
    makeLeft();
    drawWorld();
  } });

  function drawPart(off) {
    const shape = drawn.find((s) => s.name === selected), mm = (x) => 1e3 * x;
    const edit = (label, get, set, least = 10, most = 2000) => slider({ label, unit: "mm", min: least, max: most, step: 5, after: 0, value: mm(get()), oninput: (x) => { set(1e-3 * x); drawWorld(); }, disabled: off });
    const size = !shape ? [] : shape.kind === "box" ? ["along x", "along y", "along z"].map((words, i) => edit(words, () => shape.size[i], (x) => { shape.size[i] = x; }))
      : [edit("radius", () => shape.radius, (x) => { shape.radius = x; }), ...(shape.kind === "cylinder" ? [edit("height", () => shape.height, (x) => { shape.height = x; })] : [])];
    const where = !shape ? [] : ["x", "y", "z"].map((axis, i) => edit(axis, () => shape.centre[i], (x) => { shape.centre[i] = x; }, -2000, 2000));
    const end = (name) => el("button", { onclick: () => { ends[name] = app.tabs.robot.q.slice(); makeLeft(); drawWorld(); }, disabled: off, "aria-pressed": Boolean(ends[name]) }, `${name === "start" ? "Start" : "Goal"} = jogged pose`);
    return part("Draw",
      el("div", { class: "row" }, Object.entries(TOOLS).map(([kind, words]) => el("button", { "aria-pressed": placing === kind, disabled: off, onclick: () => { placing = placing === kind ? null : kind; makeLeft(); } }, words)),
        el("button", { disabled: off || !placing, onclick: () => add(placing, [0.5, 0, 0]) }, "Place ahead")),
      el("p", { class: "small muted" }, placing ? "Click on the floor to place it." : "Choose a shape and click on the floor; drag a shape to move it."),
      el("ul", { class: "shapes" }, drawn.map((s) => el("li", {}, el("button", { "aria-pressed": s.name === selected, onclick: () => { selected = s.name; makeLeft(); } }, s.name),
        el("span", { class: "muted" }, s.centre.map((x) => fixed(x, 2)).join(", "), " m"),
        el("button", { "aria-label": `Remove ${s.name}`, disabled: off, onclick: () => { drawn = drawn.filter((t) => t !== s); makeLeft(); drawWorld(); } }, "×")))),
      ...[...where, ...size].map((s) => s.row),
      el("div", { class: "row" }, end("start"), end("goal")),
      el("p", { class: "small muted" }, "Jog the arm on the tab Robot, then take its pose here. The goal is drawn pale."));
  }

  function add(kind, [x, y]) {
    const name = `${kind}-${++made}`;
    const size = kind === "box" ? { size: [0.15, 0.15, 0.3] } : kind === "cylinder" ? { radius: 0.06, height: 0.4 } : { radius: 0.08 };
    const high = kind === "box" ? 0.15 : kind === "cylinder" ? 0.2 : 0.3;
    drawn.push({ kind, name, centre: [x, y, high], ...size });
    selected = name;
    placing = null;
    makeLeft();
    drawWorld();
  }

  const world = () => ({ name: "drawn", shapes: drawn, ...(ends.start && ends.goal ? ends : {}) });
  async function save() {
    const { text, file: name } = await app.ask("world_file", world());
    download(name, text);
  }

  async function run() {
    const { reactions, observers, duration } = options;
    if (!reactions.length) return app.complain("Tick at least one reaction.");
    if (isDrawn() && !(ends.start && ends.goal)) return app.complain("A world of your own needs a start and a goal: jog the arm on the tab Robot, then take its pose under Draw.");
    ({ job } = await app.ask("explore", { reactions, observers, duration, ...(isDrawn() ? { drawn: world() } : { world: options.world }) }));
  }

  async function replay(number) {
    const { ticket } = await app.ask("replay", { kind: "exploration", number });
    app.frames.show([ticket], { theme: app.theme });
  }

  /** Take the runs from the studio's shelf, the newest set first: they are there for every page, and after a reload. */
  async function refresh() {
    const sets = new Map();
    for (const { kind, number, about } of (await app.ask("list")).items.reverse()) {
      if (kind !== "exploration") continue;
      if (!sets.has(about.group)) sets.set(about.group, { world: about.world, runs: [] });
      sets.get(about.group).runs.push({ ...about, number });
    }
    runs = [...sets.values()].reverse();
    drawRuns();
  }

  function drawRuns() {
    right.replaceChildren(part("Runs", runs.length ? el("div", {}, runs.map((set) => el("div", {},
      el("h3", {}, set.world),
      el("div", { class: "scroll" }, el("table", { class: "matrix runs" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, ""), set.runs.map((r) => el("th", { scope: "col", title: r.name }, r.name)))),
        el("tbody", {},
          el("tr", {}, el("th", { scope: "row" }, "outcome"), set.runs.map((r) => el("td", { class: r.outcome === "reached" ? "good" : "warn", title: r.message }, r.outcome))),
          COLUMNS.map(([key, words, after, factor = 1]) => el("tr", {}, el("th", { scope: "row" }, words), set.runs.map((r) => el("td", {}, r[key] === null ? "–" : fixed(factor * r[key], after))))),
          el("tr", {}, el("th", {}, ""), set.runs.map((r) => el("td", {}, el("button", { onclick: () => replay(r.number) }, "Replay")))),
          el("tr", {}, el("th", {}, ""), set.runs.map((r) => el("td", {}, remover(r.name, () => app.ask("remove", { number: r.number }), { disabled: !app.owner }))))))))))
      : el("p", { class: "muted small" }, "Nothing was run yet. Several reactions or observers run one after the other and stand beside one another here.")));
  }
  drawRuns();

  const tab = {
    left: [left], right: [right],
    get drawn() { return drawn; },
    get runs() { return runs; },
    robot() { ends = {}; if (known) makeLeft(); },
    async show() {
      app.hint();
      if (!known) {
        const got = await app.ask("worlds");
        known = got.worlds;
        Object.assign(app, { reactions: got.reactions, observers: got.observers });
      }
      await refresh();
      if (app.tab !== tab) return;
      makeLeft();
      drawWorld();
      lookAtIt();
    },
    hide() { app.scene.setWorld([]); app.scene.setGhost(null); app.lookAt(); },
    async event(message) {
      if (message.event === "removed" && message.kind === "exploration") refresh();
      if (message.event !== "job" || message.state !== "done" || !message.result?.runs) return;
      await refresh();
      if (app.tab === tab && message.job === job) replay(message.result.runs[0].number);
    },
    pointer(type, event) {
      if (!app.owner || !isDrawn()) return;
      const floor = (high) => {
        const { origin, direction } = app.scene.ray(event.clientX, event.clientY), s = (high - origin[2]) / direction[2];
        return Number.isFinite(s) && s > 0 ? origin.map((x, i) => x + s * direction[i]) : null;
      };
      if (type === "pointerdown" && event.button === 0) {
        if (placing) {
          const at = floor(0);
          if (at) { event.stopImmediatePropagation(); add(placing, at); }
          return;
        }
        const hit = app.scene.pickShape(event.clientX, event.clientY), shape = hit && drawn.find((s) => s.name === hit.shape);
        if (!shape) return;
        event.stopImmediatePropagation();
        event.target.setPointerCapture(event.pointerId);
        dragging = { shape, high: hit.pointBase[2], from: hit.pointBase, centre: shape.centre.slice() };
        app.scene.controls.enabled = false;
        selected = shape.name;
      } else if (type === "pointermove" && dragging) {
        const at = floor(dragging.high);
        if (at) { for (const i of [0, 1]) dragging.shape.centre[i] = Math.round(1e3 * (dragging.centre[i] + at[i] - dragging.from[i])) / 1e3; drawWorld(); }
      } else if (dragging && (type === "pointerup" || type === "pointercancel")) {
        dragging = null;
        app.scene.controls.enabled = true;
        makeLeft();
      }
    },
  };
  return tab;
}
