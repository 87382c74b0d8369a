// What the reader has answered, kept in this browser alone.

const PROGRESS = "glassformer.progress";

export function readProgress() {
  try {
    const found = JSON.parse(localStorage.getItem(PROGRESS));
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {}; // no storage on this page, or something else wrote there
  }
}

export function keepAnswer(slug, key) {
  const progress = readProgress();
  progress[slug] = { ...progress[slug], [key]: true };
  try {
    localStorage.setItem(PROGRESS, JSON.stringify(progress));
  } catch {
    // nothing is kept where the browser keeps nothing
  }
}

export function clearProgress() {
  try {
    localStorage.removeItem(PROGRESS);
  } catch {
    // as above
  }
}

export function pageData() {
  return JSON.parse(document.getElementById("data").textContent);
}

// A text of the page's language with its gaps filled.
export function speak(words, key, values = {}) {
  return words[key].replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// The other language shows the same state.
document.querySelector(".language")?.addEventListener("click", (event) => {
  event.currentTarget.href = event.currentTarget.getAttribute("href").split("#")[0] + location.hash;
});
