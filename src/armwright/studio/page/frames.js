// SPDX-License-Identifier: Apache-2.0
// Replays and documents in frames over the stage, one or two beside one another; two replays can share their time.
import { el } from "/shared/ui.js";

const LINK = 40; // ms between two looks at the leading replay

/** Frames over the stage element. */
export function frames(stage) {
  const holder = el("div", { class: "frames", hidden: true });
  stage.append(holder);
  let open = [], timer = 0, seen = null;

  const replayOf = (frame) => { try { return frame.contentWindow.__replay ?? null; } catch { return null; } };
  /** Whoever was moved by the reader leads; the other follows. */
  function follow() {
    const replays = open.map(replayOf);
    if (replays.some((r) => !r)) return;
    const times = replays.map((r) => r.state().t);
    const leader = times.findIndex((t, i) => !seen || Math.abs(t - seen[i]) > 1e-9);
    if (leader >= 0) {
      const other = 1 - leader;
      if (Math.abs(times[leader] - times[other]) > 1e-6) { replays[other].pause(); replays[other].seek(times[leader]); }
    }
    seen = replays.map((r) => r.state().t);
  }

  return {
    /** Show pages by their tickets; the theme is handed on. */
    show(tickets, { theme, sandbox = false } = {}) {
      this.clear();
      open = tickets.map((ticket) => {
        const frame = el("iframe", { src: `/document/${ticket}`, title: "replay or document" });
        if (sandbox) frame.setAttribute("sandbox", "allow-scripts");
        else frame.addEventListener("load", () => this.theme(theme));
        return frame;
      });
      holder.replaceChildren(...open);
      holder.hidden = false;
      if (open.length === 2) timer = setInterval(follow, LINK);
    },
    clear() {
      clearInterval(timer);
      holder.replaceChildren();
      holder.hidden = true;
      open = [];
      seen = null;
    },
    theme(theme) {
      for (const frame of open) {
        let tries = 100;
        const hand = () => { const r = replayOf(frame); if (r) r.setTheme(theme); else if (tries--) setTimeout(hand, 50); };
        hand();
      }
    },
    /** The replays that are open and ready. */
    get replays() { return open.map(replayOf).filter(Boolean); },
    /** Go to a time [s] in all of them. */
    seek(t) { for (const replay of this.replays) { replay.pause(); replay.seek(t); } },
    get shown() { return open.length; },
  };
}
