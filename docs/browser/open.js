// Evidence that lies elsewhere: open.html?url=https://host/trace.json.gz&command=timeline. It is fetched here,
// after a click, and left in the browser for the page that answers, whose policy lets it ask no other server.

const KEPT = "opened-evidence";
const MOST = 512 << 20; // bytes; the command line reads larger files

const part = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.search);
const files = asked.getAll("url").map((text) => URL.parse(text, location.href));
const wrong = files.findIndex((url) => !url || (url.protocol !== "https:" && url.origin !== location.origin));

if (!files.length || wrong >= 0) {
  part("open").disabled = true;
  part("told").textContent = files.length
    ? `${asked.getAll("url")[wrong]} is no address that begins with https://.`
    : "The address of this page names no file: open.html?url=https://…";
}
for (const url of files.filter(Boolean)) {
  const item = document.createElement("li");
  item.textContent = url.href;
  part("files").append(item);
}
part("open").addEventListener("click", open);

async function open() {
  part("open").disabled = true;
  try {
    await caches.delete(KEPT);
    const kept = await caches.open(KEPT);
    for (const [index, url] of files.entries()) {
      part("told").textContent = `Fetching ${url.host}…`;
      const name = encodeURIComponent(nameOf(url));
      await kept.put(`opened/${index}/${name}`, new Response(await fetched(url)));
    }
    const page = new URL("./", location.href);
    page.searchParams.set("opened", asked.get("command") ?? "");
    page.hash = "files";
    location.replace(page);
  } catch (error) {
    part("told").textContent = error.message;
    part("open").disabled = false;
  }
}

async function fetched(url) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer" });
  } catch {
    throw new Error(`${url.host} cannot be reached, or does not let other pages read its files (CORS). Download the file and drop it.`);
  }
  if (!answer.ok) throw new Error(`${url.host} answered ${answer.status}.`);
  const data = await answer.blob();
  if (data.size > MOST) throw new Error(`${nameOf(url)} is larger than ${MOST >> 20} MiB: download it, and ask the command line.`);
  return data;
}

function nameOf(url) {
  const last = url.pathname.split("/").pop();
  try {
    return decodeURIComponent(last).replaceAll("/", "_") || "file";
  } catch {
    return last || "file";
  }
}
