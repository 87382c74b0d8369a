// The index: how far the reader has come in each lesson.

const { words, lessons } = pageData();

function drawProgress() {
  const progress = readProgress();
  for (const cell of document.querySelectorAll("[data-lesson]")) {
    const all = lessons[cell.dataset.lesson], n = Object.keys(progress[cell.dataset.lesson] ?? {}).length;
    cell.textContent = n ? (n >= all ? "✓" : speak(words, "answered", { n, all })) : "";
    if (n >= all && all) cell.setAttribute("aria-label", speak(words, "answered", { n, all }));
  }
}

document.body.classList.add("scripted");
document.querySelector("[data-clear]").addEventListener("click", () => {
  clearProgress();
  drawProgress();
});
drawProgress();
