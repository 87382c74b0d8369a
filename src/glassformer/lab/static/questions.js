// Questions, whose answers are cells of the sheet as it is now.

// One number of the sheet; undefined for a cell that a shorter sentence does not have.
function cellValue(values, [name, i, j]) {
  const matrix = values[name];
  return i < matrix.rows && j < matrix.cols ? matrix.data[i * matrix.cols + j] : undefined;
}

// "0.5", "0,5", "4,608", "-1" (with either minus), "1/4" as a number, full-width digits and signs too; NaN for
// anything else.
export function readNumber(text) {
  let plain = text.normalize("NFKC").trim().replace("−", "-").replace(/^\+/, "");
  plain = /^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(plain) ? plain.replaceAll(",", "") : plain.replace(",", ".");
  const parts = plain.split("/").map((part) => (part.trim() === "" ? NaN : Number(part)));
  return parts.length === 1 ? parts[0] : parts.length === 2 ? parts[0] / parts[1] : NaN;
}

export class Questions {
  // `valuesNow()`: the sheet as it is; `valuesUnder(edits)`: with these edits on top.
  constructor({ slug, questions, words, valuesNow, valuesUnder, drawLiving }) {
    Object.assign(this, { slug, questions, words, valuesNow, valuesUnder, drawLiving });
    for (const form of document.querySelectorAll("form.question")) {
      form.querySelector(".ask").hidden = false;
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.judge(form);
      });
      form.querySelector("details").addEventListener("toggle", () => this.drawAnswer(form));
    }
  }

  judge(form) {
    const question = this.questions[form.dataset.question];
    const verdict = form.querySelector(".verdict");
    const values = this.valuesUnder(question.under), answer = cellValue(values, question.answer);
    const tell = (kind, html) => {
      verdict.className = `verdict ${kind}`;
      verdict.innerHTML = html; // our own texts and numbers
      this.drawLiving(verdict.querySelectorAll("data.living"), values);
    };
    let given;
    if (question.options.length) {
      const chosen = form.querySelector("input:checked");
      if (!chosen) return tell("", speak(this.words, "choose"));
      given = question.options[Number(chosen.value)];
    } else {
      given = readNumber(form.querySelector("input").value);
      if (!Number.isFinite(given)) return tell("", speak(this.words, "no_number"));
    }
    form.judged = answer;
    const near = 0.5 * 10 ** -question.decimals + 1e-9;
    const right = question.options.length ? given === answer : Math.abs(given - answer) <= near;
    if (right) {
      keepAnswer(this.slug, form.dataset.question);
      form.querySelector("details").open = true;
      return tell("right", speak(this.words, "right"));
    }
    const mistake = question.mistakes.find((m) => Math.abs(given - cellValue(values, m.cell)) <= near);
    return tell("wrong", `${speak(this.words, "wrong")} ${mistake?.say ?? ""}`);
  }

  drawAnswer(form) {
    if (!form.querySelector("details").open) return;
    const question = this.questions[form.dataset.question];
    const values = this.valuesUnder(question.under), answer = cellValue(values, question.answer);
    const shown = form.querySelector(".why strong");
    if (question.options.length) {
      shown.innerHTML = question.labels.filter((_, k) => question.options[k] === answer).join("; "); // our own
    } else {
      shown.textContent = formatNumber(answer, question.decimals);
    }
    this.drawLiving(form.querySelectorAll(".why data.living"), values);
  }

  // A verdict stands as long as the number that it was about.
  forget(form) {
    const { under, answer } = this.questions[form.dataset.question];
    if (form.judged === undefined || Object.is(cellValue(this.valuesUnder(under), answer), form.judged)) return;
    form.judged = undefined;
    form.querySelector(".verdict").className = "verdict";
    form.querySelector(".verdict").textContent = "";
  }

  refresh() {
    for (const form of document.querySelectorAll("form.question")) {
      const { under, answer } = this.questions[form.dataset.question];
      form.hidden = cellValue(this.valuesNow(), answer) === undefined && cellValue(this.valuesUnder(under), answer) === undefined;
      this.forget(form);
      if (!form.hidden) this.drawAnswer(form);
    }
  }
}
