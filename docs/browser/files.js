// Files of the user: dropped, chosen or pasted, and the program's answer to them.

import { AnswerPage } from "./answer_page.js";
import { Stopped } from "./tool.js";

const part = (id) => document.getElementById(id);
const KINDS = { html: "text/html", text: "text/plain", json: "application/json" };
const SUFFIXES = { html: "html", text: "txt", json: "json" };

export class Files {
  #tool; #page; #files = []; #saved = null; #latest = 0;

  constructor(tool) {
    this.#tool = tool;
    this.#page = new AnswerPage(part("page"));
    part("chosen").addEventListener("change", () => this.#take([...part("chosen").files]));
    for (const button of document.querySelectorAll("[data-example]")) {
      button.addEventListener("click", () => this.#takeExample(button.dataset.example.split(" ")));
    }
    part("paste").addEventListener("click", () => this.#takeText());
    part("question").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer();
    });
    part("format").addEventListener("change", () => this.#answer());
    part("stop").addEventListener("click", () => this.#tool.stop());
    part("save").addEventListener("click", () => this.#save());
    this.#listen();
    this.#takeOpened();
  }

  // Anywhere on the page: a file that misses the box would open in place of it.
  #listen() {
    const over = (on) => part("drop").classList.toggle("over", on);
    addEventListener("dragover", (event) => {
      event.preventDefault();
      over(true);
    });
    addEventListener("dragleave", (event) => event.relatedTarget ?? over(false));
    addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      this.#take([...event.dataTransfer.files]);
    });
  }

  // Files of this site.
  async #takeExample(names) {
    try {
      this.#take(await Promise.all(names.map(async (name) => {
        const answer = await fetch(`examples/${name}`);
        if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
        return new File([await answer.blob()], name);
      })));
    } catch (error) {
      part("told").textContent = `The example cannot be loaded: ${error.message}`;
    }
  }

  // Files that open.html has fetched, and the command that its address asked for.
  async #takeOpened() {
    const address = new URL(location.href);
    const command = address.searchParams.get("opened");
    if (command === null) return;
    address.searchParams.delete("opened");
    history.replaceState(null, "", address);
    const kept = await caches.open("opened-evidence");
    const files = [];
    for (const request of await kept.keys()) {
      const name = decodeURIComponent(new URL(request.url).pathname.split("/").pop());
      files.push(new File([await (await kept.match(request)).blob()], name));
    }
    await caches.delete("opened-evidence");
    part("words").value = command;
    this.#take(files);
  }

  #takeText() {
    const name = part("pasted-name").value.trim() || "pasted.txt";
    this.#take([new File([part("pasted").value], name)]);
  }

  #take(files) {
    if (!files.length) return;
    const names = new Set();
    this.#files = files.map((file) => {
      let name = file.name.replaceAll("/", "_");
      while (names.has(name)) name = `_${name}`;
      names.add(name);
      return { name, data: file };
    });
    part("again").disabled = false;
    this.#answer();
  }

  async #answer() {
    if (!this.#files.length) return;
    const job = ++this.#latest;
    const format = part("format").value;
    part("told").textContent = "Reading…";
    part("stop").disabled = false;
    try {
      const told = await this.#tool.run([...this.#command(), "--format", format], this.#files);
      if (job === this.#latest) await this.#show(told, format);
    } catch (error) {
      if (job === this.#latest) this.#refuse(error);
    }
    if (job === this.#latest) part("stop").disabled = true;
  }

  #command() {
    const words = part("words").value.match(/"[^"]*"|\S+/g) ?? [];
    const names = this.#files.map(({ name }) => name.startsWith("-") ? `./${name}` : name);
    const [first, ...rest] = words.map((word) => word.replaceAll('"', "")).filter((word) => word !== "gpuadvise");
    if (first === undefined || first.startsWith("-")) return [...names, ...(first ? [first] : []), ...rest];
    return [first, ...names, ...rest];
  }

  async #show({ code, out, err }, format) {
    const html = format === "html" && out.startsWith("<!doctype html>");
    part("page").hidden = !html;
    part("text").hidden = html || !out;
    part("text").textContent = html ? "" : out;
    part("notes").hidden = !err;
    part("notes").textContent = err;
    if (html) await this.#page.show(out);
    const ended = code === 0 ? "" : ` Exit code ${code}.`;
    part("told").textContent = `${this.#files.map(({ name }) => name).join(", ")}:${ended || " answered."}`;
    part("told").dataset.code = code;
    this.#saved = out ? { out, format } : null;
    part("save").disabled = !out;
  }

  #refuse(error) {
    for (const id of ["page", "text", "notes"]) part(id).hidden = true;
    part("told").textContent = error instanceof Stopped
      ? "Stopped."
      : `The browser could not read this: ${error.message}. Memory may be short; the command line reads larger files.`;
    part("told").dataset.code = "stopped";
    part("save").disabled = true;
  }

  #save() {
    const { out, format } = this.#saved;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([out], { type: KINDS[format] }));
    link.download = `gpuadvise.${SUFFIXES[format]}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
