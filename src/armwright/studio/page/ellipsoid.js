// SPDX-License-Identifier: Apache-2.0
// Ellipsoids at the tool: how fast it can move, how hard it can push. Same axes, reciprocal lengths.
import { Group, Matrix4, Mesh, MeshLambertMaterial, SphereGeometry } from "/shared/vendor/vendor.js";

/** A layer of the scene with both ellipsoids. */
export function ellipsoidLayer(scene) {
  const group = new Group(), made = {};
  scene.base.add(group);
  for (const [name, colour] of [["velocity", scene.colours.joint], ["force", scene.colours.felt]]) {
    made[name] = new Mesh(new SphereGeometry(1, 32, 20), new MeshLambertMaterial({ color: colour, transparent: true, opacity: 0.26, depthWrite: false }));
    made[name].matrixAutoUpdate = false;
    made[name].visible = false;
    group.add(made[name]);
  }
  return {
    /** Show what was seen at a configuration; the longest half axis is drawn `size` [m] long. null hides all. */
    set(seen, wanted = {}, size = 0.2) {
      for (const [name, lengths] of [["velocity", seen?.half_lengths], ["force", seen?.force_half_lengths]]) {
        made[name].visible = Boolean(seen && wanted[name]);
        if (!made[name].visible) continue;
        const known = lengths.map((x) => x ?? Infinity), finite = known.filter(Number.isFinite);
        const most = Math.max(...finite, 1e-12), [a, b, c] = known.map((x) => size * Math.max(Math.min(x / most, 1), 0.01)), A = seen.axes;
        made[name].matrix.copy(new Matrix4().set(
          A[0][0] * a, A[0][1] * b, A[0][2] * c, seen.tool[0], A[1][0] * a, A[1][1] * b, A[1][2] * c, seen.tool[1],
          A[2][0] * a, A[2][1] * b, A[2][2] * c, seen.tool[2], 0, 0, 0, 1));
        made[name].matrixWorldNeedsUpdate = true;
      }
      scene.invalidate();
    },
  };
}
