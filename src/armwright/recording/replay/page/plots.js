// SPDX-License-Identifier: Apache-2.0
// Plots over one time axis: a common cursor, ticks at events, data whole or appended while it comes in.
import { uPlot } from "./vendor/vendor.js";
import { PALETTES, preferredTheme } from "./palette.js";

const HEIGHT = 96, LOWEST = 64, LAST_AXIS = 26; // pixels of a plot, and what the time axis under the last one adds
const KEPT = 20_000; // samples of live data before the oldest third goes

/**
 * Stack plots in an element.
 * @param holder the element; plots follow its width
 * @param groups [{title, unit, series: [{label, colour?, dash?, unit?}], height?, least?}], columns of the data in this order; what is
 *   always in sight reaches from 0 to `least`
 * @param options theme, events [{time, name}], fit() (whether the plots share the holder's height), onSeek(t) (the reader pointed at a time by clicking or dragging)
 */
export function createPlots(holder, groups, options = {}) {
  let colours = PALETTES[options.theme ?? preferredTheme()];
  let events = options.events ?? [], cursor = null;
  const data = { time: [], columns: groups.map((g) => g.series.map(() => [])) };
  const charts = groups.map((group, k) => {
    const figure = document.createElement("figure");
    figure.className = "plot";
    const caption = document.createElement("figcaption");
    caption.textContent = `${group.title} [${group.unit || "–"}]`;
    const legend = document.createElement("span");
    legend.className = "legend";
    const values = group.series.map((series, i) => {
      const item = document.createElement("span"), value = document.createElement("output");
      item.dataset.series = `${k}.${i}`;
      item.append(series.label, " ", value);
      legend.append(item);
      return { item, value };
    });
    caption.append(legend);
    figure.append(caption);
    holder.append(figure);
    const chart = new uPlot(chartOptions(group, k), [[], ...group.series.map(() => [])], figure);
    const hand = document.createElement("div"); // the cursor: moved sixty times a second, so no part of the drawing
    hand.className = "hand";
    hand.hidden = true;
    chart.over.append(hand);
    return { chart, figure, values, hand };
  });

  function chartOptions(group, k) {
    const axis = { stroke: () => colours.axis, grid: { stroke: () => colours.grid, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const last = k === groups.length - 1;
    return {
      width: 300,
      height: group.height ?? HEIGHT,
      padding: [6, 10, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: options.key ?? "plots" }, drag: { x: false, y: false }, points: { show: false }, x: false, y: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => (group.least ? padded(Math.min(low, 0), Math.max(high, group.least)) : padded(low, high)) } },
      axes: [
        { ...axis, size: last ? 34 : 8, values: last ? (_, ticks) => ticks.map((t) => `${+t.toFixed(6)} s`) : () => [] },
        { ...axis, size: 52, space: 15, values: (_, ticks) => ticks.map((t) => `${+t.toPrecision(6)}`) },
      ],
      series: [
        {},
        ...group.series.map((series, i) => ({
          stroke: () => colourOf(series, i), width: series.width ?? 1.5, dash: series.dash, points: { show: false }, spanGaps: false,
        })),
      ],
      hooks: { draw: [drawMarks] },
    };
  }

  function colourOf(series, i) {
    return colours[series.colour] ?? series.colour ?? colours.series[i % colours.series.length];
  }

  function drawMarks(u) {
    const { ctx, bbox } = u, ratio = uPlot.pxRatio;
    ctx.save();
    ctx.lineWidth = ratio;
    ctx.strokeStyle = colours.axis;
    ctx.globalAlpha = 0.55;
    ctx.setLineDash([2 * ratio, 3 * ratio]);
    for (const event of events) line(ctx, u.valToPos(event.time, "x", true), bbox);
    ctx.restore();
  }

  function line(ctx, x, { left, top, width, height }) {
    if (!(x >= left - 1 && x <= left + width + 1)) return;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
  }

  function paintLegend() {
    charts.forEach(({ values }, k) => values.forEach(({ item }, s) =>
      item.style.setProperty("--series", colourOf(groups[k].series[s], s))));
  }

  function moveHands() {
    for (const { chart, hand } of charts) {
      const x = cursor === null ? NaN : chart.valToPos(cursor, "x");
      hand.hidden = !(x >= -1 && x <= chart.bbox.width / uPlot.pxRatio + 1); // asking the page itself would cost a layout
      if (!hand.hidden) hand.style.transform = `translateX(${x}px)`;
    }
  }

  function put() {
    charts.forEach(({ chart }, k) => chart.setData([data.time, ...data.columns[k]]));
    moveHands();
    readout();
  }

  /** Values under the cursor, beside the names: of the last sample that is not after it. */
  function readout() {
    const i = cursor === null ? data.time.length - 1 : sampleBefore(data.time, cursor);
    charts.forEach(({ values }, k) => values.forEach(({ value, item }, s) => {
      const x = data.columns[k][s][i];
      value.textContent = x === null || x === undefined || Number.isNaN(x) ? "–" : short(x);
    }));
  }

  // pointing at a plot seeks, also while the button is held
  charts.forEach(({ chart }) => {
    const seek = (event) => {
      if (!(event.buttons & 1) || !options.onSeek) return;
      options.onSeek(chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x"));
    };
    chart.over.addEventListener("pointerdown", (event) => { chart.over.setPointerCapture(event.pointerId); seek(event); });
    chart.over.addEventListener("pointermove", seek);
  });

  function resize() {
    const captions = charts.reduce((sum, { figure }) => sum + figure.querySelector("figcaption").offsetHeight + 8, 0);
    const each = options.fit?.() ? Math.max(LOWEST, (holder.clientHeight - captions - LAST_AXIS - 8) / charts.length) : null;
    charts.forEach(({ chart, figure }, k) => {
      const width = Math.floor(figure.clientWidth), last = k === charts.length - 1;
      const height = Math.floor((each ?? groups[k].height ?? HEIGHT) + (last ? LAST_AXIS : 0));
      if (width > 0 && (width !== chart.width || height !== chart.height)) chart.setSize({ width, height });
    });
    moveHands();
  }
  const watcher = new ResizeObserver(resize);
  watcher.observe(holder);
  paintLegend();
  resize();

  return {
    /** All data at once: times [s] and, per group, per series, values (NaN or null where unknown). */
    setData(time, columns) {
      data.time = Array.from(time);
      data.columns = columns.map((group) => group.map((series) => Array.from(series, (x) => (Number.isNaN(x) ? null : x))));
      put();
      resize(); // captions have their numbers now
    },
    /** One more sample: time [s] and, per group, one value per series. `span` [s] is how much stays in sight. */
    append(t, values, span = Infinity) {
      data.time.push(t);
      values.forEach((group, k) => group.forEach((x, s) => data.columns[k][s].push(Number.isNaN(x) ? null : x)));
      const old = data.time.length > KEPT ? Math.floor(KEPT / 3) : sampleBefore(data.time, t - span);
      if (old > 0.25 * data.time.length) {
        data.time.splice(0, old);
        for (const group of data.columns) for (const series of group) series.splice(0, old);
      }
      this.stale = true;
    },
    /** Draw what was appended; call it once a frame. */
    flush() { if (this.stale) { this.stale = false; put(); } },
    clear() { data.time = []; data.columns = groups.map((g) => g.series.map(() => [])); put(); },
    /** Point at a time; `words: false` leaves the numbers beside the names as they are, for while it is played. */
    setCursor(t, { words = true } = {}) {
      cursor = t;
      moveHands();
      if (words) readout();
    },
    setEvents(list) { events = list; for (const { chart } of charts) chart.redraw(false, false); },
    setTheme(theme) { colours = PALETTES[theme]; for (const { chart } of charts) chart.redraw(false, true); paintLegend(); },
    resize,
    dispose() { watcher.disconnect(); for (const { chart, figure } of charts) { chart.destroy(); figure.remove(); } },
  };
}

/** Index of the last time that is not after t; 0 where all are. `times` do not fall. */
export function sampleBefore(times, t) {
  let low = 0, high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A number in few signs: three figures, and nothing smaller than rounding leaves. */
export function short(x) {
  if (Math.abs(x) < 1e-9) return "0";
  return Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? `${+(+x).toPrecision(3)}` : (+x).toExponential(1);
}

function padded(low, high) {
  if (low === null || !Number.isFinite(low)) return [-1, 1];
  const room = high > low ? 0.06 * (high - low) : Math.max(Math.abs(high) * 0.1, 1e-3);
  return [low - room, high + room];
}
