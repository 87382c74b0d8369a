// A run's page follows the hand: what the form would ask of the server is asked at once, and of the answer only
// the parts that differ take their places. The address always says what is shown.

const { words, mostCharacters } = pageData();
const form = document.querySelector("#ask");
const outer = [...form.elements].filter((field) => field.name && !field.closest("[data-part]"));
const PAUSE = 150; // milliseconds of rest before what is being typed or dragged is asked
let latest, waiting;

function addressOf(submitter) {
  const asked = [...new FormData(form, submitter)].filter(([, value]) => value !== "");
  return `${form.getAttribute("action")}?${new URLSearchParams(asked)}`;
}

function say(text) {
  const told = form.querySelector(".told");
  if (told) told.textContent = text;
}

// Ask for an address and show the answer; of several, only the last one asked.
async function ask(address, { keep = "replace", fields = false } = {}) {
  clearTimeout(waiting);
  latest?.abort();
  const n = [...(new URL(address, location.href).searchParams.get("text") ?? "")].length;
  if (n > mostCharacters) { // no server takes an address of any length
    form.removeAttribute("aria-busy");
    return say(speak(words, "too_long", { n, most: mostCharacters }));
  }
  const mine = (latest = new AbortController());
  form.setAttribute("aria-busy", "true");
  const patience = setTimeout(() => say(words.working), 400);
  try {
    const response = await fetch(address, { signal: mine.signal });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!fresh.querySelector("main")) return say(fresh.body.textContent.trim() || words.offline); // a line of text
    show(fresh, fields);
    // The server says shortest what its answer shows.
    const shown = fresh.querySelector("#ask"), here = shown ? `${form.getAttribute("action")}?${shown.dataset.shows}` : address;
    if (keep === "push") history.pushState(null, "", here);
    if (keep === "replace") history.replaceState(null, "", here);
  } catch (error) {
    if (error.name !== "AbortError") say(words.offline);
  } finally {
    clearTimeout(patience);
    if (mine === latest) form.removeAttribute("aria-busy");
  }
}

function show(fresh, fields) {
  if (!fresh.querySelector("#ask")) { // the run is gone, or something failed
    document.querySelector("main").replaceChildren(...fresh.querySelector("main").childNodes);
    return;
  }
  const held = document.activeElement, inside = held?.closest("[data-part]");
  for (const part of document.querySelectorAll("[data-part]")) {
    const next = fresh.querySelector(`[data-part=${part.dataset.part}]`);
    if (next && part.innerHTML !== next.innerHTML) exchange(part, next);
  }
  for (const field of fields ? outer : []) {
    field.value = fresh.querySelector(`[name="${field.name}"]`).value;
    drawSlider(field);
  }
  document.querySelector(".language").href = fresh.querySelector(".language").getAttribute("href");
  if (inside && !held.isConnected) refocus(held);
}

function exchange(part, next) {
  const scrolled = [...part.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
  part.replaceChildren(...next.childNodes);
  part.querySelectorAll(".scroll").forEach((box, i) => ([box.scrollLeft, box.scrollTop] = scrolled[i] ?? [0, 0]));
}

// The hand stays on the same control of the new part, or goes to its group where that one is gone.
function refocus(held) {
  const named = held.name ? [...form.querySelectorAll(`[name="${held.name}"]`)] : [];
  const same = named.find((field) => field.value === held.value) ?? named.find((field) => field.type === held.type && (field.checked || field.type !== "radio"));
  (same ?? document.querySelector("main")).focus({ preventScroll: true });
}

function drawSlider(field) {
  const output = field.closest(".slider")?.querySelector("output");
  if (output) output.textContent = field.value;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask(addressOf(event.submitter), { keep: "push" });
});
form.addEventListener("input", (event) => {
  const field = event.target;
  if (!outer.includes(field) || event.isComposing) return;
  drawSlider(field);
  clearTimeout(waiting);
  waiting = setTimeout(() => ask(addressOf()), PAUSE);
});
form.addEventListener("compositionend", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => ask(addressOf()), PAUSE);
});
form.addEventListener("change", (event) => {
  if (["radio", "checkbox"].includes(event.target.type)) ask(addressOf(), { keep: "push" });
});
form.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-ask]"), cell = event.target.closest("td[data-edge]");
  if (link) {
    event.preventDefault();
    ask(form.getAttribute("action") + link.getAttribute("href"), { keep: "push" });
  } else if (cell) {
    const [query, key] = cell.dataset.edge.split(".");
    const address = new URL(addressOf(), location.href);
    address.searchParams.set("query", query);
    address.searchParams.set("key", key);
    ask(address.pathname + address.search, { keep: "push" });
  }
});
addEventListener("popstate", () => ask(location.pathname + location.search, { keep: "none", fields: true }));

document.body.classList.add("scripted");
