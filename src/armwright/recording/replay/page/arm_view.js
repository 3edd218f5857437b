// SPDX-License-Identifier: Apache-2.0
// The arm as three.js objects: a group for every body, capsules for its link, a housing for its joint; base and tool.
import {
  BufferGeometry, CapsuleGeometry, ConeGeometry, CylinderGeometry, Float32BufferAttribute, Group, Mesh, MeshLambertMaterial,
  Quaternion, Vector3,
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
  const root = new Group();
  place(root, spec.T_base_root);
  group.add(root);
  const meshes = spec.meshes ?? [], dressed = new Set(meshes.map((part) => part.body));
  for (const part of meshes) (bodies[part.body] ?? root).add(meshOf(part, part.body < 0 ? materials.base : materials.arm));
  for (const part of spec.capsules) {
    const capsule = capsuleMesh(aboveFoot(spec, part), part.end, part.radius, materials.arm);
    capsule.visible = !dressed.has(part.body); // it can still be taken
    bodies[part.body].add(capsule);
  }
  const thin = 0.03 * spec.extent;
  spec.bodies.forEach((body, i) => {
    const own = spec.capsules.filter((part) => part.body === i), carrier = spec.capsules.filter((p) => p.body === body.parent);
    const radius = Math.max(thin, ...[...own, ...carrier].map((part) => part.radius));
    const onFoot = body.parent < 0 && Math.hypot(...origin(body.T_parent_joint)) < radius; // the foot shows that joint
    if (!body.prismatic && !onFoot && !dressed.has(i)) bodies[i].add(...housing(body, radius, lieAlong(body, own, carrier), materials));
    if (body.parent < 0 && !dressed.has(-1)) root.add(...pedestal(body, radius, materials.base));
  });
  const tool = new Mesh(new ConeGeometry(0.35 * thin, 1.2 * thin, 16), materials.tool);
  const mount = new Group(); // in the tool frame; the cone's point lies in its origin and looks along z
  tool.rotation.x = Math.PI / 2;
  tool.position.z = -0.6 * thin;
  mount.add(tool);
  group.add(mount);
  const lit = materials.arm.clone(); // in front of a neighbour whose capsule has the same surface
  Object.assign(lit, { polygonOffset: true, polygonOffsetFactor: -1, polygonOffsetUnits: -1 });
  let poses = null, faded = false;
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
      for (const [name, material] of Object.entries(materials)) material.color.set(faded ? next.base : next[name]);
    },
    /** Grey and translucent, for an arm that is only remembered. */
    fade(on, next) {
      faded = on;
      for (const material of Object.values(materials)) Object.assign(material, { transparent: on || ghost, opacity: on ? 0.45 : look.opacity, needsUpdate: true });
      this.recolour(next);
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

/** Triangles of a mesh that came with the arm: float32 corners in base64, flat shaded. */
function meshOf({ corners, count }, material) {
  const bytes = Uint8Array.from(atob(corners), (c) => c.charCodeAt(0));
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(new Float32Array(bytes.buffer, 0, 9 * count), 3));
  geometry.computeVertexNormals();
  return new Mesh(geometry, material);
}

/** Where a capsule is drawn from: one that begins in the arm's foot must not bulge out below it. */
function aboveFoot(spec, { body, start, end, radius }) {
  const { parent, T_parent_joint, T_joint_link } = spec.bodies[body];
  if (parent >= 0 || Math.hypot(...transform(multiply(T_parent_joint, T_joint_link), start)) > radius) return start;
  const along = end.map((x, k) => x - start[k]), length = Math.hypot(...along);
  return length > radius ? start.map((x, k) => x + (radius / length) * along[k]) : start;
}

/** Whether a joint turns about the links on both of its sides, as a shaft does, and not across one of them. */
function lieAlong(body, own, carrier) {
  const across = (parts, axis) => parts.some(({ start, end, radius }) => {
    const d = end.map((x, k) => x - start[k]), length = Math.hypot(...d);
    return length > radius && Math.abs(d.reduce((sum, x, k) => sum + x * axis[k], 0)) < 0.9 * length;
  });
  const beside = turn(inverse(body.T_joint_link), body.axis), before = turn(body.T_parent_joint, body.axis);
  return !across(own, beside) && !across(carrier, before);
}

/** Where the arm turns, in the link frame: a drum with caps across a link, a band along one. */
function housing(body, radius, along, materials) {
  const T_link_joint = inverse(body.T_joint_link);
  const centre = origin(T_link_joint), axis = turn(T_link_joint, body.axis);
  const wide = (along ? 1.05 : 1.1) * radius, half = (along ? 0.3 : 1.12) * radius, edge = (along ? 0.02 : 0.14) * radius;
  const drum = [[[0, -half], [wide - edge, -half]], [[wide - edge, -half], [wide, edge - half]], [[wide, edge - half], [wide, half - edge]],
    [[wide, half - edge], [wide - edge, half]], [[wide - edge, half], [0, half]]];
  const cap = 0.78 * wide, out = half + 0.07 * radius;
  const caps = [[[0, -out], [cap, -out]], [[cap, -out], [cap, -half]], [[cap, half], [cap, out]], [[cap, out], [0, out]]];
  const parts = along ? [[drum, materials.joint]] : [[drum, materials.arm], [caps, materials.joint]];
  return parts.map(([profile, material]) => {
    const mesh = new Mesh(turned(profile, 36), material);
    mesh.userData.ring = true;
    mesh.position.set(...centre);
    mesh.quaternion.setFromUnitVectors(UP, new Vector3(...axis));
    return mesh;
  });
}

/** A body of revolution about y: pairs of points [radius, height], each pair with an edge of its own. */
function turned(profile, rounds) {
  const positions = [], normals = [], index = [];
  for (const [[r0, y0], [r1, y1]] of profile) {
    const size = Math.hypot(r1 - r0, y1 - y0), nr = (y1 - y0) / size, ny = (r0 - r1) / size, first = positions.length / 3;
    for (let k = 0; k <= rounds; k++) {
      const c = Math.cos((2 * Math.PI * k) / rounds), s = Math.sin((2 * Math.PI * k) / rounds);
      positions.push(r0 * c, y0, r0 * s, r1 * c, y1, r1 * s);
      normals.push(nr * c, ny, nr * s, nr * c, ny, nr * s);
      if (k < rounds) for (const t of [0, 1, 2, 1, 3, 2]) index.push(first + 2 * k + t);
    }
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new Float32BufferAttribute(normals, 3));
  geometry.setIndex(index);
  return geometry;
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
