// SPDX-License-Identifier: Apache-2.0
// Time that can be played, dragged and stepped through: buttons, slider, ticks at events, keys. Knows nothing of arms.

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20];
const STEP = 0.02; // of the whole, for an arrow key with shift
const PLEASANT = 20; // [s] that a run should take to watch

/**
 * Drive the controls inside `root` (replay.html).
 * @param begin, end [s]
 * @param events [{time, name}] in order of time
 * @param onTime called with the time [s] whenever it changes
 * @param step [s] of an arrow key
 */
export function createTimeline(root, { begin, end, events, onTime, step }) {
  const find = (name) => root.querySelector(`[data-part="${name}"]`);
  const slider = find("slider"), play = find("play"), speedBox = find("speed"), clock = find("clock"), ticks = find("ticks");
  const span = Math.max(end - begin, 1e-9), digits = span < 2 ? 3 : 2;
  let t = begin, playing = false, last = null, speed = SPEEDS.find((s) => s >= span / PLEASANT && s >= 1) ?? SPEEDS.at(-1);

  for (const s of SPEEDS) speedBox.append(new Option(`${s} ×`, String(s), s === speed, s === speed));
  Object.assign(slider, { min: 0, max: 1, step: "any", value: 0 });
  for (const event of events) {
    const tick = document.createElement("i");
    tick.title = `${event.name} at ${event.time.toFixed(digits)} s`;
    tick.style.left = `${(100 * (event.time - begin)) / span}%`;
    ticks.append(tick);
  }
  for (const name of ["previous", "next"]) find(name).hidden = !events.length;

  function seek(time) {
    t = Math.min(Math.max(time, begin), end);
    slider.value = String((t - begin) / span);
    const words = `${t.toFixed(digits)} s of ${end.toFixed(digits)} s`;
    slider.setAttribute("aria-valuetext", words);
    clock.textContent = words;
    onTime(t);
  }
  function setPlaying(on) {
    if (on && t >= end) seek(begin);
    playing = on;
    last = null;
    play.textContent = on ? "❚❚ Pause" : "▶ Play";
    play.setAttribute("aria-pressed", String(on));
    if (on) requestAnimationFrame(advance);
    else onTime(t); // once more, with everything in words
  }
  function advance(now) {
    if (!playing) return;
    if (last !== null) seek(t + (speed * Math.min(now - last, 250)) / 1000); // a page that slept does not jump
    last = now;
    if (t >= end) setPlaying(false);
    else requestAnimationFrame(advance);
  }
  /** Go to the next event in a direction (+1, -1); the ends count as events. */
  function toEvent(direction) {
    setPlaying(false);
    const times = [begin, ...events.map((event) => event.time), end];
    const near = 1e-6 * span;
    const found = direction > 0 ? times.find((x) => x > t + near) : times.findLast((x) => x < t - near);
    seek(found ?? (direction > 0 ? end : begin));
  }
  function setSpeed(next) {
    speed = next;
    speedBox.value = String(next);
  }
  const nudge = (by) => { setPlaying(false); seek(t + by); };
  const faster = (by) => setSpeed(SPEEDS[Math.min(Math.max(SPEEDS.indexOf(speed) + by, 0), SPEEDS.length - 1)]);

  slider.addEventListener("input", () => { setPlaying(false); seek(begin + Number(slider.value) * span); });
  play.addEventListener("click", () => setPlaying(!playing));
  speedBox.addEventListener("change", () => setSpeed(Number(speedBox.value)));
  find("previous").addEventListener("click", () => toEvent(-1));
  find("next").addEventListener("click", () => toEvent(1));

  const keys = {
    " ": () => setPlaying(!playing),
    ArrowLeft: (event) => nudge(event.shiftKey ? -STEP * span : -step),
    ArrowRight: (event) => nudge(event.shiftKey ? STEP * span : step),
    Home: () => nudge(-Infinity),
    End: () => nudge(Infinity),
    "[": () => toEvent(-1),
    "]": () => toEvent(1),
    "+": () => faster(1),
    "-": () => faster(-1),
  };
  /** Answer a key; false where it means nothing here. */
  function key(event) {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === " " && event.target.closest?.("button, summary, a")) return false; // those have a use for it
    action(event);
    return true;
  }

  return {
    seek, toEvent, setSpeed, key, play: () => setPlaying(true), pause: () => setPlaying(false),
    get time() { return t; },
    get playing() { return playing; },
    get speed() { return speed; },
  };
}
