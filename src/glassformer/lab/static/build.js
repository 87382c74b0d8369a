// The training lab: orders a training, follows it, and shows how a head reads the probe at its moments.

const BUILD = "/api/build", BUILD_POLL = 700, BUILD_PLAY = 700; // milliseconds
const buildPart = document.querySelector(".build");

function buildTime(words, n) {
  if (n < 59.5) return speak(words, "seconds", { seconds: Math.round(n) });
  return speak(words, "minutes", { minutes: Math.floor(n / 60), seconds: Math.round(n % 60) });
}

// A weight in few characters.
function buildWeight(x) {
  return x < 0.005 ? "·" : x >= 0.995 ? "1" : x.toFixed(2).slice(1);
}

async function buildAsk(path, options = {}) {
  const answer = await fetch(BUILD + path, { cache: "no-store", ...options });
  const text = await answer.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    found = { detail: text.trim() };
  }
  if (!answer.ok) throw new Error(found?.detail ?? String(answer.status));
  return found;
}

// The order: a text, a probe, sizes.
class BuildOrder {
  constructor(part, { words, language, mostBytes }, tell, ordered) {
    Object.assign(this, { words, language, mostBytes, tell, ordered });
    this.form = part.querySelector("form");
    this.text = this.form.querySelector("textarea");
    this.probe = this.form.querySelector("#build-probe");
    this.text.addEventListener("input", () => this.count());
    this.form.querySelector("[type=file]").addEventListener("change", (event) => this.read(event.target));
    for (const button of this.form.querySelectorAll("[data-example]")) {
      button.addEventListener("click", () => this.example(button.dataset.example));
    }
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.count();
  }

  count() {
    const { value } = this.text, n = value.length;
    this.form.querySelector("#build-count").textContent = n
      ? speak(this.words, "characters", { n: n.toLocaleString("en"), different: new Set(value).size })
      : "";
  }

  read(input) {
    const [file] = input.files;
    if (!file) return;
    input.value = ""; // else the same file, mended, could not be chosen again
    const fail = () => this.tell(this.words.no_file);
    if (file.size > this.mostBytes) return fail();
    const reader = new FileReader();
    reader.addEventListener("error", fail);
    reader.addEventListener("load", () => {
      try {
        this.fill(new TextDecoder("utf-8", { fatal: true }).decode(reader.result), this.probe.value);
        this.tell("");
      } catch {
        fail();
      }
    });
    reader.readAsArrayBuffer(file);
  }

  fill(text, probe) {
    this.text.value = text;
    this.probe.value = probe;
    this.count();
  }

  async example(which) {
    try {
      const { text, probe } = await buildAsk(`/examples/${which}?language=${this.language}`);
      this.fill(text, probe);
      this.form.elements.name.value = which;
      this.tell("");
    } catch {
      this.tell(this.words.unreachable);
    }
  }

  async send() {
    const { name, size, steps } = this.form.elements;
    const order = {
      text: this.text.value, probe: this.probe.value, name: name.value, size: size.value,
      steps: Number(steps.value), language: this.language,
    };
    const bytes = new Blob([order.text]).size, n = (x) => x.toLocaleString("en");
    if (bytes > this.mostBytes) {
      return this.tell(speak(this.words, "too_long", { n: n(bytes), most: n(this.mostBytes) }));
    }
    const button = this.form.querySelector("[type=submit]");
    button.disabled = true;
    try {
      const body = JSON.stringify(order), headers = { "Content-Type": "application/json" };
      this.ordered(await buildAsk("", { method: "POST", body, headers }));
    } catch (error) {
      this.tell(error instanceof TypeError ? this.words.unreachable : error.message);
    }
    button.disabled = false;
  }
}

