// The worker as an object: a command line and files in, exit code and texts out.

export class Stopped extends Error {}

export class Tool {
  #source = null; #worker = null; #waiting = new Map(); #next = 0; #ready;

  constructor() {
    this.#start();
  }

  // Settles when the program can answer.
  get ready() {
    return this.#ready;
  }

  // Resolves to {code, out, err} of the command line `args` in a folder that holds `files`.
  run(args, files = []) {
    const id = ++this.#next;
    return this.#ready.then(() => new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, args, files });
    }));
  }

  // Ends what runs: Python cannot be interrupted, so it is started anew.
  stop() {
    this.#worker?.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Stopped("Stopped."));
    this.#waiting.clear();
    this.#start();
  }

  #start() {
    this.#ready = this.#load();
    this.#ready.catch(() => {});
  }

  async #load() {
    this.#source ??= await (await fetch("worker.js")).text();
    const address = URL.createObjectURL(new Blob([this.#source], { type: "text/javascript" }));
    const worker = new Worker(address, { type: "module" });
    this.#worker = worker;
    await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => data.started ? resolve() : reject(new Error(data.failed));
      worker.onerror = (event) => reject(new Error(event.message || "the worker cannot start"));
      worker.postMessage({ base: new URL("./", location.href).href });
    }).finally(() => URL.revokeObjectURL(address));
    worker.onmessage = ({ data }) => this.#settle(data);
    worker.onerror = (event) => this.#fail(event.message);
  }

  #settle({ id, told, failed }) {
    const job = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (failed === undefined) job?.resolve(told);
    else {
      job?.reject(new Error(failed));
      this.stop(); // memory that ran out, or a stack: what is left of it answers no more
    }
  }

  #fail(message) {
    for (const { reject } of this.#waiting.values()) reject(new Error(message));
    this.#waiting.clear();
    this.stop();
  }
}
