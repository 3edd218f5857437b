// SPDX-License-Identifier: Apache-2.0
// The arm as three.js objects: a group for every body, capsules for its link, a ring around its joint; base and tool.
import {
  CapsuleGeometry, ConeGeometry, CylinderGeometry, Group, Mesh, MeshLambertMaterial, Quaternion, Vector3,
} from "./vendor/vendor.js";
import { forward, inverse, multiply, origin, transform, turn } from "./kinematics.js";

const UP = new Vector3(0, 1, 0); // three's cylinders stand on y

/** Place a mesh that stands on y between two points. */
export function stretch(mesh, start, end) {
  const a = new Vector3(...start), b = new Vector3(...end), along = b.clone().sub(a);
  mesh.position.copy(a.add(b).multiplyScalar(0.5));
  if (along.lengthSq() > 0) mesh.quaternion.copy(new Quaternion().setFromUnitVectors(UP, along.normalize()));
  return mesh;
}

/** A mesh of a capsule between two points [m]. */
export function capsuleMesh(start, end, radius, material, rounds = 20) {
  const length = Math.hypot(...end.map((x, i) => x - start[i]));
  return stretch(new Mesh(new CapsuleGeometry(radius, length, 6, rounds), material), start, end);
}

/** Set an object's pose from 16 numbers by rows. */
export function place(object, T) {
  object.matrix.set(...T);
  object.matrixAutoUpdate = false;
  object.matrixWorldNeedsUpdate = true;
}

/** Build the arm; `group` belongs into the base frame. */
export function armView(spec, colours, { ghost = false } = {}) {
  const group = new Group();
  const look = { transparent: ghost, opacity: ghost ? 0.3 : 1, depthWrite: !ghost };
  const materials = Object.fromEntries(
    ["arm", "joint", "base", "tool"].map((name) => [name, new MeshLambertMaterial({ color: colours[name], ...look })]));
  const bodies = spec.bodies.map((body, i) => {
    const link = new Group();
    link.userData = { body: i, link: body.name };
    group.add(link);
    return link;
  });
  for (const part of spec.capsules)
    bodies[part.body].add(capsuleMesh(aboveFoot(spec, part), part.end, part.radius, materials.arm));
  const root = new Group();
  place(root, spec.T_base_root);
  group.add(root);
  const thin = 0.03 * spec.extent;
  spec.bodies.forEach((body, i) => {
    const own = spec.capsules.filter((part) => part.body === i), carrier = spec.capsules.filter((p) => p.body === body.parent);
    const radius = Math.max(thin, ...(own.length ? own : carrier).map((part) => part.radius));
    const onFoot = body.parent < 0 && Math.hypot(...origin(body.T_parent_joint)) < radius; // the foot shows that joint
    if (!body.prismatic && !onFoot) bodies[i].add(...jointRings(body, radius, materials.joint));
    if (body.parent < 0) root.add(...pedestal(body, radius, materials.base));
  });
  const tool = new Mesh(new ConeGeometry(0.35 * thin, 1.2 * thin, 16), materials.tool);
  const mount = new Group(); // in the tool frame; the cone's point lies in its origin and looks along z
  tool.rotation.x = Math.PI / 2;
  tool.position.z = -0.6 * thin;
  mount.add(tool);
  group.add(mount);
  const lit = materials.arm.clone(); // in front of a neighbour whose capsule has the same surface
  Object.assign(lit, { polygonOffset: true, polygonOffsetFactor: -1, polygonOffsetUnits: -1 });
  let poses = null;
  return {
    group, bodies, materials,
    /** Poses of the last `pose`: `links` and `tool`. */
    get poses() { return poses; },
    pose(q) {
      poses = forward(spec, q);
      poses.links.forEach((T, i) => place(bodies[i], T));
      place(mount, poses.tool);
    },
    recolour(next) {
      for (const [name, material] of Object.entries(materials)) material.color.set(next[name]);
    },
    /** Light up one link (a body's index), or none (null). */
    highlight(index, colour) {
      bodies.forEach((link, i) => link.traverse((part) => {
        if (!part.isMesh || part.userData.ring) return;
        part.material = i === index ? lit : materials.arm;
      }));
      if (index !== null) lit.color.set(colour);
    },
  };
}

/** Where a capsule is drawn from: one that begins in the arm's foot must not bulge out below it. */
function aboveFoot(spec, { body, start, end, radius }) {
  const { parent, T_parent_joint, T_joint_link } = spec.bodies[body];
  if (parent >= 0 || Math.hypot(...transform(multiply(T_parent_joint, T_joint_link), start)) > radius) return start;
  const along = end.map((x, k) => x - start[k]), length = Math.hypot(...along);
  return length > radius ? start.map((x, k) => x + (radius / length) * along[k]) : start;
}

/** Where the arm turns, in the link frame: a band that shows along a link, and caps that show across one. */
function jointRings(body, radius, material) {
  const T_link_joint = inverse(body.T_joint_link);
  const centre = origin(T_link_joint), axis = turn(T_link_joint, body.axis);
  return [[1.05, 0.3], [0.72, 1.1]].map(([wide, half]) => {
    const ring = new Mesh(new CylinderGeometry(wide * radius, wide * radius, 2 * half * radius, 28), material);
    ring.userData.ring = true;
    return stretch(ring, ...[-half, half].map((h) => centre.map((c, k) => c + h * radius * axis[k])));
  });
}

/** What carries the first joint: a foot on the root, and a post up to the joint where there is room for one. */
function pedestal(body, radius, material) {
  const top = transform(body.T_parent_joint, [0, 0, 0]);
  const foot = new Mesh(new CylinderGeometry(1.35 * radius, 1.5 * radius, 0.3 * radius, 32), material);
  const out = [stretch(foot, [0, 0, 0], [0, 0, 0.3 * radius])];
  if (Math.hypot(...top) > 0.3 * radius) {
    const post = new Mesh(new CylinderGeometry(radius, radius, Math.hypot(...top), 24), material);
    out.push(stretch(post, [0, 0, 0], top));
  }
  return out;
}
