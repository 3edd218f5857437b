// SPDX-License-Identifier: Apache-2.0
// How finely to draw: software WebGL starts coarse, and whoever is slow becomes coarser until frames come quickly.

const SLOW = 34, QUICK = 20; // ms between frames: coarser above, finer below
const COARSEST = 0.5;
const SETTLE = 12; // frames between two changes

/** Whether the browser draws without a graphics card. */
export function isSoftware(gl) {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** Adapts the pixel ratio of a renderer to the time its frames take; a still picture is drawn at the finest. */
export function adaptiveRatio(finest) {
  let ratio = finest, mean = 0.5 * (SLOW + QUICK), frames = 0, last = null;
  return {
    get ratio() { return ratio; },
    get frameTime() { return mean; },
    /** Note a frame that was drawn while things move; returns true where the ratio has changed. */
    moving(now) {
      const took = last === null ? null : now - last;
      last = now;
      if (took === null || took > 500) return false; // a pause, no slow frame
      mean += 0.15 * (took - mean);
      if (++frames < SETTLE) return false;
      const wanted = mean > SLOW ? ratio * 0.8 : mean < QUICK ? ratio * 1.15 : ratio;
      const next = Math.min(finest, Math.max(COARSEST, wanted));
      if (Math.abs(next - ratio) < 0.02) return false;
      ratio = next;
      frames = 0;
      return true;
    },
    /** Nothing moves any more. */
    rest() { last = null; },
  };
}
