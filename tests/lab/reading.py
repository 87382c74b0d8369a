"""What a page holds, read from its HTML."""

import json
import re
from html.parser import HTMLParser


def data_of(html):
    """The page's data, as a strict parser reads it."""
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1]

    def refuse(what):
        raise AssertionError(f"the page's data holds {what}")

    return json.loads(text, parse_constant=refuse)


class Elements(HTMLParser):
    """Every element's name and attributes."""

    def __init__(self, html):
        super().__init__()
        self.all = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.all.append((tag, dict(attributes)))


def elements(html):
    return Elements(html).all
