"""Pairs: what is read, what is refused, and batches of about one length."""

from collections import Counter

import pytest

from glassformer import UserError
from glassformer.data import parallel
from glassformer.data.batches import IGNORE
from glassformer.data.parallel import Buckets, Encoded, Pair, Pairs, PairsConfig, batch_of
from glassformer.data.tokenizers import CharTokenizer


def written(tmp_path, *texts):
    paths = []
    for i, text in enumerate(texts):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text(text, encoding="utf-8", newline="")
    return paths


def test_a_file_of_pairs_and_two_files_are_the_same(tmp_path):
    expected = [Pair("bank", "银行"), Pair("on the bank", "河岸 上")]
    assert parallel.read(written(tmp_path, "bank\t银行\r\n\r\non the bank\t 河岸 上\r\n")) == expected
    assert parallel.read(written(tmp_path, "bank\n\non the bank", "银行\n\n河岸 上\n")) == expected
    assert parallel.read(written(tmp_path, "bank\t银行", "on the bank\t河岸 上\n")) == expected


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a\tb\nc\n"], "0.txt: line 2 has no TAB; a pair is source<TAB>target"),
        (["a\tb\n\na\tb\tc"], "0.txt: line 3 has 2 TABs"),
        (["a\t \n"], "0.txt: line 1 has an empty target"),
        (["a\nb\n", "c\n"], "0.txt has 2 lines, "),
        (["a\nb\n", "c\n\n"], "1.txt: line 2 has an empty target"),
        (["a\nb\n", "c\nd\te\n"], "1.txt: line 2 has a TAB"),
        (["\n\n"], "no pair of texts"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, texts, said):
    with pytest.raises(UserError) as error:
        parallel.read(written(tmp_path, *texts))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_decoder_begins_with_start_and_learns_end():
    batch = batch_of([Encoded([1, 2, 3], [4, 5]), Encoded([6], [7])], 9, 9)
    assert batch.source.tolist() == [[1, 2, 3], [6, 9, 9]]
    assert batch.valid.tolist() == [[True] * 3, [True, False, False]]
    assert batch.inputs.tolist() == [[9, 4, 5], [9, 7, 9]]
    assert batch.targets.tolist() == [[4, 5, 9], [7, 9, IGNORE]]
    assert batch.n_targets == 5


def test_batches_are_full_of_about_one_length_and_an_epoch_has_each_pair_once():
    pairs = [Encoded([i] * (1 + i % 7), [i] * (1 + i % 5)) for i in range(100)]
    buckets = Buckets(pairs, 40, 999, 999, seed=3)
    for epoch in range(3):
        counted = Counter()
        for step in range(epoch * buckets.per_epoch, (epoch + 1) * buckets.per_epoch):
            batch = buckets.batch(step)
            rows, width = len(batch.source), max(batch.source.shape[1], batch.inputs.shape[1])
            assert rows * width <= 40
            counted.update(batch.source[:, 0].tolist())
        assert counted == Counter(range(100))
    again = Buckets(pairs, 40, 999, 999, seed=3)
    first = [buckets.batch(step).source.tolist() for step in range(40)]
    assert [again.batch(step).source.tolist() for step in range(40)] == first
    assert [Buckets(pairs, 40, 9, 9, seed=4).batch(step).source.tolist() for step in range(40)] != first
    micros = [buckets.batch(step, micro=i, micros=2).source.tolist() for step in range(20) for i in range(2)]
    assert micros == first
    padded = sum((~batch.valid).sum().item() for batch in buckets.in_order())
    assert padded < 0.35 * sum(len(pair.source) for pair in pairs)


def test_a_pair_longer_than_a_batch_stands_alone():
    buckets = Buckets([Encoded([1], [2]), Encoded([1] * 90, [2])], 40, 9, 9)
    assert sorted(len(buckets.batch(step).source) for step in range(buckets.per_epoch)) == [1, 1]


def test_a_source_is_on_one_side_only():
    pairs = Pairs([Pair(str(i % 300), str(i)) for i in range(900)], CharTokenizer("0123456789"))
    seen, held_out = pairs.split(0.1)
    assert len(seen) + len(held_out) == 900
    assert 40 < len(held_out) < 160
    assert not {pair.source for pair in seen} & {pair.source for pair in held_out}
    assert pairs.split(0.0)[1] == []
    assert max(len(pair.target) for pair in pairs.encoded(pairs.pairs, 3)) == 2


def test_what_was_kept_is_checked(tmp_path):
    [path] = written(tmp_path, "ab\tba\n")
    made = parallel.prepare([path], tmp_path / "data", PairsConfig())
    held = parallel.load(tmp_path / "data")
    assert held.pairs == made.pairs
    assert held.tokenizer.to_json() == made.tokenizer.to_json()
    (tmp_path / "data" / "pairs.tsv").write_text("ab\tbb\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"pairs\.tsv is damaged"):
        parallel.load(tmp_path / "data")
