// Quick runs of claims: a button beside each claim of the page starts one, shows how far it is, and stops it.

const CLAIMS = "/api/claims", CLAIMS_POLL = 600; // milliseconds

async function claimsAsk(path, method = "GET") {
  const answer = await fetch(CLAIMS + path, { method, cache: "no-store" });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found?.detail ?? String(answer.status));
  return found;
}

class ClaimRun {
  constructor(section, words, language) {
    Object.assign(this, { section, words, language, name: section.id });
    this.part = section.querySelector(".rerun");
    [this.start, this.stop] = this.part.querySelectorAll("button");
    this.bar = this.part.querySelector("progress");
    this.said = this.part.querySelector("output");
    this.result = this.part.querySelector(".result");
    this.start.addEventListener("click", () => this.begin());
    this.stop.addEventListener("click", () => this.ask(`/${this.name}`, "DELETE"));
    this.part.hidden = false;
  }

  async begin() {
    const now = await this.ask(`/${this.name}?language=${this.language}`, "POST");
    if (now) this.follow(now);
  }

  async ask(path, method) {
    try {
      return await claimsAsk(path, method);
    } catch (error) {
      this.said.textContent = error instanceof TypeError ? this.words.claims_unreachable : error.message;
      return undefined;
    }
  }

  // Shows how a run of this claim stands, and looks again as long as it goes on.
  async follow(now) {
    const going = now.state === "measuring" || now.state === "stopping";
    this.start.disabled = going;
    this.stop.hidden = this.bar.hidden = !going;
    this.stop.disabled = now.state === "stopping";
    if (now.total) [this.bar.max, this.bar.value] = [now.total, now.done];
    else this.bar.removeAttribute("value");
    this.said.textContent = now.reason ?? this.words[`claims_${now.state}`];
    if (now.state === "finished") await this.show();
    if (!going) return;
    let next;
    while (next === undefined) { // a server that does not answer may do so later
      await new Promise((resolve) => setTimeout(resolve, CLAIMS_POLL));
      next = await this.ask("");
    }
    if (next?.claim === this.name) await this.follow(next);
    else await this.replaced();
  }

  async show() {
    const found = await this.ask(`/${this.name}?language=${this.language}`);
    if (found) this.result.innerHTML = found.html; // our own markup, escaped by the server
    return found;
  }

  // The run ended without being seen: another one goes on by now, or the server was begun anew.
  async replaced() {
    this.start.disabled = false;
    this.stop.hidden = this.bar.hidden = true;
    if (await this.show()) this.said.textContent = this.words.claims_finished;
  }
}

const claimsData = JSON.parse(document.getElementById("data").textContent);
const claimsRuns = new Map(
  [...document.querySelectorAll(".claim")].map((section) => [
    section.id, new ClaimRun(section, claimsData.words, claimsData.language),
  ]),
);
if (claimsRuns.size) {
  claimsAsk("").then((now) => now && claimsRuns.get(now.claim)?.follow(now), () => {});
}
