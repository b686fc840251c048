// The emulator, on a thread of its own: a page ends it to stop a run.
"use strict";
let exports = null;

// Calls the module: a request and its answer are JSON in its memory.
const answer = request => {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const start = exports.warpladder_request(bytes.length);
  new Uint8Array(exports.memory.buffer, start, bytes.length).set(bytes);
  let trap = null;
  try {
    exports.warpladder_answer();
  } catch (error) {
    trap = error;
  }
  const [from, length] = [exports.warpladder_answer_start(), exports.warpladder_answer_bytes()];
  const text = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, from, length));
  if (!trap) return JSON.parse(text);
  // After a trap the answer says why, where the module could still write it.
  return {...(text ? JSON.parse(text) : {error: "the emulator failed: " + trap}), trap: true};
};

addEventListener("message", async ({data}) => {
  try {
    if (data.module) exports = (await WebAssembly.instantiate(data.module, {})).exports;
    const begun = performance.now();
    const answered = answer(data.request);
    postMessage({id: data.id, seconds: (performance.now() - begun) / 1000, ...answered});
  } catch (error) {
    postMessage({id: data.id, error: "the emulator failed: " + error, trap: true});
  }
});
