"""A published folder as a run, and a run as a folder that `transformers` opens."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from .. import config
from ..data import vectors
from ..data.tokenizers import Tokenizer
from ..data.words import Words
from ..errors import UserError
from ..models import LanguageModel, Translator, Word2Vec, Word2VecConfig
from ..store import tensors
from ..store.run import Checkpoint, Run, write_text
from . import roles, weights
from .family import Family
from .folder import CONFIG, FAMILIES, Published, open_folder
from .spec import spec_of, special_ids, special_tokens, translator_ids


def import_folder(folder: Path, out: Path) -> Path:
    """Make a run of a published model: its only checkpoint is step 0, and nothing of it was trained here.

    Raises UserError as `open_folder` does, and where `out` is taken. What fails leaves nothing behind.
    """
    opened = open_folder(folder)
    if not isinstance(opened, Published):
        raise UserError(f"{folder} is a run already")
    _require_free(out)
    model, tokenizer = opened.any_model(), opened.tokenizer()
    with _nothing_left_behind(out):
        Run(out).save(0, model, tokenizer, opened.settings, {}, best=True)
    return out


def import_vectors(file: Path, out: Path) -> Path:
    """Make a run of a file of word vectors, in word2vec's formats or GloVe's. Such a file has no table of
    words as contexts, and no counts: the run has zeros and ones in their place.

    Raises UserError for what is no such file, and where `out` is taken. What fails leaves nothing behind.
    """
    _require_free(out)
    words, numbers_nD = vectors.read(file)
    vocabulary = Words(words, [1] * len(words), lower=False)
    shape = Word2VecConfig(vocabulary.vocab_size, numbers_nD.shape[1])
    with tensors.shapes_only():
        model = Word2Vec(shape)
    table = torch.zeros(vocabulary.vocab_size, shape.d_model)
    table[: len(words)] = torch.from_numpy(numbers_nD)
    model.embedding.weight = torch.nn.Parameter(table)
    model.contexts.weight = torch.nn.Parameter(torch.zeros_like(table))
    settings = {"family": "word2vec", "model": config.to_dict(shape)}
    with _nothing_left_behind(out):
        Run(out).save(0, model, vocabulary, settings, {}, best=True)
    return out


def export(opened: Checkpoint, folder: Path) -> Path:
    """Write a checkpoint as `transformers` does: config.json, model.safetensors, and the tokenizer.

    Raises UserError for a model whose shape none of the families has, and where `folder` is taken. The
    folder appears once it is whole.
    """
    if not opened.translates:
        opened.require_text_model()
    shape = opened.shape
    family = _family_for(shape, opened.folder)
    _require_free(folder)
    model, tokenizer = opened.any_model(), opened.tokenizer()
    ids = translator_ids(tokenizer) if opened.translates else special_ids(tokenizer)
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with _nothing_left_behind(partial):
        partial.mkdir(parents=True)
        tensors.write(partial / weights.FILE, family.names.outward(model), {"format": "pt"})
        _write_json(partial / CONFIG, {**family.write(shape), **ids, "dtype": "float32"})
        if isinstance(model, LanguageModel | Translator):
            _write_json(partial / roles.GENERATION, ids)
        _write_tokenizer(partial, tokenizer, shape.context)
        tensors.sync(partial)
        if folder.exists():
            folder.rmdir()  # empty
        partial.rename(folder)
    tensors.sync(folder.parent)
    return folder


def _family_for(shape: Any, source: Path) -> Family:
    in_the_way = []
    for family in FAMILIES:
        found = family.obstacles(shape)
        if found == []:
            return family
        if found:
            in_the_way.append(f"for {family.model_types[0]}: {', '.join(found)}")
    raise UserError(f"{source}: no family of transformers has this shape; {'; '.join(in_the_way)}")


def _write_tokenizer(folder: Path, tokenizer: Tokenizer, context: int) -> None:
    write_text(folder / roles.TOKENIZER, spec_of(tokenizer))
    described = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": context}
    cleaning = {"clean_up_tokenization_spaces": False}
    _write_json(folder / roles.TOKENIZER_CONFIG, {**described, **cleaning, **special_tokens(tokenizer)})


def _write_json(path: Path, values: dict[str, Any]) -> None:
    write_text(path, json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False))


def _require_free(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(f"{folder} is there already, and not empty; choose another")


@contextmanager
def _nothing_left_behind(folder: Path) -> Iterator[None]:
    """What was made on the way to `folder` goes again if it fails."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        if missing:
            shutil.rmtree(missing[-1], ignore_errors=True)
        raise
