// SPDX-License-Identifier: Apache-2.0
// A zip without compression (APPNOTE 6.3.10, method "stored"): many files in one upload.

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});
function crc32(bytes) {
  let c = 0xffffffff;
  for (const b of bytes) c = TABLE[(c ^ b) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** Pack [path, Blob] pairs; resolves with the archive as a Blob. */
export async function zipped(pairs) {
  const parts = [], directory = [];
  let offset = 0;
  for (const [path, blob] of pairs) {
    const name = new TextEncoder().encode(path), data = new Uint8Array(await blob.arrayBuffer());
    const common = [[2, 20], [2, 0x0800], [2, 0], [2, 0], [2, 33], [4, crc32(data)], [4, data.length], [4, data.length], [2, name.length], [2, 0]];
    const local = record([[4, 0x04034b50], ...common]);
    directory.push(record([[4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]), name);
    parts.push(local, name, data);
    offset += local.length + name.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0), count = pairs.length;
  const end = record([[4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, offset], [2, 0]]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}

/** Little-endian numbers [bytes, value] in a row. */
function record(numbers) {
  const out = new DataView(new ArrayBuffer(numbers.reduce((sum, [bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [bytes, value] of numbers) {
    if (bytes === 2) out.setUint16(at, value, true);
    else out.setUint32(at, value, true);
    at += bytes;
  }
  return new Uint8Array(out.buffer);
}
