// The program: Python as WebAssembly, with the packages of runtime/packages.zip. It is started from a
// blob, so that the policy of the page binds it, and is told first where its files are.

const ANSWER = `
import contextlib, io, os, sys

def answer(args, folder):
    """Return exit code, stdout and stderr of a command line that runs in a folder."""
    from gpuadvise.cli.main import main

    os.chdir(folder)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = int(main(list(args)))
        except Exception as fault:
            print(f"error: gpuadvise itself failed ({type(fault).__name__}: {fault}).", file=sys.stderr)
            code = 3
    return code, out.getvalue(), err.getvalue()

os.environ.update(COLUMNS="100", NO_COLOR="1")
sys.path.insert(0, "/packages")
answer
`;

let started, python, cuda, ask;
let jobs = 0;

async function start(base) {
  const runtime = new URL("runtime/", base);
  const packages = fetch(new URL("packages.zip", runtime));
  const [{ loadPyodide }, { CudaParser }] = await Promise.all([
    import(new URL("pyodide.mjs", runtime).href),
    import(new URL("cuda_parser.js", base).href),
  ]);
  python = await loadPyodide({ indexURL: runtime.href });
  const zip = await packages;
  if (!zip.ok) throw new Error(`packages.zip: ${zip.status}`);
  python.FS.mkdirTree("/packages");
  python.unpackArchive(await zip.arrayBuffer(), "zip", { extractDir: "/packages" });
  cuda = new CudaParser(runtime);
  python.registerJsModule("web_tree_sitter_cuda", cuda.module);
  ask = python.runPython(ANSWER);
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
    let told = answer(data.args, data.files);
    if (cuda.wanted) {
      await cuda.fetch();
      told = answer(data.args, data.files);
    }
    postMessage({ id: data.id, told });
  } catch (error) {
    postMessage({ id: data.id, failed: String(error) });
  }
};
