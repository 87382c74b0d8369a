// What scripts add to the page: any head on view, single weights under the pointer, tokens coloured by what one
// of them reads, and the figure and its numbers to take away. Without scripts the page lacks only this section.
(() => {
  "use strict";
  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const between = (low, value, high) => Math.min(high, Math.max(low, value));

  function start(subject) {
    const data = JSON.parse(subject.querySelector("script").textContent);
    const view = subject.querySelector(".view");
    const canvas = view.querySelector("canvas");
    const keyStrip = view.querySelector("ol");
    const queryStrip = data.same ? keyStrip : keyStrip.cloneNode();
    const thumbnails = [...subject.querySelectorAll(".heads figure")];
    const [n, m] = [data.queries.length, data.keys.length];
    const cell = Math.max(1, Math.floor(640 / Math.max(n, m))); // pixels of a weight
    const nHeads = data.heads[0].length;
    const masks = data.masks.map(bytes);
    let layer, head, weights, exact;
    let query = n - 1, key = m - 1;

    // The weights of a head, row by row: exact where the page holds them, else from the shades of its picture.
    async function load(l, h) {
      const held = data.heads[l][h];
      if (held.float32) return [new Float32Array(bytes(held.float32).buffer), true];
      const image = new Image();
      image.src = held.shades;
      await image.decode();
      const paper = Object.assign(document.createElement("canvas"), { width: m, height: n });
      const pen = paper.getContext("2d", { willReadFrequently: true });
      pen.drawImage(image, 0, 0);
      const points = pen.getImageData(0, 0, m, n).data;
      return [Float32Array.from({ length: n * m }, (_, i) => (points[4 * i] / 255) ** 2), false];
    }

    function visible(q, k) {
      const place = q * m + k;
      return Boolean((masks[data.mask[layer][head]][place >> 3] >> (7 - (place & 7))) & 1);
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

    const shade = () => getComputedStyle(view).getPropertyValue("--shade");

    function draw() {
      const colour = shade().split(",").map(Number);
      const small = Object.assign(document.createElement("canvas"), { width: m, height: n });
      const image = new ImageData(m, n);
      for (let i = 0; i < n * m; i++) image.data.set([...colour, 255 * Math.sqrt(weights[i])], 4 * i);
      small.getContext("2d").putImageData(image, 0, 0);
      [canvas.width, canvas.height] = [m * cell, n * cell];
      const pen = canvas.getContext("2d");
      pen.imageSmoothingEnabled = false;
      pen.drawImage(small, 0, 0, m * cell, n * cell);
      pen.strokeStyle = getComputedStyle(view).color;
      pen.strokeRect(0.5, query * cell + 0.5, m * cell - 1, Math.max(1, cell - 1));
      pen.strokeRect(key * cell + 0.5, query * cell + 0.5, Math.max(1, cell - 1), Math.max(1, cell - 1));
      [...keyStrip.children].forEach((item, k) => {
        item.style.setProperty("--w", Math.sqrt(visible(query, k) ? weights[query * m + k] : 0).toFixed(3));
      });
      [...queryStrip.children].forEach((item, q) => item.firstChild.setAttribute("aria-pressed", q === query));
      const weight = weights[query * m + key];
      const digits = exact ? weight.toPrecision(7) : `≈ ${weight.toFixed(3)}`;
      const edge = [`${query} `, named("queries", query), ` → ${key} `, named("keys", key)];
      view.querySelector("[data-edge]").replaceChildren(...edge);
      view.querySelector("[data-weight]").textContent = visible(query, key) ? digits : "0";
      view.querySelector("[data-unseen]").hidden = visible(query, key);
    }

    // A token's name, whose direction of writing ends with it.
    function named(side, i) {
      const name = Object.assign(document.createElement("bdi"), { textContent: data[side][i] });
      if (data.special[side].includes(i)) name.className = "special";
      return name;
    }

    function point(q, k) {
      query = between(0, q, n - 1);
      key = between(0, k, m - 1);
      draw();
    }

    function place(event) {
      const box = canvas.getBoundingClientRect();
      const [down, right] = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
      point(Math.floor(down * n), Math.floor(right * m));
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

    data.queries.forEach((_, i) => {
      const item = document.createElement("li");
      const button = Object.assign(document.createElement("button"), { type: "button" });
      button.append(named("queries", i));
      button.addEventListener("click", () => point(i, data.same ? i : key));
      item.append(button);
      queryStrip.append(item);
    });
    if (!data.same) {
      keyStrip.before(queryStrip);
      data.keys.forEach((_, i) => keyStrip.appendChild(document.createElement("li")).append(named("keys", i)));
    }

    // A head chosen in one subject is chosen in all that stand beside it, where it is there.
    subject.parentElement.addEventListener("choose", ({ detail: [l, h] }) => data.heads[l]?.[h] && show(l, h));
    thumbnails.forEach((figure, i) => {
      const detail = [Math.floor(i / nHeads), i % nHeads];
      const choose = () => subject.parentElement.dispatchEvent(new CustomEvent("choose", { detail }));
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

    // What `write` makes of every visible edge (query, key, weight), row by row.
    function edges(write) {
      const written = [];
      for (let q = 0; q < n; q++) {
        for (let k = 0; k < m; k++) if (visible(q, k)) written.push(write(q, k, weights[q * m + k]));
      }
      return written;
    }

    const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

    function csv() {
      const row = (q, k, weight) => [q, quoted(data.queries[q]), k, quoted(data.keys[k]), weight].join(",");
      const lines = ["query,query_token,key,key_token,weight", ...edges(row)];
      return new Blob([lines.join("\n") + "\n"], { type: "text/csv" });
    }

    function svg() {
      const square = (q, k, weight) => {
        const strength = Math.sqrt(weight);
        if (strength <= 0.004) return "";
        return `<rect x="${k}" y="${q}" width="1" height="1" fill-opacity="${strength.toFixed(3)}"/>`;
      };
      const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${m} ${n}" fill="rgb(${shade()})" shape-rendering="crispEdges">`;
      return new Blob([open, ...edges(square), "</svg>"], { type: "image/svg+xml" });
    }

    view.querySelector("[data-save=csv]").addEventListener("click", () => save(csv(), "csv"));
    view.querySelector("[data-save=svg]").addEventListener("click", () => save(svg(), "svg"));
    view.querySelector("[data-save=png]").addEventListener("click", () => canvas.toBlob((blob) => save(blob, "png")));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

    view.hidden = false;
    show(...data.view);
  }

  // Those of other pages in the same document have started already.
  [...document.querySelectorAll(".subject")].filter((subject) => subject.querySelector(".view").hidden).forEach(start);
})();
