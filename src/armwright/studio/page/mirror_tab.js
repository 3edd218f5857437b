// SPDX-License-Identifier: Apache-2.0
// Live, where the arm is on the wire: what it does and feels, and how old that is. Nothing can be sent to it.
import { createPlots } from "/shared/plots.js";
import { degrees, el, fixed, part } from "/shared/ui.js";

const SPAN = 10; // s in sight
const PLOTS_EVERY = 100, WORDS_EVERY = 100; // ms
const LATE = 0.1, STALE = 0.5; // s: older is said, and greys the arm
const ARROW = 0.006; // m per N
const LONGEST = 0.6; // of the arm's extent, of an arrow
const ROBOT_MODES = { "-1": "no controller", 0: "disconnected", 1: "confirm safety", 2: "booting", 3: "power off", 4: "power on", 5: "idle", 6: "backdrive", 7: "running", 8: "updating firmware" };
const SAFETY_MODES = { 1: "normal", 2: "reduced", 3: "protective stop", 4: "recovery", 5: "safeguard stop", 6: "system emergency stop", 7: "robot emergency stop", 8: "violation", 9: "fault" };
const PROGRAM = { 0: "stopping", 1: "stopped", 2: "playing", 3: "pausing", 4: "paused", 5: "resuming" };

const WINDOW = 5000; // ms: half of the frames that tell how far the clocks are apart

/**
 * When something was so, on this page's clock: the quickest frame of the last seconds came at once, all others are older by what
 * they came later. So a frame that waited in a queue of the browser is as old as it is; see live/sample_age.py.
 */
function dating() {
  let now = Infinity, before = Infinity, since = -Infinity, last = -Infinity;
  return (t, arrived) => {
    if (t < last) now = before = Infinity; // another clock
    if (arrived - since > WINDOW) [before, now, since] = [now, Infinity, arrived];
    last = t;
    now = Math.min(now, arrived - 1000 * t);
    return 1000 * t + Math.min(now, before);
  };
}

/** "0.02 s" for a sample, "3 s" for one that is long gone. */
export function said(age) {
  if (age < 1) return `${fixed(age, 2)} s`;
  if (age < 120) return `${Math.floor(age)} s`;
  return age < 7200 ? `${Math.floor(age / 60)} min` : `${Math.floor(age / 3600)} h`;
}

