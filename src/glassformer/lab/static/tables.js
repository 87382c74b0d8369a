// Matrices as tables: what they show, and moving in them with the keyboard.

// The label of a row or column; its number where the axis has no labels.
export function labelOf(axes, axis, i) {
  return axes[axis]?.[i] ?? String(i + 1);
}

export class MatrixTable {
  constructor(figure, isGiven) {
    const { matrix, kind, decimals, rows, columns } = figure.dataset;
    Object.assign(this, { figure, name: matrix, kind, decimals: Number(decimals), rows, columns, isGiven });
    this.small = figure.classList.contains("small");
    this.table = figure.querySelector("table");
    this.headed = Boolean(rows || columns);
    this.shape = figure.querySelector(".shape");
    this.drawn = [];
    if (!this.small) {
      this.table.setAttribute("role", "grid");
      this.table.setAttribute("aria-label", this.table.caption.textContent);
    }
    this.adopt();
  }

  // Take the table's cells as they are now.
  adopt() {
    const offset = this.headed ? 1 : 0;
    this.cells = [...this.table.tBodies[0].rows].map((row) => [...row.cells].slice(offset));
    this.drawn = this.cells.map((row) => row.map(() => ({})));
    this.labels = null;
    if (this.small) return;
    for (const row of this.cells) for (const td of row) td.tabIndex = -1;
    if (this.cells[0]?.[0]) this.cells[0][0].tabIndex = 0;
  }

  build(rows, columns) {
    const line = (head, count, cell) => {
      const tr = document.createElement("tr");
      if (this.headed) tr.append(document.createElement(head));
      for (let j = 0; j < count; j++) tr.append(document.createElement(cell));
      return tr;
    };
    this.table.tHead.replaceChildren(this.headed ? line("td", columns, "th") : line("td", 0, "td"));
    for (const th of this.table.tHead.querySelectorAll("th")) th.scope = "col";
    this.table.tBodies[0].replaceChildren(...Array.from({ length: rows }, () => line("th", columns, "td")));
    for (const th of this.table.tBodies[0].querySelectorAll("th")) th.scope = "row";
    this.adopt();
  }

  draw(values, before, axes, followed) {
    const { rows, cols, data } = values[this.name], original = before[this.name];
    if (rows !== this.cells.length || cols !== (this.cells[0]?.length ?? 0)) this.build(rows, cols);
    const comparable = original.rows === rows && original.cols === cols;
    this.shape.textContent = `${rows} × ${cols}`;
    this.drawLabels(axes, rows, cols);
    let largest = 0;
    if (this.kind === "scores") for (const x of data) if (Number.isFinite(x)) largest = Math.max(largest, Math.abs(x));
    for (let i = 0; i < rows; i++) {
      const nowhere = this.kind === "weights" && data.subarray(i * cols, (i + 1) * cols).every((x) => x === 0);
      this.cells[i][0]?.parentElement.classList.toggle("followed", followed[this.rows] === i);
      for (let j = 0; j < cols; j++) {
        const x = data[i * cols + j], was = comparable ? original.data[i * cols + j] : x;
        const changed = x !== was && !(Number.isNaN(x) && Number.isNaN(was));
        const shade = nowhere ? "nothing" : shadeOf(x, this.kind, largest);
        this.drawCell(i, j, x, `${shade}${changed ? " changed" : ""}`, changed ? x - was : null);
      }
    }
  }

  drawCell(i, j, x, className, change) {
    const td = this.cells[i][j], drawn = this.drawn[i][j];
    if (drawn.x === x && drawn.className === className && drawn.change === change) return;
    Object.assign(drawn, { x, className, change });
    td.className = className.trim();
    const text = formatNumber(x, this.decimals, this.isGiven);
    td.textContent = text;
    if (this.small) td.title = text; // too small to hold it
    else if (change !== null && Number.isFinite(change)) {
      const small = document.createElement("small");
      const size = formatNumber(change, this.decimals, true);
      small.textContent = size === "0" ? "≈0" : change > 0 ? `+${size}` : size;
      td.append(small);
    }
  }

  drawLabels(axes, rows, cols) {
    if (!this.headed) return;
    const wanted = JSON.stringify([axes[this.rows], axes[this.columns], rows, cols]);
    if (wanted === this.labels) return;
    this.labels = wanted;
    const heads = [...this.table.tHead.rows[0].cells].slice(1);
    heads.forEach((th, j) => th.replaceChildren(isolated(labelOf(axes, this.columns, j))));
    [...this.table.tBodies[0].rows].forEach((tr, i) => {
      tr.cells[0].replaceChildren(isolated(labelOf(axes, this.rows, i)));
    });
  }

  place(td) {
    for (const [i, row] of this.cells.entries()) {
      const j = row.indexOf(td);
      if (j >= 0) return [i, j];
    }
    return null;
  }

  // Move the one cell that Tab reaches.
  focus(i, j) {
    const row = this.cells[Math.max(0, Math.min(i, this.cells.length - 1))];
    const td = row[Math.max(0, Math.min(j, row.length - 1))];
    for (const other of this.cells.flat()) other.tabIndex = -1;
    td.tabIndex = 0;
    td.focus();
  }
}

// A label in a direction of its own, whatever script it is in; long ones are cut by the style sheet.
function isolated(text) {
  const bdi = document.createElement("bdi");
  bdi.textContent = text;
  bdi.title = text.length > 8 ? text : "";
  return bdi;
}

const MOVES = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  Home: [0, -Infinity], End: [0, Infinity],
};

// Keyboard and pointer for all tables: `open(name, i, j, typed)` and `nudge(name, i, j, by)`.
export function listenToTables(tables, { open, nudge }) {
  const found = (target) => {
    const td = target.closest?.("td"), figure = td?.closest("figure[data-matrix]");
    const table = tables.find((t) => t.figure === figure);
    const place = table && !table.small && table.place(td);
    return place ? [table, ...place] : null;
  };
  document.addEventListener("click", (event) => {
    const at = found(event.target);
    if (!at) return;
    at[0].focus(at[1], at[2]);
    open(at[0].name, at[1], at[2]);
  });
  document.addEventListener("keydown", (event) => {
    const at = event.ctrlKey || event.metaKey ? null : found(event.target);
    if (!at) return;
    const [table, i, j] = at, move = MOVES[event.key];
    if (move && event.shiftKey && move[0] && table.isGiven) nudge(table.name, i, j, -move[0]);
    else if (move) table.focus(i + move[0], j + move[1]);
    else if (event.key === "Enter" || event.key === " ") open(table.name, i, j);
    else if (table.isGiven && /^[-−.\d]$/.test(event.key)) open(table.name, i, j, event.key);
    else return;
    event.preventDefault();
  });
}
