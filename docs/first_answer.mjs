// What the page docs/browser needs for its first answer, found by giving that answer: node first_answer.mjs RUNTIME ALL FIRST REST
// writes the files of the archive ALL that were read into the folder FIRST, Python compiled, the others into
// REST, and into RUNTIME snapshot.bin: the memory of Python after that answer, from which later visits start.

import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import zlib from "node:zlib";

const [runtime, all, first, rest] = process.argv.slice(2).map((name) => path.resolve(name));
const { loadPyodide } = await import(pathToFileURL(path.join(runtime, "pyodide.mjs")).href);
const indexURL = runtime + path.sep;

// The calculator's first question, what else it asks, and launches that are limited otherwise or refused.
const LAUNCH = ["occupancy", "--gpu", "h100-sxm", "--block", "256", "--regs", "32", "--format"];
const FIRST = [[...LAUNCH, "json"], [...LAUNCH, "html"], ["gpus", "--format", "json"]];
const OTHERS = ["json", "html"].flatMap((format) => [
  ["occupancy", "--gpu", "gtx1080", "--block", "1000", "--regs", "200", "--format", format],
  ["occupancy", "--gpu", "b200", "--block", "32", "--regs", "255", "--format", format],
  ["occupancy", "--gpu", "none", "--block", "4096", "--regs", "x", "--format", format],
]);

const EMPTY_ZIP = Uint8Array.of(0x50, 0x4b, 5, 6, ...new Array(18).fill(0));

const ASK = `
import contextlib, io, os, sys

os.environ.update(COLUMNS="100", NO_COLOR="1")
sys.path.insert(0, "/packages")
sys.dont_write_bytecode = True

def ask(args):
    from gpuadvise.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(list(args))
`;
const WATCH = `
import py_compile

read = set()
sys.addaudithook(lambda event, args: event == "open" and read.add(args[0]))

def compiled(name):
    py_compile.compile(name, "/tmp/module.pyc", name, doraise=True,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    return "/tmp/module.pyc"
`;

await choose();
fs.writeFileSync(path.join(runtime, "snapshot.bin"), zlib.gzipSync(await snapshot(), { level: 9 }));

async function choose() {
  const python = await started({});
  python.unpackArchive(new Uint8Array(fs.readFileSync(all)), "zip", { extractDir: "/packages" });
  python.runPython(WATCH);
  answer(python, [...FIRST, ...OTHERS]);
  const loaded = new Set(python.runPython("[name for name in read if isinstance(name, str)]").toJs());
  const compiled = python.globals.get("compiled");
  const every = python.runPython(`
[os.path.join(here, name) for here, _, names in os.walk("/packages") for name in names]
`).toJs();
  for (const name of every) {
    const compile = loaded.has(name) && name.endsWith(".py");
    const target = path.join(loaded.has(name) ? first : rest, path.relative("/packages", name));
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(compile ? `${target}c` : target, python.FS.readFile(compile ? compiled(name) : name));
  }
}

async function snapshot() {
  const python = await started({ _makeSnapshot: true });
  for (const name of fs.readdirSync(first, { recursive: true }).sort()) {
    const source = path.join(first, name);
    if (fs.statSync(source).isDirectory()) python.FS.mkdirTree(`/packages/${name}`);
    else python.FS.writeFile(`/packages/${name}`, fs.readFileSync(source));
  }
  python.unpackArchive(EMPTY_ZIP, "zip", { extractDir: "/packages" }); // so that its modules are there
  answer(python, FIRST.slice(0, -1)); // the list of GPUs takes more memory than a runtime begins with
  python.runPython("del ask; import gc; gc.collect()");
  return python.makeMemorySnapshot();
}

async function started(options) {
  const python = await loadPyodide({ indexURL, ...options });
  python.FS.mkdirTree("/packages");
  python.runPython(ASK);
  return python;
}

function answer(python, lines) {
  for (const line of lines) python.runPython(`ask(${JSON.stringify(line)})`);
}
