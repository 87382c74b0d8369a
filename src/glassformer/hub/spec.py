"""Our tokenizers as a `tokenizer.json` of the `tokenizers` library, with the same ids."""

from typing import Any

from ..data.library import LibraryTokenizer
from ..data.tokenizers import END, BPETokenizer, ByteTokenizer, CharTokenizer, Tokenizer, byte_letters


def spec_of(tokenizer: Tokenizer) -> str:
    """The text of the file."""
    match tokenizer:
        case LibraryTokenizer():
            return tokenizer.spec
        case BPETokenizer():
            return tokenizer.to_json()
        case ByteTokenizer():
            return _bytes()
        case CharTokenizer():
            return _characters(tokenizer)
    raise TypeError(f"no way to write a tokenizer of kind {tokenizer.kind}")


def special_tokens(tokenizer: Tokenizer) -> dict[str, str]:
    """The spelling of the special tokens, by the names of `tokenizer_config.json`."""
    if isinstance(tokenizer, LibraryTokenizer):
        return {f"{role}_token": tokenizer.special[ids[0]] for role, ids in tokenizer.roles.items()}
    return {"bos_token": END, "eos_token": END}


def special_ids(tokenizer: Tokenizer) -> dict[str, int | list[int]]:
    """The ids of the tokens that begin, end and fill up, by the names of `config.json`."""
    if not isinstance(tokenizer, LibraryTokenizer):
        return {"bos_token_id": tokenizer.end, "eos_token_id": tokenizer.end}
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


def _bytes() -> str:
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers

    library = Library(models.BPE({letter: byte for byte, letter in enumerate(byte_letters())}, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    return _with_end(library)


def _characters(tokenizer: CharTokenizer) -> str:
    from tokenizers import Regex, decoders, models, pre_tokenizers
    from tokenizers import Tokenizer as Library

    # Without a token for unknown characters, the library refuses them, as we do.
    library = Library(models.WordLevel({c: i for i, c in enumerate(tokenizer.characters)}))
    library.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    library.decoder = decoders.Fuse()
    return _with_end(library)


def _with_end(library: Any) -> str:
    """END comes after the rest of the vocabulary, as in ours."""
    library.add_special_tokens([END])
    text: str = library.to_str()
    return text
