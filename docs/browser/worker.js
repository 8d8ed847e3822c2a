// The program: Python as WebAssembly, with the packages of runtime/first.zip and rest.zip. It is started from a
// blob, so that the policy of the page binds it, and is told first where its files are. The calculator's first
// answers need little of the packages, and nothing where Python starts from the memory that it had after
// them (snapshot.bin): the rest follows while they are looked at.

const ANSWER = `
import contextlib, importlib, io, os, sys

def answer(args, folder):
    """Return exit code, stdout and stderr of a command line that runs in a folder."""
    from gpuadvise.cli.main import main

    os.chdir(folder)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = int(main(list(args)))
        except ImportError:  # for what is not there yet
            raise
        except Exception as fault:
            print(f"error: gpuadvise itself failed ({type(fault).__name__}: {fault}).", file=sys.stderr)
            code = 3
    return code, out.getvalue(), err.getvalue()

os.environ.update(COLUMNS="100", NO_COLOR="1")
if "/packages" not in sys.path:
    sys.path.insert(0, "/packages")
answer
`;
// Of a launch that these describe, what answers it was seen when the site was built (docs/first_answer.mjs).
const SEEN = ["--gpu", "--block", "--regs", "--format"];

let started, python, cuda, ask, rest;
let jobs = 0;

async function start(base) {
  const runtime = new URL("runtime/", base);
  const first = archive(new URL("first.zip", runtime));
  const memory = snapshot(new URL("snapshot.bin", runtime));
  const [{ loadPyodide }, { CudaParser }] = await Promise.all([
    import(new URL("pyodide.mjs", runtime).href),
    import(new URL("cuda_parser.js", base).href),
  ]);
  const begun = await load(loadPyodide, runtime.href, await memory);
  if (!begun) await unpack(await first);
  cuda = new CudaParser(runtime);
  python.registerJsModule("web_tree_sitter_cuda", cuda.module);
  ask = python.runPython(ANSWER);
  let all;
  rest = () => all ??= (async () => {
    const archives = [first, archive(new URL("rest.zip", runtime))];
    for (const zip of begun ? archives : archives.slice(1)) await unpack(await zip);
    python.runPython("importlib.invalidate_caches()");
  })();
}

// Starts Python, from `memory` if that fits this browser; returns whether it does.
async function load(loadPyodide, indexURL, memory) {
  if (memory) {
    try {
      python = await loadPyodide({ indexURL, _loadSnapshot: memory });
      return true;
    } catch { /* without it, then */ }
  }
  python = await loadPyodide({ indexURL });
  return false;
}

// The memory after a first answer, undefined without one: 7 MB, which take longer than they save where the line is slow.
async function snapshot(address) {
  try {
    const kept = await globalThis.caches?.match(address);
    const { saveData = false, effectiveType = "4g" } = navigator.connection ?? {};
    if (!kept && (saveData || effectiveType !== "4g")) return undefined;
    const packed = kept ?? await fetch(address);
    if (!packed.ok) return undefined;
    const plain = packed.body.pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(plain).arrayBuffer());
  } catch {
    return undefined;
  }
}

async function archive(address) {
  const zip = await fetch(address);
  if (!zip.ok) throw new Error(`${address.pathname}: ${zip.status}`);
  return zip.arrayBuffer();
}

function unpack(zip) {
  python.FS.mkdirTree("/packages");
  python.unpackArchive(zip, "zip", { extractDir: "/packages" });
}

function isFirst([command, ...words]) {
  const options = words.filter((word) => word.startsWith("--"));
  return command === "occupancy" ? options.every((option) => SEEN.includes(option)) : command === "gpus" && words.length === 2;
}

// Answers with as much of the program as the question needs.
async function answered(args, files) {
  if (isFirst(args)) {
    try {
      return answer(args, files);
    } catch { /* more is needed than was seen */ }
  }
  await rest();
  return answer(args, files);
}

// Files are read where they are: no byte of them is copied before it is wanted.
function answer(args, files) {
  const { FS } = python;
  const folder = `/files/${++jobs}`;
  FS.mkdirTree(folder);
  FS.mount(FS.filesystems.WORKERFS, { blobs: files }, folder);
  try {
    const words = python.toPy(args);
    const told = ask(words, folder);
    const [code, out, err] = told.toJs();
    told.destroy();
    words.destroy();
    return { code, out, err };
  } finally {
    FS.chdir("/");
    FS.unmount(folder);
    FS.rmdir(folder);
  }
}

onmessage = async ({ data }) => {
  if (data.base) {
    started = start(data.base);
    started.then(() => postMessage({ started: true }), (error) => postMessage({ failed: String(error) }));
    return;
  }
  try {
    await started;
    let told = await answered(data.args, data.files);
    if (cuda.wanted) {
      await cuda.fetch();
      told = answer(data.args, data.files);
    }
    postMessage({ id: data.id, told });
    if (data.args[0] === "gpus") setTimeout(rest, 0); // the last of the calculator's first questions
  } catch (error) {
    postMessage({ id: data.id, failed: String(error) });
  }
};
