// SPDX-License-Identifier: Apache-2.0
// Documents: the five documents behind Armwright, run again; every printed number beside ours.
import { el, part } from "/shared/ui.js";

export function documentsTab(app) {
  const left = el("div");
  let list = null, tickets = {}, counts = {}, shown = null;

  function draw() {
    left.replaceChildren(part("Documents", el("p", { class: "small muted" }, "Run a document: its experiments, each printed number beside ours, and who is right."),
      el("ul", { class: "items" }, (list ?? []).map((one) => el("li", {},
        el("button", { "aria-pressed": shown === one.id, disabled: !app.owner && !tickets[one.id], onclick: () => (tickets[one.id] ? open(one.id) : app.ask("reproduce", { document: one.id })) },
          `${one.id} · ${one.title}`, el("small", {}, counts[one.id] ?? `${one.items} items, not run yet`)))))));
  }
  function open(id) {
    shown = id;
    app.frames.show([tickets[id]], { sandbox: true });
    draw();
  }

  const tab = {
    left: [left],
    async show() {
      app.hint("Choose a document. Running one takes from seconds to a minute.");
      list ??= (await app.ask("documents")).documents;
      if (app.tab !== tab) return;
      draw();
      if (shown) open(shown);
    },
    event(message) {
      const { result } = message;
      if (message.event !== "job" || message.state !== "done" || !result?.document) return;
      tickets[result.document] = result.ticket;
      counts[result.document] = Object.entries(result.counts).map(([kind, n]) => `${n} ${kind}`).join(", ");
      if (app.tab === tab) open(result.document);
    },
  };
  return tab;
}
