"""Runs of small models, and a lab that serves them: asked directly, or in a process of its own."""

import re
import subprocess
import sys
from contextlib import contextmanager
from html import unescape
from urllib.parse import quote, urlencode

import torch
from starlette.testclient import TestClient

from glass.reading import make, make_encoder, wrapping
from glassformer import config
from glassformer.data.tokenizers import ByteTokenizer
from glassformer.lab.server import create_app
from glassformer.store.run import Run

HOME = "http://localhost:8000"


def save(folder, model=None, tokenizer=None, step=0, family="gpt"):
    """A run of a model that reads bytes, or of the model given."""
    model = make(257, context=32, layers=2, heads=4) if model is None else model
    settings = {"family": family, "model": config.to_dict(model.config)}
    Run(folder).save(step, model, tokenizer or ByteTokenizer(), settings, {}, best=True)
    return folder


def save_encoder(folder):
    tokenizer = wrapping()
    return save(folder, make_encoder(tokenizer.vocab_size), tokenizer, family="bert")


def save_changed(folder, step):
    """Another checkpoint of a run: the same shape, other weights."""
    model = make(257, context=32, layers=2, heads=4)
    with torch.no_grad():
        model.embedding.weight.mul_(-1)
    return save(folder, model, step=step)


def client(runs, **options):
    app = create_app(runs, **options)
    return TestClient(app, base_url=HOME, follow_redirects=False, raise_server_exceptions=True)


def address(name, language="en", **asked):
    query = f"?{urlencode(asked, doseq=True)}" if asked else ""
    return f"/{language}/runs/{quote(name, safe='')}{query}"


def cells(html, part):
    """The rows of the tables in a part of a run's page, as texts."""
    section = re.search(rf'data-part="{part}">(.*?)(?=<div data-part=|</form>)', html, re.S)[1]
    rows = re.findall(r"<tr.*?</tr>", section, re.S)
    return [[text(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)] for row in rows]


def text(html):
    """The text of a piece of HTML, spaces made one."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


@contextmanager
def served(runs, *words):
    """The command in a process of its own; gives the process and the address that it prints."""
    command = [sys.executable, "-m", "glassformer", "lab", str(runs), "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()
