"""The lab's pages in a browser: their size, how long the first view takes, how long an edit takes to show."""

import os
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from glassformer.lab.pages import lesson_page
from glassformer.lessons import LESSONS

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")

FIRST_VIEW = """
() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime
  ?? performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd
"""

# Every given number of the lesson in turn is opened and changed; from the event to the finished layout.
EDITS = """
async (most) => {
  const times = [];
  const time = (act) => {
    const started = performance.now();
    act();
    document.body.getBoundingClientRect();
    times.push(performance.now() - started);
  };
  const given = "figure.given[data-matrix]:not(.small):not([data-kind=mask]) tbody td";
  const cells = [...document.querySelectorAll(given)];
  for (const td of cells.slice(0, most)) {
    td.click();
    const input = document.querySelector("#proof input[type=number]");
    input.value = String(Number(input.value) + 0.5);
    time(() => input.dispatchEvent(new Event("input")));
    await new Promise(requestAnimationFrame);
  }
  for (const slider of document.querySelectorAll("[data-slider] input")) {
    slider.value = slider.max;
    time(() => slider.dispatchEvent(new Event("input")));
    await new Promise(requestAnimationFrame);
  }
  for (const button of document.querySelectorAll("[data-preset]")) time(() => button.click());
  return times;
}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for number, lesson in enumerate(LESSONS):
            path = Path(folder) / f"{lesson.slug}.html"
            path.write_text(lesson_page(LESSONS, number, "zh").html, encoding="utf-8", newline="\n")
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            views = []
            for _ in range(5):
                page.goto(path.as_uri())
                page.wait_for_timeout(200)
                views.append(page.evaluate(FIRST_VIEW))
            times = sorted(page.evaluate(EDITS, 60))
            size, view = path.stat().st_size / 1000, statistics.median(views)
            print(
                f"{lesson.slug}: {size:.0f} kB, first view {view:.0f} ms; {len(times)} edits: "
                f"median {statistics.median(times):.1f} ms, slowest {times[-1]:.1f} ms",
                flush=True,
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
