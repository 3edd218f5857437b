// SPDX-License-Identifier: Apache-2.0
// Programs: open a robot program, see its path and what it asks of the motors; change the override and see what breaks.
import { el, fixed, fmt, part, remover, slider } from "./ui.js";

export function programsTab(app) {
  const left = el("div"), right = el("div");
  let items = [], source = null, result = null, override = 1, payload = 0, job = null, last = 0;

  const file = el("input", { type: "file", accept: ".irl,.script,.urscript,.mod,.modx,.prg,.sys,.sysx,.src,.krl,.sub,.nc,.ngc,.gcode,.gco,.cnc,.tap", hidden: true, id: "program-file", onchange: async () => {
    const got = file.files[0] && (await app.upload("program", file.files[0]));
    file.value = "";
    if (got) { source = got.number; await refresh(); run(); }
  } });

  async function refresh() {
    items = (await app.ask("list")).items.filter((item) => item.kind === "program text");
    drawLeft();
  }
  async function run() {
    if (!source) return;
    clearTimeout(last);
    ({ job } = await app.ask("program", { source, override, payload }));
  }
  const soon = () => { clearTimeout(last); last = setTimeout(run, 350); };

  function drawLeft() {
    left.replaceChildren(
      part("Program", el("div", { class: "row" }, el("button", { onclick: () => file.click(), disabled: !app.owner }, "Open a program …"), file),
        el("p", { class: "small muted" }, `L-IRL, URScript, RAPID, KRL or G-code, for the arm on the page: ${app.spec.name}.`),
        el("ul", { class: "items" }, items.map((item) => el("li", {}, el("button", { "aria-pressed": item.number === source, disabled: !app.owner, onclick: () => { source = item.number; drawLeft(); run(); } }, item.name, el("small", {}, item.note)),
          remover(item.name, () => app.ask("remove", { number: item.number }), { disabled: !app.owner }))))),
      part("Run it",
        slider({ label: "Override", unit: "%", min: 5, max: 300, step: 5, after: 0, value: 100 * override, oninput: (x) => { override = x / 100; soon(); }, disabled: !app.owner }).row,
        slider({ label: "Payload", unit: "kg", min: 0, max: 20, step: 0.5, after: 1, value: payload, oninput: (x) => { payload = x; soon(); }, disabled: !app.owner }).row,
        el("div", { class: "row" }, el("button", { class: "primary", disabled: !app.owner || !source, onclick: run }, "Check the motors"))),
    );
  }

  const table = ({ heads, rows, marked = [] }) => el("div", { class: "scroll" }, el("table", { class: "matrix free" },
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, rows.map((row, i) => el("tr", { class: marked[i] ? "bad" : "" }, row.map((cell) => el("td", {}, cell)))))));

  function drawRight() {
    if (!result) return right.replaceChildren(part("Verdict", el("p", { class: "small muted" }, "Open a program. What the motors can and cannot do of it will stand here.")));
    right.replaceChildren(
      part("Verdict", el("p", { class: result.feasible ? "good" : "bad", id: "verdict" }, result.feasible ? "Feasible" : "Not feasible", ` at ${fmt(100 * result.override)} %`), el("p", { class: "small" }, result.verdict),
        el("dl", { class: "facts" }, el("dt", {}, "Duration"), el("dd", {}, `${fixed(result.duration, 2)} s`), el("dt", {}, "Fastest feasible override"), el("dd", { id: "fastest" }, `${fmt(100 * result.override * result.fastest)} %`))),
      result.events.rows.length ? part(`Events: ${result.events.rows.length}`, table(result.events)) : part("Events", el("p", { class: "small muted" }, "None: every motor can follow.")),
      part("Moves", table(result.moves)), part(result.basis === "motors" ? "Motors" : "Joints", table(result.motors)));
  }
  drawRight();

  const tab = {
    left: [left], right: [right],
    get result() { return result; },
    robot() { result = null; drawRight(); },
    async show() {
      app.hint("Open a robot program to see its path, coloured by the use of the most used motor.");
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
