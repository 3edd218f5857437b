// SPDX-License-Identifier: Apache-2.0
// The line to the server: the token first, then questions with answers, events, and frames of the running arm.

const PATIENCE = 660_000; // ms for an answer: the server ends what takes too long, and says so
const AGAIN = 1000; // ms until a lost line is tried again

/**
 * @param token of the address's fragment
 * @param handlers ready(greeting), event(message), frame(Float32Array), lost(reason)
 */
export function connect(token, handlers) {
  let socket = null, next = 1, drawn = 0, ended = false;
  const waiting = new Map();

  function open() {
    socket = new WebSocket(`ws://${location.host}/socket`);
    socket.binaryType = "arraybuffer";
    drawn = 0;
    socket.onopen = () => ask("hello", { token }).then(handlers.ready, () => {}); // onclose says why not
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return handlers.frame(new Float32Array(data));
      const message = JSON.parse(data);
      if ("event" in message) return handlers.event(message);
      const one = waiting.get(message.re);
      waiting.delete(message.re);
      if (message.error !== undefined) {
        if (one) one.reject(new Error(message.error));
        else handlers.refused?.(message.error);
      } else one?.resolve(message.ok);
    };
    socket.onclose = ({ code, reason }) => {
      for (const { reject } of waiting.values()) reject(new Error("the line to the studio was lost"));
      waiting.clear();
      ended = ended || code === 4401;
      handlers.lost(code === 4401 ? "This address has no valid token: open the one that the terminal shows." : reason || "the studio has ended");
      if (!ended) setTimeout(open, AGAIN);
    };
  }

  /** Ask for something; resolves with the answer, rejects with the server's sentence. */
  function ask(what, fields = {}) {
    return new Promise((resolve, reject) => {
      if (socket.readyState !== WebSocket.OPEN) return reject(new Error("the line to the studio is closed"));
      const id = next++;
      waiting.set(id, { resolve, reject });
      setTimeout(() => { if (waiting.delete(id)) reject(new Error(`${what}: no answer`)); }, PATIENCE);
      socket.send(JSON.stringify({ do: what, id, ...fields }));
    });
  }

  open();
  return {
    ask,
    /** Say something that needs no answer. */
    say(what, fields = {}) { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ do: what, ...fields })); },
    /** A frame has been drawn; the server is told every few of them. */
    drew() { if (++drawn % 4 === 0) this.say("drew", { count: drawn }); },
    /** Send a file; resolves with the answer. */
    async upload(kind, file, more = {}) {
      const answer = await fetch(`/upload/${kind}`, {
        method: "POST", body: file, headers: { authorization: `Bearer ${token}`, "x-file-name": encodeURIComponent(file.name), ...more },
      });
      const said = await answer.json().catch(() => ({ error: `upload: ${answer.status}` }));
      if (said.error) throw new Error(said.error);
      return said;
    },
    close() { ended = true; socket.close(); },
  };
}
