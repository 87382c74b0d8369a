// A lesson's page comes alive: whatever the reader changes, the whole sheet is computed again and drawn.

const data = pageData();
const { sheet, words } = data;
const original = givenMatrices(sheet);
const isGiven = (name) => Object.hasOwn(original, name);
const before = evaluate(sheet);
let values = before;

const main = document.querySelector("main");
const tables = [...document.querySelectorAll("figure[data-matrix]")].map(
  (figure) => new MatrixTable(figure, isGiven(figure.dataset.matrix)),
);
const tools = document.querySelector(".tools"), changes = tools.querySelector(".changes");

const history_ = new History(original, data.axes, draw);
const axesNow = () => ({ ...data.axes, ...history_.now.axes });

function axesOf(name) {
  const table = tables.find((t) => t.name === name), axes = axesNow();
  return table ? [axes[table.rows], axes[table.columns]] : [undefined, undefined];
}

// Evaluate under other given numbers, once; a sheet that cannot be computed stays as it was, and says why.
let attempted = { given: EMPTY_STATE.given, values: before };
function attempt(given) {
  if (attempted.given === given) return attempted.values;
  try {
    attempted = { given, values: evaluate(sheet, given) };
    return attempted.values;
  } catch (error) {
    changes.textContent = speak(words, "failed", { reason: error.message });
    return null;
  }
}

function change(given, quiet = false, more = {}) {
  if (attempt(given)) history_.set({ ...history_.now, ...more, given }, quiet);
}

function setCell(name, i, j, value, quiet) {
  change(withEdits(history_.now.given, original, { [name]: { cells: [[i, j, value]] } }), quiet);
}

// The numbers inside texts; those of answers follow their question's own edits.
function drawLiving(nodes, from) {
  for (const node of nodes) {
    const [, name, i, j, decimals] = /^(\w+)\[(\d+),(\d+)\]:(\d+)$/.exec(node.value);
    const x = cellValue(from, [name, Number(i), Number(j)]);
    const text = x === undefined ? "–" : formatNumber(x, Number(decimals));
    if (node.textContent !== text) node.textContent = text;
  }
}

const valuesUnder = (edits) => evaluate(sheet, withEdits(history_.now.given, original, edits));
const questions = new Questions({
  slug: data.slug, questions: data.questions, words, valuesNow: () => values, valuesUnder, drawLiving,
});
const proof = new Proof({
  sheet, symbols: data.symbols, words, values: () => values, before: () => before, axesOf, edit: setCell, isGiven,
});

listenToTables(tables, {
  open(name, i, j, typed) {
    const table = tables.find((t) => t.name === name);
    if (table.kind === "mask" && table.isGiven && typed === undefined) {
      const matrix = values[name];
      setCell(name, i, j, matrix.data[i * matrix.cols + j] ? 0 : 1);
    } else {
      proof.open(name, i, j, typed);
    }
  },
  nudge(name, i, j, by) {
    const matrix = values[name];
    setCell(name, i, j, Math.round((matrix.data[i * matrix.cols + j] + by * 0.1) * 1e6) / 1e6);
  },
});

// ---- controls ----

const actions = {
  undo: () => history_.undo(),
  redo: () => history_.redo(),
  reset: () => history_.set(EMPTY_STATE),
  async link(button) {
    let told = "copied";
    try {
      await navigator.clipboard.writeText(history_.link());
    } catch {
      told = "no_copy";
    }
    changes.textContent = speak(words, told);
    button.focus();
  },
};
tools.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) actions[button.dataset.do](button);
});
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.target.closest("input:not([type=range], [type=radio]), textarea")) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  key === "y" || event.shiftKey ? history_.redo() : history_.undo();
});

const sliders = [...document.querySelectorAll("[data-slider]")].map((node) => {
  const input = node.querySelector("input"), name = node.dataset.slider;
  let sliding = false;
  input.addEventListener("input", () => {
    setCell(name, 0, 0, Number(input.value), sliding);
    sliding = true;
  });
  input.addEventListener("change", () => (sliding = false));
  return { name, input, output: node.querySelector("output") };
});

const presets = [...document.querySelectorAll("[data-preset]")].map((button) => {
  const edits = data.presets[button.dataset.preset];
  button.addEventListener("click", () => change(fitted(edits)));
  return { button, edits };
});

// A preset's edits for the sentence as it is now: a square pattern for other lengths goes on as it began.
function fitted(edits) {
  const given = { ...history_.now.given };
  const whole = {};
  for (const [name, edit] of Object.entries(edits)) {
    const now = given[name] ?? original[name];
    whole[name] = edit.values && edit.values.length !== now.length ? { values: grown(edit.values, now.length) } : edit;
  }
  return withEdits(given, original, whole);
}

// A mask of n × n in the pattern of a smaller or larger one: causal, or everything visible.
function grown(mask, n) {
  const causal = mask.every((row, i) => row.every((x, j) => (j > i ? x === 0 : x === 1)));
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (causal && j > i ? 0 : 1)));
}

const queries = [...document.querySelectorAll(".query")].map((node) => {
  node.querySelector(".presets").hidden = false;
  node.querySelector(".static").hidden = true;
  node.querySelector(".live").hidden = false;
  return {
    axis: node.dataset.axis, follow: node.dataset.follow.split(" "), begin: Number(node.dataset.begin),
    choices: node.querySelector(".choices"), live: node.querySelector(".live"),
  };
});

