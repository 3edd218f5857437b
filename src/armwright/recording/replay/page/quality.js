// SPDX-License-Identifier: Apache-2.0
// How finely to draw: moving pictures become coarser until a frame is cheap; a still one is drawn at the finest.

const DEAR = 22, CHEAP = 9; // ms a frame: coarser above, finer below
const COARSEST = 0.5;
export const SOON = 6, LATER = 120; // frames to the next measurement, which costs a wait: after a change, and without

/** Whether the browser draws without a graphics card; asked of a canvas of its own, before anything is made for the page. */
export function isSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error("this browser has no WebGL 2");
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** Pixel ratio of moving pictures, from what their frames cost. */
export function adaptiveRatio(finest) {
  let ratio = finest, cost = null;
  return {
    finest,
    get ratio() { return ratio; },
    get cost() { return cost; },
    /** Note what a frame cost [ms]; returns whether the ratio has changed. */
    note(milliseconds) {
      cost = milliseconds;
      const wanted = cost > DEAR ? 0.8 * ratio : cost < CHEAP ? 1.2 * ratio : ratio;
      const next = Math.min(finest, Math.max(COARSEST, wanted));
      if (Math.abs(next - ratio) < 0.02) return false;
      ratio = next;
      return true;
    },
  };
}
