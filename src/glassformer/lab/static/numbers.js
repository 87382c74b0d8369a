// Numbers as the page writes them: the twin of numbers.py.

const LARGE = 1e12;
const SHADES = 10;

export function formatNumber(value, decimals, given = false) {
  if (Number.isNaN(value)) return "NaN";
  const sign = value < 0 ? "−" : "", size = Math.abs(value);
  if (size === Infinity) return `${sign}∞`;
  if (size >= LARGE) {
    const [mantissa, exponent] = size.toExponential(2).split("e");
    return `${sign}${mantissa}e${Number(exponent)}`;
  }
  let text = size.toFixed(decimals).replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",");
  if (given && text.includes(".")) text = text.replace(/\.?0+$/, "");
  return /[1-9]/.test(text) ? sign + text : text;
}

export function shadeOf(value, kind, largest) {
  if (value === -Infinity) return "masked";
  if (kind === "weights") return value === 0 ? "masked" : `w${Math.min(SHADES, Math.ceil(value * SHADES))}`;
  if (kind === "mask") return value ? "seen" : "hidden";
  if (kind === "scores" && largest > 0 && Number.isFinite(value)) {
    const level = Math.floor((Math.abs(value) / largest) * (SHADES / 2) + 0.5);
    return level ? `${value < 0 ? "n" : "p"}${level}` : "";
  }
  return "";
}
