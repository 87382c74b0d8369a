"""Models that learn whom a pronoun means, and what their heads do: for the claims about heads.

A GPT writes the answer after the text; a BERT fills it in where the text ends in MASK. They are taught what
the text leaves no choice in: the GPT question and answer, the BERT the answer. Both read a token for the
start in front, so that a head with nothing to do may look there and not at an animal.

Shapes: N or b sentences, n tokens, H all heads of a model, layer by layer, V vocabulary.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.pronouns import KINDS, MASK, WHO, Kind, sentences, tokenizer
from ..glass.edits import Edit, cut, zero
from ..glass.trace import trace
from ..models import GPT, Bert, BertConfig, GPTConfig
from ..training.settings import TrainConfig
from .training import train

Family = Literal["gpt", "bert"]
SHAPE: Mapping[str, Any] = {"context": 20, "n_layers": 3, "n_heads": 4, "d_model": 64}
TRAIN = TrainConfig(steps=3000, batch_size=32, lr=3e-3, min_lr=1.0, warmup=50, weight_decay=0.01)
LEARNT = 0.95
"""The share of right answers to held-out sentences from which on a model counts as one that has learned."""
WINDOW = 100
ENOUGH: dict[Family, float] = {"gpt": 0.002, "bert": 0.01}
"""Training ends when the mean loss of WINDOW steps is so low (nats a word). Of the five or six words that a
GPT is taught of a sentence, all but the answer are easy: their losses are those of equally good answers."""
EDGES = ("pronoun", "answer")
"""From where the two edges to the referent come: from the pronoun, and from where the answer is told."""
MEASURES = ("weight", "cut", "zero", "cut_odds", "zero_odds")
WAYS: dict[str, Callable[..., Edit]] = {"cut": cut, "zero": zero}
ROLES = ("previous", "same", "pronoun", "answer")


@cache
def words() -> Any:
    return tokenizer()


def untrained(family: Family, seed: int, shape: Mapping[str, Any] = SHAPE) -> Any:
    torch.manual_seed(seed)
    if family == "gpt":
        return GPT(GPTConfig(words().vocab_size, **shape)).eval()
    return Bert(BertConfig(words().vocab_size, **shape, norm_order="pre", mlm=True)).eval()


def rows(kind: Kind, held_out: bool, most: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Sentences of a kind, with START in front (N, n), their answers (N,) and the other animals (N,): all, or
    `most` of them, always the same."""
    found = list(sentences(held_out, [kind]))
    if most is not None:
        found = random.Random(f"0 {kind}").sample(found, most)
    encoded = [words().encode(f"{each.text} {each.answer} {each.other}") for each in found]
    table = F.pad(torch.from_numpy(np.stack(encoded)), (1, 0), value=words().start)
    return table[:, :-2], table[:, -2], table[:, -1]


def taught(model: Any, seed: int, config: TrainConfig = TRAIN) -> int:
    """Teach the model all sentences that are not held out, until it knows them; returns the steps that it
    took."""
    tables, ends = [], []
    for kind in KINDS:
        texts, answers, _ = rows(kind, held_out=False)
        whole = torch.cat((texts, answers[:, None]), 1)
        ends.append(torch.full((len(whole), 1), whole.shape[1] - 1))
        tables.append(F.pad(whole, (0, model.config.context - whole.shape[1]), value=words().end))
    ids_Nn, end_N1 = torch.cat(tables), torch.cat(ends)
    chance = torch.Generator().manual_seed(seed)
    low = ENOUGH["gpt" if isinstance(model, GPT) else "bert"]

    def loss(step: int) -> Tensor:
        batch = torch.randint(len(ids_Nn), (config.batch_size,), generator=chance)
        return _loss(model, ids_Nn[batch], end_N1[batch])

    def enough(losses: list[float]) -> bool:
        return len(losses) >= WINDOW and sum(losses[-WINDOW:]) < WINDOW * low

    losses = train(model, loss, config, enough)
    model.eval()
    return len(losses)


def _loss(model: Any, ids_bn: Tensor, end_b1: Tensor) -> Tensor:
    """The cross-entropy of the words that are taught; each answer stands at `end_b1`."""
    places_n = torch.arange(ids_bn.shape[1])
    if isinstance(model, GPT):
        asked_b1 = torch.isin(ids_bn, torch.from_numpy(words().encode(WHO))).int().argmax(1, keepdim=True)
        taught_bn = (places_n >= asked_b1) & (places_n <= end_b1)
        logits_kV = model(ids_bn[:, :-1])[0][taught_bn[:, 1:]]
    else:
        taught_bn = places_n == end_b1
        hidden_bnD = model(ids_bn.masked_fill(taught_bn, _mask()), valid_bn=places_n <= end_b1)
        logits_kV = model.token_logits(hidden_bnD[taught_bn])
    return F.cross_entropy(logits_kV, ids_bn[taught_bn])


