"""C13: the feed-forward network holds most of a block's parameters."""

from typing import Any

import torch

from ..models import GPT, Bert, BertConfig, GPTConfig, Llama, LlamaConfig, Transformer, TransformerConfig
from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series

NEAR = 0.01  # to two thirds


def _gpt2(n_layers: int, d_model: int) -> GPT:
    shape = (50_257, 1024, n_layers, d_model // 64, None, d_model)
    return GPT(GPTConfig(*shape, norm="layernorm", positions="learned", bias=True))


def _of_2017() -> Transformer:
    c = TransformerConfig(37_000, n_layers=6, n_heads=8, d_model=512, norm="layernorm", bias=True)
    return Transformer(c)


def _llama(vocabulary: int, n_kv_heads: int, d_inner: int) -> Llama:
    return Llama(LlamaConfig(vocabulary, 4096, 32, 32, n_kv_heads, 4096, 128, d_inner, 1e-5, 10_000.0))


MODELS: dict[str, tuple[Any, float]] = {
    "GPT-2 124M": (lambda: _gpt2(12, 768), 4),
    "GPT-2 medium": (lambda: _gpt2(24, 1024), 4),
    "GPT-2 large": (lambda: _gpt2(36, 1280), 4),
    "GPT-2 XL": (lambda: _gpt2(48, 1600), 4),
    "BERT base": (lambda: Bert(BertConfig(30_522, 512, 12, 12, 768, n_types=2, pooler=True)), 4),
    "2017 base": (_of_2017, 4),
    "Llama 2 7B": (lambda: _llama(32_000, 32, 11_008), 11_008 / 4096),
    "Llama 3 8B": (lambda: _llama(128_256, 8, 14_336), 14_336 / 4096),
}
"""Published shapes, with the inner width over d of each. They are built without memory for their numbers."""


def measure(work: Work) -> Measured:
    return {"models": work.parts("counted", list(MODELS), counted)}


def counted(name: str) -> dict[str, Any]:
    """Parameters of a model: of the first block of each of its stacks, of all feed-forward networks, of
    all."""
    make, inner = MODELS[name]
    with torch.device("meta"):
        model = make()
    sizes = {path: parameter.numel() for path, parameter in model.named_parameters()}
    blocks = []
    for stack in ("", "encoder.", "decoder."):
        block = {path: size for path, size in sizes.items() if path.startswith(f"{stack}blocks.0.")}
        if block:
            cross = sum(size for path, size in block.items() if ".cross." in path)
            blocks.append({"ffn": _ffn(block), "cross": cross, "all": sum(block.values())})
    return {
        "name": name,
        "inner": inner,
        "blocks": blocks,
        "ffn": _ffn(sizes),
        "embedding": sizes["embedding.weight"],
        "all": sum(sizes.values()),
    }


def _ffn(sizes: dict[str, int]) -> int:
    return sum(size for path, size in sizes.items() if ".ffn." in path)


def judge(measured: Measured) -> Judgement:
    """It holds if in every block more than half are in the feed-forward network, and two thirds within NEAR
    at inner width 4d; if blocks with cross-attention alone are different, it holds for the others."""
    models = measured["models"]
    plain = [(m, b) for m in models for b in m["blocks"] if not b["cross"]]
    crossed = [b for m in models for b in m["blocks"] if b["cross"]]
    usual = [b["ffn"] / b["all"] for m, b in plain if m["inner"] == 4]
    most = all(b["ffn"] > b["all"] / 2 for _, b in plain)
    two_thirds = all(abs(share - 2 / 3) < NEAR for share in usual)
    halved = [b["ffn"] / b["all"] for b in crossed if b["ffn"] <= b["all"] / 2]
    whole = {m["name"]: m["ffn"] / m["all"] for m in models}
    least, greatest = min(whole, key=whole.__getitem__), max(whole, key=whole.__getitem__)
    first = models[0]
    low, high = _percent(min(usual)), _percent(max(usual))
    of_block = Text(low if low == high else f"{low} 到 {high}", low if low == high else f"{low} to {high}")
    found = Text(
        f"内宽 4d 的块里，FFN 占参数的 {of_block.zh}。整个模型里只占 "
        f"{_percent(whole[least])}（{least}）到 {_percent(whole[greatest])}（{greatest}）；"
        f"{first['name']} 是 {_percent(first['ffn'] / first['all'])}，"
        f"词嵌入一项就有 {_percent(first['embedding'] / first['all'])}。",
        f"In blocks of inner width 4d the FFN has {of_block.en} of the "
        f"parameters. Of whole models it has {_percent(whole[least])} ({least}) to "
        f"{_percent(whole[greatest])} ({greatest}); of {first['name']} "
        f"{_percent(first['ffn'] / first['all'])}, where the word embedding alone has "
        f"{_percent(first['embedding'] / first['all'])}.",
    )
    if not (most and two_thirds):
        return Judgement(Verdict.FAILS, found)
    if not halved:
        return Judgement(Verdict.HOLDS, found)
    reason = Text(
        f"编码器-解码器的解码器块多一个交叉注意力，又是 4d² 个参数：那里 FFN 只占 {_percent(min(halved))}。",
        "A decoder block that reads a memory has a second attention, another 4d² parameters: there the FFN "
        f"has {_percent(min(halved))}.",
    )
    within = Text("没有交叉注意力的块里", "blocks without cross-attention")
    return Judgement(Verdict.WITHIN, found, reason, within)


def _percent(share: float) -> str:
    return f"{number(100 * share, 1)} %"


def figures(measured: Measured) -> tuple[Figure, ...]:
    models = measured["models"]
    at = range(len(models))
    decoders = [i for i in at if len(models[i]["blocks"]) > 1]

    def shares(label: Text, values: list[float], x: list[int]) -> Series:
        return Series(label, x, [100 * value for value in values], joined=False)

    return (
        Figure(
            Text("FFN 占多少参数", "The FFN's share of the parameters"),
            Text("模型（前四个是 GPT-2）", "model (the first four are GPT-2)"),
            Text("占比（%）", "share (%)"),
            (
                shares(
                    Text("一个块", "of a block"),
                    [m["blocks"][0]["ffn"] / m["blocks"][0]["all"] for m in models],
                    list(at),
                ),
                shares(
                    Text("整个模型", "of the whole model"), [m["ffn"] / m["all"] for m in models], list(at)
                ),
                shares(
                    Text("一个带交叉注意力的解码器块", "of a decoder block with cross-attention"),
                    [models[i]["blocks"][1]["ffn"] / models[i]["blocks"][1]["all"] for i in decoders],
                    decoders,
                ),
            ),
            x_names=tuple(Text(name, name) for name in (m["name"].removeprefix("GPT-2 ") for m in models)),
        ),
    )


CLAIM = Claim(
    "C13",
    Text("块里的参数大多在 FFN", "Most of a block's parameters are in its FFN"),
    Text(
        "内宽 4d 时，一个块的参数约三分之二在 FFN 里；就整个模型而言，只有嵌入占得不多时才是大头。",
        "At inner width 4d two thirds of a block's parameters are in its FFN; of a whole model it has "
        "most of them only where embeddings are small.",
    ),
    Text(
        "按公布的尺寸搭出八个模型，不分配内存，逐个数参数：每个块的，整个模型的。"
        "若有块里 FFN 不到一半，或内宽 4d 时偏离三分之二超过一个百分点，就不成立。",
        "Build eight models of published sizes without memory for their numbers, and count the parameters of "
        "their blocks and of all. A block with less than half in its FFN, or one of inner width 4d more than "
        "a percentage point from two thirds, decides against it.",
    ),
    measure,
    judge,
    figures,
)