// One head's weights on the probe, moment by moment.
class BuildWatch {
  constructor(part, words) {
    const section = part.querySelector(".build-watch");
    Object.assign(this, { words, section, build: null, found: new Map() });
    for (const name of ["layer", "head", "heat", "play", "sample"]) this[name] = section.querySelector(`.build-${name}`);
    this.slider = section.querySelector("[type=range]");
    this.output = section.querySelector("output");
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    for (const node of [this.layer, this.head]) node.addEventListener("change", () => this.draw());
    this.slider.addEventListener("input", () => {
      this.pause();
      this.draw();
    });
    this.play.addEventListener("click", () => this.pressed());
    this.pause();
  }

  // The same training, further on, or another one. A slider at its end goes along with what is new.
  follow(build) {
    if (build.run !== this.build?.run) {
      this.found.clear();
      this.pause();
      this.slider.value = this.slider.max = "0";
    }
    for (const [node, n] of [[this.layer, build.layers], [this.head, build.heads]]) {
      if (node.length !== n) node.replaceChildren(...Array.from({ length: n }, (_, i) => new Option(String(i), String(i))));
    }
    this.build = build;
    const last = build.moments.length - 1, before = Number(this.slider.max);
    this.section.hidden = last < 0;
    if (last < 0 || (before === last && this.found.size)) return;
    const newest = Number(this.slider.value) === before && !this.timer;
    this.slider.max = String(last);
    if (newest) this.slider.value = String(last);
    this.draw();
  }

  // What moves by itself is not for everyone: then the button goes one moment further.
  pressed() {
    const { slider } = this, next = Number(slider.value) >= Number(slider.max) ? 0 : Number(slider.value) + 1;
    if (this.timer) return this.pause();
    slider.value = String(next);
    this.draw();
    if (this.still.matches) return;
    this.play.textContent = this.words.pause;
    this.timer = setInterval(() => {
      slider.value = String(Number(slider.value) + 1);
      this.draw();
      if (slider.value === slider.max) this.pause();
    }, BUILD_PLAY);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = this.still.matches ? this.words.forward : this.words.play;
  }

  async draw() {
    const k = Number(this.slider.value), { build } = this, moment = build.moments[k];
    if (!moment) return;
    const step = moment.step ? speak(this.words, "step", { step: moment.step }) : this.words.untrained;
    this.output.textContent = step;
    this.slider.setAttribute("aria-valuetext", step);
    const [begun, continued] = this.sample.querySelector("blockquote").children;
    begun.textContent = build.probe;
    continued.textContent = moment.sample;
    if (!this.found.has(k)) this.found.set(k, buildAsk(`/moments/${k}`));
    try {
      const weights = await this.found.get(k);
      if (build.run === this.build.run && k === Number(this.slider.value)) this.drawHeat(weights);
    } catch {
      this.found.delete(k); // asked again when it is wanted again
    }
  }

  drawHeat({ step, tokens, weights }) {
    const layer = Number(this.layer.value), head = Number(this.head.value), shown = weights[layer][head];
    const table = this.heat.querySelector("table"), n = tokens.length;
    this.heat.querySelector("figcaption").textContent = speak(this.words, "heat", { layer, head, step });
    if (table.dataset.tokens !== JSON.stringify(tokens)) {
      table.dataset.tokens = JSON.stringify(tokens);
      const named = (scope) => tokens.map((token) => element("th", { scope }, element("bdi", { textContent: token })));
      table.tHead.replaceChildren(element("tr", {}, element("td"), ...named("col")));
      table.tBodies[0].replaceChildren(...named("row").map((th) => {
        return element("tr", {}, th, ...Array.from({ length: n }, () => element("td")));
      }));
    }
    shown.forEach((row, i) => {
      const { cells } = table.tBodies[0].rows[i];
      row.forEach((x, j) => {
        const hidden = j > i, td = cells[j + 1];
        td.className = hidden ? "masked" : `w${Math.min(10, Math.ceil(x * 10))}`;
        td.textContent = hidden ? "" : buildWeight(x);
      });
    });
  }
}

