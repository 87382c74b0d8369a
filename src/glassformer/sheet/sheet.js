// Sheets in the browser: evaluates and explains the JSON of sheet.py, word for word and number for number.
// Plain functions of plain values, no page. A matrix is {rows, cols, data}, row by row. In a page that holds
// other scripts the word "export" is taken away, so every name here begins with "sheet", but for the two used.

const SHEET_SIDE = 4096, SHEET_CELLS = 1000000; // rows or columns, and cells, of a matrix at most
// Kinds of whole numbers that may also be taken from an earlier 1x1 matrix, and between what they lie.
const SHEET_BOUNDS = { size: [1, SHEET_SIDE], seed: [0, 4294967295] };
// 1 to 64 characters, no control character, no half of one.
const SHEET_NAME = /^[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,64}$/u;

const sheetIsName = (value) => typeof value === "string" && SHEET_NAME.test(value);
const sheetIsObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const sheetHasKeys = (value, keys) =>
  sheetIsObject(value) && Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key));
const sheetListed = (object) => Object.keys(object).join(", ");
const sheetShape = ({ rows, cols }) => `(${rows}, ${cols})`;
const sheetFail = (message) => { throw new Error(message); };

// Runs `work`; what it complains of is said of `what`.
function sheetAbout(what, work) {
  try {
    return work();
  } catch (error) {
    return sheetFail(what + error.message);
  }
}

// A number as both languages write it; where they differ, it is so far off that words will do.
const sheetTold = (x) => (x === 0 || (Math.abs(x) >= 1e-4 && Math.abs(x) < 1e15) ? String(x) : "out of reach");

// A number or the text of an infinity as a number; null for what is neither, NaN included.
function sheetNumber(value) {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return typeof value !== "number" || Number.isNaN(value) ? null : value;
}

function sheetWhole(what, x, [low, high]) {
  if (!(Number.isInteger(x) && low <= x && x <= high))
    sheetFail(`${what} is ${sheetTold(x)} and must be a whole number from ${low} to ${high}`);
  return x;
}

function sheetMake(rows, cols, cell) {
  if (rows > SHEET_SIDE || cols > SHEET_SIDE || rows * cols > SHEET_CELLS)
    sheetFail(`(${rows}, ${cols}) is too large; at most ${SHEET_SIDE} a side and ${SHEET_CELLS} cells`);
  const data = new Float64Array(rows * cols);
  for (let i = 0, at = 0; i < rows; i++) for (let j = 0; j < cols; j++) data[at++] = cell(i, j);
  return { rows, cols, data };
}

// The matrix that nested rows of numbers are, or one number as 1x1.
function sheetGrid(values) {
  const rows = Array.isArray(values) ? values : [[values]];
  if (!rows.length) sheetFail("a matrix has at least one row");
  rows.forEach((row, i) => {
    if (!Array.isArray(row)) sheetFail(`row ${i} is no list of numbers`);
    if (row.length !== rows[0].length)
      sheetFail(`row ${i} has ${row.length} numbers, but row 0 has ${rows[0].length}`);
  });
  if (!rows[0].length) sheetFail("a matrix has at least one column");
  return sheetMake(
    rows.length, rows[0].length, (i, j) => sheetNumber(rows[i][j]) ?? sheetFail(`cell [${i}, ${j}] is no number`),
  );
}

const sheetIsSize = (x) => sheetIsName(x) || Number.isFinite(x);
const sheetIsSpan = (x) => x === null || (Array.isArray(x) && x.length === 2 && x.every(Number.isInteger));

// For each kind of parameter, "values" apart: whether a value is one, and what is expected.
const SHEET_KINDS = {
  size: [sheetIsSize, "a whole number or the name of an earlier 1x1 matrix"],
  seed: [sheetIsSize, "a whole number or the name of an earlier 1x1 matrix"],
  number: [Number.isFinite, "a finite number"],
  fill: [(x) => sheetNumber(x) !== null, "a number, inf or -inf"],
  texts: [(x) => Array.isArray(x) && x.every((text) => typeof text === "string"), "a list of texts"],
  over: [(x) => ["columns", "rows", "all"].includes(x), "columns, rows or all"],
  axis: [(x) => ["columns", "rows"].includes(x), "columns or rows"],
  span: [sheetIsSpan, "null or two whole numbers, start and stop"],
};

