// Unpacks what this page carries (replay_page.py: Packed), links its modules by blob addresses, and starts one of them.
(async () => {
  const carried = document.querySelector("[data-start]"), name = carried.dataset.root;
  async function unpack({ textContent: text }) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const data = await new Response(stream).arrayBuffer();
    const end = 4 + new DataView(data).getUint32(0, true);
    const types = { f4: Float32Array, f8: Float64Array, u1: Uint8Array };
    const revive = (_, value) => {
      if (!value?.$) return value;
      const [type, offset, shape] = value.$;
      return { shape, data: new types[type](data, end + offset, shape.reduce((a, b) => a * b, 1)) };
    };
    return JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, end - 4)), revive);
  }
  try {
    const [sources, content] = await Promise.all([unpack(carried), unpack(carried.nextElementSibling)]);
    const made = {};
    const address = (name) => (made[name] ??= URL.createObjectURL(new Blob(
      [sources[name].replace(/(\bfrom\s*)"\.\/([^"]+)"/g, (_, from, other) => `${from}"${address(other)}"`)],
      { type: "text/javascript" })));
    const { start } = await import(address(carried.dataset.start));
    await start(document.getElementById(name), content);
  } catch (error) {
    const note = document.getElementById(`${name}-note`);
    note.hidden = false;
    note.textContent = `${note.dataset.what} could not be shown: ${error.message}. ${note.dataset.instead}`;
  }
})();
