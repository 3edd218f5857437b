// SPDX-License-Identifier: Apache-2.0
// Forward kinematics from a robot's spec (recording/replay/spec.py). Poses are arrays of 16 numbers by rows; SI, radians.
// T_parent_link(q) = T_parent_joint · motion(axis, ratio·q + offset) · T_joint_link, as armwright.robot.parts says.

export const IDENTITY = Object.freeze([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

/** Product of two poses. */
export function multiply(A, B) {
  const C = new Array(16);
  for (let i = 0; i < 12; i += 4) {
    for (let j = 0; j < 4; j++)
      C[i + j] = A[i] * B[j] + A[i + 1] * B[4 + j] + A[i + 2] * B[8 + j] + (j === 3 ? A[i + 3] : 0);
  }
  C[12] = C[13] = C[14] = 0;
  C[15] = 1;
  return C;
}

/** Inverse of a pose: transposed rotation. */
export function inverse(T) {
  const C = [T[0], T[4], T[8], 0, T[1], T[5], T[9], 0, T[2], T[6], T[10], 0, 0, 0, 0, 1];
  for (let i = 0; i < 3; i++) C[4 * i + 3] = -(C[4 * i] * T[3] + C[4 * i + 1] * T[7] + C[4 * i + 2] * T[11]);
  return C;
}

/** Coordinates of a point [m] after the pose. */
export function transform(T, [x, y, z]) {
  return [0, 4, 8].map((i) => T[i] * x + T[i + 1] * y + T[i + 2] * z + T[i + 3]);
}

/** A direction after the pose: turned, not moved. */
export function turn(T, [x, y, z]) {
  return [0, 4, 8].map((i) => T[i] * x + T[i + 1] * y + T[i + 2] * z);
}

/** Origin of a pose. */
export const origin = (T) => [T[3], T[7], T[11]];

/** Motion of a joint: a turn about its unit axis by `d` [rad] (Rodrigues), or a shift along it by `d` [m]. */
export function motion([x, y, z], d, prismatic) {
  if (prismatic) return [1, 0, 0, x * d, 0, 1, 0, y * d, 0, 0, 1, z * d, 0, 0, 0, 1];
  const c = Math.cos(d), s = Math.sin(d), v = 1 - c;
  return [
    c + x * x * v, x * y * v - z * s, x * z * v + y * s, 0,
    y * x * v + z * s, c + y * y * v, y * z * v - x * s, 0,
    z * x * v - y * s, z * y * v + x * s, c + z * z * v, 0,
    0, 0, 0, 1,
  ];
}

/**
 * Where the links and the tool are, in the base frame.
 * @param robot spec of the arm
 * @param q joint coordinates, n numbers [rad or m]
 * @returns {{links: number[][], tool: number[]}} T_base_link of every body, and T_base_tool
 */
export function forward(robot, q) {
  if (q.length !== robot.joints.length)
    throw new RangeError(`forward: expected ${robot.joints.length} joint coordinates, got ${q.length}`);
  const links = [];
  for (const body of robot.bodies) {
    const parent = body.parent < 0 ? robot.T_base_root : links[body.parent];
    const moved = motion(body.axis, body.ratio * q[body.joint] + body.offset, body.prismatic);
    links.push(multiply(multiply(multiply(parent, body.T_parent_joint), moved), body.T_joint_link));
  }
  const tip = robot.tip < 0 ? robot.T_base_root : links[robot.tip];
  return { links, tool: multiply(tip, robot.T_tip_tool) };
}
