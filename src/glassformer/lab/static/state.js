// The reader's state: which given numbers, labels and rows differ from the page as it came. It is a value that
// is replaced, never changed, so that undo is a list of states; and it stands in the address.

export const EMPTY_STATE = { given: {}, axes: {}, query: {} };
const MOST_UNDO = 200;

// The given matrices of a sheet, as rows of numbers.
export function givenMatrices(sheet) {
  const consts = sheet.matrices.filter((matrix) => matrix.op === "const");
  return Object.fromEntries(consts.map((m) => [m.name, m.parameters.values.map((row) => row.map(wireNumber))]));
}

export function sameMatrix(a, b) {
  return a.length === b.length && a.every((row, i) => row.length === b[i].length && row.every((x, j) => x === b[i][j]));
}

// Edits as lessons write them: {name: {cells: [[i, j, value]]}} or {name: {values: rows}}. A cell that a shorter
// sentence no longer has is left out.
export function withEdits(given, original, edits) {
  const next = { ...given };
  for (const [name, { cells, values }] of Object.entries(edits)) {
    const rows = (values ?? next[name] ?? original[name]).map((row) => [...row]);
    for (const [i, j, value] of cells ?? []) if (i < rows.length && j < rows[i].length) rows[i][j] = value;
    if (sameMatrix(rows, original[name])) delete next[name];
    else next[name] = rows;
  }
  return next;
}

function encodeState(state, original) {
  const given = {};
  for (const [name, rows] of Object.entries(state.given)) {
    const before = original[name];
    const sameShape = rows.length === before.length && rows[0].length === before[0].length;
    given[name] = sameShape
      ? rows.flatMap((row, i) => row.flatMap((x, j) => (x === before[i][j] ? [] : [[i, j, String(x)]])))
      : { rows: rows.map((row) => row.map(String)) };
  }
  const bytes = new TextEncoder().encode(JSON.stringify({ g: given, a: state.axes, q: state.query }));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decodeState(text, original, axes) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const { g, a, q } = JSON.parse(new TextDecoder().decode(bytes));
  const state = { given: {}, axes: {}, query: {} };
  for (const [name, change] of Object.entries(g ?? {})) {
    if (!Object.hasOwn(original, name)) continue;
    const rows = (change.rows ?? original[name]).map((row) => row.map(Number));
    if (!change.rows) for (const [i, j, x] of change) if (rows[i]?.[j] !== undefined) rows[i][j] = Number(x);
    const bounded = rows.length <= 64 && rows.every((row) => row.length === rows[0].length && row.length <= 64);
    if (rows.length && bounded && !rows.flat().some(Number.isNaN)) state.given[name] = rows;
  }
  for (const [axis, labels] of Object.entries(a ?? {})) {
    const texts = Array.isArray(labels) && labels.length && labels.length <= 64;
    if (Object.hasOwn(axes, axis) && texts && labels.every((x) => typeof x === "string")) state.axes[axis] = labels;
  }
  for (const [axis, i] of Object.entries(q ?? {})) {
    if (Object.hasOwn(axes, axis) && Number.isInteger(i) && i >= 0) state.query[axis] = i;
  }
  return state;
}

// Holds the current state and those before and after it; `changed` hears of every new one.
export class History {
  constructor(original, axes, changed) {
    Object.assign(this, { original, axes, changed, past: [], future: [], now: EMPTY_STATE });
    addEventListener("hashchange", () => this.read());
  }

  read() {
    const found = /^#s=([\w-]+)$/.exec(location.hash);
    try {
      this.now = found ? decodeState(found[1], this.original, this.axes) : EMPTY_STATE;
    } catch {
      this.now = EMPTY_STATE; // a link that was cut or made up: the page as it came
    }
    this.changed();
  }

  // `quiet`: goes on with the last change, as while a slider moves.
  set(next, quiet = false) {
    if (!quiet) {
      this.past = [...this.past.slice(-MOST_UNDO), this.now];
      this.future = [];
    }
    this.now = next;
    this.write();
  }

  undo() {
    if (!this.past.length) return;
    this.future.push(this.now);
    this.now = this.past.pop();
    this.write();
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(this.now);
    this.now = this.future.pop();
    this.write();
  }

  write() {
    const empty = !Object.keys({ ...this.now.given, ...this.now.axes, ...this.now.query }).length;
    const address = location.pathname + location.search;
    clearTimeout(this.writing); // browsers refuse hundreds of addresses in a few seconds
    this.writing = setTimeout(() => {
      history.replaceState(null, "", empty ? address : `${address}#s=${encodeState(this.now, this.original)}`);
    }, 120);
    this.changed();
  }

  link() {
    return `${location.href.split("#")[0]}#s=${encodeState(this.now, this.original)}`;
  }
}
