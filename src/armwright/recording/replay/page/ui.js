// SPDX-License-Identifier: Apache-2.0
// Small pieces of page: elements, sliders, tables, numbers with units.

/** Make an element: properties, then children (elements or text). `on…` are handlers, `data` and `aria` as in HTML. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name.startsWith("aria-") || name.startsWith("data-") || name === "role" || name === "for" || name === "list") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Put children into an element in place of what is there; those that are null are left out. */
export const fill = (element, ...children) => element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));

let idents = 0;
export const ident = (stem) => `${stem}-${++idents}`;

/** A number for people: `digits` significant, never an exponent between 1e-3 and 1e6, a true minus sign. */
export function fmt(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 5e-4)) return value.toExponential(digits - 1).replace("-", "−");
  const after = size === 0 ? digits - 1 : Math.max(0, Math.min(digits, digits - 1 - Math.floor(Math.log10(size))));
  return value.toFixed(after).replace("-", "−");
}

/** The same with a fixed number of decimals, for columns that must not dance. */
export const fixed = (value, after = 2) =>
  value === null || value === undefined || Number.isNaN(value) ? "–" : (Math.abs(value) < 0.5 * 10 ** -after ? 0 : value).toFixed(after).replace("-", "−");

export const degrees = (x) => (x * 180) / Math.PI;

/** A titled part of a panel. */
export const part = (title, ...children) => el("section", { class: "part" }, el("h2", {}, title), ...children);

/**
 * A slider with name, number field and unit.
 * @param options label, unit, min, max, step, value, shown (model → what is shown), oninput(value), after (decimals)
 */
export function slider({ label, unit, min, max, step, value, oninput, after = 2, marks = null, disabled = false }) {
  const id = ident("slider");
  const range = el("input", { type: "range", id, min, max, step, disabled });
  const field = el("input", { type: "number", class: "number", min, max, step, disabled, "aria-label": `${label} [${unit}]` });
  const set = (x) => { range.value = x; field.value = (+x).toFixed(after); mark(+x); };
  const row = el("div", { class: "slider", title: `${label}: ${fixed(min, after)} … ${fixed(max, after)} ${unit}` }, el("label", { for: id }, label), range, field, el("span", { class: "unit muted" }, unit));
  function mark(x) { row.classList.toggle("limit", marks !== null && (x <= marks[0] || x >= marks[1])); }
  range.addEventListener("input", () => { field.value = (+range.value).toFixed(after); mark(+range.value); oninput(+range.value); });
  field.addEventListener("change", () => {
    const x = Math.min(max, Math.max(min, +field.value || 0));
    set(x);
    oninput(x);
  });
  set(value);
  return { row, set, get value() { return +range.value; }, enable(on) { range.disabled = field.disabled = !on; } };
}

/** A choice from a list of [value, text]. */
export function choice(label, options, value, onchange, disabled = false) {
  const id = ident("choice");
  const select = el("select", { id, disabled, onchange: () => onchange(select.value) },
    options.map(([key, text]) => el("option", { value: key }, text)));
  select.value = value;
  return { row: el("div", { class: "field" }, el("label", { for: id }, label), select), select };
}

/** A tick box. */
export function tick(label, checked, onchange, disabled = false) {
  const box = el("input", { type: "checkbox", checked, disabled, onchange: () => onchange(box.checked) });
  return { row: el("label", { class: "tick" }, box, label), box };
}

const SURE = 4000; // ms for the second click
/** A small button that removes something for good: the first click asks, the second does it. */
export function remover(name, onremove, { disabled = false, ask = "Remove?" } = {}) {
  let timer = 0;
  const button = el("button", { class: "remove", disabled, title: `Remove ${name}`, "aria-label": `Remove ${name}`, onclick: () => {
    if (timer) return onremove();
    button.textContent = ask;
    button.classList.add("asks");
    timer = setTimeout(() => { timer = 0; button.textContent = "×"; button.classList.remove("asks"); }, SURE);
  } }, "×");
  return button;
}

/** A matrix as a table; `heads` names the columns, `rows` the rows. */
export function matrix(values, { rows = null, heads = null, after = 3, caption = "" } = {}) {
  return el("table", { class: "matrix" }, caption ? el("caption", {}, caption) : null,
    heads ? el("thead", {}, el("tr", {}, rows ? el("th") : null, heads.map((h) => el("th", { scope: "col" }, h)))) : null,
    el("tbody", {}, values.map((line, i) => el("tr", {}, rows ? el("th", { scope: "row" }, rows[i]) : null,
      line.map((x) => el("td", { class: "number" }, fixed(x, after)))))));
}

/** Offer a text as a file. */
export function download(name, content, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Call `work` at most once a frame and never again before its promise has settled; the last arguments win. */
export function gently(work) {
  let busy = false, pending = null;
  return function call(...given) {
    if (busy) { pending = given; return; }
    busy = true;
    Promise.resolve(work(...given)).catch(() => {}).finally(() => requestAnimationFrame(() => {
      busy = false;
      if (pending) { const next = pending; pending = null; call(...next); }
    }));
  };
}
