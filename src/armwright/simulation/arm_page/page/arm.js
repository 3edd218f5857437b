// SPDX-License-Identifier: Apache-2.0
// An arm that lives in this page: simulated as compiled code in real time, pulled by any link, felt by its observer.
import { createGrip } from "./grip.js";
import { forward, transform } from "./kinematics.js";
import { preferredTheme } from "./palette.js";
import { createPlots } from "./plots.js";
import { createScene } from "./scene.js";
import { createSway } from "./sway.js";
import { choice, el, fixed, part, slider, tick } from "./ui.js";
import { openArm } from "./wasm_arm.js";

const SPRING = 400, DAMPING = 2 * Math.sqrt(SPRING); // N/m and N s/m of the hand
const NUDGE = 0.03; // m that a key pulls further
const FARTHEST = 0.6; // m that the hand is from what it holds
const BEHIND = 0.1; // s of simulated time that a late picture makes up for
const ARROW = 0.004; // of the arm's length per N
const LONGEST = 0.55; // of the arm's length: a longer arrow is drawn as long as this
const LEAST = 0.5; // N that are drawn
const WORDS = 100; // ms between two changes of numbers
const SPAN = 8; // s of the plot
const IDLE = 1800; // ms until the page shows by itself what can be done with it
const STILL = 1e-7; // rad or m that no picture shows

