// SPDX-License-Identifier: Apache-2.0
// Taking a link with the pointer: the point that is held follows in the plane through it that faces the reader.

const NEAR = [[0, 0], [12, 0], [-12, 0], [0, 12], [0, -12], [17, 17], [-17, 17], [17, -17], [-17, -17]]; // px: fingers are blunt

/**
 * A grip on the arm of a scene.
 * @param sceneOf returns the scene (createScene)
 * @param hand pull({body, point, target}) when a link is held: index, point in the link's frame, target in the base
 *   frame [m]; release() when it is let go
 * @returns pointer(type, event) for pointerdown, pointermove, pointerup and pointercancel, to be called before the view
 *   sees the event; and what is held, or null
 */
export function createGrip(sceneOf, { pull, release }) {
  let held = null;
  function under({ clientX, clientY, pointerType }) {
    for (const [x, y] of pointerType === "touch" ? NEAR : NEAR.slice(0, 1)) {
      const hit = sceneOf().pick(clientX + x, clientY + y);
      if (hit) return hit;
    }
    return null;
  }
  return {
    get held() { return held; },
    pointer(type, event) {
      const scene = sceneOf();
      if (type === "pointerdown" && event.button === 0 && !held) {
        const hit = under(event);
        if (!hit) return;
        event.stopImmediatePropagation();
        event.target.setPointerCapture(event.pointerId);
        const { direction } = scene.ray(event.clientX, event.clientY);
        held = { body: hit.body, point: hit.pointLink, through: hit.pointBase, normal: direction };
        scene.controls.enabled = false;
        pull({ body: hit.body, point: hit.pointLink, target: hit.pointBase });
      } else if (type === "pointermove" && held) {
        event.stopImmediatePropagation();
        const { origin, direction } = scene.ray(event.clientX, event.clientY);
        const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
        const s = dot(held.normal, held.through.map((x, i) => x - origin[i])) / dot(held.normal, direction);
        if (Number.isFinite(s)) pull({ body: held.body, point: held.point, target: origin.map((x, i) => x + s * direction[i]) });
      } else if ((type === "pointerup" || type === "pointercancel") && held) {
        event.stopImmediatePropagation();
        held = null;
        scene.controls.enabled = true;
        release();
      }
    },
  };
}
