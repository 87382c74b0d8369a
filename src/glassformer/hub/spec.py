"""Our tokenizers as a `tokenizer.json` of the `tokenizers` library, with the same ids."""

from typing import Any

from ..data.labels import byte_letters
from ..data.library import LibraryTokenizer
from ..data.tokenizers import (
    CLS,
    END,
    BPETokenizer,
    ByteTokenizer,
    CharTokenizer,
    Tokenizer,
    open_library,
)


def spec_of(tokenizer: Tokenizer) -> str:
    """The text of the file."""
    match tokenizer:
        case LibraryTokenizer():
            return tokenizer.spec
        case BPETokenizer():
            return _with_special(open_library(tokenizer.to_json()), tokenizer)
        case ByteTokenizer():
            return _bytes(tokenizer)
        case CharTokenizer():
            return _characters(tokenizer)
    raise TypeError(f"no way to write a tokenizer of kind {tokenizer.kind}")


def special_tokens(tokenizer: Tokenizer) -> dict[str, str]:
    """The spelling of the special tokens, by the names of `tokenizer_config.json`."""
    if isinstance(tokenizer, LibraryTokenizer):
        return {f"{role}_token": tokenizer.special[ids[0]] for role, ids in tokenizer.roles.items()}
    return {f"{role}_token": tokenizer.special[token] for role, token in _roles(tokenizer).items()}


def special_ids(tokenizer: Tokenizer) -> dict[str, int | list[int]]:
    """The ids of the tokens that begin, end and fill up, by the names of `config.json`."""
    if not isinstance(tokenizer, LibraryTokenizer):
        named = _roles(tokenizer).items()
        return {f"{role}_token_id": token for role, token in named if role in ("bos", "eos", "pad")}
    return {
        f"{role}_token_id": list(ids) if len(ids) > 1 else ids[0]
        for role, ids in tokenizer.roles.items()
        if role in ("bos", "eos", "pad")
    }


def translator_ids(tokenizer: Tokenizer) -> dict[str, int | list[int]]:
    """As `special_ids`, for what begins no text but a target."""
    ids = special_ids(tokenizer)
    start = ids.pop("bos_token_id")
    return {**ids, "decoder_start_token_id": start, "pad_token_id": ids.get("pad_token_id", start)}


def _roles(tokenizer: Tokenizer) -> dict[str, int]:
    """What the special tokens are for. An encoder's END stands where BERT has [SEP], and where no text is."""
    end = tokenizer.end
    if tokenizer.mask is None:
        return {"bos": end, "eos": end}
    [cls], _ = tokenizer.around
    return {"cls": cls, "sep": end, "pad": end, "mask": tokenizer.mask}


def _bytes(tokenizer: Tokenizer) -> str:
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers

    library = Library(models.BPE({letter: byte for byte, letter in enumerate(byte_letters())}, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    return _with_special(library, tokenizer)


def _characters(tokenizer: CharTokenizer) -> str:
    from tokenizers import Regex, decoders, models, pre_tokenizers
    from tokenizers import Tokenizer as Library

    # Without a token for unknown characters, the library refuses them, as we do.
    library = Library(models.WordLevel({c: i for i, c in enumerate(tokenizer.characters)}))
    library.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    library.decoder = decoders.Fuse()
    return _with_special(library, tokenizer)


def _with_special(library: Any, tokenizer: Tokenizer) -> str:
    """The special tokens come after the rest of the vocabulary, as in ours, unless they are there already."""
    from tokenizers import processors

    library.add_special_tokens([*tokenizer.names])
    if CLS in tokenizer.names:
        ids = {name: token for token, name in tokenizer.special.items()}
        library.post_processor = processors.TemplateProcessing(
            single=f"{CLS} $A {END}", special_tokens=[(name, ids[name]) for name in (CLS, END)]
        )
    text: str = library.to_str()
    return text
