// SPDX-License-Identifier: Apache-2.0
// The arm as compiled code: a memory with named places, the ticks, and the look at the forces.

/**
 * Start a module.
 * @param bytes the module (graph/emit/wasm_module.py)
 * @param places name → [first, count] in doubles
 * @param first the whole memory before the first tick
 */
export async function openArm(bytes, places, first) {
  const { instance } = await WebAssembly.instantiate(bytes, { math: Math });
  const memory = new Float64Array(instance.exports.memory.buffer);
  const at = Object.fromEntries(Object.entries(places).map(([name, [from, count]]) => [name, memory.subarray(from, from + count)]));
  const reset = () => memory.set(first);
  reset();
  return { at, reset, run: instance.exports.run, look: instance.exports.look };
}
