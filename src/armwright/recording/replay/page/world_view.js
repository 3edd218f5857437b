// SPDX-License-Identifier: Apache-2.0
// Shapes of a world (spec.py: world_spec) as three.js objects in the base frame.
import {
  BoxGeometry, BufferGeometry, CylinderGeometry, DoubleSide, EdgesGeometry, Float32BufferAttribute, Group, LineBasicMaterial,
  LineSegments, Matrix4, Mesh, MeshLambertMaterial, PlaneGeometry, Quaternion, SphereGeometry, Vector3,
} from "./vendor/vendor.js";
import { capsuleMesh, stretch } from "./arm_view.js";

const SHARP = 30; // degrees between faces from which an edge is drawn

/**
 * Build all shapes; `reach` [m] bounds planes. Endless cylinders are drawn from `endless[0]` to `endless[1]` [m] along
 * their axis, measured from the origin's foot on it. An `opacity` below 1 lets what lies inside be seen. Objects carry `userData.shape`, the shape's name.
 */
export function worldView(shapes, colours, reach, endless = [-reach, reach], opacity = 1) {
  const group = new Group();
  const clear = { transparent: opacity < 1, opacity, depthWrite: opacity >= 1 };
  const solid = new MeshLambertMaterial({ color: colours.obstacle, ...clear });
  const flat = new MeshLambertMaterial({ color: colours.floor, side: DoubleSide, transparent: true, opacity: 0.6, depthWrite: false });
  const edge = new LineBasicMaterial({ color: colours.edge, ...clear });
  const edges = []; // of all shapes, drawn at once: in software every object costs
  for (const shape of shapes) {
    const mesh = meshOf(shape, shape.kind === "half-space" ? flat : solid, reach, endless);
    mesh.userData = { shape: shape.name };
    group.add(mesh);
    mesh.updateMatrix();
    if (shape.kind === "box" || shape.kind === "mesh" || shape.kind === "cylinder")
      for (const x of new EdgesGeometry(mesh.geometry, SHARP).applyMatrix4(mesh.matrix).getAttribute("position").array) edges.push(x);
  }
  const lines = new BufferGeometry();
  lines.setAttribute("position", new Float32BufferAttribute(edges, 3));
  group.add(new LineSegments(lines, edge));
  return {
    group,
    recolour(next) {
      solid.color.set(next.obstacle);
      flat.color.set(next.floor);
      edge.color.set(next.edge);
    },
  };
}

function meshOf(shape, material, reach, endless) {
  if (shape.kind === "sphere") return at(new Mesh(new SphereGeometry(shape.radius, 24, 16), material), shape.centre);
  if (shape.kind === "capsule") return capsuleMesh(shape.start, shape.end, shape.radius, material);
  if (shape.kind === "box") {
    const mesh = at(new Mesh(new BoxGeometry(...shape.size), material), shape.centre);
    const [x, y, z] = shape.rotation;
    mesh.quaternion.setFromRotationMatrix(new Matrix4().set(...x, 0, ...y, 0, ...z, 0, 0, 0, 0, 1));
    return mesh;
  }
  if (shape.kind === "cylinder") {
    const along = shape.centre.reduce((sum, c, i) => sum + c * shape.axis[i], 0);
    const [from, to] = shape.height === null ? endless.map((h) => h - along) : [-0.5 * shape.height, 0.5 * shape.height];
    const mesh = new Mesh(new CylinderGeometry(shape.radius, shape.radius, to - from, 32), material);
    return stretch(mesh, ...[from, to].map((h) => shape.centre.map((c, i) => c + h * shape.axis[i])));
  }
  if (shape.kind === "half-space") {
    const mesh = at(new Mesh(new PlaneGeometry(3 * reach, 3 * reach), material), shape.point);
    mesh.quaternion.copy(new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), new Vector3(...shape.normal)));
    return mesh;
  }
  if (shape.kind === "mesh") {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new Float32BufferAttribute(shape.vertices.flat(), 3));
    geometry.setIndex(shape.triangles.flat());
    geometry.computeVertexNormals();
    return new Mesh(geometry, material);
  }
  throw new RangeError(`unknown kind of shape: ${shape.kind}`);
}

function at(mesh, centre) {
  mesh.position.set(...centre);
  return mesh;
}
