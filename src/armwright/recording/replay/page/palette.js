// SPDX-License-Identifier: Apache-2.0
// Colours of the canvas, light and dark; theme.css has those of the page around it.
// Series are Okabe and Ito's colours, which people with any kind of colour sight can tell apart.

export const PALETTES = {
  light: {
    background: "#f3f5f8",
    floor: "#e9edf2",
    grid: "#d3dae3",
    text: "#1c2530",
    axis: "#5c6773",
    arm: "#dfe6ee",
    joint: "#3f6fa3",
    base: "#8793a1",
    tool: "#e0872c",
    obstacle: "#b9a184",
    edge: "#7d6a50",
    map: "#c8453b",
    path: "#7b8794",
    felt: "#d55e00",
    true: "#008f6b",
    series: ["#0072b2", "#d55e00", "#009e73", "#b0569a", "#8a6d00", "#3a9bd0", "#5c6773"],
  },
  dark: {
    background: "#12171e",
    floor: "#171e27",
    grid: "#2a3441",
    text: "#e4e9ef",
    axis: "#93a0ae",
    arm: "#b9c4d0",
    joint: "#5b94d1",
    base: "#5e6a78",
    tool: "#f0a04b",
    obstacle: "#8d7a60",
    edge: "#c0a987",
    map: "#f0665a",
    path: "#74808d",
    felt: "#ff8a3d",
    true: "#35c79c",
    series: ["#5db4ec", "#ff8a3d", "#35c79c", "#e08fc6", "#e2c044", "#a7d8ff", "#a3afbb"],
  },
};

/** Name of the palette that the reader's system asks for. */
export function preferredTheme() {
  return globalThis.matchMedia?.("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
