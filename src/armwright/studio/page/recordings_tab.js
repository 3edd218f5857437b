// SPDX-License-Identifier: Apache-2.0
// Recordings: open MCAP, Parquet, CSV or NPZ; replay and plots share their time; two can stand beside one another.
import { createPlots } from "/shared/plots.js";
import { choice, download, el, fill, fmt, part, remover } from "/shared/ui.js";

const WATCH = 60; // ms between two looks at the replay's time

export function recordingsTab(app) {
  const left = el("div"), right = el("div"), chart = el("div");
  let items = [], samples = [], first = null, second = null, plots = null, signal = "q", timer = 0, about = {};

  const file = el("input", { type: "file", accept: ".mcap,.parquet,.csv,.txt,.tsv,.dat,.npz,.meta", multiple: true, hidden: true, id: "recording-file", "aria-label": "Recordings and logs",
    onchange: async () => { await take([...file.files]); file.value = ""; } });
  async function take(files) {
    const descriptionsFirst = files.sort((a, b) => b.name.endsWith(".meta") - a.name.endsWith(".meta"));
    let got = null;
    const words = JSON.stringify(Object.fromEntries(Object.entries(said).filter(([, value]) => value)));
    for (const one of descriptionsFirst) got = (await app.upload("recording", one, { "x-log": words })) ?? got;
    if (got?.number) { await refresh(); await choose(got.number); }
  }
  /** What a log of another program does not say by itself: rows a second, units. */
  const said = { rate: 0, angles: "", effort: "" };
  const rate = el("input", { type: "number", min: 0, id: "log-rate", oninput: () => { said.rate = +rate.value; } });
  const asked = el("details", {}, el("summary", {}, "A log that does not say all of itself"),
    el("div", { class: "field" }, el("label", { for: "log-rate" }, "Rows a second"), rate),
    choice("Angles", [["", "as the file says"], ["radians", "radians"], ["degrees", "degrees"]], "", (value) => { said.angles = value; }).row,
    choice("Effort", [["", "as the file says"], ["current", "current [A]"], ["torque", "torque [N m]"]], "", (value) => { said.effort = value; }).row);
  async function openSample({ name }) {
    app.status("simulating …");
    const { number } = await app.ask("sample_recording", { name }).finally(() => app.status());
    await refresh();
    await choose(number);
  }

  async function refresh() {
    items = (await app.ask("list")).items.filter((item) => item.kind === "recording");
    ({ samples } = await app.ask("sample_recordings"));
    drawLeft();
  }

  function drawLeft() {
    const others = items.filter((item) => item.number !== first);
    fill(left,
      part("Recordings", el("div", { class: "row" }, el("button", { onclick: () => file.click(), disabled: !app.owner }, "Open a recording or a log …"), file), el("p", { class: "small muted" }, "MCAP, Parquet, NPZ, our CSV with its .csv.meta (choose both), or a table of any program: joint positions with currents or torques."), asked,
        items.length ? el("ul", { class: "items" }, items.map((item) => el("li", {}, el("button", { "aria-pressed": item.number === first, onclick: () => choose(item.number) }, item.name, el("small", {}, item.about.cut ? el("span", { class: "badge", title: "The studio ended before the recording did; it opens up to its last row." }, "cut short") : null, item.note)),
            remover(item.name, () => app.ask("remove", { number: item.number }), { disabled: !app.owner, ask: item.file ? "Delete file?" : "Remove?" }))))
          : el("p", { class: "small muted" }, "None yet. Open a file, or record the live arm on the tab Live."),
        app.folder ? el("p", { class: "small muted folder" }, `What the live arm records is kept in ${app.folder}.`) : null),
      part("Samples", el("ul", { class: "items samples" }, samples.map((row) => el("li", {}, el("button", { disabled: !app.owner || app.onWire, onclick: () => openSample(row) }, row.name, el("small", {}, `${row.title}, with ${app.spec.name}`)))))),
      first && others.length ? part("Compare with", el("ul", { class: "items" }, others.map((item) => el("li", {}, el("button", { "aria-pressed": item.number === second, onclick: () => compare(item.number === second ? null : item.number) }, item.name))))) : null,
      first ? part("Keep", el("div", { class: "row" }, ["mcap", "parquet", "npz"].map((to) => el("button", { onclick: () => keep(to) }, { mcap: "MCAP", parquet: "Parquet", npz: "NPZ" }[to])))) : null,
    );
  }

  async function keep(to) {
    const { file: name, base64 } = await app.ask("file", { number: first, to });
    download(name, Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)), "application/octet-stream");
  }

  async function choose(number) {
    first = number;
    second = null;
    about = { [first]: await app.ask("signals", { number }) };
    if (!about[first].signals.some((s) => s.name === signal)) signal = about[first].signals[0]?.name;
    drawLeft();
    await open();
  }
  async function compare(number) {
    second = number;
    if (number) about[number] = await app.ask("signals", { number });
    drawLeft();
    await open();
  }

  function forget(number) {
    if (first === number) first = null;
    second = null;
    if (app.tabs.recordings === app.tab) { app.frames.clear(); open(); }
  }

  async function open() {
    const shown = [first, second].filter((n) => n && about[n].shows), tickets = [];
    for (const number of shown) tickets.push((await app.ask("replay", { kind: "recording", number })).ticket);
    if (tickets.length) app.frames.show(tickets, { theme: app.theme });
    else app.frames.clear();
    await draw();
  }

  async function draw() {
    plots?.dispose();
    plots = null;
    if (!first) return right.replaceChildren(part("Signals", el("p", { class: "small muted" }, "Open a recording.")));
    const one = about[first], meta = one.signals.find((s) => s.name === signal);
    if (!meta) return right.replaceChildren(part("Signals", el("p", { class: "small muted" }, "It holds no signals.")));
    const pick = choice("Signal", one.signals.map((s) => [s.name, `${s.name} [${s.unit || "–"}]`]), signal, (name) => { signal = name; draw(); });
    right.replaceChildren(
      part("Recording", el("dl", { class: "facts" },
        el("dt", {}, "Duration"), el("dd", {}, `${fmt(one.duration)} s, ${one.rows} rows`), el("dt", {}, "Arm"), el("dd", {}, one.robot ?? "unknown"),
        el("dt", {}, "Outcome"), el("dd", {}, one.outcome || "–")),
        items.find((item) => item.number === first)?.about.account ? el("p", { class: "small muted", id: "account" }, items.find((item) => item.number === first).about.account) : null),
      part("Signals", pick.row, el("p", { class: "small muted" }, second ? "Solid: the first; dashed: the second. Click a plot to go to a time." : "Click a plot to go to a time."), chart));
    chart.replaceChildren();
    const numbers = [first, second].filter((n) => n && about[n].signals.some((s) => s.name === signal && s.width === meta.width));
    const data = await Promise.all(numbers.map((number) => app.ask("columns", { number, names: [signal] })));
    const labels = meta.labels.slice(0, data[0].columns[signal].length);
    const grid = data[0].time;
    const aligned = (k) => (k === 0 ? data[0].columns[signal] : data[k].columns[signal].map((column) => resample(data[k].time, column, grid)));
    plots = createPlots(chart, labels.map((label) => ({
      title: label, unit: meta.unit, height: 90, series: numbers.map((_, k) => ({ label: k ? "second" : "value", dash: k ? [5, 4] : undefined })),
    })), { theme: app.theme, key: "recording", events: one.events, onSeek: (t) => { plots.setCursor(t); app.frames.seek(t + offset()); } });
    const columns = numbers.map((_, k) => aligned(k));
    plots.setData(grid, labels.map((_, i) => columns.map((c) => c[i])));
  }
  const offset = () => app.frames.replays[0]?.content.time.data[0] ?? 0;
  function resample(time, values, grid) {
    let i = 0;
    return grid.map((t) => {
      while (i + 1 < time.length && time[i + 1] <= t) i += 1;
      return t > time[time.length - 1] + 1e-9 ? null : values[i];
    });
  }

  return {
    left: [left], right: [right],
    choose, compare, take,
    get plots() { return plots; },
    get chosen() { return [first, second]; },
    async show() {
      await refresh();
      await (first ? open() : draw());
      timer = setInterval(() => { const r = app.frames.replays[0]; if (r && plots) plots.setCursor(r.state().t - offset()); }, WATCH);
    },
    hide() { clearInterval(timer); },
    theme(theme) { plots?.setTheme(theme); },
    event(message) {
      if (message.event === "removed" && [first, second].includes(message.number)) forget(message.number);
      if (["kept", "removed"].includes(message.event) && app.tab === this) refresh();
    },
  };
}
