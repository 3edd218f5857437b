// SPDX-License-Identifier: Apache-2.0
// A recorded run on a page: scene, plots and timeline joined by the time that is shown.
import { forward, origin } from "./kinematics.js";
import { PALETTES, preferredTheme } from "./palette.js";
import { createListing } from "./listing.js";
import { createPlots, sampleBefore } from "./plots.js";
import { createScene } from "./scene.js";
import { createTimeline } from "./timeline.js";

const LONGEST = 0.35; // of the arm's length: the arrow of the largest force
const WORDS = 100; // [ms] between two changes of the numbers while it plays
const RAMP = ["#2c7bb6", "#5aaed1", "#c9c46a", "#f08c3a", "#d7191c"]; // low to high, told apart without red and green

/** Show `content` (recording/replay/page.py: packed) in `root` (replay.html). */
export function start(root, content) {
  const { robot, events } = content, time = content.time.data, n = robot.joints.length;
  const find = (name) => root.querySelector(`[data-part="${name}"]`);
  const row = (array, i) => Array.from(array.data.subarray(array.shape[1] * i, array.shape[1] * (i + 1)));
  const poses = Array.from(time, (_, i) => forward(robot, row(content.q, i)));
  const way = poses.map(({ tool }) => origin(tool));
  const longest = Math.max(1e-9, ...content.arrows.map((arrow) => arrow.largest));
  const scale = (LONGEST * robot.extent) / longest; // m per N
  let theme = preferredTheme();
  root.hidden = false;
  find("title").textContent = content.title;

  const scene = createScene(find("canvas"), robot, { theme, view: viewOf(robot, poses) });
  const opacity = content.map ? 0.4 : 1; // felt places lie on surfaces, or a little inside
  scene.setWorld(content.world, { endless: content.endless ?? undefined, opacity });
  if (content.map) scene.setMap(content.map, []);
  const ramp = content.path ? Array.from(content.path.values.data, (x) => colourAt(content.path, x)) : null;
  scene.setPath(way, ramp, { name: "way", width: ramp ? 4 : 2 });

  const jump = (t) => { timeline.pause(); timeline.seek(t); };
  root.classList.toggle("listed", Boolean(content.listing));
  const listing = content.listing ? createListing(find("listing"), content.listing, { onSeek: (next) => jump(next(state.t)) }) : null;
  const beside = () => find("plots").offsetTop < root.querySelector(".bar").offsetTop;
  const plots = createPlots(find("plots"), content.plots, { theme, events, fit: beside, onSeek: jump });
  plots.setData(time, content.plots.map((plot) => {
    const [series, samples] = plot.values.shape;
    return Array.from({ length: series }, (_, s) => plot.values.data.subarray(s * samples, (s + 1) * samples));
  }));

  let state = null, mapStep = -2, touched = -1, spoken = 0, timeline = null;
  function show(t) {
    const i = sampleBefore(time, t), next = Math.min(i + 1, time.length - 1);
    const gap = time[next] - time[i], share = gap > 0 ? Math.min(Math.max((t - time[i]) / gap, 0), 1) : 0;
    const before = row(content.q, i), after = row(content.q, next);
    const q = before.map((x, j) => x + share * (after[j] - x));
    scene.setPose(q);
    const tool = origin(scene.poses.tool);
    const forces = content.arrows.map((arrow) => {
      const vector = row(arrow.values, i).map((x) => (Number.isFinite(x) ? x : 0));
      return { name: arrow.name, colour: arrow.colour, vector, origin: arrow.origin ? row(arrow.origin, i) : tool };
    });
    scene.setArrows(forces.map((f) => ({ origin: f.origin, vector: f.vector.map((x) => scale * x), colour: scene.colours[f.colour] })));
    const felt = content.touched ? content.touched.data[i] : -1;
    if (felt !== touched) scene.highlight(felt < 0 ? null : felt);
    touched = felt;
    let known = [];
    if (content.map) {
      const step = content.map.times.length && content.map.times[0] <= t ? sampleBefore(content.map.times, t) : -1;
      known = step < 0 ? [] : content.map.shown[step];
      if (step !== mapStep) scene.showMap(known);
      mapStep = step;
    }
    if (!ramp) scene.showPath(i + 2, "way"); // a coloured way is shown whole: where it will be hard is the question
    state = { t, sample: i, q, tool, forces, known: known.length, touched: felt < 0 ? null : robot.bodies[felt].name };
    if (listing) state.line = listing.show(t);
    const now = performance.now(), words = !timeline?.playing || now - spoken > WORDS; // numbers nobody can read cost layout
    plots.setCursor(t, { words });
    if (!words) return;
    spoken = now;
    find("readout").textContent = [
      `tool ${tool.map((x) => (Math.round(1e3 * x) / 1e3 + 0).toFixed(3)).join(", ")} m`,
      ...forces.map((f) => `${f.name} ${Math.hypot(...f.vector).toFixed(1)} N`),
      ...(content.map ? [`${content.map.name} ${known.length}`] : []),
      ...(content.touched ? [`touched link ${state.touched ?? "none"}`] : []),
      ...(content.path ? [`${content.path.name} ${content.path.values.data[i].toPrecision(3)} ${content.path.unit}`.trim()] : []),
    ].join(" · ");
    const past = events.findLast((event) => event.time <= t + 1e-9);
    find("event").textContent = past ? `${past.name} at ${past.time.toFixed(2)} s` : "";
  }

  const [begin, end] = [time[0], time[time.length - 1]];
  timeline = createTimeline(root, { begin, end, events, onTime: show, step: Math.max((end - begin) / 500, 1e-3) });

  function setTheme(next) {
    theme = next;
    document.documentElement.dataset.theme = next;
    scene.setTheme(next);
    plots.setTheme(next);
    legend();
    show(timeline.time);
  }
  function legend() {
    const list = find("legend");
    list.replaceChildren();
    const entry = (colour, words) => {
      const item = document.createElement("li");
      item.style.setProperty("--series", colour);
      item.textContent = words;
      list.append(item);
    };
    const p = PALETTES[theme];
    for (const arrow of content.arrows) if (arrow.largest > 0) entry(p[arrow.colour], `${arrow.name}, at most ${arrow.largest.toFixed(1)} N`);
    if (content.touched) entry(p.felt, "link that is touched");
    if (content.map) entry(p.map, content.map.name);
    if (content.world.length) entry(p.obstacle, "what really stands there");
    find("ramp").hidden = !content.path;
    if (!content.path) return;
    const { name, unit, low, high } = content.path, words = (x) => `${x.toPrecision(3)} ${unit}`.trim();
    find("ramp-name").textContent = name;
    find("ramp-low").textContent = words(low);
    find("ramp-high").textContent = words(high);
  }
  const fullScreen = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen?.());
  find("theme").addEventListener("click", () => setTheme(theme === "dark" ? "light" : "dark"));
  find("view").addEventListener("click", () => scene.setView());
  find("full").addEventListener("click", fullScreen);
  document.addEventListener("click", (event) => { // places in the report that name a time
    const at = Number(event.target.closest?.("[data-seek]")?.dataset.seek ?? NaN);
    if (Number.isFinite(at)) jump(at);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest?.("select, input:not([type=range]), textarea, [contenteditable]")) return;
    if (event.key === "f" && !event.ctrlKey && !event.metaKey) fullScreen();
    else if (!timeline.key(event)) return;
    event.preventDefault();
  });
  setTheme(theme);
  timeline.seek(begin);

  window.__replay = {
    forward, scene, content, setTheme, fullScreen,
    seek: timeline.seek, play: timeline.play, pause: timeline.pause, setSpeed: timeline.setSpeed,
    /** What is shown: t [s], q, tool [m], forces [N], places known, and how it is played. */
    state: () => ({ ...state, playing: timeline.playing, speed: timeline.speed, theme, joints: n }),
    stats: () => scene.stats,
  };
  root.dataset.ready = "";
}

function colourAt({ low, high }, x) {
  if (!Number.isFinite(x)) return "#8a94a0";
  const at = ((RAMP.length - 1) * (x - low)) / Math.max(high - low, 1e-12);
  return RAMP[Math.round(Math.min(Math.max(at, 0), RAMP.length - 1))];
}

/** Look at the middle of all that the arm reaches in this run, from far enough to see it. */
function viewOf(robot, poses) {
  const low = [Infinity, Infinity, Infinity], high = low.map((x) => -x);
  const points = [robot.T_base_root, ...poses.flatMap(({ links, tool }) => [...links, tool])].map(origin);
  for (const p of points) p.forEach((x, k) => { low[k] = Math.min(low[k], x); high[k] = Math.max(high[k], x); });
  const size = Math.hypot(...high.map((x, k) => x - low[k]));
  return { elevation: 28, target: high.map((x, k) => 0.5 * (x + low[k])), distance: 1.5 * size + 0.3 * robot.extent };
}
