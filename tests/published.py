"""Small folders as `transformers` writes them, with seeded random weights, and tokenizers for them."""

import json
from pathlib import Path

import torch
import transformers
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import nn

from conftest import TEXT
from glassformer.decoding.loop import Row, write
from glassformer.decoding.samplers import Sampler

transformers.utils.logging.disable_progress_bar()

CLOSE = {"atol": 1e-5, "rtol": 0}
V = 300
SCRIPTS = [
    "The quick brown fox jumps over the lazy dog.",
    "  two  spaces,\ttabs\nand lines\r\n\n",
    "床前明月光，疑是地上霜。",
    "Ελληνικά, русский, العربية, हिन्दी, עברית",
    "naïve café — “quotes” … 1234567",
    "👩‍👩‍👧‍👦 emoji ﬁ ① Ａ",
    "",
    " ",
    "a",
]
CORPUS = [TEXT, *SCRIPTS] * 3


def scatter(model: nn.Module, seed: int = 0) -> nn.Module:
    """Weights far from where initialisation leaves them, none of them symmetric, 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            drawn = torch.randn(weight.shape, generator=generator)
            norm = weight.dim() == 1 and name.endswith("weight")
            weight.copy_(1 + 0.1 * drawn if norm else drawn * (0.15 if weight.dim() > 1 else 0.1))
    return model.eval().requires_grad_(False)


def save(model: nn.Module, folder: Path, tokenizer: Tokenizer | None = None, **options: object) -> Path:
    model.save_pretrained(folder, **options)
    (tokenizer or byte_bpe()).save(str(folder / "tokenizer.json"))
    return folder


def configure(folder: Path, **changes: object) -> Path:
    """Change settings in a folder's config.json; None takes a key out."""
    path = folder / "config.json"
    values = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    kept = {key: value for key, value in values.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")
    return folder


def gpt2(**changes: object) -> nn.Module:
    shape = {"vocab_size": V, "n_positions": 64, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_inner": 40}
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    return scatter(transformers.GPT2LMHeadModel(transformers.GPT2Config(**{**shape, **ends, **changes})))


def llama(kind: str = "Llama", **changes: object) -> nn.Module:
    shape = {
        "vocab_size": V,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    config = getattr(transformers, f"{kind}Config")(**{**shape, **changes})
    return scatter(getattr(transformers, f"{kind}ForCausalLM")(config))


def bert(head: str = "Model", **changes: object) -> nn.Module:
    shape = {
        "vocab_size": V,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
    }
    return scatter(getattr(transformers, f"Bert{head}")(transformers.BertConfig(**{**shape, **changes})))


def byte_bpe(bos: bool = False) -> Tokenizer:
    """As GPT-2 has it; with `bos`, as Llama 3 has it."""
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=V - 2,
        special_tokens=["<|endoftext|>", "<|begin|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    library.train_from_iterator(CORPUS, trainer)
    library.add_tokens(["<tool>"])
    if bos:
        begin = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", 1)])
        library.post_processor = processors.Sequence([processors.ByteLevel(), begin])
    return library


def metaspace(legacy: bool = True) -> Tokenizer:
    """BPE over words that begin with ▁, bytes for what it does not know, <s> before a text: Llama 2."""
    base = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    library = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    trainer = trainers.BpeTrainer(
        vocab_size=V + 200, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False, limit_alphabet=60
    )
    if legacy:
        library.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    library.train_from_iterator([TEXT[:400]], trainer)
    state = json.loads(library.to_str())
    learned = [name for name in state["model"]["vocab"] if name not in base]
    state["model"]["vocab"] = {name: i for i, name in enumerate([*base, *learned])}
    library = Tokenizer.from_str(json.dumps(state))
    library.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1),
        ]
    )
    library.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return library


def wordpiece() -> Tokenizer:
    """As BERT has it, with a length to cut and fill up to that must not be heard."""
    library = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece(prefix="##")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=V, special_tokens=special, show_progress=False)
    library.train_from_iterator(CORPUS, trainer)
    library.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    library.enable_truncation(5)
    library.enable_padding(length=5, pad_token="[PAD]")
    return library


WORDPIECE_ROLES = {f"{role.lower()}_token": f"[{role}]" for role in ("PAD", "UNK", "CLS", "SEP", "MASK")}


def special(text: str) -> AddedToken:
    return AddedToken(text, special=True, normalized=False)


def greedy(model: nn.Module, prompts: list[list[int]], n: int) -> list[list[int]]:
    """What our loop writes, as ids."""
    rows = [Row(list(prompt)) for prompt in prompts]
    for _ in write(model, rows, Sampler(temperature=0), n):
        pass
    return [row.tokens for row in rows]


def theirs_greedy(model: nn.Module, prompt: list[int], n: int, n_ids: int = 0) -> list[int]:
    """What `generate` of transformers writes when no token ends a text; ids from `n_ids` on are no tokens."""
    ids = torch.tensor([prompt])
    beyond = list(range(n_ids, model.config.vocab_size)) if n_ids else None
    model.generation_config = transformers.GenerationConfig(pad_token_id=0, suppress_tokens=beyond)
    return model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=n, do_sample=False)[
        0
    ].tolist()


def tokens(b: int = 2, n: int = 30, seed: int = 1) -> torch.Tensor:
    return torch.randint(2, V, (b, n), generator=torch.Generator().manual_seed(seed))


def left_padded(lengths: list[int], n: int, seed: int = 2) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids (b, n), which are real, and the positions that transformers wants to be told."""
    valid = torch.stack([torch.arange(n) >= n - length for length in lengths])
    ids = tokens(len(lengths), n, seed).masked_fill(~valid, 0)
    return ids, valid, (valid.long().cumsum(-1) - 1).clamp(min=0)
