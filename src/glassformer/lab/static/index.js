// The index: how far the reader has come in each lesson.

const { words, lessons } = pageData();

function drawProgress() {
  const progress = readProgress();
  for (const cell of document.querySelectorAll("[data-lesson]")) {
    const all = lessons[cell.dataset.lesson], n = Object.keys(progress[cell.dataset.lesson] ?? {}).length;
    cell.textContent = n ? (n >= all ? "✓" : speak(words, "answered", { n, all })) : "";
    if (n && n >= all) cell.setAttribute("aria-label", speak(words, "answered", { n, all }));
    else cell.removeAttribute("aria-label");
  }
}

document.body.classList.add("scripted");
document.querySelector("[data-clear]").addEventListener("click", () => {
  clearProgress();
  drawProgress();
});
// What another tab has kept arrives when the browser gets to it, at times after this page was drawn; and a
// page to which the reader comes back is shown as it was left.
window.addEventListener("storage", drawProgress);
window.addEventListener("pageshow", drawProgress);
drawProgress();