export function mirrorTab(app) {
  const left = el("div"), right = el("div");
  let last = null, seen = 0, plots = null, plotted = 0, worded = 0, stale = null, shown = false, record = null, timer = 0;
  let touches = app.live.touches ?? [], made = dating();
  const names = () => app.spec.joints.map((joint) => joint.name);

  /** A frame as an object; see studio/mirror_arm.py. */
  function read(values) {
    const n = values[5];
    let k = 7;
    const next = (count) => Array.from(values.subarray(k, (k += count)));
    const frame = { t: values[0], scaling: values[1], level: values[2], alarm: values[3] >= 0, n };
    Object.assign(frame, { q: next(n), felt: next(n), band: next(n), use: next(n), given: next(n), force: next(3), half: next(3) });
    const [age, robot, safety, runtime, reliable] = next(5);
    return Object.assign(frame, { age, robot, safety, runtime, reliable: reliable > 0 });
  }
  const ageNow = () => (last ? (performance.now() - seen) / 1000 : Infinity);

  // ------------------------------------------------------------------------------------------------------- the left
  const age = el("p", { class: "headline", id: "age", role: "status" }), facts = el("dl", { class: "facts", id: "wire" });
  function makeLeft() {
    record = el("button", { onclick: () => app.ask("record", { on: !app.live.recording }), disabled: !app.owner }, "Record");
    const grey = (name) => el("button", { disabled: true, title: "The arm is on the wire: it is only looked at" }, name);
    left.replaceChildren(
      part("The robot", age, facts),
      part("Recording", el("div", { class: "row" }, record)),
      part("Not for an arm on the wire",
        el("div", { class: "row", id: "greyed" }, ...["Pull", "Go to", "Pause", "Step", "Slow", "Sway", "Reset"].map(grey)),
        el("p", { class: "small muted" }, "It is listened to, and nothing can be sent to it. This is not a safety function: nothing here stops anything.")),
    );
  }

  const fact = (name, value, cls = "") => [el("dt", {}, name), el("dd", { class: cls }, value)];
  function drawLeft() {
    const live = app.live, rows = [...fact("Address", live.address), ...fact("Samples", live.rate ? `${fixed(live.rate, 0)} a second` : "–")];
    if (last) {
      rows.push(...fact("Robot", ROBOT_MODES[last.robot] ?? `mode ${last.robot}`, last.robot === 7 ? "" : "warn"));
      rows.push(...fact("Safety", SAFETY_MODES[last.safety] ?? `mode ${last.safety}`, last.safety === 1 ? "" : "bad"));
      rows.push(...fact("Program", PROGRAM[last.runtime] ?? "not told"));
      rows.push(...fact("Speed scaling", `${fixed(100 * last.scaling, 0)} %`));
    }
    const odd = Object.entries(live.counts ?? {}).filter(([word]) => !["start", "cycle"].includes(word));
    if (odd.length) rows.push(...fact("Samples that were", odd.map(([word, count]) => `${word} ${count}`).join(", "), "muted"));
    if (live.connections > 1) rows.push(...fact("Connections", `${live.connections}`));
    rows.push(...fact("Sent to it", `${live.sent} bytes, the subscription`, "muted"));
    if (live.said) rows.push(...fact("Wire", live.said, "bad"));
    facts.replaceChildren(...rows);
    if (!record) return;
    record.textContent = live.recording ? "Stop recording" : "Record";
    record.classList.toggle("recording", live.recording);
  }

  /** How old what is shown is; an arm that is only remembered is grey. */
  function drawAge() {
    const now = ageNow(), old = now > STALE;
    age.textContent = !last ? "not seen yet" : old ? `last seen ${said(now)} ago` : `seen ${said(now)} ago`;
    age.className = `headline ${old ? "bad" : now > LATE ? "warn" : "good"}`;
    if (old === stale) return;
    stale = old;
    right.classList.toggle("stale", old);
    app.scene.fade(old);
    hint();
    if (old) app.scene.setArrows([]);
  }
  function hint() {
    if (stale) app.hint(el("strong", { class: "bad" }, last ? "The arm is shown where it was last seen." : "Nothing has been seen of the arm yet."));
    else app.hint("The arm as it is. ", ...(app.live.felt ? [el("strong", { class: "felt" }, "Orange"), " is the force that it feels at its tool."] : ["Without --model no force is felt."]));
  }

  // ------------------------------------------------------------------------------------------------------ the right
  const level = el("div", { class: "meter", id: "level" }, el("i")), force = el("dl", { class: "facts", id: "force" });
  const table = el("tbody"), list = el("ul", { class: "told", id: "touches" }), chart = el("div");
  const cells = { made: null };
  function makeRight() {
    const felt = app.live.felt;
    const basis = { motors: "its motors", joints: "its joints' efforts", speeds: "its joints' speeds" }[app.live.basis];
    cells.made = names().map((name) => {
      const row = { q: el("td", { class: "number" }), felt: el("td", { class: "number" }), use: el("td", { class: "number" }), given: el("td", { class: "number" }), bar: el("i") };
      row.row = el("tr", {}, el("th", { scope: "row" }, name), row.q, felt ? row.felt : null, el("td", { class: "meter" }, row.bar), row.use, felt ? row.given : null);
      return row;
    });
    table.replaceChildren(...cells.made.map(({ row }) => row));
    const heads = ["", "°", ...(felt ? ["felt N m"] : []), "use", "%", ...(felt ? ["given"] : [])];
    right.replaceChildren(
      ...(felt ? [part("What the arm feels", el("div", { class: "field" }, el("label", {}, "Level"), level), force),
        part("Touches", list)] : [part("What the arm feels", el("p", { class: "small muted" }, "Nothing: forces need an identified model, --model arm.json, which “armwright identify --wire” writes."))]),
      part("Joints and motors", el("div", { class: "scroll" }, el("table", { class: "matrix free", id: "joints" }, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), table)),
        el("p", { class: "small muted" }, `Use: what the controller's targets take of ${basis}.${felt ? " Given: the same by the motors' currents. ±: what is not taken for contact." : ""}`)),
      ...(felt ? [part("Force at the tool [N]", chart)] : []),
    );
    plots?.dispose();
    plots = null;
    if (felt) {
      chart.replaceChildren();
      plots = createPlots(chart, ["x", "y", "z"].map((axis) => ({
        title: `Force by ${axis}`, unit: "N", height: 84, series: [{ label: "felt", colour: "felt" }, { label: "low", colour: "path", dash: [2, 4] }, { label: "high", colour: "path", dash: [2, 4] }],
      })), { theme: app.theme, key: "mirror" });
    }
    drawTouches();
  }

  function drawRight() {
    if (!cells.made || !last) return;
    const percent = (x) => (Number.isFinite(x) ? fixed(100 * x, 0) : "–");
    cells.made.forEach((row, i) => {
      row.q.textContent = fixed(degrees(last.q[i]), 1);
      row.felt.textContent = `${fixed(last.felt[i], 1)} ± ${fixed(last.band[i], 1)}`;
      row.felt.classList.toggle("felt", Math.abs(last.felt[i]) > last.band[i]);
      row.use.textContent = percent(last.use[i]);
      row.given.textContent = percent(last.given[i]);
      row.bar.style.width = `${Math.min(100, 100 * (last.use[i] || 0))}%`;
      row.bar.classList.toggle("bad", last.use[i] > 1);
    });
    if (!app.live.felt) return;
    level.firstChild.style.width = `${Math.min(100, 50 * (last.level || 0))}%`;
    level.firstChild.classList.toggle("bad", last.alarm);
    level.title = `${fixed(last.level, 2)} of the band`;
    const rows = [...fact("Level", `${fixed(last.level, 2)} of the band`), ...fact("Contact", last.alarm ? "TOUCHED" : "none felt", last.alarm ? "felt" : "muted")];
    if (last.reliable) ["x", "y", "z"].forEach((axis, i) => rows.push(...fact(`Force by ${axis}`, `${fixed(last.force[i], 1)} ± ${fixed(last.half[i], 1)} N`, "felt")));
    else rows.push(...fact("Force", "near a singularity, or nothing felt yet", "muted"));
    rows.push(...fact("±", "half of its 95 % interval", "muted"));
    force.replaceChildren(...rows);
  }

  function drawTouches() {
    const vector = (v) => `(${v.map((x) => fixed(x, 0)).join(", ")}) N`;
    const words = (touch) => touch.begun ? `at ${fixed(touch.time, 1)} s: ${touch.joint}, ${fixed(touch.level, 1)} of its band, still on`
      : !touch.joint ? `ended at ${fixed(touch.time, 1)} s`
        : `at ${fixed(touch.time, 1)} s: ${touch.link ?? "link not told"}, ${fixed(touch.lasted, 2)} s, ${touch.joint} up to ${fixed(touch.level, 1)} of its band${touch.wrench ? `, ${vector(touch.wrench)}` : ""}`;
    list.replaceChildren(...(touches.length ? [...touches].reverse().map((touch) => el("li", { class: touch.begun ? "felt" : "" }, words(touch))) : [el("li", { class: "muted" }, "none yet")]));
  }

  function drawArrow() {
    const size = Math.hypot(...last.force), most = LONGEST * app.spec.extent;
    const show = app.live.felt && last.reliable && size > Math.hypot(...last.half);
    if (!show) return app.scene.setArrows([]);
    const T = app.scene.poses.tool, scale = Math.min(ARROW * app.spec.extent, most / size);
    app.scene.setArrows([{ origin: [T[3], T[7], T[11]], vector: last.force.map((x) => scale * x), colour: app.scene.colours.felt }]);
  }

  function settle() { drawLeft(); drawAge(); }

  return {
    left: [left], right: [right],
    get last() { return last; },
    get age() { return ageNow(); },
    robot() { stale = null; last = null; makeLeft(); makeRight(); if (app.tab === this) settle(); },
    show() {
      shown = true;
      if (!cells.made) { makeLeft(); makeRight(); }
      stale = null;
      settle();
      hint();
      timer = setInterval(drawAge, WORDS_EVERY);
      app.link.ask("watch", { live: true }).then(({ live }) => { app.live = live; touches = live.touches; drawTouches(); settle(); }).catch(() => {});
    },
    hide() {
      shown = false;
      clearInterval(timer);
      app.link.say("watch", { live: false });
      app.scene.setArrows([]);
      app.scene.fade(false);
    },
    theme(theme) { plots?.setTheme(theme); },
    frame(values) {
      const before = last?.t ?? 0, now = performance.now(), first = last === null;
      last = read(values);
      seen = last.age < STALE ? Math.min(now - 1000 * last.age, made(last.t, now)) : now - 1000 * last.age;
      if (last.n !== app.spec.joints.length) return;
      app.scene.setPose(last.q);
      if (first) { app.posture = last.q; app.lookAt(); }
      if (plots && last.t < before) plots.clear(); // the controller's clock began anew
      if (plots && last.age < STALE && last.t !== before && last.reliable) plots.append(last.t, last.force.map((f, i) => [f, f - last.half[i], f + last.half[i]]), SPAN);
      if (now - plotted > PLOTS_EVERY) { plotted = now; plots?.flush(); }
      if (now - worded > WORDS_EVERY) { worded = now; drawRight(); drawLeft(); }
      drawAge();
      if (!stale) drawArrow();
    },
    event(message) {
      if (message.event === "live") { touches = message.live.touches; drawTouches(); if (shown) settle(); }
      if (message.event === "touch") {
        if (message.touch.begun || !touches.at(-1)?.begun) touches = [...touches, message.touch].slice(-8);
        else touches = [...touches.slice(0, -1), message.touch];
        drawTouches();
      }
    },
  };
}