export async function start(root, content) {
  const { robot, outputs, period } = content, n = robot.joints.length;
  const find = (name) => root.querySelector(`[data-part="${name}"]`);
  const arm = await openArm(content.module.data, content.places, content.first.data), { at } = arm;
  const settings = { frequency: content.frequency, damping: 1, payload: 0, knows: true, stops: true };
  let theme = preferredTheme(), speed = 1, now = null, due = 0, ticks = 0, last = 0, spent = 0, plotted = 0, spoken = 0;
  let lit = null, chosen = robot.tip, by = null, alarmed = false, showing = null, dirty = true, failed = "", stopped = false;

  root.hidden = false;
  find("title").textContent = content.title;
  find("about").textContent = `Simulated in this page, ${fixed(1 / period, 0)} times a second. It has no force sensor: what it feels, it works out from its motors.`;
  document.documentElement.dataset.theme = theme;
  const canvas = find("canvas");
  const scene = createScene(canvas, robot, { theme, view: viewOf(robot, content.posture, canvas.clientWidth / canvas.clientHeight) });
  if (content.world.length) scene.setWorld(content.world);
  const sway = createSway(robot.joints, content.posture);

  // the hand
  function hold({ body, point, target }) {
    const T = content.bodies[body], link = scene.poses.links[body], here = transform(link, point);
    const away = target.map((x, i) => x - here[i]), far = Math.hypot(...away);
    const within = far > FARTHEST ? here.map((x, i) => x + (FARTHEST / far) * away[i]) : target;
    at.held.fill(0);
    at.held[body] = 1;
    at.anchor.set(transform(T, point));
    at.target.set(within);
    at.spring.set([SPRING, DAMPING]);
    by = { body, point, target: within };
    dirty = true;
  }
  function letGo() {
    at.held.fill(0);
    by = null;
    dirty = true;
  }
  const grip = createGrip(() => scene, { pull: hold, release: letGo });
  for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel"])
    canvas.addEventListener(type, (event) => {
      if (type === "pointerdown") endShow();
      grip.pointer(type, event);
      canvas.classList.toggle("holding", grip.held !== null);
      if (type === "pointermove" && !event.buttons) canvas.classList.toggle("over-arm", scene.pick(event.clientX, event.clientY) !== null);
    }, { capture: true });
  canvas.addEventListener("wheel", endShow, { passive: true });

  /** Take the chosen link at its far end, and pull it by so much more [m], in the axes of the picture: right, up, near. */
  function nudge(right, up, near) {
    endShow();
    if (!by || by.body !== chosen) {
      const point = gripPoint(chosen);
      by = { body: chosen, point, target: transform(scene.poses.links[chosen], point) };
    }
    const [x, y, z] = viewAxes(scene);
    hold({ ...by, target: by.target.map((v, i) => v + NUDGE * (right * x[i] + up * y[i] + near * z[i])) });
  }
  function gripPoint(body) {
    return robot.capsules.filter((c) => c.body === body).at(-1)?.end ?? [0, 0, 0];
  }

  // settings
  function apply() {
    const share = settings.frequency / content.frequency;
    content.gains.kp?.forEach((k, i) => { at.gain_kp[i] = k * share * share; });
    content.gains.kd?.forEach((k, i) => { at.gain_kd[i] = k * share * settings.damping; });
    if (at.payload_mass) at.payload_mass[0] = settings.payload;
    if (at.model_payload_mass) at.model_payload_mass[0] = settings.knows ? settings.payload : 0;
    dirty = true;
  }
  function reset() {
    arm.reset();
    sway.reset();
    ticks = due = 0;
    alarmed = stopped = false;
    failed = "";
    by = null;
    apply();
    plots.clear();
    buttons();
  }
  function pause(on) { speed = on ? 0 : 1; buttons(); }

  // panel
  const side = find("side");
  const bars = robot.joints.map((joint, k) => {
    const limit = content.thresholds?.[k];
    const bar = el("span", { class: "bar" }, el("i"), el("u"), ...(limit ? [el("s"), el("s")] : []));
    return { name: el("span", {}, joint.name.replaceAll("_", " ")), bar, felt: bar.children[0], true: bar.children[1], marks: [...bar.children].slice(2), value: el("output", { class: "number" }), limit };
  });
  const gauge = el("div", { class: "gauge", role: "img", "aria-label": "Level of the detector" }, el("i"));
  const chart = el("div"), capacity = el("p", { class: "small muted" });
  const unit = robot.joints.every((j) => j.kind === "prismatic") ? "N" : "N·m";
  const gains = Object.keys(content.gains).length > 0;
  const controls = [
    content.gains.kp && slider({ label: "Stiffness", unit: "rad/s", min: 1, max: 30, step: 0.5, after: 1, value: settings.frequency, oninput: (x) => { settings.frequency = x; apply(); } }).row,
    gains && slider({ label: "Damping", unit: "–", min: 0.1, max: 2, step: 0.05, value: settings.damping, oninput: (x) => { settings.damping = x; apply(); } }).row,
    at.payload_mass && slider({ label: "Payload", unit: "kg", min: 0, max: 5, step: 0.1, after: 1, value: 0, oninput: (x) => { settings.payload = x; apply(); } }).row,
    at.model_payload_mass && tick("The controller knows the payload", true, (on) => { settings.knows = on; apply(); }).row,
    outputs.alarm && tick("Stop when touched on the move", true, (on) => { settings.stops = on; }).row,
  ].filter(Boolean);
  const nudges = [["←", "left", -1, 0, 0], ["→", "right", 1, 0, 0], ["↑", "up", 0, 1, 0], ["↓", "down", 0, -1, 0], ["⊙", "nearer", 0, 0, 1], ["⊗", "away", 0, 0, -1]].map(([sign, name, ...d]) =>
    el("button", { type: "button", onclick: () => nudge(...d), title: `Pull ${name}`, "aria-label": `Pull ${name}` }, sign));
  side.append(
    part("What its motors tell", outputs.level ? gauge : "", outputs.level ? el("p", { class: "small muted" }, "Level of the contact detector; the line is where it says so.") : "",
      el("div", { class: "joints" }, bars.flatMap((b) => [b.name, b.bar, b.value])),
      el("p", { class: "small muted" }, `Torque from outside at each joint [${unit}]: `, el("span", { class: "felt" }, "felt"), " and ", el("span", { class: "true" }, "true"), content.thresholds ? ", dashed the thresholds." : ".")),
    el("section", { class: "part" }, chart),
    part("Controller", ...controls),
    part("Without a mouse", choice("Link", robot.bodies.map((b, i) => [i, b.name.replaceAll("_", " ")]), chosen, (i) => { chosen = +i; letGo(); }).row,
      el("div", { class: "row" }, ...nudges, el("button", { type: "button", onclick: letGo }, "Let go"))),
    el("details", {}, el("summary", {}, "What runs here"), el("p", { class: "small" }, `${content.parts.join(" · ")}. `,
      `Armwright derived the equations of this arm and compiled them to ${content.kilobytes} kB of WebAssembly; the page asks no server for anything.`), capacity),
  );
  const plots = createPlots(chart, [{ title: "Force", unit: "N", height: 110, least: 20, series: [{ label: "true", colour: "true", dash: [5, 4] }, { label: "felt", colour: "felt" }] }], { theme });
  const action = (label, title, onclick) => el("button", { type: "button", title, onclick }, label);
  const move = action("", "Let it move along; it stops when it is touched", () => { endShow(); stopped = false; sway.go(!sway.moving); buttons(); });
  const halt = action("", "Space", () => pause(speed !== 0));
  const slow = action("Slow", "Ten times slower", () => { speed = speed === 0.1 ? 1 : 0.1; buttons(); });
  find("buttons").append(move, halt, slow, action("Reset", "R", reset), action("View", "Look from where it began", () => scene.setView()));
  function buttons() {
    move.textContent = sway.moving ? "Stop" : "Move";
    halt.textContent = speed ? "Pause" : "Go on";
    halt.setAttribute("aria-pressed", speed === 0);
    slow.setAttribute("aria-pressed", speed === 0.1);
    dirty = true;
  }
  find("invite").textContent = matchMedia("(pointer: coarse)").matches ? "Take the arm with a finger and pull" : "Take the arm with the mouse and pull";

  // what it does while nobody does anything: a hand takes it and pulls
  let idle = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : setTimeout(beginShow, IDLE);
  function beginShow() { showing = { begun: null, body: shownLink(robot) }; }
  function endShow() {
    clearTimeout(idle);
    idle = 0;
    if (showing) letGo();
    showing = null;
    find("hand").toggleAttribute("hidden", true);
    find("invite").classList.add("gone");
  }
  function show(time) {
    showing.begun ??= time;
    const t = ((time - showing.begun) / 1000) % 7, hand = find("hand");
    hand.toggleAttribute("hidden", t > 4);
    if (t > 4) return by && letGo();
    const point = gripPoint(showing.body);
    if (t > 0.6 && !by) showing.from = transform(scene.poses.links[showing.body], point);
    const pulled = t > 0.6 ? Math.sin((Math.PI * (t - 0.6)) / 3.4) ** 2 : 0, [x, y] = viewAxes(scene);
    const a = 0.28 * pulled * Math.cos(0.9 * (t - 0.6)), b = 0.28 * pulled * Math.sin(0.9 * (t - 0.6));
    if (t > 0.6) hold({ body: showing.body, point, target: showing.from.map((v, i) => v + a * x[i] - b * y[i]) });
    const at = scene.project(by ? by.target : transform(scene.poses.links[showing.body], point)), box = canvas.getBoundingClientRect();
    if (at) hand.style.transform = `translate(${at[0] - box.left}px, ${at[1] - box.top}px)`;
  }

  // time
  function steps(count) {
    if (sway.still) {
      at.qd_ref.fill(0);
      at.qdd_ref.fill(0);
      return arm.run(count);
    }
    for (let k = 0; k < count; k++) {
      sway.step(period, at.q_ref, at.qd_ref, at.qdd_ref);
      arm.run(1);
    }
  }
  function advance(seconds) {
    due += seconds / period;
    const count = Math.floor(due);
    due -= count;
    if (!count) return;
    const began = performance.now();
    steps(count);
    spent = 0.95 * spent + 0.05 * ((performance.now() - began) / (1000 * count * period));
    ticks += count;
    dirty = true;
    if (at.q.every(Number.isFinite)) return;
    reset();
    failed = "The simulation broke down under these gains and was reset.";
  }
  function frame(time) {
    requestAnimationFrame(frame);
    if (showing) show(time);
    const passed = now === null ? 0 : Math.min((time - now) / 1000, BEHIND);
    now = time;
    advance(passed * speed);
    if (dirty) draw(time);
  }

  const shown = new Float64Array(n).fill(NaN);
  function draw(time) {
    dirty = false;
    arm.look();
    if (shown.some((x, k) => !(Math.abs(x - at.q[k]) < STILL))) {
      shown.set(at.q);
      scene.setPose(Array.from(at.q));
    }
    const alarm = outputs.alarm ? at[outputs.alarm][0] >= 0 && ticks > 0 : false;
    if (alarm && !alarmed && sway.moving && settings.stops) {
      sway.go(false);
      stopped = true;
      buttons();
    }
    alarmed = alarm;
    arrows();
    const link = alarm ? touchedLink() : null;
    if (link !== lit) { lit = link; scene.highlight(link); }
    verdict(alarm, link);
    if (time - spoken > WORDS || !speed) { spoken = time; numbers(); }
    if (time - plotted > 40 && ticks * period > last) {
      plotted = time;
      last = ticks * period;
      plots.append(last, [[sizeOf(total()), sizeOf(feltForce())]], SPAN);
      plots.flush();
    }
    if (ticks * period < last) last = 0;
  }
  const sizeOf = (v) => Math.hypot(...v);
  const total = () => Array.from(at.pull, (x, i) => x + at.touch[i]);
  const feltForce = () => (ticks ? Array.from(at.felt) : [0, 0, 0]);
  /** The last link whose joint feels more than its threshold: it, or one beyond it, is touched. */
  function touchedLink() {
    const torque = at[outputs.tau_ext], limit = (k) => content.thresholds?.[k] ?? 0.5 * Math.max(...Array.from(torque, Math.abs));
    for (let i = robot.bodies.length - 1; i >= 0; i--) if (Math.abs(torque[robot.bodies[i].joint]) > 0.7 * limit(robot.bodies[i].joint)) return i;
    return null;
  }
  let drawn = "";
  function arrows() {
    const { colours } = scene, scaled = (v) => {
      const size = sizeOf(v), most = LONGEST / ARROW, k = ARROW * robot.extent * (size > most ? most / size : 1);
      return v.map((x) => k * x);
    };
    const list = [];
    const add = (origin, force, colour, thickness) => { if (sizeOf(force) > LEAST) list.push({ origin: Array.from(origin), vector: scaled(Array.from(force)), colour, thickness }); };
    if (by) {
      const away = by.target.map((x, i) => x - at.grip[i]);
      list.push({ origin: Array.from(at.grip), vector: away, colour: colours.path, thickness: 0.0025 * robot.extent });
    }
    add(at.grip, at.pull, colours.true, 0.011 * robot.extent);
    add(at.touched, at.touch, colours.true, 0.011 * robot.extent);
    add(at.place, feltForce(), colours.felt, 0.007 * robot.extent);
    const key = JSON.stringify(list);
    if (key !== drawn) scene.setArrows(list);
    drawn = key;
  }
  function verdict(alarm, link) {
    const name = link === null ? "" : robot.bodies[link].name.replaceAll("_", " ");
    const place = !name ? "" : link === robot.tip ? ` at the ${name}` : ` at the ${name} or beyond`;
    const mistaken = settings.payload > 0 && !settings.knows && sizeOf(total()) < LEAST;
    const words = failed || (alarm && mistaken ? "It takes its payload for a contact" : alarm ? `${stopped ? "Stopped: contact" : "Contact"} felt${place}` : stopped ? "Stopped, free again" : outputs.alarm ? "No contact felt" : "No detector watches");
    find("pill").classList.toggle("contact", alarm);
    gauge.classList.toggle("contact", alarm);
    if (find("verdict").textContent !== words) find("verdict").textContent = words;
  }
  function numbers() {
    const torque = at[outputs.tau_ext];
    const range = Math.max(...bars.map((b) => 2 * (b.limit ?? 0)), 5, ...Array.from(torque, Math.abs), ...Array.from(at.torque, Math.abs));
    bars.forEach((b, k) => {
      const own = b.limit ? 1.1 * Math.max(2 * b.limit, Math.abs(torque[k]), Math.abs(at.torque[k])) : range; // of this joint
      b.felt.style.transform = `scaleX(${clamp(torque[k] / own)})`;
      b.true.hidden = Math.abs(at.torque[k]) < 1e-3 * own;
      b.true.style.transform = `translateX(${50 + 49 * clamp(at.torque[k] / own)}%)`;
      b.marks.forEach((mark, side) => { mark.style.left = `${50 + (side ? 50 : -50) * clamp(b.limit / own)}%`; });
      b.value.textContent = fixed(torque[k], 1);
      b.value.classList.toggle("over", Boolean(b.limit) && Math.abs(torque[k]) > b.limit);
    });
    if (outputs.level) gauge.firstChild.style.transform = `scaleX(${Math.min(1, 0.5 * at[outputs.level][0])})`;
    find("true").textContent = `${fixed(sizeOf(total()), 1)} N`;
    find("felt").textContent = `${fixed(sizeOf(feltForce()), 1)} N`;
    capacity.textContent = `${fixed(ticks * period, 1)} s simulated. Computing takes ${fixed(100 * spent, 2)} % of the time.`;
  }

  function setTheme(next) {
    theme = next;
    document.documentElement.dataset.theme = next;
    scene.setTheme(next);
    plots.setTheme(next);
    find("canvas").parentElement.style.background = scene.colours.background;
    drawn = "";
    dirty = true;
  }
  find("theme").addEventListener("click", () => setTheme(theme === "dark" ? "light" : "dark"));
  const keys = {
    ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowUp: [0, 1, 0], ArrowDown: [0, -1, 0], PageUp: [0, 0, -1], PageDown: [0, 0, 1],
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (keys[event.key]) nudge(...keys[event.key]);
    else if (event.key === "Escape") letGo();
    else if (event.key === " ") pause(speed !== 0);
    else if (event.key === "r") reset();
    else if (event.key === "n") chosen = (chosen + 1) % robot.bodies.length;
    else return;
    event.preventDefault();
  });

  apply();
  buttons();
  setTheme(theme);
  requestAnimationFrame(frame);
  window.__arm = {
    scene, at, hold, letGo, nudge, reset, pause, setTheme, endShow, settings, apply, sway, content,
    /** Go on by so many ticks at once, whatever the clock says; for tests. */
    run(count) { steps(count); ticks += count; draw(performance.now()); numbers(); },
    state: () => ({ time: ticks * period, q: Array.from(at.q), held: by?.body ?? null, alarm: alarmed, link: lit, speed, theme, spent,
      true: total(), felt: feltForce(), showing: showing !== null, moving: sway.moving }),
  };
  root.dataset.ready = "";
}

