// What scripts add to the page: any head on view, single weights under the pointer, tokens coloured by what one
// of them reads, and the figure and its numbers to take away. Without scripts the page lacks only this section.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = document.getElementById("view");
  const canvas = view.querySelector("canvas");
  const strip = view.querySelector("ol");
  const thumbnails = [...document.querySelectorAll(".heads figure")];
  const n = data.labels.length;
  const cell = Math.max(1, Math.floor(640 / n)); // pixels of a weight
  const nHeads = data.heads[0].length;
  let layer, head, weights, exact;
  let query = n - 1, key = n - 1;

  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

  // The weights of a head, row by row: exact where the page holds them, else from the shades of its picture.
  async function load(l, h) {
    if (l === data.exact.layer && h === data.exact.head) {
      return [new Float32Array(bytes(data.exact.float32).buffer), true];
    }
    const image = new Image();
    image.src = data.heads[l][h];
    await image.decode();
    const paper = Object.assign(document.createElement("canvas"), { width: n, height: n });
    const pen = paper.getContext("2d", { willReadFrequently: true });
    pen.drawImage(image, 0, 0);
    const points = pen.getImageData(0, 0, n, n).data;
    return [Float32Array.from({ length: n * n }, (_, i) => (points[4 * i] / 255) ** 2), false];
  }

  async function show(l, h) {
    [layer, head] = [l, h];
    const [loaded, isExact] = await load(l, h);
    if (layer !== l || head !== h) return; // another head was chosen meanwhile
    [weights, exact] = [loaded, isExact];
    thumbnails.forEach((figure, i) => figure.setAttribute("aria-pressed", i === l * nHeads + h));
    view.querySelectorAll("[data-layer]").forEach((span) => (span.textContent = l));
    view.querySelectorAll("[data-head]").forEach((span) => (span.textContent = h));
    view.querySelector("[data-exact]").hidden = !exact;
    view.querySelector("[data-rounded]").hidden = exact;
    draw();
  }

  function draw() {
    const shade = getComputedStyle(document.documentElement).getPropertyValue("--shade").split(",").map(Number);
    const small = Object.assign(document.createElement("canvas"), { width: n, height: n });
    const image = new ImageData(n, n);
    for (let i = 0; i < n * n; i++) image.data.set([...shade, 255 * Math.sqrt(weights[i])], 4 * i);
    small.getContext("2d").putImageData(image, 0, 0);
    canvas.width = canvas.height = n * cell;
    const pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, 0, 0, n * cell, n * cell);
    pen.strokeStyle = getComputedStyle(document.body).color;
    pen.strokeRect(0.5, query * cell + 0.5, n * cell - 1, Math.max(1, cell - 1));
    pen.strokeRect(key * cell + 0.5, query * cell + 0.5, Math.max(1, cell - 1), Math.max(1, cell - 1));
    [...strip.children].forEach((item, i) => {
      const weight = i <= query ? weights[query * n + i] : 0;
      item.style.setProperty("--w", Math.sqrt(weight).toFixed(3));
      item.firstChild.setAttribute("aria-pressed", i === query);
    });
    const weight = weights[query * n + key];
    const digits = exact ? weight.toPrecision(7) : `≈ ${weight.toFixed(3)}`;
    view.querySelector("[data-edge]").replaceChildren(`${query} `, named(query), ` → ${key} `, named(key));
    view.querySelector("[data-weight]").textContent = key > query ? "0" : digits;
    view.querySelector("[data-future]").hidden = key <= query;
  }

  // A token's name, whose direction of writing ends with it.
  function named(i) {
    const name = Object.assign(document.createElement("bdi"), { textContent: data.labels[i] });
    if (data.special.includes(i)) name.className = "special";
    return name;
  }

  function point(q, k) {
    query = Math.min(n - 1, Math.max(0, q));
    key = Math.min(n - 1, Math.max(0, k));
    draw();
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    point(Math.floor(((event.clientY - box.top) / box.height) * n), Math.floor(((event.clientX - box.left) / box.width) * n));
  }

  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  canvas.addEventListener("pointermove", place);
  canvas.addEventListener("pointerdown", place);
  canvas.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    point(query + move[0], key + move[1]);
  });

  data.labels.forEach((_, i) => {
    const item = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.append(named(i));
    button.addEventListener("click", () => point(i, i));
    item.append(button);
    strip.append(item);
  });

  thumbnails.forEach((figure, i) => {
    const choose = () => show(Math.floor(i / nHeads), i % nHeads);
    Object.entries({ tabindex: 0, role: "button" }).forEach(([name, value]) => figure.setAttribute(name, value));
    figure.addEventListener("click", choose);
    figure.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
  });

  function save(blob, ending) {
    const link = Object.assign(document.createElement("a"), {
      href: URL.createObjectURL(blob),
      download: `layer-${layer}-head-${head}.${ending}`,
    });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

  function csv() {
    const lines = ["query,query_token,key,key_token,weight"];
    for (let q = 0; q < n; q++) {
      for (let k = 0; k <= q; k++) {
        lines.push([q, quoted(data.labels[q]), k, quoted(data.labels[k]), weights[q * n + k]].join(","));
      }
    }
    return new Blob([lines.join("\n") + "\n"], { type: "text/csv" });
  }

  function svg() {
    const shade = getComputedStyle(document.documentElement).getPropertyValue("--shade");
    const cells = [];
    for (let q = 0; q < n; q++) {
      for (let k = 0; k <= q; k++) {
        const strength = Math.sqrt(weights[q * n + k]);
        if (strength > 0.004) cells.push(`<rect x="${k}" y="${q}" width="1" height="1" fill-opacity="${strength.toFixed(3)}"/>`);
      }
    }
    const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${n} ${n}" fill="rgb(${shade})" shape-rendering="crispEdges">`;
    return new Blob([open, ...cells, "</svg>"], { type: "image/svg+xml" });
  }

  view.querySelector("[data-save=csv]").addEventListener("click", () => save(csv(), "csv"));
  view.querySelector("[data-save=svg]").addEventListener("click", () => save(svg(), "svg"));
  view.querySelector("[data-save=png]").addEventListener("click", () => canvas.toBlob((blob) => save(blob, "png")));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  view.hidden = false;
  show(data.exact.layer, data.exact.head);
})();
