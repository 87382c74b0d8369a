"""Word vectors beside gensim's: the same words of the same text, the same settings and epochs, three seeds.

Speed in words of text per second, in turn; the correlation with WordSim-353; the loss on held-out text,
computed by one function for both. `DATA` names a folder with tinyshakespeare.txt; the encyclopedia,
WordSim-353 and the analogies are those that gensim's package carries.
"""

import bz2
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.data.questions import Analogies, accuracy, measure
from glassformer.data.space import WordSpace
from glassformer.models import Word2Vec
from glassformer.training import vectors
from glassformer.training.loop import Training, fit
from glassformer.training.task import mean_loss

EPOCHS = 5
SEEDS = (1, 2, 3)
SENTENCE = 10_000  # words: gensim takes no more at once
ENOUGH, ABOVE = 500, 0.10  # known analogies, and gensim's share of right ones, for a comparison


@dataclass(frozen=True)
class Result:
    speed: float
    loss: float | None
    similarity: float | None
    analogies: tuple[int, float | None]


class Silent:
    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None: ...
    def validated(self, step: int, loss: float | None, best: bool) -> None: ...
    def noted(self, what: str) -> None: ...


def carried(pattern: str) -> Path:
    """A file that gensim's package carries with its tests."""
    spec = importlib.util.find_spec("gensim")
    assert spec is not None
    assert spec.origin is not None
    return next((Path(spec.origin).parent / "test" / "test_data").glob(pattern))


def texts(folder: Path) -> Iterator[Path]:
    shakespeare = Path(os.environ.get("DATA", "")) / "tinyshakespeare.txt"
    if shakespeare.is_file():
        yield shakespeare
    else:
        print("tinyshakespeare: absent (set DATA to its folder); skipped")
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with bz2.open(carried("enwiki-latest-pages-articles1*.bz2")) as file:
        pages = [filter_wiki(page) for _, page, _ in extract_pages(file)]
    path = folder / "encyclopedia.txt"
    path.write_text("\n\n".join(pages), encoding="utf-8")
    yield path


@contextmanager
def training(text: Path, objective: str, seed: int, *more: str) -> Iterator[Training]:
    said = [f"objective={objective}", f"seed={seed}", f"epochs={EPOCHS}", "valid_fraction=0.05", *more]
    with (
        tempfile.TemporaryDirectory() as folder,
        vectors.begun([str(text)], Path(folder) / "run", assignments=["eval_every=1000000", *said]) as made,
    ):
        yield made


def ours(made: Training) -> tuple[float, Any]:
    fit(made, Silent())
    return made.progress.seconds, made.model  # without checkpoints, which gensim does not write either


def theirs(made: Training, objective: str, seed: int, workers: int) -> tuple[float, Any]:
    """gensim's training of the same words, and its vectors in a model of ours."""
    from gensim.models import Word2Vec as Peer

    assert isinstance(made.task, vectors.NearWords)
    words = made.tokenizer.words  # type: ignore[attr-defined]
    tokens = [words[i] for i in made.task.stretches.tokens if i < len(words)]
    sentences = [tokens[i : i + SENTENCE] for i in range(0, len(tokens), SENTENCE)]
    c: Any = made.model.config
    peer = Peer(
        vector_size=c.d_model,
        window=c.window,
        negative=c.negative,
        sample=c.subsample,
        sg=int(objective == "skipgram"),
        min_count=1,
        seed=seed,
        workers=workers,
        alpha=made.config.lr,
        min_alpha=made.config.lr * made.config.min_lr,
    )
    peer.build_vocab(sentences)
    started = time.perf_counter()
    peer.train(sentences, total_examples=len(sentences), epochs=EPOCHS)
    seconds = time.perf_counter() - started
    model = Word2Vec(c)
    with torch.no_grad():
        for table, found in ((model.embedding, peer.wv.vectors), (model.contexts, peer.syn1neg)):
            table.weight.zero_()
            table.weight[[made.tokenizer.ids[w] for w in peer.wv.index_to_key]] = torch.from_numpy(found)  # type: ignore[attr-defined]
    return seconds, model


def measured(made: Training, seconds: float, model: Any) -> Result:
    assert isinstance(made.task, vectors.NearWords)
    words = made.tokenizer.words  # type: ignore[attr-defined]
    space = WordSpace(words, model.embedding.weight.detach().numpy()[: len(words)], "vectors")
    similarity: Any = measure(space, carried("wordsim353.tsv"))
    analogies = measure(space, carried("questions-words.txt"))
    assert isinstance(analogies, Analogies)
    return Result(
        EPOCHS * len(made.task.stretches.tokens) / seconds,
        mean_loss(made.task, model, made.task.validation_batches(), torch.device("cpu")),
        similarity.spearman,
        (analogies.total.covered, accuracy(analogies.total)),
    )


def spread(values: list[Any]) -> str:
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def compare(text: Path, objective: str, threads: int) -> None:
    pairs: list[tuple[Result, Result]] = []
    for seed in SEEDS:
        torch.set_num_threads(threads)
        results = []
        order = (0, 1) if seed % 2 else (1, 0)  # who goes first changes
        with training(text, objective, seed) as made:
            for who in order:
                seconds, model = ours(made) if who == 0 else theirs(made, objective, seed, threads)
                results.append((who, measured(made, seconds, model)))
        a, b = (result for _, result in sorted(results, key=lambda pair: pair[0]))
        pairs.append((a, b))
    a_side, b_side = zip(*pairs, strict=True)
    name = f"{text.stem}, {objective}, {threads} thread{'s' * (threads > 1)}"
    speeds = [spread([side.speed for side in sides]) for sides in (a_side, b_side)]
    print(f"{name}: words/s ours {speeds[0]}, gensim {speeds[1]}")
    print(f"  ratio {spread([a.speed / b.speed for a, b in pairs])}")
    print(
        f"  held-out loss ours {spread([a.loss for a in a_side])}, gensim {spread([b.loss for b in b_side])}"
    )
    print(
        f"  WordSim-353 ours {spread([a.similarity for a in a_side])}, "
        f"gensim {spread([b.similarity for b in b_side])}"
    )
    covered, peer = b_side[0].analogies[0], np.mean([b.analogies[1] or 0 for b in b_side])
    if covered >= ENOUGH and peer > ABOVE:
        print(
            f"  analogies ours {spread([a.analogies[1] for a in a_side])}, "
            f"gensim {spread([b.analogies[1] for b in b_side])}, of {covered} known"
        )
    else:
        print(f"  analogies not compared: {covered} known, gensim right in {peer:.1%}")
    sys.stdout.flush()


def main() -> None:
    if importlib.util.find_spec("gensim") is None:
        print("gensim: absent (pip install gensim); skipped")
        return
    with tempfile.TemporaryDirectory() as folder:
        for text in texts(Path(folder)):
            for objective in ("skipgram", "cbow"):
                for threads in (1, 2):
                    compare(text, objective, threads)


if __name__ == "__main__":
    main()
