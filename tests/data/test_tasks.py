"""Generated pairs: the right answers, and where each character of them comes from."""

from datetime import date

import pytest

from glassformer import UserError
from glassformer.data import tasks


def read_from(example, what):
    """The characters of the source that a part of the target comes from."""
    at = example.target.index(what)
    places = sorted({place for t in range(at, at + len(what)) for place in example.alignment[t]})
    return "".join(example.source[place] for place in places)


@pytest.mark.parametrize(
    ("number", "english", "chinese"),
    [
        (0, "zero", "零"),
        (10, "ten", "十"),
        (14, "fourteen", "十四"),
        (20, "twenty", "二十"),
        (105, "one hundred five", "一百零五"),
        (110, "one hundred ten", "一百一十"),
        (123, "one hundred twenty-three", "一百二十三"),
        (1010, "one thousand ten", "一千零一十"),
        (3007, "three thousand seven", "三千零七"),
        (10001, "ten thousand one", "一万零一"),
        (100000, "one hundred thousand", "十万"),
        (1010000, "one million ten thousand", "一百零一万"),
        (1200034, "one million two hundred thousand thirty-four", "一百二十万零三十四"),
        (100000001, "one hundred million one", "一亿零一"),
        (120000003000, "one hundred twenty billion three thousand", "一千二百亿零三千"),
    ],
)
def test_numbers(number, english, chinese):
    for made, expected in ((tasks.english(number), english), (tasks.chinese(number), chinese)):
        assert made.target == expected
        assert made.flipped().flipped() == made
        assert (made.flipped().source, made.flipped().target) == (expected, str(number))


def value(text):
    """What a Chinese number says, read from the largest unit down."""
    for unit, worth in (("亿", 10**8), ("万", 10**4), ("千", 1000), ("百", 100), ("十", 10)):
        if unit in text:
            before, after = text.split(unit, 1)
            return (value(before) or 1) * worth + value(after)
    text = text.lstrip("零")
    return "零一二三四五六七八九".index(text) if text else 0


def test_every_chinese_number_says_its_number():
    for number in [
        *range(3000),
        *range(0, 10**12, 987654321),
        *(10**i + 10**j for i in range(12) for j in range(i)),
    ]:
        assert value(tasks.chinese(number).target) == number


def test_words_come_from_their_digits():
    made = tasks.english(215047)
    assert read_from(made, "two hundred") == "2"
    assert read_from(made, "fifteen") == "15"
    assert read_from(made, "thousand") == "215"
    assert (read_from(made, "forty"), read_from(made, "seven")) == ("4", "7")
    made = tasks.chinese(20305)
    assert [
        read_from(made, what) for what in ("二", "万", "三", "千" if "千" in made.target else "百", "五")
    ] == [*("2", "2", "3", "3", "5")]
    assert read_from(made, "零") == "0"
    with pytest.raises(ValueError, match="from 0 to 999999999999, not -1"):
        tasks.chinese(-1)


@pytest.mark.parametrize("form", tasks.FORMS)
def test_dates(form):
    assert tasks.dated(date(2021, 3, 5), form).source == form
    made = tasks.dated(date(2022, 11, 23), form)
    assert made.target == "2022-11-23"
    assert read_from(made, "2022") == "2022"
    assert read_from(made, "11") in ("November", "Nov", "11")
    assert read_from(made, "23") in ("23", "23rd")
    assert made.alignment[4] == made.alignment[7] == ()


def test_bank_is_two_words():
    examples = tasks.banks()
    assert len({example.source for example in examples}) == len(examples) == 240
    for example in examples:
        [word] = [word for word in ("银行", "河岸") if word in example.target]
        assert word == ("河岸" if "river" in example.source or "boat" in example.source else "银行")
        assert read_from(example, word) == "bank"
    assert examples[0].source == "I took money from the bank"
    assert examples[0].target == "我从银行取了钱"
    assert any(
        (e.source, e.target) == ("we sat on the bank of the river", "我们坐在河岸上") for e in examples
    )


def test_places_stand_where_bank_does():
    examples = tasks.places()
    assert len({example.source for example in examples}) == len(examples) == 720
    for example in examples:
        place = example.source.split(" ")[-1]
        [at] = [word for word in example.target.split(" ") if read_from(example, word) == place]
        assert place != "bank" or at == (
            "银行" if "money" in example.source or "paid" in example.source else "河岸"
        )
    pairs = {(example.source, example.target) for example in examples}
    assert ("they borrowed money from the bank", "他们 从 银行 借了 钱") in pairs
    assert ("today we rowed to the bank", "我们 今天 划船 到 河岸") in pairs
    assert ("we rowed to the island", "我们 划船 到 小岛") in pairs


def test_copies_and_reversals():
    assert tasks.copied("abc") == tasks.Example("abc", "abc", ((0,), (1,), (2,)))
    assert tasks.reversed_("abc") == tasks.Example("abc", "cba", ((2,), (1,), (0,)))


@pytest.mark.parametrize("task", tasks.TASKS)
def test_each_task_is_a_function_of_its_seed(task, tmp_path):
    made = tasks.examples(task, 30, seed=1)
    assert made == tasks.examples(task, 30, seed=1) != tasks.examples(task, 30, seed=2)
    for example in made:
        assert len(example.alignment) == len(example.target)
        assert all(0 <= place < len(example.source) for places in example.alignment for place in places)
    tasks.write(task, 30, tmp_path / "pairs.tsv", seed=1)
    lines = (tmp_path / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    assert lines == [f"{example.source}\t{example.target}" for example in made]


def test_an_unknown_task_is_named():
    with pytest.raises(UserError, match="revers"):
        tasks.examples("revers", 1)
