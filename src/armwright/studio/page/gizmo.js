// SPDX-License-Identifier: Apache-2.0
// A handle at the tool: arrows move it, rings turn it (key R and T change between them).
import { Object3D, TransformControls } from "/shared/vendor/vendor.js";

/** Rotation vector [rad] of a quaternion. */
export function rotationVector({ x, y, z, w }) {
  if (w < 0) [x, y, z, w] = [-x, -y, -z, -w];
  const s = Math.hypot(x, y, z), angle = 2 * Math.atan2(s, w);
  return s < 1e-9 ? [2 * x, 2 * y, 2 * z] : [x, y, z].map((v) => (v / s) * angle);
}

/** @param moved called with {position [m], rotation [rad]} in the base frame while the handle is dragged */
export function toolGizmo(scene, moved) {
  const holder = new Object3D();
  scene.base.add(holder);
  const controls = new TransformControls(scene.camera, scene.controls.domElement);
  controls.setSize(0.75);
  controls.setSpace("local");
  controls.attach(holder);
  const helper = controls.getHelper();
  let root = scene.base;
  while (root.parent) root = root.parent;
  root.add(helper);
  let dragging = false;
  controls.addEventListener("change", scene.invalidate);
  controls.addEventListener("dragging-changed", ({ value }) => { dragging = value; scene.controls.enabled = !value; });
  controls.addEventListener("objectChange", () =>
    moved({ position: holder.position.toArray(), rotation: rotationVector(holder.quaternion) }));
  const key = (event) => {
    if (event.target.closest?.("input, select, textarea")) return;
    if (event.key === "r") controls.setMode("rotate");
    if (event.key === "t") controls.setMode("translate");
  };
  addEventListener("keydown", key);
  return {
    follow(T) {
      if (dragging) return;
      holder.matrix.set(...T);
      holder.matrix.decompose(holder.position, holder.quaternion, holder.scale);
      holder.scale.set(1, 1, 1);
      scene.invalidate();
    },
    show(on) { helper.visible = on; controls.enabled = on; scene.invalidate(); },
    dispose() { removeEventListener("keydown", key); controls.detach(); controls.dispose(); },
  };
}
