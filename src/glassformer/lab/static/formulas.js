// The arithmetic of one number as one line of text: the twin of formulas.py.

const TERMS = 8, DECIMALS = 4;
const BETWEEN = { add: "+", sub: "−", mul: "×", div: "÷", less: "<" };
const FUNCTIONS = { sqrt: "√", log: "ln", exp: "exp" };
const COPIES = new Set(["const", "normal", "embed", "range", "onehot", "transpose", "concat", "slice", "mask"]);

// Numbers of a step come as in JSON, with "inf", "-inf" and "nan" as texts.
export function wireNumber(value) {
  if (typeof value === "number") return value;
  return { inf: Infinity, "-inf": -Infinity, nan: NaN }[value];
}

function plainNumber(value) {
  return formatNumber(wireNumber(value), DECIMALS, true);
}

function signedNumber(value) {
  const text = plainNumber(value);
  return text.startsWith("−") ? `(${text})` : text;
}

export function formulaOf(step) {
  const work = workOf(step);
  return work ? `${work} = ${plainNumber(step.value)}` : plainNumber(step.value);
}

function workOf(step) {
  const cells = step.operands.map((cell) => signedNumber(cell.value));
  switch (step.op) {
    case "matmul":
      return sumOf(step.terms.map((t) => [`${signedNumber(t.a.value)}×${signedNumber(t.b.value)}`, wireNumber(t.value)]));
    case "sum":
      return sumOf(step.terms.map((t) => [signedNumber(t.value), wireNumber(t.value)]));
    case "softmax":
      if (!step.visible) return "";
      return `exp(${plainNumber(step.operands[step.j].value)} − ${signedNumber(step.largest)}) ÷ ${plainNumber(step.denominator)}`;
    case "layernorm": {
      const eps = step.eps.toExponential(0).replace(/e([+-])(\d)$/, "e$10$2");
      return `${signedNumber(step.centred)} ÷ √(${plainNumber(step.variance)} + ${eps})`;
    }
    case "max":
    case "argmax":
      return `${step.op}(${cells.slice(0, TERMS).join(", ")}${cells.length > TERMS ? ", …" : ""})`;
  }
  if (step.op in BETWEEN) return cells.join(` ${BETWEEN[step.op]} `);
  if (COPIES.has(step.op)) return "";
  return `${FUNCTIONS[step.op] ?? step.op}(${plainNumber(step.operands[0].value)})`;
}

function sumOf(terms) {
  if (terms.length <= TERMS) return terms.map(([text]) => text).join(" + ");
  const order = terms.map((_, k) => k).sort((a, b) => Math.abs(terms[b][1]) - Math.abs(terms[a][1]));
  const kept = order.slice(0, TERMS).sort((a, b) => a - b);
  const chosen = new Set(kept);
  const rest = terms.reduce((sum, [, value], k) => (chosen.has(k) ? sum : sum + value), 0);
  return [...kept.map((k) => terms[k][0]), `[${terms.length - TERMS} …: ${plainNumber(rest)}]`].join(" + ");
}
