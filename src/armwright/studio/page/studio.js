// SPDX-License-Identifier: Apache-2.0
// The studio's page: one scene in the middle, a tab's controls to the left, its numbers to the right.
import { createScene } from "/shared/scene.js";
import { forward, origin } from "/shared/kinematics.js";
import { preferredTheme } from "/shared/palette.js";
import { connect } from "./link.js";
import { el } from "/shared/ui.js";
import { robotTab } from "./robot_tab.js";
import { liveTab } from "./live_tab.js";
import { mirrorTab } from "./mirror_tab.js";
import { exploreTab } from "./explore_tab.js";
import { recordingsTab } from "./recordings_tab.js";
import { programsTab } from "./programs_tab.js";
import { documentsTab } from "./documents_tab.js";
import { frames } from "./frames.js";
import { dropped } from "./dropped.js";
import { zipped } from "./zip.js";

const TABS = [
  ["robot", "Robot", robotTab], ["live", "Live", (app) => (app.onWire ? mirrorTab(app) : liveTab(app))], ["explore", "Explore", exploreTab],
  ["recordings", "Recordings", recordingsTab], ["programs", "Programs", programsTab], ["documents", "Documents", documentsTab],
];
let leaving = 0;
const $ = (id) => document.getElementById(id);

const KIND_OF = { urdf: "robot", zip: "robot", toml: "robot", mcap: "recording", parquet: "recording", csv: "recording", npz: "recording", meta: "recording", txt: "recording", tsv: "recording", dat: "recording" };
const PROGRAM = /\.(irl|script|urscript|mod|modx|prg|sys|sysx|src|krl|sub|nc|ngc|gcode|gco|cnc|tap)$/i;
const kindOf = (name) => (PROGRAM.test(name) ? "program" : name.toLowerCase().endsWith(".xml") ? "robot" : KIND_OF[name.split(".").pop().toLowerCase()]);

const app = {
  role: null, robot: null, spec: null, posture: null, live: null, scene: null, tabs: {}, tab: null, ready: false,
  theme: preferredTheme(), received: 0, drawn: [],
  shownFor: 8000, // [ms] of a message of no trouble
  get owner() { return app.role === "owner"; },
  /** Whether the arm is a real one, which is only looked at. */
  get onWire() { return app.live?.kind === "wire"; },
  /** Say what went wrong, until it is closed (or Escape), another tab is chosen or something else is said; (mild) what happened, for a while. */
  complain(text, { mild = false } = {}) {
    const box = $("message");
    box.classList.toggle("mild", mild);
    box.replaceChildren(el("button", { onclick: () => { box.hidden = true; } }, "Close"), text);
    box.hidden = false;
    clearTimeout(leaving);
    const leave = () => { if (box.matches(":hover, :focus-within")) leaving = setTimeout(leave, app.shownFor); else box.hidden = true; };
    if (mild) leaving = setTimeout(leave, app.shownFor);
  },
  /** Ask the server, and say what it refused. */
  async ask(what, fields) {
    try {
      return await app.link.ask(what, fields);
    } catch (error) {
      app.complain(error.message);
      throw error;
    }
  },
  /** An arm with its meshes: [path, file] pairs of a folder, sent as one zip. */
  async openFolder(pairs) {
    const wanted = pairs.filter(([path]) => /\.(urdf|xml|toml|stl|obj|ply|dae)$/i.test(path) && !/(^|\/)\./.test(path));
    if (!wanted.some(([path]) => /\.(urdf|xml|toml)$/i.test(path))) return app.complain("This folder holds no description of an arm: a .urdf, MuJoCo's .xml or a sheet's .toml.");
    const name = wanted[0][0].split("/")[0].replace(/[^\w .+()-]/g, "_") || "arm";
    return app.upload("robot", new File([await zipped(wanted)], `${name}.zip`));
  },
  /** A file by its name: an arm, a recording or a log, a program or a world; whatever is dropped on the page. */
  async openFiles(files) {
    for (const file of files) {
      const kind = kindOf(file.name);
      if (!kind) { app.complain(`${file.name}: nothing of the studio's reads such a file.`); continue; }
      if (!app.owner) return app.complain("This page may only look.");
      const tab = { robot: "robot", recording: "recordings", program: "programs", world: "explore" }[kind];
      app.choose(tab);
      if (kind === "robot") await app.upload(kind, file);
      else await app.tab.take?.([file]);
    }
  },
  async upload(kind, file, headers = {}) {
    app.status(`reading ${file.name} …`);
    try {
      return await app.link.upload(kind, file, headers);
    } catch (error) {
      app.complain(error.message);
      return null;
    } finally {
      app.status();
    }
  },
  status(text = "") { $("status").textContent = text || (app.robot ? `${app.spec.name} · ${app.spec.joints.length} joints · ${app.robot.mass.toFixed(1)} kg` : ""); },
  hint(...content) { $("hint").replaceChildren(...content); },
  /** Called after every frame of the scene. */
  onFrame: null,
};
globalThis.__studio = app;
app.frames = frames($("stage"));

function setTheme(theme) {
  app.theme = theme;
  document.documentElement.dataset.theme = theme;
  app.scene?.setTheme(theme);
  app.frames.theme(theme);
  for (const tab of Object.values(app.tabs)) tab.theme?.(theme);
}

