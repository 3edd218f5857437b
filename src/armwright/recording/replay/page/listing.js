// SPDX-License-Identifier: Apache-2.0
// A text beside a replay: the line under way is lit, marks colour the lines, a click on one leads to its time.
import { sampleBefore } from "./plots.js";

const KEY = [["kept", "keeps its limits"], ["over", "asks too much"], ["open", "cannot be told"], ["gap", "not known"], ["idle", "did not run"]];
const NEAR = 1e-6; // [s] between two times that are the same for a reader

/**
 * Fill `holder` with the lines of a listing (replay_stage.py: Listing).
 * @param onSeek called with a function that takes the time shown [s] and returns where to go: a line in a loop has many
 */
export function createListing(holder, { lines, steps }, { onSeek }) {
  const make = (tag, name, words = "") => Object.assign(document.createElement(tag), { className: name, textContent: words });
  const starts = steps.map(([t]) => t), times = new Map();
  for (const [t, line] of steps) {
    if (!line) continue;
    if (!times.has(line)) times.set(line, []);
    times.get(line).push(t);
  }

  const list = make("ol", "lines");
  const rows = lines.map(([words, mark, note], k) => {
    const own = times.get(k + 1), row = make("li", mark), code = make(own ? "button" : "span", "code", words || " ");
    if (note) code.title = note;
    if (own) {
      code.type = "button";
      code.addEventListener("click", () => onSeek((t) => own.find((x) => x > t + NEAR) ?? own[0]));
    }
    row.append(code);
    return row;
  });
  list.append(...rows);
  const key = make("ul", "key");
  const used = new Set(lines.map(([, mark]) => mark));
  for (const [mark, words] of KEY) if (used.has(mark)) key.append(make("li", mark, words));
  holder.replaceChildren(list, key);
  holder.hidden = false;

  let lit = 0;
  /** Light the line of a time [s]; returns its number, 0 for none. */
  function show(t) {
    const now = starts.length && starts[0] <= t + NEAR ? steps[sampleBefore(starts, t + NEAR)][1] : 0;
    if (now === lit) return lit;
    rows[lit - 1]?.removeAttribute("aria-current");
    lit = now;
    const row = rows[lit - 1];
    if (!row) return lit;
    row.setAttribute("aria-current", "step");
    const top = row.offsetTop - list.offsetTop, end = top + row.offsetHeight; // scrolls the list, never the page
    if (top < list.scrollTop || end > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
    return lit;
  }
  return { show };
}