const clamp = (x) => Math.min(1, Math.max(-1, x));

/** Unit vectors of the picture in the base frame: right, up, towards the reader. */
function viewAxes({ camera, base }) {
  const turned = (k) => {
    const e = camera.matrixWorld.elements.slice(4 * k, 4 * k + 3), T = base.matrix.elements;
    return [0, 1, 2].map((i) => T[4 * i] * e[0] + T[4 * i + 1] * e[1] + T[4 * i + 2] * e[2]);
  };
  return [0, 1, 2].map(turned);
}

/** The link by which the page shows what pulling is: half way to the tool, with an extent. */
function shownLink(robot) {
  const thick = robot.capsules.map((c) => c.body);
  return thick[Math.floor(0.6 * thick.length)] ?? robot.tip;
}

/** Look at the arm across the plane that it stands in, so that it reaches to the right; far enough to see it move. */
function viewOf(robot, posture, aspect) {
  const { links, tool } = forward(robot, posture), ends = robot.capsules.flatMap((c) => [c.start, c.end].map((p) => transform(links[c.body], p)));
  const points = [...ends, [tool[3], tool[7], tool[11]], [robot.T_base_root[3], robot.T_base_root[7], robot.T_base_root[11]]];
  const low = [0, 1, 2].map((i) => Math.min(...points.map((p) => p[i]))), high = [0, 1, 2].map((i) => Math.max(...points.map((p) => p[i])));
  const target = low.map((x, i) => 0.5 * (x + high[i])), size = Math.hypot(...low.map((x, i) => high[i] - x));
  const [x, y] = transform(robot.T_display_base, [tool[3], tool[7], tool[11]]), foot = transform(robot.T_display_base, [0, 0, 0]);
  const azimuth = (180 * Math.atan2(y - foot[1], x - foot[0])) / Math.PI - 62;
  return { azimuth, elevation: 17, target, distance: (aspect < 1 ? 2.6 : 2.05) * size };
}