function setRobot(robot, posture) {
  Object.assign(app, { robot, spec: robot.spec, posture });
  app.scene?.dispose();
  const canvas = $("canvas"), fresh = canvas.cloneNode(false); // a disposed scene's canvas keeps its context
  canvas.replaceWith(fresh);
  try {
    app.scene = createScene(fresh, app.spec, { theme: app.theme, onFrame: (now) => { app.drawn.push(now); if (app.drawn.length > 600) app.drawn.splice(0, 300); app.onFrame?.(now); } });
  } catch (error) {
    app.complain(`This browser cannot draw in three dimensions (WebGL): ${error.message}`);
    return;
  }
  app.scene.setPose(posture);
  app.scene.setView(viewOf(posture));
  for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel", "dblclick"])
    fresh.addEventListener(type, (event) => app.tab?.pointer?.(type, event), { capture: true });
  for (const tab of Object.values(app.tabs)) tab.robot?.();
  app.tab?.show?.();
  app.status();
}

/** A view that has the arm at q, and some more points, in its middle. */
function viewOf(q, more = []) {
  const { links, tool } = forward(app.spec, q), points = [...[...links, tool, app.spec.T_base_root].map(origin), ...more];
  const ends = [0, 1, 2].map((i) => [Math.min(...points.map((p) => p[i])), Math.max(...points.map((p) => p[i]))]);
  const size = Math.hypot(...ends.map(([a, b]) => b - a));
  const { clientWidth: width, clientHeight: height } = $("canvas"), narrow = Math.max(1, 1.1 / (width / height || 1));
  return { target: ends.map(([a, b]) => 0.5 * (a + b)), distance: narrow * Math.max(2.0 * size, 1.2 * app.spec.extent) };
}

function choose(name, { focus = false } = {}) {
  const next = app.tabs[name];
  if (!next || next === app.tab) return;
  if (app.tab) $("message").hidden = true; // it was about the tab that is left
  app.tab?.hide?.();
  app.frames.clear();
  app.tab = next;
  for (const button of $("tabs").children) {
    const mine = button.dataset.tab === name;
    button.setAttribute("aria-selected", mine);
    button.tabIndex = mine ? 0 : -1;
    if (mine && focus) button.focus();
  }
  $("left").setAttribute("aria-labelledby", `tab-${name}`);
  $("left").replaceChildren(...next.left);
  $("right").replaceChildren(...(next.right ?? []));
  document.querySelector("main").classList.toggle("wide", !next.right);
  app.hint();
  next.show?.();
}
app.choose = choose;
app.lookAt = (points = []) => app.scene.setView(viewOf(app.posture, points));

function makeTabs() {
  for (const [name, title, make] of TABS) {
    app.tabs[name] = make(app);
    $("tabs").append(el("button", { role: "tab", id: `tab-${name}`, "data-tab": name, "aria-controls": "left", onclick: () => choose(name) }, title));
  }
  $("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = TABS.map(([name]) => name), at = names.findIndex((name) => app.tabs[name] === app.tab);
    choose(names[(at + step + names.length) % names.length], { focus: true });
  });
}

const jobs = new Map();
function showJob({ job, name, state, fraction, text, error }) {
  let shown = jobs.get(job);
  if (!shown) {
    const bar = el("progress", { max: 1, value: 0 }), words = el("span", { class: "number" });
    const row = el("div", { class: "job", "data-job": job }, el("strong", {}, name), bar, words,
      app.owner ? el("button", { onclick: () => app.ask("cancel", { job }) }, "Cancel") : null);
    $("jobs").append(row);
    jobs.set(job, (shown = { row, bar, words }));
  }
  if (state === "running") {
    shown.bar.value = fraction;
    shown.words.textContent = text || `${Math.round(100 * fraction)} %`;
    return;
  }
  shown.row.remove();
  jobs.delete(job);
  if (state === "failed") app.complain(error);
}

/** Say how a recording ended, unless somebody has just stopped it. */
function showKept({ name, note, reason, error, number }) {
  const kept = number ? `${name} (${note}) is on the tab Recordings.` : "It has no rows: nothing was kept.";
  if (error) app.complain(`The recording ended: ${error}. ${kept}`);
  else if (reason !== "stopped on the page" || !number) app.complain(`The recording ended: ${reason}. ${kept}`, { mild: true });
}

app.link = connect(location.hash.slice(1), {
  ready(greeting) {
    Object.assign(app, { role: greeting.role, catalogue: greeting.robots, laws: greeting.laws, live: greeting.live, folder: greeting.folder, greeting });
    $("role").hidden = app.owner;
    $("role").textContent = "looking only";
    if (!Object.keys(app.tabs).length) makeTabs();
    setRobot(greeting.robot, greeting.posture);
    if (app.tab) app.tab.show?.();
    else choose(app.onWire ? "live" : "robot");
    app.ready = true;
  },
  event(message) {
    if (message.event === "robot") setRobot(message.robot, message.posture);
    if (message.event === "live") app.live = message.live;
    if (message.event === "job") showJob(message);
    if (message.event === "trouble") app.complain(message.text);
    if (message.event === "kept") showKept(message);
    for (const tab of Object.values(app.tabs)) tab.event?.(message);
  },
  frame(values) {
    app.received += 1;
    app.tab?.frame?.(values);
    app.link.drew();
  },
  refused(text) { app.complain(text); },
  lost(reason) {
    app.ready = false;
    $("status").textContent = reason;
  },
});

dropped(document.body, { files: app.openFiles, folder: app.openFolder });
addEventListener("keydown", (event) => { if (event.key === "Escape") $("message").hidden = true; });
$("theme").addEventListener("click", () => setTheme(app.theme === "dark" ? "light" : "dark"));
setTheme(app.theme);
