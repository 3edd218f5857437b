// SPDX-License-Identifier: Apache-2.0
// Live: a law holds the arm in real time; take a link with the mouse and pull. What is felt stands beside what is true.
import { createGrip } from "/shared/grip.js";
import { createPlots } from "/shared/plots.js";
import { transform } from "/shared/kinematics.js";
import { choice, el, fixed, fmt, part, slider, tick } from "/shared/ui.js";

const SPAN = 8; // s in sight
const PLOTS_EVERY = 100; // ms
const tidy = (x) => Math.round(100 * x) / 100; // N m: rounding errors are no news
const ARROW = 0.006; // m per N

export function liveTab(app) {
  const left = el("div"), right = el("div");
  let controls = {}, plots = null, last = null, felt = null, plotted = 0, pulled = null;

  /** A frame as an object; see studio/live_arm.py. */
  function read(values) {
    const n = values[5], at = (k, count) => Array.from(values.subarray(k, k + count));
    return {
      t: values[0], speed: values[1], level: values[2], alarm: values[3] >= 0, body: values[4], n,
      q: at(7, n), felt: at(7 + n, n), true: at(7 + 2 * n, n), force: at(7 + 3 * n, 3), point: at(10 + 3 * n, 3), target: at(13 + 3 * n, 3),
    };
  }

  function makeControls() {
    const off = !app.owner, live = app.live;
    const law = choice("Law", app.laws.map((x) => [x, x]), live.law, () => sendLaw(), off);
    const knows = tick("The model knows payload and friction", live.knows, () => sendLaw(), off);
    async function sendLaw() {
      app.status("compiling …");
      await app.ask("law", { law: law.select.value, knows: knows.box.checked }).finally(() => app.status());
    }
    const tune = () => app.link.say("tune", { frequency: frequency.value, damping: damping.value });
    const frequency = slider({ label: "Stiffness ω", unit: "rad/s", min: 0.5, max: 40, step: 0.5, after: 1, value: live.frequency, oninput: tune, disabled: off });
    const damping = slider({ label: "Damping ζ", unit: "–", min: 0, max: 3, step: 0.05, value: live.damping, oninput: tune, disabled: off });
    const friction = slider({ label: "Friction", unit: "×", min: 0, max: 3, step: 0.05, value: live.friction, oninput: (x) => app.link.say("plant", { friction: x }), disabled: off });
    const payload = slider({ label: "Payload", unit: "kg", min: 0, max: 10, step: 0.1, after: 1, value: live.payload, oninput: (x) => app.link.say("plant", { payload: x }), disabled: off });
    const spring = slider({ label: "Spring", unit: "N/m", min: 50, max: 3000, step: 50, after: 0, value: 600, oninput: () => {}, disabled: off });
    const pause = el("button", { onclick: () => app.ask("speed", { value: app.live.speed ? 0 : 1 }), disabled: off }, "Pause");
    const step = el("button", { onclick: () => app.ask("step", { ticks: 5 }), disabled: off, title: "10 ms" }, "Step");
    const slow = el("button", { onclick: () => app.ask("speed", { value: app.live.speed === 0.1 ? 1 : 0.1 }), disabled: off }, "Slow 1 : 10");
    const record = el("button", { onclick: () => app.ask("record", { on: !app.live.recording }), disabled: off }, "Record");
    const sway = el("button", { onclick: () => app.ask("motion", { kind: app.live.motion === "sway" ? "hold" : "sway" }), disabled: off }, "Sway");
    const reset = el("button", { onclick: () => app.ask("reset"), disabled: off }, "Reset");
    const links = choice("Link", app.spec.bodies.map((b, i) => [i, b.name]), app.spec.tip, () => {}, off);
    const by = ["x", "y", "z"].map((axis) => el("input", { type: "number", step: 10, value: axis === "z" ? -50 : 0, disabled: off, "aria-label": `Pull by ${axis} [mm]` }));
    const pull = el("button", { onclick: () => pullBy(+links.select.value, by.map((field) => 1e-3 * +field.value)), disabled: off }, "Pull");
    const release = el("button", { onclick: () => { pulled = null; app.ask("release"); }, disabled: off }, "Let go");
    controls = { law, knows, frequency, damping, friction, payload, spring, pause, step, slow, record, sway };
    left.replaceChildren(
      part("Time", el("div", { class: "row" }, pause, step, slow), el("div", { class: "row" }, record, sway, reset)),
      part("Controller", law.row, frequency.row, damping.row, knows.row),
      part("Plant", payload.row, friction.row,
        el("p", { class: "small muted" }, `Friction × 1 is from: ${live.friction_source}.`)),
      part("Hand", spring.row, el("p", { class: "small muted" }, "Take a link in the picture and pull. Without a mouse:"), links.row,
        el("div", { class: "row" }, ...by, el("span", { class: "muted small" }, "mm"), pull, release)),
    );
    settle();
  }

  /** Pull a link by its far end (the middle of its last capsule's end), by so much [m] from where it is now. */
  function pullBy(body, offset) {
    const capsule = app.spec.capsules.filter((c) => c.body === body).at(-1);
    const point = capsule ? capsule.end : [0, 0, 0];
    const at = transform(app.scene.poses.links[body], point);
    send(body, point, at.map((x, i) => x + offset[i]));
  }
  function send(body, point, target) {
    pulled = { body, point, target, asked: performance.now() };
    app.link.say("pull", { body, point, target, stiffness: controls.spring.value });
  }

  /** Show the settings that the server has. */
  function settle() {
    const live = app.live, press = (button, on) => button.setAttribute("aria-pressed", on);
    if (!controls.law) return;
    controls.law.select.value = live.law;
    controls.knows.box.checked = live.knows;
    for (const name of ["frequency", "damping", "friction", "payload"])
      if (!controls[name].row.contains(document.activeElement)) controls[name].set(live[name]);
    controls.pause.textContent = live.speed ? "Pause" : "Go on";
    controls.step.disabled = !app.owner || live.speed !== 0;
    press(controls.slow, live.speed === 0.1);
    press(controls.sway, live.motion === "sway");
    controls.record.textContent = live.recording ? "Stop recording" : "Record";
    controls.record.classList.toggle("recording", live.recording);
    if (live.error) app.complain(live.error);
  }

  const belief = el("div"), chart = el("div");
  right.append(part("What the arm feels", belief), part("Joint torques from outside [N m]", chart));

  function drawBelief() {
    const vector = (v) => `${fmt(Math.hypot(...v))} N (${v.map((x) => fixed(x, 1)).join(", ")})`;
    const place = (p) => `${p.map((x) => fixed(1e3 * x, 0)).join(", ")} mm`;
    const fact = (name, value, cls = "") => [el("dt", {}, name), el("dd", { class: cls }, value)];
    const rows = [];
    if (!felt || felt.outcome === "no contact") rows.push(...fact("Contact", "none felt", "muted"));
    else if (!felt.candidates?.length) rows.push(...fact("Touched link", "no claim", "muted"));
    else {
      const first = felt.candidates[0];
      rows.push(...fact("Touched link", felt.outcome === "several" ? "no single one" : `${first.link} (${Math.round(100 * first.probability)} %)`, "felt"));
      if (felt.candidates.length > 1) rows.push(...fact("or", felt.candidates.slice(1, 4).map((c) => `${c.link} ${Math.round(100 * c.probability)} %`).join(", "), "muted"));
      if (felt.point) rows.push(...fact("Place", place(felt.point), "felt"), ...fact("68 % sure within", `± ${fixed(1e3 * felt.radius, 0)} mm`, "felt"));
      if (felt.force) rows.push(...fact("Force there", vector(felt.force), "felt"), ...fact("68 % sure within", `± ${fmt(felt.force_deviation)} N`, "felt"));
      if (felt.tool_force) rows.push(...fact("Tool force", vector(felt.tool_force), "felt"));
    }
    const doubt = felt?.doubt ?? app.live.doubt;
    if (doubt) rows.push(...fact("Its own model", doubt, "felt"));
    if (felt?.true) {
      rows.push(...fact("Truth: link", felt.true.link, "true"), ...fact("Truth: place", place(felt.true.point), "true"), ...fact("Truth: force", vector(felt.true.force), "true"));
    }
    const notes = [];
    if (felt?.hidden) notes.push(el("p", { class: "notice", id: "stiction" }, `Stiction hides force: ${fmt(felt.hidden.applied)} N applied, ${fmt(Math.max(0, felt.hidden.felt))} N felt. The joints stand and their dry friction carries the rest.`));
    if (felt?.reason && felt.outcome !== "no contact") notes.push(el("p", { class: "small muted" }, felt.reason));
    if (felt?.candidates?.length && !felt.tool_force) notes.push(el("p", { class: "small muted" }, "No tool wrench is shown: the tool is not what was touched, as far as the arm can tell."));
    belief.replaceChildren(el("dl", { class: "facts" }, ...rows), ...notes);
  }

  function drawScene() {
    const colours = app.scene.colours, arrows = [];
    const scaled = (v) => v.map((x) => ARROW * x * app.spec.extent);
    if (last.body >= 0) {
      arrows.push({ origin: last.point, vector: scaled(last.force), colour: colours.true });
      arrows.push({ origin: last.point, vector: last.target.map((x, i) => x - last.point[i]), colour: colours.path, thickness: 0.002 * app.spec.extent });
    }
    if (felt?.point && felt.outcome !== "no contact") arrows.push({ origin: felt.point, vector: scaled(felt.force), colour: colours.felt });
    app.scene.setArrows(arrows);
  }

  function makePlots() {
    plots?.dispose();
    chart.replaceChildren();
    const names = app.spec.joints.map((j) => j.name);
    plots = createPlots(chart, names.map((name) => ({
      title: name, unit: "N m", height: 74, series: [{ label: "true", colour: "true", dash: [5, 4] }, { label: "felt", colour: "felt" }],
    })), { theme: app.theme, key: "live" });
  }

  const grip = createGrip(() => app.scene, {
    pull: ({ body, point, target }) => send(body, point, target),
    release() { pulled = null; app.link.say("release"); },
  });
  const pointer = (type, event) => { if (app.owner) grip.pointer(type, event); };

  return {
    left: [left], right: [right], pointer,
    get last() { return last; },
    get felt() { return felt; },
    get pulled() { return pulled; },
    pullBy,
    robot() { felt = null; last = null; makeControls(); if (app.tab === this) makePlots(); else plots = null; },
    show() {
      if (!controls.law) makeControls();
      if (!plots) makePlots();
      drawBelief();
      app.hint("Take a link with the mouse and pull. ", el("strong", { class: "true" }, "Green"), " is the true force, ", el("strong", { class: "felt" }, "orange"), " what the arm feels.");
      app.link.ask("watch", { live: true }).then(({ live }) => { app.live = live; settle(); });
    },
    hide() {
      app.link.say("watch", { live: false });
      app.scene.setArrows([]);
      app.scene.highlight(null);
      app.scene.controls.enabled = true;
    },
    theme(theme) { plots?.setTheme(theme); },
    frame(values) {
      const before = last?.t ?? 0;
      last = read(values);
      if (last.t < before) plots?.clear(); // another plant: its clock begins anew
      if (last.n !== app.spec.joints.length || !plots) return;
      app.scene.setPose(last.q);
      drawScene();
      plots.append(last.t, last.felt.map((x, i) => [tidy(last.true[i]), tidy(x)]), SPAN);
      const now = performance.now();
      if (now - plotted > PLOTS_EVERY) { plotted = now; plots.flush(); }
    },
    event(message) {
      if (message.event === "live") settle();
      if (message.event === "felt") {
        felt = message.felt;
        if (app.tab !== this) return;
        drawBelief();
        app.scene.highlight(felt.candidates?.length && felt.outcome !== "several" ? felt.candidates[0].body : null);
      }
    },
  };
}
