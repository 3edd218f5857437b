// SPDX-License-Identifier: Apache-2.0
// What is laid over the scene: the map that grows, arrows of forces, coloured paths. All in the base frame.
import {
  BoxGeometry, Color, ConeGeometry, CylinderGeometry, Group, InstancedMesh, Line2, LineGeometry, LineMaterial, Matrix4, Mesh,
  MeshBasicMaterial, MeshLambertMaterial, SphereGeometry, Vector3,
} from "./vendor/vendor.js";

const UP = new Vector3(0, 1, 0);

/**
 * Cells of a map: boxes (`size` [m] ×3, along the columns of `rotation` if it is given) or balls (`radius` [m]) about
 * `points`. `colours`, one per point, replaces the map's own colour. `show` says which are known.
 */
export function mapView(cells, colours) {
  const geometry = cells.size ? new BoxGeometry(...cells.size) : new SphereGeometry(cells.radius, 16, 10);
  const material = new MeshLambertMaterial({ color: cells.colours ? "#ffffff" : colours.map, transparent: true, opacity: 0.6 });
  const mesh = new InstancedMesh(geometry, material, Math.max(cells.points.length, 1));
  const turned = new Matrix4();
  if (cells.rotation) {
    const [x, y, z] = cells.rotation;
    turned.set(...x, 0, ...y, 0, ...z, 0, 0, 0, 0, 1);
  }
  mesh.count = 0;
  mesh.frustumCulled = false;
  return {
    group: mesh,
    /** Show the first `known` places, or those of an array of indices. */
    show(known) {
      const chosen = Array.isArray(known) ? known : cells.points.map((_, i) => i).slice(0, known);
      chosen.forEach((index, i) => {
        mesh.setMatrixAt(i, turned.setPosition(...cells.points[index]));
        if (cells.colours) mesh.setColorAt(i, new Color(cells.colours[index]));
      });
      mesh.count = chosen.length;
      mesh.instanceMatrix.needsUpdate = true;
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    },
    recolour(next) { if (!cells.colours) material.color.set(next.map); },
  };
}

/** A handful of arrows that are moved, never made anew. */
export function arrowsView(thickness) {
  const group = new Group(), pool = [];
  const make = () => {
    const material = new MeshBasicMaterial({ depthTest: false, transparent: true }); // a force is never hidden by the arm
    const arrow = new Group();
    arrow.shaft = new Mesh(new CylinderGeometry(1, 1, 1, 12), material);
    arrow.head = new Mesh(new ConeGeometry(1, 1, 16), material);
    arrow.shaft.renderOrder = arrow.head.renderOrder = 10 + pool.length; // later ones lie on earlier ones
    arrow.add(arrow.shaft, arrow.head);
    group.add(arrow);
    pool.push(arrow);
  };
  return {
    group,
    /** Show [{origin, vector, colour, thickness?}]: from `origin` [m] along `vector` [m as drawn]. */
    set(list) {
      while (pool.length < list.length) make();
      pool.forEach((arrow, i) => {
        const one = list[i], length = one ? Math.hypot(...one.vector) : 0;
        arrow.visible = length > 1e-6;
        if (!arrow.visible) return;
        const thick = one.thickness ?? thickness, head = Math.min(4.5 * thick, 0.5 * length), shaft = length - head;
        arrow.position.set(...one.origin);
        arrow.quaternion.setFromUnitVectors(UP, new Vector3(...one.vector).divideScalar(length));
        arrow.shaft.scale.set(thick, shaft, thick);
        arrow.shaft.position.y = 0.5 * shaft;
        arrow.head.scale.set(2.4 * thick, head, 2.4 * thick);
        arrow.head.position.y = shaft + 0.5 * head;
        arrow.shaft.material.color.set(one.colour);
      });
    },
  };
}

/** A line through `points` [m], `width` pixels wide, with one colour per point or one for all. */
export function pathView(points, colours, width = 2.5) {
  const geometry = new LineGeometry();
  geometry.setPositions(points.flat());
  const each = Array.isArray(colours);
  if (each) geometry.setColors(colours.flatMap((c) => new Color(c).toArray()));
  const material = new LineMaterial({ color: each ? "#ffffff" : colours, vertexColors: each, linewidth: width });
  const line = new Line2(geometry, material);
  line.frustumCulled = false;
  return {
    group: line,
    /** Draw only the first `count` points; all by default. */
    show(count = Infinity) { geometry.instanceCount = Math.max(0, Math.min(count, points.length) - 1); },
    recolour(colour) { if (!each) material.color.set(colour); },
  };
}
