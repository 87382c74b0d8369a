"""Beam search against all there is, and each source as it would be alone."""

import itertools
import math

import pytest
import torch

import glassformer
from glassformer import UserError
from glassformer.data.tokenizers import CharTokenizer
from glassformer.decoding import scores
from glassformer.decoding.translate import alignment, search, translate
from glassformer.glass.trace import Recorder
from glassformer.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig

START = END = 3
SOURCES = [[0, 1, 2, 1, 0], [2], [1, 1, 0], [0, 2]]


def make(attention="additive", seed=0, kind="gru", vocab_size=4):
    """A recurrent translator, or with attention "self" a Transformer, whose targets lie far apart."""
    torch.manual_seed(seed)
    if attention == "self":
        shape = TransformerConfig(
            vocab_size, context=4, n_layers=2, n_heads=2, d_model=8, tie_embeddings=False
        )
        model, std = Transformer(shape), 0.4
    else:
        model, std = Seq2Seq(Seq2SeqConfig(vocab_size, kind, attention, context=4, d_model=6)), 0.8
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std)
    return model.double().eval().requires_grad_(False)


def log_p(model, source, target):
    """Of a target with END, by teacher forcing."""
    logits = model(torch.tensor([source]), None, torch.tensor([[START, *target]]))
    each = logits[0].log_softmax(-1)
    return sum(float(each[t, token]) for t, token in enumerate([*target, END]))


def scored(model, source, alpha, limit):
    """(score, target) of all targets of at most `limit` tokens with END."""
    targets = (list(t) for n in range(limit) for t in itertools.product(range(3), repeat=n))
    with torch.no_grad():
        return [(log_p(model, source, t) / (len(t) + 1) ** alpha, t) for t in targets]


def exhaustive(model, source, alpha, limit):
    """The best of them."""
    return max(scored(model, source, alpha, limit))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("attention", ["none", "additive", "self"])
def test_a_wide_beam_finds_the_best_of_all(attention, alpha):
    found = 0
    for seed in range(3):
        model = make(attention, seed)
        greedy = search(model, SOURCES, START, END, alpha=alpha)
        for source, (best,), (quick,) in zip(
            SOURCES, search(model, SOURCES, START, END, beam=4**4, alpha=alpha), greedy, strict=True
        ):
            score, target = exhaustive(model, source, alpha, 4)
            assert best.ids == target
            assert best.score == pytest.approx(score, abs=1e-9)
            assert best.log_p == pytest.approx(log_p(model, source, target), abs=1e-9)
            assert quick.score <= best.score + 1e-9
            found += quick.ids != best.ids
    assert found  # greedy is not always best, or nothing was tested


@pytest.mark.parametrize("attention", ["additive", "self"])
def test_greedy_takes_the_likeliest_token(attention):
    model = make(attention, seed=1)
    for source, [found] in zip(SOURCES, search(model, SOURCES, START, END), strict=True):
        target = []
        while len(target) < 3:
            logits = model(torch.tensor([source]), None, torch.tensor([[START, *target]]))
            if (token := int(logits[0, -1].argmax())) == END:
                break
            target.append(token)
        assert found.ids == target


@pytest.mark.parametrize("attention", ["none", "self"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_n_best_are_those_of_all_in_order(attention, alpha):
    model = make(attention, seed=2)
    for source, listed in zip(
        SOURCES, search(model, SOURCES, START, END, beam=4**4, n_best=5, alpha=alpha), strict=True
    ):
        every = sorted(scored(model, source, alpha, 4), key=lambda pair: -pair[0])
        assert [best.ids for best in listed] == [target for _, target in every[:5]]
        assert [best.score for best in listed] == pytest.approx([score for score, _ in every[:5]], abs=1e-9)
    [one] = search(model, SOURCES[:1], START, END, beam=3, n_best=3, limit=1)
    assert [best.ids for best in one] == [[]]  # there is no other


def test_what_begins_a_target_is_never_written_in_it():
    model = make("self", vocab_size=5)
    with torch.no_grad():
        model.head.weight[4] = 0  # it is always likelier than three of the others
    for listed in search(model, SOURCES, 4, END, beam=20, n_best=20):
        assert not any(4 in best.ids for best in listed)
        assert len({tuple(best.ids) for best in listed}) == len(listed) == 20


@pytest.mark.parametrize("attention", ["additive", "self"])
@pytest.mark.parametrize("beam", [1, 3])
def test_together_alone_and_padded_are_the_same(beam, attention):
    model = make(attention, kind="lstm")
    together = search(model, SOURCES, START, END, beam=beam)
    padded = search(model, SOURCES, START, END, beam=beam, width=11)
    alone = [search(model, [source], START, END, beam=beam)[0] for source in SOURCES]
    for one, *others in zip(together, padded, alone, strict=True):
        for other in others:
            assert other[0].ids == one[0].ids
            assert other[0].score == pytest.approx(one[0].score, abs=1e-12)


@pytest.mark.parametrize("attention", ["additive", "self"])
def test_an_alignment_has_a_row_for_each_token_and_end(attention):
    weights = alignment(make(attention), [0, 1, 2], [2, 1], START)
    assert weights.shape == (3, 3)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3).double())


