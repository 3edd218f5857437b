// SPDX-License-Identifier: Apache-2.0
// A reference that sways about a posture, and stops and starts softly: q = q0 + a (1 − cos φ)/2, φ' = ω s, s from 0 to 1.

const SWINGS = [0.9, 0.45, -0.6, 0.5, -0.5, 0.6, 0.5]; // rad (or tenths of it in m) of the joints, in turn
const PACE = 1.1; // rad/s of φ at full speed
const SOFT = 0.5; // s from standstill to full speed

/** @param joints the robot's joints, @param start where φ = 0 */
export function createSway(joints, start) {
  const swing = joints.map((joint, k) => {
    const wanted = SWINGS[k % SWINGS.length] * (joint.kind === "prismatic" ? 0.1 : 1);
    const low = (joint.lower ?? -Infinity) - start[k], high = (joint.upper ?? Infinity) - start[k];
    return Math.min(Math.max(wanted, 0.8 * Math.min(low, 0)), 0.8 * Math.max(high, 0));
  });
  let phase = 0, speed = 0, moving = false;
  return {
    get moving() { return moving; },
    get still() { return !moving && speed === 0; },
    go(on) { moving = on; },
    reset() { phase = speed = 0; moving = false; },
    /** Go on by h [s] and write the reference. */
    step(h, q, qd, qdd) {
      const before = speed;
      speed = Math.min(1, Math.max(0, speed + (moving ? h : -h) / SOFT));
      phase += 0.5 * (before + speed) * PACE * h;
      const rate = PACE * speed, change = (PACE * (speed - before)) / h, c = Math.cos(phase), s = Math.sin(phase);
      for (let k = 0; k < swing.length; k++) {
        q[k] = start[k] + 0.5 * swing[k] * (1 - c);
        qd[k] = 0.5 * swing[k] * s * rate;
        qdd[k] = 0.5 * swing[k] * (c * rate * rate + s * change);
      }
    },
  };
}
