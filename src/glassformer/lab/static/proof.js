// The proof of one number: a sentence, the arithmetic, and the numbers it was made of, each of which can be
// opened in turn, up to the given ones.

const SHOWN_OPERANDS = 8;

function element(tag, attributes = {}, ...children) {
  const node = Object.assign(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

// A matrix that is not shown: `K_T` is the transpose of K, `s_0` has an index, `largest` is a word.
function spelled(name) {
  const [, base, index] = /^([^_]*)_?(.*)$/s.exec(name), letter = element("i", { textContent: base });
  if (!index) return [letter];
  return [letter, index === "T" ? element("sup", { textContent: "⊤" })
    : element("sub", { textContent: index.replaceAll("_", " ") })];
}

export class Proof {
  // `sheet`: its JSON; `values()`, `before()`: now and as it came; `edit(name, i, j, value, quiet)`.
  constructor({ sheet, symbols, words, values, before, axesOf, edit, isGiven }) {
    Object.assign(this, { sheet, symbols, words, values, before, axesOf, edit, isGiven });
    this.panel = document.getElementById("proof");
    this.content = this.panel.querySelector(".content");
    this.back = this.panel.querySelector("[data-proof=back]");
    this.path = [];
    this.panel.addEventListener("click", (event) => this.clicked(event.target.closest("button")));
    this.panel.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  say(key, values) {
    return speak(this.words, key, values);
  }

  open(name, i, j, typed) {
    if (this.panel.hidden) this.opener = document.activeElement;
    this.path = [[name, i, j]];
    this.draw();
    this.panel.hidden = false;
    const input = this.content.querySelector("input");
    if (typed !== undefined && input) {
      input.value = typed.replace("−", "-");
      input.focus();
      input.dispatchEvent(new Event("input"));
    } else {
      this.panel.focus({ preventScroll: true });
    }
  }

  close() {
    this.panel.hidden = true;
    this.path = [];
    this.opener?.focus();
  }

  clicked(button) {
    if (!button) return;
    if (button.dataset.proof === "close") return this.close();
    if (button.dataset.proof === "back") this.path.pop();
    else if (button.dataset.cell) this.path.push(JSON.parse(button.dataset.cell));
    else return;
    this.draw();
    this.panel.focus({ preventScroll: true });
  }

  // Draw again after a change; what the reader is typing into stays.
  refresh() {
    if (this.panel.hidden || !this.path.length) return;
    const [name, i, j] = this.path.at(-1), matrix = this.values()[name];
    if (i >= matrix.rows || j >= matrix.cols) return this.close();
    const typing = this.content.contains(document.activeElement) && document.activeElement.tagName === "INPUT";
    const editor = typing && this.content.querySelector(".editor");
    if (!editor) return this.draw();
    const fresh = this.parts(name, i, j, editor);
    for (const [k, old] of [...this.content.children].entries()) if (old !== editor) old.replaceWith(fresh[k]);
  }

  draw() {
    const [name, i, j] = this.path.at(-1);
    this.back.hidden = this.path.length < 2;
    this.content.replaceChildren(...this.parts(name, i, j, this.isGiven(name) ? this.editor(name, i, j) : null));
  }

  parts(name, i, j, editor) {
    const step = explain(this.sheet, this.values(), name, i, j);
    return [
      this.title(name, i, j),
      element("p", { className: "sum" }, element("code", { textContent: formulaOf(step) })),
      element("p", { textContent: this.sentence(step) }),
      this.beforeLine(name, i, j),
      editor ?? this.operands(step),
      element("p", { className: "soft exact", textContent: this.say("exact", { value: String(wireNumber(step.value)) }) }),
    ];
  }

  symbol(name) {
    const shown = this.symbols[name]; // our own MathML
    return element("span", { className: "symbol", ...(shown && { innerHTML: shown }) }, ...(shown ? [] : spelled(name)));
  }

  // "A: it → mouse" where the matrix is on the page with labels, else rows and columns by number.
  title(name, i, j) {
    const [rows, columns] = this.axesOf(name), { cols } = this.values()[name];
    const row = rows?.[i] ?? this.say("row", { i: i + 1 }), column = columns?.[j] ?? this.say("column", { j: j + 1 });
    const place = rows && columns ? `${row} → ${column}` : rows && cols === 1 ? row : `${row}, ${column}`;
    return element("p", { className: "which" }, this.symbol(name), " ", element("bdi", { textContent: place }));
  }

  sentence(step) {
    const number = (x) => formatNumber(wireNumber(x), 4, true);
    if (step.op === "mask") {
      return this.say(step.masked ? "explain_mask_closed" : "explain_mask_open", { fill: number(step.fill) });
    }
    if (step.op === "softmax") {
      if (!step.visible) return this.say("explain_softmax_nothing");
      if (wireNumber(step.operands[step.j].value) === -Infinity) return this.say("explain_softmax_masked");
      return this.say("explain_softmax", { largest: number(step.largest), denominator: number(step.denominator) });
    }
    if (step.op === "layernorm") {
      const values = { mean: number(step.mean), variance: number(step.variance), eps: String(step.eps) };
      return this.say("explain_layernorm", values);
    }
    return this.say(`explain_${step.op}`);
  }

  beforeLine(name, i, j) {
    const line = element("p", { className: "before" });
    const now = this.values()[name], was = this.before()[name];
    if (now.rows === was.rows && now.cols === was.cols) {
      const x = now.data[i * now.cols + j], old = was.data[i * was.cols + j];
      if (x !== old && !(Number.isNaN(x) && Number.isNaN(old))) {
        const change = `${x > old ? "+" : ""}${formatNumber(x - old, 4, true)}`;
        line.textContent = this.say("before", { value: formatNumber(old, 4, true), change });
      }
    }
    return line;
  }

  cellButton(cell) {
    return element("button", {
      type: "button",
      className: this.isGiven(cell.name) ? "given" : "computed",
      textContent: formatNumber(wireNumber(cell.value), 4, true),
    });
  }

  row(cells, ...after) {
    const children = [];
    for (const [k, cell] of cells.entries()) {
      const button = this.cellButton(cell);
      button.dataset.cell = JSON.stringify([cell.name, cell.i, cell.j]);
      children.push(k ? " × " : "", this.title(cell.name, cell.i, cell.j), " ", button);
    }
    return element("li", {}, ...children, ...after);
  }

  operands(step) {
    const number = (x) => formatNumber(wireNumber(x), 4, true);
    let rows;
    if (step.op === "matmul") {
      rows = step.terms.map((t) => [wireNumber(t.value), () => this.row([t.a, t.b], ` = ${number(t.value)}`)]);
    } else if (step.op === "softmax") {
      rows = step.operands.map((cell, k) => [step.exps[k], () => this.row([cell], ` → exp = ${number(step.exps[k])}`)]);
    } else {
      rows = step.operands.map((cell) => [wireNumber(cell.value), () => this.row([cell])]);
    }
    const list = element("ul", { className: "operands" });
    const order = rows.map((_, k) => k).sort((a, b) => Math.abs(rows[b][0]) - Math.abs(rows[a][0]));
    const kept = new Set(order.slice(0, SHOWN_OPERANDS));
    list.append(...rows.filter((_, k) => kept.has(k)).map(([, draw]) => draw()));
    if (rows.length > SHOWN_OPERANDS) list.append(this.rest(rows.filter((_, k) => !kept.has(k))));
    return list;
  }

  // The operands beyond the largest: how much they are together, and each of them on demand.
  rest(rows) {
    const sum = rows.reduce((total, [value]) => total + value, 0);
    const label = `${this.say("rest", { n: rows.length })}: ${formatNumber(sum, 4, true)}`;
    const details = element("details", {}, element("summary", { textContent: label }));
    details.addEventListener("toggle", () => {
      if (details.childElementCount === 1) {
        details.append(element("ul", { className: "operands" }, ...rows.map(([, draw]) => draw())));
      }
    });
    return element("li", {}, details);
  }

  editor(name, i, j) {
    const matrix = this.values()[name], value = matrix.data[i * matrix.cols + j];
    const reach = Math.max(4, 2 * Math.abs(Number.isFinite(value) ? value : 0));
    const typed = element("input", { type: "number", step: "0.1", value: String(value) });
    const slid = element("input", { type: "range", min: -reach, max: reach, step: reach / 80, value: String(value) });
    const set = (input, other, quiet) => {
      const x = Number(input.value);
      if (input.value.trim() === "" || !Number.isFinite(x)) return false;
      other.value = input.value;
      this.edit(name, i, j, x, quiet);
      return true;
    };
    let sliding = false, typing = false; // one number typed is one step to undo
    typed.addEventListener("input", () => (typing = set(typed, slid, typing) || typing));
    typed.addEventListener("change", () => (typing = false));
    typed.addEventListener("keydown", (event) => event.key === "Enter" && this.close());
    slid.addEventListener("input", () => {
      set(slid, typed, sliding);
      sliding = true;
    });
    slid.addEventListener("change", () => (sliding = false));
    slid.setAttribute("aria-label", this.say("set_to"));
    return element("p", { className: "editor" },
      element("label", {}, `${this.say("set_to")} `, typed), slid);
  }
}
