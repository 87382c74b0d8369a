// Charts as SVG: the twin of charts.py.

const WIDTH = 640, HEIGHT = 300, LEFT = 76, RIGHT = 36, TOP = 14, BOTTOM = 34;

function chartBounds(numbers, log) {
  const usable = numbers.filter((x) => Number.isFinite(x) && (x > 0 || !log));
  if (!usable.length) return log ? [1, 10] : [0, 1];
  let low = Math.min(...usable), high = Math.max(...usable);
  if (!log) low = Math.min(low, 0);
  if (low === high) high = log ? low * 10 : low + 1;
  return [low, high];
}

function chartShare(x, [low, high], log) {
  if (!Number.isFinite(x) || (log && x <= 0)) return null;
  if (log) [x, low, high] = [x, low, high].map(Math.log10);
  return (x - low) / (high - low);
}

function chartTicks([low, high], log) {
  if (log) {
    const powers = [];
    for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.floor(Math.log10(high) + 1e-9); p++) powers.push(p);
    const step = Math.max(1, Math.ceil(powers.length / 6));
    const found = powers.filter((_, k) => k % step === 0).map((p) => 10 ** p);
    return found.length > 1 ? found : [low, high];
  }
  return [0, 1, 2, 3, 4].map((k) => low + ((high - low) * k) / 4);
}

function tickDecimals(step) {
  const [leading, exponent] = step.toExponential(2).split("e").map(Number);
  const misses = (k) => Math.abs(leading - Math.round(leading * 10 ** k) / 10 ** k) > 0.02 * leading;
  return Math.max(0, [0, 1].filter(misses).length - exponent);
}

function spokenTick(x, step) {
  step = step || Math.abs(x);
  if (Math.abs(x) <= 1e-9 * step) return "0";
  const decimals = tickDecimals(step);
  if (step >= 2e-3 && Math.abs(x) < 1e5) return formatNumber(x, decimals, true);
  const digits = Math.max(0, decimals + Math.floor(Math.log10(Math.abs(x)) + 1e-9));
  const [mantissa, exponent] = Math.abs(x).toExponential(digits).split("e").map(Number);
  return `${x < 0 ? "−" : ""}${mantissa}e${exponent}`;
}

// The inside of the chart's <svg>. Numbers, and names that are HTML already: nothing that a reader typed.
export function drawChart(chart, values) {
  const xs = [...values[chart.x].data], columns = chart.lines.map((name) => [...values[name].data]);
  const named = chart.points ? [...values[chart.points].data] : [];
  const marks = chart.marks.map(([x, y]) => [values[x].data[0], values[y].data[0]]);
  const across = chartBounds([...xs, ...marks.map((p) => p[0])], chart.logX);
  const up = chartBounds([...columns.flat(), ...named, ...marks.map((p) => p[1])], chart.logY);
  const place = (x, y) => {
    const a = chartShare(x, across, chart.logX), b = chartShare(y, up, chart.logY);
    if (a === null || b === null) return null;
    return [(LEFT + a * (WIDTH - LEFT - RIGHT)).toFixed(1), (HEIGHT - BOTTOM - b * (HEIGHT - TOP - BOTTOM)).toFixed(1)];
  };
  const parts = [], ticksX = chartTicks(across, chart.logX), ticksY = chartTicks(up, chart.logY);
  for (const x of ticksX) {
    const [at] = place(x, up[0]);
    parts.push(`<line class="grid" x1="${at}" x2="${at}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>`,
      `<text class="x" x="${at}" y="${HEIGHT - 12}">${spokenTick(x, chart.logX ? 0 : ticksX[1] - ticksX[0])}</text>`);
  }
  for (const y of ticksY) {
    const [, at] = place(across[0], y);
    parts.push(`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>`,
      `<text class="y" x="${LEFT - 8}" y="${(Number(at) + 4).toFixed(1)}">${spokenTick(y, chart.logY ? 0 : ticksY[1] - ticksY[0])}</text>`);
  }
  columns.forEach((ys, n) => {
    const path = xs.map((x, k) => place(x, ys[k])).filter(Boolean).map((p) => p.join(",")).join(" ");
    parts.push(`<polyline class="line${n}" points="${path}"/>`);
  });
  chart.names.forEach((name, k) => {
    const at = k < xs.length && k < named.length && place(xs[k], named[k]);
    if (!at) return;
    const end = at[0] > WIDTH / 2 ? " end" : "";
    parts.push(`<circle class="point" cx="${at[0]}" cy="${at[1]}" r="4"/>`,
      `<text class="name${end}" x="${at[0]}" y="${at[1]}">${name}</text>`);
  });
  for (const [x, y] of marks) {
    const at = place(x, y);
    if (at) parts.push(`<circle class="mark" cx="${at[0]}" cy="${at[1]}" r="5"/>`);
  }
  return parts.join("");
}