// What is told of a training while it goes on, and after it.
class BuildLab {
  constructor(part) {
    const data = JSON.parse(part.querySelector(".build-data").textContent);
    Object.assign(this, { part, words: data.words, language: data.language, said: "" });
    this.order = new BuildOrder(part, data, (text) => this.tell(text), (build) => {
      this.show(build);
      this.poll();
    });
    this.watch = new BuildWatch(part, data.words);
    this.training = part.querySelector(".build-training");
    this.find(".build-stop").addEventListener("click", () => this.stop());
    this.find(".build-again").addEventListener("click", () => {
      this.fresh();
      this.order.text.focus();
    });
    this.order.form.hidden = false;
    this.poll();
  }

  find(selector) {
    return this.part.querySelector(selector);
  }

  // A live region speaks whenever it is written to, so only what is new is written.
  tell(text) {
    if (text !== this.said) this.find(".build-told").textContent = text;
    this.said = text;
  }

  // Ready for an order, as before the first: another server may answer here now, which knows of none.
  fresh() {
    this.training.hidden = true;
    this.order.form.hidden = false;
    this.tell("");
  }

  async poll() {
    clearTimeout(this.waiting);
    let going = true;
    try {
      const build = await buildAsk("");
      going = build !== null && ["preparing", "training", "stopping"].includes(build.state);
      if (build) this.show(build);
      else if (this.said === this.words.unreachable) this.fresh();
    } catch {
      this.tell(this.words.unreachable);
    }
    if (going) this.waiting = setTimeout(() => this.poll(), BUILD_POLL);
  }

  async stop() {
    try {
      this.show(await buildAsk("", { method: "DELETE" }));
    } catch {
      this.tell(this.words.unreachable);
    }
  }

  show(build) {
    const { words } = this, going = ["preparing", "training"].includes(build.state), told = build.state;
    const early = told === "stopped" && !build.moments.length;
    this.tell([speak(words, early ? "stopped_early" : told, build), told !== "failed" && build.reason].filter(Boolean).join(" "));
    this.training.hidden = false;
    this.order.form.hidden = true;
    this.find("progress").value = build.step / build.steps;
    this.find(".build-stop").hidden = !going;
    const over = !going && told !== "stopping";
    this.find(".build-again").hidden = !over;
    const look = this.find(".build-look");
    look.hidden = !over || !build.moments.length;
    look.href = `/${this.language}/runs/${encodeURIComponent(build.run)}`;
    const n = (x) => x.toLocaleString("en");
    this.find(".build-figures").textContent = [
      speak(words, "figures", build),
      build.seconds_left && going && speak(words, "left", { time: buildTime(words, build.seconds_left) }),
      build.tokens_per_second && speak(words, "speed", { n: n(Math.round(build.tokens_per_second)) }),
      build.parameters && speak(words, "model", { n: n(build.parameters), vocabulary: n(build.vocabulary) }),
    ].filter(Boolean).join(" · ");
    this.drawCurve(build);
    this.watch.follow(build);
  }

  drawCurve(build) {
    const curve = this.find(".build-curve"), nothing = Math.log(build.vocabulary);
    curve.hidden = !build.vocabulary;
    if (!build.vocabulary) return;
    const steps = Array.from({ length: build.steps + 1 }, (_, k) => k), valid = new Map(build.validations);
    const column = (of) => ({ data: steps.map((k) => of(k) ?? NaN) });
    const values = {
      step: { data: steps }, loss: column((k) => build.losses[k - 1]), valid: column((k) => valid.get(k)),
      nothing: column(() => nothing),
    };
    const lines = ["loss", "valid", "nothing"];
    curve.querySelector("svg").innerHTML = drawChart({ x: "step", lines, marks: [], names: [] }, values); // numbers alone
    curve.querySelector(".build-nothing").textContent = speak(this.words, "curve_nothing", build);
    const last = (list) => (list.length ? list.at(-1).toFixed(2) : "–");
    curve.querySelector("#build-now").textContent = speak(this.words, "curve_now", {
      loss: last(build.losses), valid: last(build.validations.map(([, loss]) => loss)), nothing: nothing.toFixed(2),
    });
  }
}

if (buildPart) new BuildLab(buildPart);
