import { Calculator } from "./calculator.js";
import { Files } from "./files.js";
import { Tool } from "./tool.js";

// Only open.html may ask another server for a file.
if (new URLSearchParams(location.search).has("url")) location.replace(`open.html${location.search}`);

const tool = new Tool();
const calculator = new Calculator(tool);
new Files(tool);
for (const button of document.querySelectorAll("[data-copies]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
}

// Never on a page that is opened from a file, and no loss where a browser refuses.
navigator.serviceWorker?.register("offline.js").catch(() => {});

const told = document.getElementById("state");
try {
  await tool.ready;
  await calculator.start();
  told.textContent = "";
} catch (error) {
  told.textContent = `The program cannot be loaded: ${error.message}`;
}
