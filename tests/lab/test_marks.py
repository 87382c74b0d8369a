import numpy as np
import pytest

from glassformer.lab.marks import cell_of, line, paragraphs

VALUES = {"A": np.array([[0.25, -1.0]])}


def test_each_mark_becomes_its_element():
    html = line("see `x` and **bold $a$** with «A[0,1]» and «A[0,0]:3»", VALUES)
    assert "<code>x</code>" in html
    assert "<strong>bold <math" in html
    assert '<data class="living" value="A[0,1]:2">−1.00</data>' in html
    assert ">0.250</data>" in html


def test_everything_else_is_text():
    html = line("<b> & `</code><i>`", {})
    assert html == "&lt;b&gt; &amp; <code>&lt;/code&gt;&lt;i&gt;</code>"


def test_blank_lines_part_paragraphs():
    assert paragraphs("one\n\ntwo", {}) == "<p>one</p>\n<p>two</p>"


@pytest.mark.parametrize("text", ["A", "A[0]", "A[0,1]:", "A[-1,0]", "[0,0]"])
def test_a_mark_that_names_no_cell_is_an_error(text):
    with pytest.raises(ValueError, match=r"write «A\[0,1\]»"):
        cell_of(text)