function drawQuery({ axis, follow, choices, live }, axes, chosen) {
  const labels = axes[axis];
  if (choices.dataset.labels !== JSON.stringify(labels)) {
    choices.dataset.labels = JSON.stringify(labels);
    choices.replaceChildren(...labels.map((label, i) => {
      const button = element("button", { type: "button" }, element("bdi", { textContent: label }));
      button.addEventListener("click", () => {
        const query = { ...history_.now.query, [axis]: i };
        history_.set({ ...history_.now, query });
      });
      return button;
    }));
  }
  [...choices.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
  const cells = follow.flatMap((name) => {
    if (chosen >= values[name].rows) return [];
    return Array.from({ length: values[name].cols }, (_, j) => [name, j]);
  });
  const wanted = JSON.stringify([chosen, cells]);
  if (live.dataset.cells !== wanted) { // mathematics is slow to make: only where other cells are followed
    live.dataset.cells = wanted;
    // A column is a vector, which may have an index of its own: h₂[1].
    const place = (name, j) => values[name].cols === 1
      ? `[${chosen + 1}]` : element("sub", { textContent: `${chosen + 1},${j + 1}` });
    live.replaceChildren(...cells.flatMap(([name, j]) => [
      element("dt", {}, proof.symbol(name), place(name, j)),
      element("dd"),
    ]));
  }
  for (const [k, [name, j]] of cells.entries()) {
    const text = formulaOf(explain(sheet, values, name, chosen, j)), dd = live.children[2 * k + 1];
    if (dd.textContent !== text) dd.textContent = text;
  }
}

// ---- own sentence ----

function wordsOf(text) {
  const parts = text.trim().split(/\s+/u).filter(Boolean);
  if (parts.length !== 1 || !/\p{Script=Han}/u.test(parts[0])) return parts;
  return [...new Intl.Segmenter("zh", { granularity: "grapheme" }).segment(parts[0])].map((s) => s.segment);
}

for (const form of document.querySelectorAll("form.sentence")) {
  form.hidden = false;
  const { axis, embedded, masks, most } = form.dataset, told = form.querySelector("output");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const all = wordsOf(form.querySelector("input").value), labels = all.slice(0, Number(most));
    told.textContent = labels.length ? "" : speak(words, "empty_sentence");
    if (!labels.length) return;
    if (all.length > labels.length) told.textContent = speak(words, "cut_sentence", { most });
    const cols = original[embedded][0].length;
    const made = evaluate({ matrices: [{ name: "e", op: "embed", of: [], parameters: { tokens: labels, cols } }] }).e;
    const given = { ...history_.now.given };
    given[embedded] = labels.map((_, i) => [...made.data.subarray(i * cols, (i + 1) * cols)]);
    for (const mask of masks.split(" ").filter(Boolean)) given[mask] = grown(given[mask] ?? original[mask], labels.length);
    change(given, false, { axes: { ...history_.now.axes, [axis]: labels }, query: {} });
  });
  form.querySelector("[data-original]").addEventListener("click", () => {
    const given = { ...history_.now.given }, axes = { ...history_.now.axes };
    for (const name of [embedded, ...masks.split(" ").filter(Boolean)]) delete given[name];
    delete axes[axis];
    told.textContent = "";
    change(given, false, { axes, query: {} });
  });
}

// ---- drawing ----

function draw() {
  const state = history_.now, computed = attempt(state.given);
  if (!computed) return;
  values = computed;
  const axes = axesNow(), followed = {};
  for (const query of queries) followed[query.axis] = Math.min(state.query[query.axis] ?? query.begin, axes[query.axis].length - 1);
  for (const table of tables) table.draw(values, before, axes, followed);
  for (const query of queries) drawQuery(query, axes, followed[query.axis]);
  drawLiving(main.querySelectorAll("data.living:not(form .verdict *, form .why *)"), values);
  for (const node of document.querySelectorAll("[data-shape]")) {
    const { rows, cols } = values[node.dataset.shape];
    node.textContent = `${rows} × ${cols}`;
  }
  for (const node of document.querySelectorAll("[data-chart]")) {
    node.querySelector("svg").innerHTML = drawChart(data.charts[Number(node.dataset.chart)], values);
  }
  for (const { name, input, output } of sliders) {
    const x = values[name].data[0];
    if (Number(input.value) !== x) input.value = String(x);
    output.textContent = formatNumber(x, 4, true);
  }
  for (const { button, edits } of presets) {
    const after = fitted(edits);
    const pressed = Object.keys(edits).every((name) => sameMatrix(after[name] ?? original[name], state.given[name] ?? original[name]));
    button.setAttribute("aria-pressed", String(pressed));
  }
  for (const warning of document.querySelectorAll("form.sentence .warning")) {
    warning.hidden = !Object.hasOwn(state.axes, warning.closest("form").dataset.axis);
  }
  tools.querySelector("[data-do=undo]").disabled = !history_.past.length;
  tools.querySelector("[data-do=redo]").disabled = !history_.future.length;
  tools.querySelector("[data-do=reset]").disabled = state === EMPTY_STATE;
  const n = main.querySelectorAll("td.changed").length;
  changes.textContent = n ? speak(words, "changes", { n }) : "";
  proof.refresh();
  questions.refresh();
}

document.body.classList.add("scripted");
for (const node of document.querySelectorAll(".tools, .hint, .scripted[hidden], [data-slider], .presets")) node.hidden = false;
history_.read();
