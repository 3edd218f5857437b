// Unpacks what this page carries (recording/replay/pack.py), links its modules by blob addresses, and starts the replay.
(async () => {
  async function unpack(id) {
    const text = document.getElementById(id).textContent;
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const data = await new Response(stream).arrayBuffer();
    const end = 4 + new DataView(data).getUint32(0, true);
    const types = { f4: Float32Array, f8: Float64Array };
    const revive = (_, value) => {
      if (!value?.$) return value;
      const [type, offset, shape] = value.$;
      return { shape, data: new types[type](data, end + offset, shape.reduce((a, b) => a * b, 1)) };
    };
    return JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, end - 4)), revive);
  }
  try {
    const [sources, content] = await Promise.all([unpack("replay-modules"), unpack("replay-data")]);
    const made = {};
    const address = (name) => (made[name] ??= URL.createObjectURL(new Blob(
      [sources[name].replace(/(\bfrom\s*)"\.\/([^"]+)"/g, (_, from, other) => `${from}"${address(other)}"`)],
      { type: "text/javascript" })));
    const { start } = await import(address("replay.js"));
    start(document.getElementById("replay"), content);
  } catch (error) {
    const note = document.getElementById("replay-note");
    note.hidden = false;
    note.textContent = `The replay could not be shown: ${error.message}. The figures of the report do not need it.`;
  }
})();
