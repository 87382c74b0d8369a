"""Pages of small models, and how the tests read them."""

import json
import re
from html.parser import HTMLParser
from xml.etree.ElementTree import TreeBuilder

import pytest
import torch

from glassformer import look
from glassformer.data.library import LibraryTokenizer
from glassformer.data.tokenizers import CharTokenizer
from glassformer.glass import words
from glassformer.models import GPT, Bert, BertConfig, GPTConfig
from glassformer.nn.blocks import initialise
from published import wordpiece

WEIGHTS, READS, NEXT = (f".//table[@class='{name}']/tbody/tr" for name in ("weights", "plain", "next"))
LETTERS = CharTokenizer("abcdefgh")


class Reader(HTMLParser):
    """A page as a tree of elements; every tag that opens must close, in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.builder = [], TreeBuilder()
        self.handle_data = self.builder.data
        self.feed(html)
        assert self.open == []
        self.root = self.builder.close()

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), "an attribute stands twice"
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        self.open.append(tag)
        if tag in ("meta", "img", "input", "br"):
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.builder.end(tag)


def text_of(node, language="en"):
    """The text of an element as it shows in one language."""
    if node.tag == "script" or (node.tag == "span" and node.get("lang", language) != language):
        return ""
    return (node.text or "") + "".join(text_of(child, language) + (child.tail or "") for child in node)


def make(vocab_size=LETTERS.vocab_size, context=16, layers=2, heads=4):
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size, context, layers, heads, d_model=4 * heads, tie_embeddings=False))
    initialise(model, 1, std=0.4)
    return model.eval()


def make_encoder(vocab_size, context=64, layers=2, heads=4):
    torch.manual_seed(0)
    shape = {"d_model": 8 * heads, "d_inner": 40, "n_types": 2, "pooler": False}
    config = BertConfig(vocab_size, context, layers, heads, activation="gelu", norm_eps=1e-12, **shape)
    model = Bert(config)
    initialise(model, 1, std=0.4)
    return model.eval()


def wrapping():
    """A tokenizer that puts [CLS] and [SEP] around a text."""
    roles = {"cls": [2], "sep": [3], "pad": [0], "unk": [1]}
    return LibraryTokenizer(wordpiece().to_str(), roles, opens=False)


def page(text="abcdefgh", model=None, tokenizer=LETTERS, **options):
    return Reader(look(model or make(), tokenizer, text, **options)).root


def data_of(html):
    """What the page's script is given, one for each subject."""
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    return [json.loads(block, parse_constant=pytest.fail) for block in blocks]


def say(key, **values):
    return text_of(Reader(f"<p>{words.say(key, **values)}</p>").root)