def _mask() -> int:
    return int(words().encode(MASK)[0])


def read(model: Any, texts_bn: Tensor) -> Tensor:
    """What the model reads: the texts, and for a BERT a MASK behind them."""
    return texts_bn if isinstance(model, GPT) else F.pad(texts_bn, (0, 1), value=_mask())


def told(model: Any, ids_bn: Tensor, edits: Sequence[Edit] = ()) -> Tensor:
    """Log-probabilities (b, V) of the answer."""
    if isinstance(model, GPT):
        logits_bV = trace(model, ids_bn, "logits", edits=edits)["logits"][:, -1]
    else:
        with torch.no_grad():
            logits_bV = model.token_logits(trace(model, ids_bn, "final", edits=edits)["final"][:, -1])
    return logits_bV.double().log_softmax(-1)


def accuracy(model: Any, most: int | None = None) -> float:
    """The share of held-out sentences whose likeliest answer, of all words, is the right one."""
    right = total = 0
    for kind in KINDS:
        texts, answers, _ = rows(kind, True, most)
        right += int((told(model, read(model, texts)).argmax(-1) == answers).sum())
        total += len(answers)
    return right / total


def effects(model: Any, most: int) -> dict[str, dict[str, list[float]]]:
    """For both edges to the referent, and each head (H): the weight, and what the right answer loses when the
    edge is cut or zeroed, of its log-probability and (`_odds`) of its log-odds against the other animal, in
    nats. The last entry of a loss is that of the same done in every head at once. Means over `most` held-out
    sentences of each kind."""
    sums = {edge: dict.fromkeys(MEASURES, torch.zeros(())) for edge in EDGES}
    for kind in KINDS:
        texts, answers, others = rows(kind, True, most)
        ids = read(model, texts)
        seen = trace(model, ids, "blocks.*.attention.weights")
        for edge, query in zip(EDGES, (kind.pronoun + 1, ids.shape[1] - 1), strict=True):
            places = query, kind.referent + 1
            found = {"weight": torch.cat([weights[:, :, *places].mean(0) for weights in seen.values()])}
            for name, way in WAYS.items():
                found[name], found[f"{name}_odds"] = _losses(model, ids, answers, others, way, places)
            for name, values in found.items():
                sums[edge][name] = sums[edge][name] + values.double() / len(KINDS)
    return {edge: {name: values.tolist() for name, values in found.items()} for edge, found in sums.items()}


def _losses(
    model: Any,
    ids: Tensor,
    answers: Tensor,
    others: Tensor,
    way: Callable[..., Edit],
    places: tuple[int, int],
) -> Tensor:
    """(2, H + 1): mean losses of log-probability and of log-odds without an edge, head by head, then all."""

    def scores(edits: Sequence[Edit]) -> Tensor:
        log_p = told(model, ids, edits)
        right, wrong = (log_p.gather(1, which[:, None]).mean() for which in (answers, others))
        return torch.stack((right, right - wrong))

    layers = range(model.config.n_layers)
    single = [[way(layer, head, edges=[places])] for layer in layers for head in range(model.config.n_heads)]
    together = [way(layer, edges=[places]) for layer in layers]
    before = scores(())
    return torch.stack([before - scores(edits) for edits in (*single, together)], 1)


def roles(model: Any, most: int) -> dict[str, list[float]]:
    """For each head (H), over `most` held-out sentences of each kind, the mean weight that goes from every
    word to the one before it, from every word that occurs again to where it occurred before, and from the
    pronoun and the place of the answer to the referent."""
    sums = dict.fromkeys(ROLES, torch.zeros(()))
    for kind in KINDS:
        ids = read(model, rows(kind, True, most)[0])
        seen = trace(model, ids, "blocks.*.attention.weights")
        weights_bHnn = torch.cat(list(seen.values()), 1).double()
        before_bnn = (ids[:, :, None] == ids[:, None]).tril(-1)
        on_same_bHn = (weights_bHnn * before_bnn[:, None]).sum(-1)
        found = {
            "previous": weights_bHnn.diagonal(-1, 2, 3).mean((0, 2)),
            "same": on_same_bHn.sum((0, 2)) / before_bnn.any(-1).sum(),
            "pronoun": weights_bHnn[:, :, kind.pronoun + 1, kind.referent + 1].mean(0),
            "answer": weights_bHnn[:, :, -1, kind.referent + 1].mean(0),
        }
        for name, values in found.items():
            sums[name] = sums[name] + values / len(KINDS)
    return {name: values.tolist() for name, values in sums.items()}