def test_an_alignment_is_the_mean_of_all_heads_that_read_the_source():
    model = make("self")
    tap = Recorder(("*.cross.weights",))
    model(torch.tensor([[0, 1, 2]]), None, torch.tensor([[START, 2, 1]]), tap=tap)
    assert len(tap.tensors) == 2
    mean = torch.stack(list(tap.tensors.values())).mean((0, 1, 2))
    torch.testing.assert_close(alignment(model, [0, 1, 2], [2, 1], START), mean)


def test_no_alignment_without_attention():
    with pytest.raises(UserError, match="no attention"):
        alignment(make("none"), [0], [1], START)


def test_what_cannot_be_searched_is_refused():
    for wrong in ({"beam": 0}, {"limit": 0}, {"alpha": -1.0}):
        with pytest.raises(UserError, match="at least"):
            search(make(), SOURCES, START, END, **wrong)
    with pytest.raises(UserError, match="a beam of 2 finds 1 to 2 best, not 3: take a wider beam"):
        search(make(), SOURCES, START, END, beam=2, n_best=3)


def test_a_source_past_the_last_learned_position_is_named():
    shape = TransformerConfig(4, context=4, n_layers=1, n_heads=1, d_model=4, positions="learned")
    model, tokenizer = Transformer(shape).eval(), CharTokenizer("abc")
    assert len(translate(model, tokenizer, ["abca"])) == 1
    with pytest.raises(UserError, match="text 2 has 5 tokens; this model reads 4 at most"):
        translate(model, tokenizer, ["abca", "abcab"])


def test_one_text_or_several_from_python():
    tokenizer = CharTokenizer("abc")
    assert glassformer.translate is translate
    model = make()
    [first, empty] = translate(model, tokenizer, ["abc", ""], beam=2)
    assert translate(model, tokenizer, "abc", beam=2) == first
    [[expected]] = search(model, [tokenizer.encode("abc").tolist()], START, END, beam=2)
    assert first == tokenizer.decode(expected.ids)
    assert empty == ""
    with pytest.raises(UserError, match="translates nothing"):
        translate(torch.nn.Linear(1, 1), tokenizer, "abc")
    with pytest.raises(UserError, match=r"text 2: the vocabulary of 3 characters lacks 'z'"):
        translate(model, tokenizer, ["a", "z"])


def test_scores_are_sacrebleus_with_its_signature():
    told = scores.against(
        ["the cat sat on the mat", "a dog ran"], ["the cat sat on the mat", "a dog ran off"]
    )
    # By hand: precisions 9/9, 7/7, 5/5, 3/3; brevity exp(1 - 10/9).
    assert told.bleu == pytest.approx(100 * math.exp(1 - 10 / 9))
    assert "tok:13a" in told.bleu_signature
    assert "version:" in told.bleu_signature
    assert "nc:6" in told.chrf_signature
    assert told.exact == 0.5
    chinese = scores.against(["我从银行取了钱"], ["我从银行取了钱"])
    assert "tok:zh" in chinese.bleu_signature
    assert (round(chinese.bleu, 6), round(chinese.chrf, 6), chinese.exact) == (100, 100, 1)
    with pytest.raises(UserError, match="1 translations and 2 references"):
        scores.against(["a"], ["a", "b"])


def test_scores_by_length_are_those_of_the_lines_of_that_length():
    sources = ["a b", "one two three four five six", "a", " ".join("abcdefghij" * 9)]
    written, references = ["x y z w v", "the cat sat on the mat", "q", "a b c d e"], ["x y z w v"] * 4
    what, groups = scores.by_length(sources, written, references)
    assert what == "words"
    assert [(g.low, g.high, g.n) for g in groups] == [(0, 5, 2), (6, 10, 1), (81, None, 1)]
    for group, places in zip(groups, ([0, 2], [1], [3]), strict=True):
        assert group.scores == scores.against(*([side[i] for i in places] for side in (written, references)))
    assert groups[0].scores.exact == 0.5
    assert groups[2].scores.bleu < 50


@pytest.mark.parametrize(
    ("sources", "what"),
    [
        (["打开 Writer 文档", "字", "保存"], "characters"),
        (["abc", "d"], "characters"),
        (["abc", "d e"], "words"),
        (["ファイル"], "characters"),
    ],
)
def test_length_is_counted_as_the_script_is_written(sources, what):
    assert scores.by_length(sources, sources, sources)[0] == what


def test_a_search_ends_with_as_many_endings_as_the_beam():
    """END is always the likeliest by far: nothing else is followed to the limit."""
    model = make()
    steps = []
    decode = model.decode
    model.decode = lambda *given, **options: (steps.append(1), decode(*given, **options))[1]
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.weight[END] = 0.1 * torch.sign(model.embedding.weight.new_ones(6))
    search(model, SOURCES, START, END, beam=2, alpha=1.0, limit=100)
    assert len(steps) < 30
