// The occupancy calculator: a form, the program's answer to it, and an address that holds it.

import { AnswerPage } from "./answer_page.js";
import { Stopped } from "./tool.js";

const form = document.getElementById("launch");
const part = (id) => document.getElementById(id);
const FIRST = { gpu: "h100-sxm", block: "256", regs: "32", smem: "0", "dynamic-smem": "0" };
const NEEDED = ["gpu", "block", "regs"];

export class Calculator {
  #tool; #page; #gpus = new Map(); #started = false; #running = false; #again = false;

  constructor(tool) {
    this.#tool = tool;
    this.#page = new AnswerPage(part("answer"));
    this.#fill(state());
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => this.#changed(event.target));
    addEventListener("hashchange", () => this.#follow());
  }

  // Asks the program for the first answer, and then which GPUs there are.
  async start() {
    this.#started = true;
    await this.#answer();
    const told = await this.#tool.run(["gpus", "--format", "json"]);
    const { devices } = JSON.parse(told.out).result;
    const groups = new Map();
    for (const gpu of devices) {
      this.#gpus.set(gpu.catalogue_id, gpu);
      const title = `${gpu.architecture} ${gpu.compute_capability}`;
      if (!groups.has(title)) groups.set(title, Object.assign(document.createElement("optgroup"), { label: title }));
      groups.get(title).append(new Option(gpu.name, gpu.catalogue_id));
    }
    const chosen = part("gpu").value;
    part("gpu").replaceChildren(...groups.values());
    this.#choose(chosen);
    this.#slide();
  }

  #changed(input) {
    if (input.dataset.for) part(input.dataset.for).value = input.value;
    this.#slide();
    this.#answer();
  }

  #follow() {
    if (location.hash.includes("=")) {
      this.#fill(state());
      this.#answer();
    }
  }

  #fill(values) {
    this.#choose(values.gpu);
    for (const input of form.elements) {
      if (input.name) input.value = values[input.name] ?? "";
    }
    this.#slide();
  }

  // A name that is not in the list is for the program to refuse.
  #choose(gpu) {
    const list = part("gpu");
    if (![...list.options].some(({ value }) => value === gpu)) list.prepend(new Option(gpu, gpu));
    list.value = gpu;
  }

  // Moves the sliders to what stands in the boxes, as far as the GPU goes.
  #slide() {
    const gpu = this.#gpus.get(part("gpu").value);
    if (gpu) {
      const most = {
        block: gpu.max_threads_per_block,
        regs: gpu.max_registers_per_thread,
        smem: gpu.shared_memory_per_block,
        "dynamic-smem": Math.max(gpu.shared_memory_per_block, gpu.shared_memory_per_block_optin ?? 0),
      };
      for (const slider of form.querySelectorAll("[data-for]")) slider.max = most[slider.dataset.for];
    }
    for (const slider of form.querySelectorAll("[data-for]")) {
      const text = part(slider.dataset.for).value.trim();
      if (/^\d+$/.test(text)) slider.value = text;
      slider.setAttribute("aria-valuetext", text);
    }
  }

  // Answers what stands in the form; while it answers only the latest question waits.
  async #answer() {
    this.#again = true;
    if (this.#running || !this.#started) return;
    this.#running = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#show(entered());
      }
    } catch (error) {
      part("verdict").textContent = error instanceof Stopped ? "" : `No answer: ${error.message}`;
    } finally {
      this.#running = false;
    }
  }

  async #show(values) {
    const args = commandLine(values);
    const json = await this.#tool.run([...args, "--format", "json"]);
    const html = await this.#tool.run([...args, "--format", "html"]);
    const link = new URL(location.href);
    link.hash = new URLSearchParams(values).toString();
    history.replaceState(null, "", link);
    part("link").textContent = link.href;
    part("command").textContent = ["gpuadvise", ...args].map(quoted).join(" ");
    part("json").textContent = json.out || json.err;
    if (html.out) {
      const shown = await this.#page.show(html.out);
      const verdict = [...shown.querySelectorAll("main > p:not(.faint)")].slice(0, 2);
      part("verdict").textContent = verdict.map((line) => line.textContent).join(" ");
      for (const shownAbove of [...verdict, ...shown.querySelectorAll("h1, footer")]) shownAbove.remove();
      part("code").textContent = launchOf(JSON.parse(json.out));
      part("answer").hidden = false;
    } else {
      part("verdict").textContent = html.err;
      part("code").textContent = "";
      part("answer").hidden = true;
    }
    form.dataset.answers = link.hash;
  }
}

// What the address says, or a launch to begin with.
function state() {
  const told = new URLSearchParams(location.hash.slice(1));
  const values = {};
  for (const input of form.elements) {
    if (input.name && told.get(input.name)) values[input.name] = told.get(input.name);
  }
  return { ...FIRST, ...values };
}

function entered() {
  const values = {};
  for (const input of form.elements) {
    const text = input.name ? input.value.trim() : "";
    if (text || NEEDED.includes(input.name)) values[input.name] = text;
  }
  return values;
}

function commandLine(values) {
  const args = ["occupancy"];
  for (const [name, text] of Object.entries(values)) {
    if (text === "0" && name.endsWith("smem")) continue;
    args.push(`--${name}`, text);
  }
  return args;
}

function quoted(word) {
  return /^[\w./:,%=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

// The launch in CUDA C++, from the program's own reading of it.
function launchOf({ input, result }) {
  const lines = [];
  const own = [];
  if (input.launch_bounds) own.push(`__launch_bounds__(${[input.launch_bounds].flat().filter((n) => n != null).join(", ")})`);
  if (input.cluster.some((size) => size > 1)) own.push(`__cluster_dims__(${input.cluster.join(", ")})`);
  if (own.length) lines.push(`__global__ void ${own.join(" ")} kernel(...);`);
  if (result.needs_optin) {
    lines.push(`cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ${result.needs_optin});`);
  }
  const grid = input.grid ? dim3(input.grid) : "blocks";
  const memory = input.dynamic_smem ? `, ${input.dynamic_smem}` : "";
  lines.push(`kernel<<<${grid}, ${dim3(input.block)}${memory}>>>(...);`);
  return lines.join("\n");
}

function dim3(sizes) {
  const [x, y, z] = [sizes].flat();
  if ((z ?? 1) > 1) return `dim3(${x}, ${y}, ${z})`;
  return (y ?? 1) > 1 ? `dim3(${x}, ${y})` : `${x}`;
}
