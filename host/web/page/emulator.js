// The worker with the emulator: asked one thing at a time, and started again after a stop.

// Where a server does not say that a file is WebAssembly, it is compiled when all of it is there.
async function compiled(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  const is_wasm = response.headers.get("Content-Type") === "application/wasm";
  if (is_wasm) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

export class Emulator {
  #module = null;
  #worker = null;
  #waiting = new Map();
  #next = 0;

  static async load(url) {
    const emulator = new Emulator();
    emulator.#module = await compiled(url);
    return emulator;
  }

  // Gives the answer as {ok, seconds}; its error is thrown.
  ask(request) {
    const fresh = !this.#worker;
    if (fresh) {
      this.#worker = new Worker("worker.js");
      this.#worker.addEventListener("message", ({data}) => this.#answered(data));
      this.#worker.addEventListener("error", ({message}) => this.stop(`worker.js: ${message}`));
    }
    const id = this.#next++;
    this.#worker.postMessage({id, request, ...(fresh && {module: this.#module})});
    return new Promise((resolve, reject) => this.#waiting.set(id, {resolve, reject}));
  }

  // Ends what runs; each request that waits fails with `reason`.
  stop(reason) {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const {reject} of waiting) reject(new Error(reason));
  }

  #answered({id, ok, error, seconds, trap}) {
    const {resolve, reject} = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) resolve({ok, seconds});
    else reject(new Error(error));
    // An instance that has trapped is in no known state.
    if (trap) this.stop("the emulator was started again: run it once more");
  }
}
