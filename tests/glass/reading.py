"""Pages of small models, and how the tests read them."""

from html.parser import HTMLParser
from xml.etree.ElementTree import TreeBuilder

import torch

from glassformer import look
from glassformer.data.tokenizers import CharTokenizer
from glassformer.glass import words
from glassformer.models import GPT, GPTConfig
from glassformer.nn.blocks import initialise

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


def page(text="abcdefgh", model=None, tokenizer=LETTERS, **options):
    return Reader(look(model or make(), tokenizer, text, **options)).root


def say(key, **values):
    return text_of(Reader(f"<p>{words.say(key, **values)}</p>").root)
