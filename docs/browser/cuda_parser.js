// The module that advisor/source/browser_parser.py reads CUDA with: web-tree-sitter and the grammar,
// loaded when the first CUDA source asks for them.

const WIDTH = 7; // numbers of a node: kind, start, end, flags, nodes, field, parent
const HAS_ERROR = 1, IS_MISSING = 2, IS_NAMED = 4;

export class CudaParser {
  #base; #language = null; #parser = null;
  wanted = false; // a source was given while there was no grammar

  constructor(base) {
    this.#base = base;
  }

  // What Python sees.
  get module() {
    return {
      load: () => {
        this.wanted = this.#parser === null;
        return !this.wanted;
      },
      kinds: () => this.#kinds(),
      fields: () => this.#language.fields,
      parse: (text, over) => this.#parse(text, over),
    };
  }

  async fetch() {
    const { Language, Parser } = await import(new URL("web-tree-sitter.js", this.#base).href);
    const runtime = new URL("web-tree-sitter.wasm", this.#base).href;
    await Parser.init({ locateFile: () => runtime });
    const grammar = await fetch(new URL("tree-sitter-cuda.wasm", this.#base));
    if (!grammar.ok) throw new Error(`the grammar of CUDA: ${grammar.status}`);
    this.#language = await Language.load(new Uint8Array(await grammar.arrayBuffer()));
    this.#parser = new Parser();
    this.#parser.setLanguage(this.#language);
  }

  #kinds() {
    const kinds = [];
    for (let id = 0; id < this.#language.nodeTypeCount; id++) {
      kinds.push([this.#language.nodeTypeForId(id) ?? "", this.#language.nodeTypeIsNamed(id)]);
    }
    return kinds;
  }

  #parse(text, over) {
    const progressCallback = (state) => over(state.currentOffset, state.hasError);
    const tree = this.#parser.parse(text, null, { progressCallback });
    if (tree === null) {
      this.#parser.reset();
      return null;
    }
    try {
      return numbers(tree);
    } finally {
      tree.delete();
    }
  }
}

// Every node of a tree, parents before children.
function numbers(tree) {
  const all = new Int32Array(tree.rootNode.descendantCount * WIDTH);
  const cursor = tree.walk();
  const parents = [];
  let count = 0;
  const close = () => {
    const parent = parents.pop();
    all[parent * WIDTH + 4] = count - parent;
  };
  walk: for (;;) {
    const id = count++;
    const node = cursor.currentNode;
    all.set([
      node.typeId,
      cursor.startIndex,
      cursor.endIndex,
      (node.hasError ? HAS_ERROR : 0) | (node.isMissing ? IS_MISSING : 0) | (node.isNamed ? IS_NAMED : 0),
      1,
      cursor.currentFieldId,
      parents.at(-1) ?? 0,
    ], id * WIDTH);
    if (cursor.gotoFirstChild()) {
      parents.push(id);
      continue;
    }
    while (!cursor.gotoNextSibling()) {
      if (!parents.length) break walk;
      cursor.gotoParent();
      close();
    }
  }
  while (parents.length) close();
  cursor.delete();
  return all;
}
