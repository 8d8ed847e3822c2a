// A page that the program wrote (--format html), in a frame that runs no script. Links open a tab.

const BLANK = '<!doctype html><html lang="en"><head><base target="_blank"><style></style></head><body></body></html>';

export class AnswerPage {
  #frame; #loaded;

  constructor(frame) {
    this.#frame = frame;
    this.#loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
    frame.srcdoc = BLANK;
    new ResizeObserver(() => this.#fit()).observe(frame);
  }

  // Shows `html` in place of what was there, without a flicker; resolves to the document.
  async show(html) {
    await this.#loaded;
    const shown = this.#frame.contentDocument;
    const page = new DOMParser().parseFromString(html, "text/html");
    shown.title = page.title;
    shown.querySelector("style").textContent = page.querySelector("style")?.textContent ?? "";
    shown.body.replaceChildren(...[...page.body.children].map((part) => shown.importNode(part, true)));
    for (const details of shown.querySelectorAll("details")) {
      details.addEventListener("toggle", () => this.#fit());
    }
    this.#fit();
    return shown;
  }

  #fit() {
    const shown = this.#frame.contentDocument;
    if (shown?.body?.firstElementChild) {
      this.#frame.style.height = `${Math.ceil(shown.body.getBoundingClientRect().height) + 8}px`;
    }
  }
}