// The parameters with every size a whole number, those given by name taken from earlier matrices.
function sheetResolved(kinds, parameters, values) {
  const found = { ...parameters };
  for (const [key, kind] of Object.entries(kinds)) {
    if (!(kind in SHEET_BOUNDS)) continue;
    let [what, x] = [key, parameters[key]];
    if (typeof x === "string") {
      what = `${key}, taken from ${x},`;
      const from = values[x];
      if (from.data.length !== 1) sheetFail(`${what} must be one number, not ${sheetShape(from)}`);
      x = from.data[0];
    }
    found[key] = sheetWhole(what, x, SHEET_BOUNDS[kind]);
  }
  return found;
}

function sheetMixed(x) { // the finaliser of MurmurHash3
  let h = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const sheetHashed = ([first, second], count) => sheetMixed(second ^ sheetMixed(first + count));
const sheetKeys = (seed) => [sheetMixed(seed), sheetMixed(~seed)];

// Kept by what was asked for: drawing takes longest, and after an edit mostly the same is asked for again.
const sheetDrawn = {};
const sheetNormal = (...asked) => (sheetDrawn[asked] ??= sheetDraw(...asked));
function sheetDraw(rows, cols, seed) {
  const keys = sheetKeys(seed);
  const rowKeys = Array.from({ length: rows }, (_, i) => [sheetHashed(keys, 2 * i), sheetHashed(keys, 2 * i + 1)]);
  return sheetMake(rows, cols, (i, j) => {
    const radius = Math.sqrt(-2 * Math.log((sheetHashed(rowKeys[i], 2 * j) + 0.5) / 4294967296));
    return radius * Math.cos(2 * Math.PI * (sheetHashed(rowKeys[i], 2 * j + 1) / 4294967296));
  });
}

function sheetEmbed(tokens, cols) {
  if (!tokens.length) sheetFail("tokens must be at least one text");
  const keys = tokens.map((token) => {
    let h = 0x811c9dc5; // FNV-1a
    for (const byte of new TextEncoder().encode(token)) h = Math.imul(h ^ byte, 0x01000193);
    return sheetKeys(h);
  });
  return sheetMake(tokens.length, cols, (i, j) => ((sheetHashed(keys[i], j) % 9) - 4) / 4);
}

const sheetRange = (count, start, step) => sheetMake(count, 1, (k) => start + step * k);

function sheetOnehot(indices, cols) {
  if (indices.cols !== 1) sheetFail(`the indices must be one column, not ${sheetShape(indices)}`);
  indices.data.forEach((x, i) => sheetWhole(`index ${i}`, x, [0, cols - 1]));
  return sheetMake(indices.rows, cols, (i, j) => (indices.data[i] === j ? 1 : 0));
}

function sheetMatmul(a, b) {
  if (a.cols !== b.rows)
    sheetFail(`${sheetShape(a)} times ${sheetShape(b)} does not fit: ${a.cols} columns, ${b.rows} rows`);
  return sheetMake(a.rows, b.cols, (i, j) => {
    let total = 0;
    for (let k = 0; k < a.cols; k++) total += a.data[i * a.cols + k] * b.data[k * b.cols + j];
    return total;
  });
}

// Where a cell of a result lies in an operand: along an axis of size 1, at the only place there is.
const sheetPlace = (a, i, j) => (a.rows > 1 ? i * a.cols : 0) + (a.cols > 1 ? j : 0);

const sheetBroadcast = (rows, cols, a, b, f) =>
  sheetMake(rows, cols, (i, j) => f(a.data[sheetPlace(a, i, j)], b.data[sheetPlace(b, i, j)]));

const sheetOne = (f) => [1, {}, ([a]) => ({ ...a, data: a.data.map((x) => f(x)) })];

const sheetTwo = (f) => [2, {}, ([a, b]) => {
  if ((a.rows !== b.rows && a.rows !== 1 && b.rows !== 1) || (a.cols !== b.cols && a.cols !== 1 && b.cols !== 1))
    sheetFail(`${sheetShape(a)} and ${sheetShape(b)} do not fit: equal sizes, or 1, are needed`);
  return sheetBroadcast(Math.max(a.rows, b.rows), Math.max(a.cols, b.cols), a, b, f);
}];

function sheetMask(scores, allowed, fill) {
  if (![1, scores.rows].includes(allowed.rows) || ![1, scores.cols].includes(allowed.cols))
    sheetFail(`allowed ${sheetShape(allowed)} does not fit scores ${sheetShape(scores)}`);
  return sheetBroadcast(scores.rows, scores.cols, scores, allowed, (score, may) => (may === 0 ? fill : score));
}

const sheetRow = (a, i) => a.data.subarray(i * a.cols, (i + 1) * a.cols);
const sheetTotal = (numbers) => numbers.reduce((total, x) => total + x, 0);

function sheetByRow(a, f) {
  const data = new Float64Array(a.data.length);
  for (let i = 0; i < a.rows; i++) data.set(f(sheetRow(a, i)), i * a.cols);
  return { rows: a.rows, cols: a.cols, data };
}

// The place of the first largest number; NaN counts as the largest of all.
function sheetWhich(numbers) {
  let which = 0;
  for (let k = 0; k < numbers.length && !Number.isNaN(numbers[which]); k++)
    if (numbers[k] > numbers[which] || Number.isNaN(numbers[k])) which = k;
  return which;
}

const sheetLargest = (numbers) => numbers[sheetWhich(numbers)] + 0;

function sheetSoftmaxParts(row) {
  const largest = sheetLargest(row);
  const exps = row.map((x) => (x === -Infinity ? 0 : Math.exp(x - largest)));
  return { largest, exps, denominator: sheetTotal(exps) };
}

function sheetSoftmax(row) {
  const { exps, denominator } = sheetSoftmaxParts(row);
  return exps.map((x, j) => (row[j] === -Infinity ? 0 : x / denominator));
}

function sheetMoments(row) {
  const mean = sheetTotal(row) / row.length;
  return { mean, variance: sheetTotal(row.map((x) => (x - mean) ** 2)) / row.length };
}

function sheetLayernorm(row, eps) {
  const { mean, variance } = sheetMoments(row);
  return row.map((x) => (x - mean) / Math.sqrt(variance + eps));
}

function sheetConcat(parts, axis) {
  const [along, across] = axis === "rows" ? ["rows", "cols"] : ["cols", "rows"];
  for (const part of parts)
    if (part[across] !== parts[0][across])
      sheetFail(`${sheetShape(parts[0])} and ${sheetShape(part)} cannot be joined along their ${axis}`);
  const { rows, cols } = { ...parts[0], [along]: sheetTotal(parts.map((part) => part[along])) };
  return sheetMake(rows, cols, (i, j) => sheetAt(parts, sheetSource(parts, axis, i, j)));
}

const sheetAt = (parts, [k, i, j]) => parts[k].data[i * parts[k].cols + j];

// Which part of a concatenation a cell is from, and which cell of it.
function sheetSource(parts, axis, i, j) {
  let k = 0;
  if (axis === "rows") for (; i >= parts[k].rows; k++) i -= parts[k].rows;
  else for (; j >= parts[k].cols; k++) j -= parts[k].cols;
  return [k, i, j];
}

function sheetSpan(what, ends, size) {
  const [start, stop] = ends ?? [0, size];
  const fits = 0 <= start && start < stop && stop <= size;
  if (!fits) sheetFail(`${what} must be start and stop with 0 <= start < stop <= ${size}`);
  return [start, stop];
}

function sheetSlice(a, rows, columns) {
  const [[top, bottom], [left, right]] = [sheetSpan("rows", rows, a.rows), sheetSpan("columns", columns, a.cols)];
  return sheetMake(bottom - top, right - left, (i, j) => a.data[(top + i) * a.cols + left + j]);
}

function sheetReduced(a, over, f) {
  if (over === "all") return sheetMake(1, 1, () => f(a.data));
  if (over === "rows") return sheetMake(1, a.cols, (_, j) => f(sheetSlice(a, null, [j, j + 1]).data));
  return sheetMake(a.rows, 1, (i) => f(sheetRow(a, i)));
}

// For each operation: how many operands (null: one or more), the kinds of its parameters, and its value.
const SHEET_OPERATIONS = {
  const: [0, { values: "values" }, (_, p) => sheetGrid(p.values)],
  normal: [0, { rows: "size", cols: "size", seed: "seed" }, (_, p) => sheetNormal(p.rows, p.cols, p.seed)],
  embed: [0, { tokens: "texts", cols: "size" }, (_, p) => sheetEmbed(p.tokens, p.cols)],
  range: [0, { count: "size", start: "number", step: "number" }, (_, p) => sheetRange(p.count, p.start, p.step)],
  onehot: [1, { cols: "size" }, ([a], p) => sheetOnehot(a, p.cols)],
  matmul: [2, {}, ([a, b]) => sheetMatmul(a, b)],
  transpose: [1, {}, ([a]) => sheetMake(a.cols, a.rows, (i, j) => a.data[j * a.cols + i])],
  add: sheetTwo((a, b) => a + b),
  sub: sheetTwo((a, b) => a - b),
  mul: sheetTwo((a, b) => a * b),
  div: sheetTwo((a, b) => a / b),
  less: sheetTwo((a, b) => (a < b ? 1 : 0)),
  exp: sheetOne(Math.exp),
  log: sheetOne(Math.log),
  sqrt: sheetOne(Math.sqrt),
  sin: sheetOne(Math.sin),
  cos: sheetOne(Math.cos),
  tanh: sheetOne(Math.tanh),
  sigmoid: sheetOne((x) => 1 / (1 + Math.exp(-x))),
  relu: sheetOne((x) => (x < 0 ? 0 : x)),
  mask: [2, { fill: "fill" }, ([a, b], p) => sheetMask(a, b, sheetNumber(p.fill))],
  softmax: [1, {}, ([a]) => sheetByRow(a, sheetSoftmax)],
  layernorm: [1, { eps: "number" }, ([a], p) => sheetByRow(a, (row) => sheetLayernorm(row, p.eps))],
  concat: [null, { axis: "axis" }, (of, p) => sheetConcat(of, p.axis)],
  slice: [1, { rows: "span", columns: "span" }, ([a], p) => sheetSlice(a, p.rows, p.columns)],
  sum: [1, { over: "over" }, ([a], p) => sheetReduced(a, p.over, sheetTotal)],
  max: [1, { over: "over" }, ([a], p) => sheetReduced(a, p.over, sheetLargest)],
  argmax: [1, {}, ([a]) => sheetReduced(a, "columns", sheetWhich)],
};

// Throws for a matrix that cannot stand after the `earlier` ones.
function sheetCheck({ name, op, of, parameters }, earlier) {
  const requireEarlier = (what, other) => {
    if (!sheetIsName(other)) sheetFail(`${what} is no name of a matrix`);
    if (!earlier.has(other)) sheetFail(`${what}, ${other}, is no earlier matrix`);
  };
  if (earlier.has(name)) sheetFail("the name is taken by an earlier matrix");
  if (!sheetIsName(op) || !Object.hasOwn(SHEET_OPERATIONS, op))
    sheetFail(`unknown operation${sheetIsName(op) ? ` ${op}` : ""}; known: ${sheetListed(SHEET_OPERATIONS)}`);
  const [wanted, kinds] = SHEET_OPERATIONS[op];
  if (!Array.isArray(of)) sheetFail("its operands must be a list of names");
  if (wanted === null ? !of.length : of.length !== wanted)
    sheetFail(`${op} takes ${wanted === null ? "at least 1" : wanted} operands, not ${of.length}`);
  of.forEach((other, k) => requireEarlier(`operand ${k}`, other));
  const listed = sheetListed(kinds);
  if (!sheetHasKeys(parameters, Object.keys(kinds)))
    sheetFail(`${op} takes ${listed ? `the parameters ${listed} and no others` : "no parameters"}`);
  for (const [key, kind] of Object.entries(kinds)) {
    const value = parameters[key];
    if (kind === "values") sheetGrid(value);
    else if (!SHEET_KINDS[kind][0](value)) sheetFail(`${key} must be ${SHEET_KINDS[kind][1]}`);
    if (kind in SHEET_BOUNDS && typeof value === "string") requireEarlier(key, value);
  }
}

// The matrices of a sheet by name, checked.
function sheetMatrices(sheet) {
  if (!sheetHasKeys(sheet, ["matrices"]) || !Array.isArray(sheet.matrices))
    sheetFail("a sheet must be an object with the list matrices and nothing else");
  const matrices = new Map();
  sheet.matrices.forEach((matrix, k) => {
    const keys = ["name", "op", "of", "parameters"];
    if (!sheetHasKeys(matrix, keys)) sheetFail(`matrix number ${k}: it must be an object with ${keys.join(", ")}`);
    if (!sheetIsName(matrix.name))
      sheetFail(`matrix number ${k}: its name must be a text of 1 to 64 characters, none of them a control character`);
    sheetAbout(`${matrix.name}: `, () => sheetCheck(matrix, matrices));
    matrices.set(matrix.name, matrix);
  });
  return matrices;
}

// The value of every matrix by name. `given` replaces the numbers of consts: {name: [[...], ...]}.
export function evaluate(sheet, given = {}) {
  const matrices = sheetMatrices(sheet);
  const replaced = new Map(Object.entries(given).map(([name, numbers]) => {
    if (!matrices.has(name))
      sheetFail(`given: there is no matrix${sheetIsName(name) ? ` ${name}` : " of such a name"}`);
    const { op } = matrices.get(name);
    if (op !== "const") sheetFail(`given: ${name} is computed by ${op}; only a const can be given`);
    return [name, sheetAbout(`given: ${name}: `, () => sheetGrid(numbers))];
  }));
  const values = Object.create(null);
  for (const [name, { op, of, parameters }] of matrices) {
    const [, kinds, value] = SHEET_OPERATIONS[op];
    values[name] = replaced.get(name) ?? sheetAbout(`${name}: `, () =>
      value(of.map((other) => values[other]), sheetResolved(kinds, parameters, values)));
  }
  return values;
}

// The cells of an operand that a sum or maximum takes, row by row.
function sheetReducedCells({ i, j, p, rows, cols, cell }) {
  const [fromRow, toRow] = p.over === "columns" ? [i, i + 1] : [0, rows];
  const [fromCol, toCol] = p.over === "rows" ? [j, j + 1] : [0, cols];
  const cells = [];
  for (let y = fromRow; y < toRow; y++) for (let x = fromCol; x < toCol; x++) cells.push(cell(0, y, x));
  return cells;
}

const sheetValues = (cells) => Float64Array.from(cells, (cell) => cell.value);
const sheetTerm = (a, b) => ({ a, b, value: a.value * b.value });
const sheetExplainLargest = (cells) => [cells, { which: sheetWhich(sheetValues(cells)) }];
const sheetExplainElementwise = ({ parts, cell, i, j }) => [parts.map((_, k) => cell(k, i, j)), {}];

// What stands behind a cell of each operation: its operands, and what explain.py lists beside them.
const SHEET_EXPLAIN = {
  normal: ({ p }) => [[], { seed: p.seed }],
  embed: ({ p, i }) => [[], { token: p.tokens[i].replace(/[\ud800-\udfff]/gu, "\ufffd") }],
  range: ({ p }) => [[], { start: p.start, step: p.step }],
  onehot: ({ cell, i }) => [[cell(0, i, 0)], {}],
  matmul({ cell, row, j }) {
    const [a, b] = [row(), row().map((_, k) => cell(1, k, j))];
    return [[...a, ...b], { terms: a.map((from, k) => sheetTerm(from, b[k])) }];
  },
  transpose: ({ cell, i, j }) => [[cell(0, j, i)], {}],
  mask({ cell, p, i, j }) {
    const allowed = cell(1, i, j);
    return [[cell(0, i, j), allowed], { masked: allowed.value === 0, fill: sheetNumber(p.fill) }];
  },
  softmax({ row }) {
    const numbers = sheetValues(row());
    const { largest, exps, denominator } = sheetSoftmaxParts(numbers);
    return [row(), { largest, exps: [...exps], denominator, visible: numbers.filter((x) => x !== -Infinity).length }];
  },
  layernorm({ row, p, j }) {
    const numbers = sheetValues(row());
    const { mean, variance } = sheetMoments(numbers);
    return [row(), { mean, variance, eps: p.eps, centred: numbers[j] - mean }];
  },
  concat: ({ parts, cell, p, i, j }) => [[cell(...sheetSource(parts, p.axis, i, j))], {}],
  slice: ({ cell, p, i, j }) => [[cell(0, (p.rows?.[0] ?? 0) + i, (p.columns?.[0] ?? 0) + j)], {}],
  sum: (at) => [sheetReducedCells(at), { terms: sheetReducedCells(at) }],
  max: (at) => sheetExplainLargest(sheetReducedCells(at)),
  argmax: ({ row }) => sheetExplainLargest(row()),
};

// One level of the arithmetic behind cell (i, j) of a matrix, given what `evaluate` returned: see explain.py.
export function explain(sheet, values, name, i, j) {
  const { op, of, parameters } =
    sheet.matrices.find((matrix) => matrix.name === name) ?? sheetFail(`there is no matrix ${name}`);
  const result = values[name];
  if (!(0 <= i && i < result.rows && 0 <= j && j < result.cols))
    sheetFail(`${name} is ${sheetShape(result)} and has no cell [${i}, ${j}]`);
  const parts = of.map((other) => values[other]);
  const cell = (k, y, x) => ({
    name: of[k], i: parts[k].rows > 1 ? y : 0, j: parts[k].cols > 1 ? x : 0,
    value: parts[k].data[sheetPlace(parts[k], y, x)],
  });
  const row = () => Array.from({ length: parts[0].cols }, (_, x) => cell(0, i, x));
  const p = sheetResolved(SHEET_OPERATIONS[op][1], parameters, values);
  const explained = SHEET_EXPLAIN[op] ?? sheetExplainElementwise;
  const [operands, more] = explained({ i, j, p, ...parts[0], parts, cell, row });
  return { name, i, j, value: result.data[i * result.cols + j], op, operands, ...more };
}
