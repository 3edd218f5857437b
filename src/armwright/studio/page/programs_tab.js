// SPDX-License-Identifier: Apache-2.0
// Programs: open a robot program, see its path and what it asks of the motors; change the override and see what breaks.
import { el, fixed, fmt, part, remover, slider } from "/shared/ui.js";

export function programsTab(app) {
  const left = el("div"), right = el("div");
  let items = [], samples = [], source = null, result = null, override = 1, payload = 0, job = null, last = 0;

  const file = el("input", { type: "file", accept: ".irl,.script,.urscript,.mod,.modx,.prg,.sys,.sysx,.src,.krl,.sub,.nc,.ngc,.gcode,.tap,.cnc,.gco", hidden: true, id: "program-file", "aria-label": "A robot program",
    onchange: async () => { await take([...file.files]); file.value = ""; } });
  async function take([one]) {
    const got = one && (await app.upload("program", one));
    if (got) { source = got.number; await refresh(); run(); }
  }

  async function refresh() {
    items = (await app.ask("list")).items.filter((item) => item.kind === "program text");
    ({ samples } = await app.ask("samples"));
    drawLeft();
  }
  async function openSample({ name, title }) {
    source = items.find((item) => item.name === name && item.note === title)?.number ?? (await app.ask("sample", { name })).number;
    await refresh();
    run();
  }
  async function run() {
    if (!source) return;
    clearTimeout(last);
    ({ job } = await app.ask("program", { source, override, payload }));
  }
  const soon = () => { clearTimeout(last); last = setTimeout(run, 350); };

  const sampleList = (rows) => el("ul", { class: "items samples" }, rows.map((row) => el("li", {}, el("button", { disabled: !app.owner, onclick: () => openSample(row) }, row.name, el("small", {}, `${row.title}, for ${row.robot}`)))));
  function drawSamples() {
    const own = samples.filter((row) => row.robot === app.spec.name), others = samples.filter((row) => row.robot !== app.spec.name);
    return part("Samples", own.length ? sampleList(own) : null, el("details", {}, el("summary", {}, own.length ? "For other arms" : "All are for other arms"), sampleList(others)));
  }
  function drawLeft() {
    left.replaceChildren(
      part("Program", el("div", { class: "row" }, el("button", { onclick: () => file.click(), disabled: !app.owner }, "Open a program …"), file),
        el("p", { class: "small muted" }, `L-IRL, URScript, RAPID, KRL or G-code, for the arm on the page: ${app.spec.name}.`),
        el("ul", { class: "items" }, items.map((item) => el("li", {}, el("button", { "aria-pressed": item.number === source, disabled: !app.owner, onclick: () => { source = item.number; drawLeft(); run(); } }, item.name, el("small", {}, item.note)),
          remover(item.name, () => app.ask("remove", { number: item.number }), { disabled: !app.owner }))))),
      drawSamples(),
      part("Run it",
        slider({ label: "Override", unit: "%", min: 5, max: 300, step: 5, after: 0, value: 100 * override, oninput: (x) => { override = x / 100; soon(); }, disabled: !app.owner }).row,
        slider({ label: "Payload", unit: "kg", min: 0, max: 20, step: 0.5, after: 1, value: payload, oninput: (x) => { payload = x; soon(); }, disabled: !app.owner }).row,
        el("div", { class: "row" }, el("button", { class: "primary", disabled: !app.owner || !source, onclick: run }, "Check the motors"))),
    );
  }

  const jump = (t) => app.frames.seek(t);
  /** A table; rows with a time lead to it by their first cell. */
  const table = ({ heads, rows, marked = [], times = [] }) => el("div", { class: "scroll" }, el("table", { class: "matrix free" },
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, rows.map((row, i) => el("tr", { class: marked[i] ? "bad" : "" }, row.map((cell, k) => el("td", {}, k === 0 && times[i] !== undefined ? el("button", { class: "link", title: "Show it", onclick: () => jump(times[i]) }, cell) : cell)))))));
  const folded = (title, ...inside) => el("details", {}, el("summary", {}, title), ...inside);
  const colour = () => (result.answer === "not feasible" ? "bad" : result.feasible && result.whole && result.basis !== "speeds" ? "good" : "warn");
  const worst = (row) => el("li", {}, el("button", { class: "link", title: "Show it", onclick: () => jump(row.time) }, row.use), el("span", {}, row.words));
  const assumed = (row) => el("li", {}, row.line ? el("span", { class: "muted" }, `line ${row.line}: `) : null, row.said, row.option ? el("code", {}, row.option) : null);

  function drawRight() {
    if (!result) return right.replaceChildren(part("Verdict", el("p", { class: "small muted" }, "Open a program or a sample. What the arm can and cannot do of it will stand here.")));
    const drives = result.basis === "motors" ? "Motors" : "Joints";
    right.replaceChildren(
      part("Verdict", el("p", { class: `headline ${colour()}`, id: "verdict" }, `${result.headline}, at ${fmt(100 * result.override)} %`), el("p", { class: "small muted" }, result.rests_on), el("p", { class: "small" }, result.verdict), folded("What the arm does", el("p", { class: "small muted" }, result.tracking)),
        el("dl", { class: "facts" }, el("dt", {}, "Duration"), el("dd", {}, `${fixed(result.duration, 2)} s`), el("dt", {}, "Fastest feasible override"), el("dd", { id: "fastest" }, `${fmt(100 * result.override * result.fastest)} %`))),
      part(result.over ? "Worst places" : "Nearest to their limits", el("ol", { class: "worst", id: "worst" }, result.worst.map(worst)), result.over ? folded(`All ${result.events.rows.length}, the worst first`, table(result.events)) : null),
      part("Assumed, and what changes it on the command line", el("ul", { class: "told", id: "assumed" }, result.assumed.map(assumed))),
      part("How far it was read", el("ul", { class: "told", id: "coverage" }, result.coverage.map((words) => el("li", {}, words)))),
      part("What it comes near", el("ul", { class: "told", id: "near" }, result.near.map((words) => el("li", {}, words)))),
      ...(result.torque_speed ? [part("Torque over speed, in the box of the limits", el("img", { class: "picture", alt: `Torque and speed of every ${drives === "Motors" ? "motor" : "joint"}, as asked and given, in the box of the limits.`, src: `data:image/png;base64,${result.torque_speed}` }))] : []),
      part("Moves", table(result.moves)), part(drives, table(result.motors)));
  }
  drawRight();

  const tab = {
    left: [left], right: [right],
    take,
    get result() { return result; },
    robot() { result = null; drawRight(); drawLeft(); },
    async show() {
      app.hint("Open a robot program to see its path, coloured by what it asks of the arm, beside its text.");
      await refresh();
      if (result) replay();
    },
    event(message) {
      if (message.event === "removed") {
        if (message.number === source) source = null;
        if (result?.source === message.number) { result = null; drawRight(); if (app.tab === tab) app.frames.clear(); }
        if (app.tab === tab) refresh();
      }
      if (message.event !== "job" || message.state !== "done" || !message.result?.verdict) return;
      result = message.result;
      drawRight();
      if (app.tab === tab) replay();
    },
  };
  async function replay() {
    const { ticket } = await app.ask("replay", { kind: "program", number: result.number });
    app.frames.show([ticket], { theme: app.theme });
  }
  return tab;
}
