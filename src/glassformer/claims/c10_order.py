"""C10: attention without positions and without a mask is permutation-equivariant."""

from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor, nn

from ..nn.attention import MultiHeadAttention
from ..nn.masks import Mask
from ..nn.positions import Learned, Positions, RelativeBias, Rotary, Sinusoidal
from ..texts import Text, magnitude, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series

LENGTH, WIDTH, HEADS, DRAWS = 16, 32, 4, 20
SENTENCES = (
    (Text("猫", "cat"), Text("追", "chases"), Text("狗", "dog")),
    (Text("女人", "woman"), Text("吃了", "ate"), Text("浣熊", "raccoon")),
)
"""Each is compared with itself read from its end."""
CASES: dict[str, tuple[Callable[[], Positions], Mask]] = {
    "bare": (Positions, None),
    "sinusoidal": (lambda: Sinusoidal(WIDTH), None),
    "learned": (lambda: Learned(LENGTH, WIDTH), None),
    "rotary": (lambda: Rotary(WIDTH // HEADS), None),
    "relative": (lambda: RelativeBias(HEADS, bidirectional=True), None),
    "causal": (Positions, "causal"),
}
CASE_NAMES = {
    "bare": Text("都没有", "neither"),
    "sinusoidal": Text("正余弦", "sinusoidal"),
    "learned": Text("学习", "learned"),
    "rotary": Text("旋转", "rotary"),
    "relative": Text("相对偏置", "relative"),
    "causal": Text("因果掩码", "causal mask"),
}
EXACT, BROKEN = 1e-13, 1e-3  # relative to the root mean square of the output


def measure(work: Work) -> Measured:
    """For each case the largest difference between Attention(PX) and P·Attention(X), of each draw; and for
    each pair of sentences how far the rows are from those of the same token, and of the same place."""
    return {
        "length": LENGTH,
        "errors": dict(zip(CASES, work.parts("draws", list(CASES), _errors), strict=True)),
        "sentences": {case: [_turned(case, i) for i in range(len(SENTENCES))] for case in CASES},
    }


def attention(case: str, seed: int) -> Callable[[Tensor], Tensor]:
    """Attention with random weights in float64, (b, n, D) -> (b, n, D), with the positions or the mask of a
    case."""
    torch.manual_seed(seed)
    make, mask = CASES[case]
    heads, positions = MultiHeadAttention(WIDTH, HEADS).double(), make().double()
    for matrix in (heads.query, heads.key, heads.value, heads.output):
        nn.init.normal_(matrix.weight, std=WIDTH**-0.5)

    @torch.no_grad()
    def apply(x_bnD: Tensor) -> Tensor:
        pos = torch.arange(x_bnD.shape[1])
        out: Tensor = heads(
            positions.embed(x_bnD, pos),
            mask=mask,
            rotate=positions.rotation(pos),
            bias=positions.bias(pos, pos),
        )
        return out

    return apply


def _errors(case: str) -> list[float]:
    found = []
    for seed in range(DRAWS):
        attend = attention(case, seed)
        x_bnD = torch.randn(1, LENGTH, WIDTH, dtype=torch.float64)
        order = torch.randperm(LENGTH)
        out_bnD = attend(x_bnD)
        error = (attend(x_bnD[:, order]) - out_bnD[:, order]).abs().max()
        found.append(float(error / out_bnD.square().mean().sqrt()))
    return found


def _turned(case: str, sentence: int) -> dict[str, list[float]]:
    """How far each row is from the turned sentence's row of the same token, and of the same place, over the
    root mean square of the rows' lengths."""
    attend = attention(case, sentence)
    x_bnD = torch.randn(1, len(SENTENCES[sentence]), WIDTH, dtype=torch.float64)
    (one,), (two,) = attend(x_bnD), attend(x_bnD.flip(1))
    unit = one.square().sum(-1).mean().sqrt()
    return {
        "by_token": ((one - two.flip(0)).norm(dim=-1) / unit).tolist(),
        "by_place": ((one - two).norm(dim=-1) / unit).tolist(),
    }


def judge(measured: Measured) -> Judgement:
    """It holds if without positions and mask every difference is one of rounding, of the sentences too, whose
    rows at the outer places yet differ; and if with any positions, and with a causal mask, no draw's is."""
    errors, sentences = measured["errors"], measured["sentences"]
    exact = max(errors["bare"])
    broken = {case: min(of) for case, of in errors.items() if case != "bare"}
    followed = max(max(of["by_token"]) for of in sentences["bare"])
    changed = min(min(of["by_place"][0], of["by_place"][-1]) for of in sentences["bare"])
    least = number(min(broken.values()), 2)
    found = Text(
        f"没有位置也没有掩码：打乱 {measured['length']} 个词，Attention(PX) 与 P·Attention(X) 最多差 "
        f"{magnitude(exact)}（以输出的均方根为 1，float64）。加上任何一种位置，或加上因果掩码，至少差 "
        f"{least}。“女人吃了浣熊”换成“浣熊吃了女人”，每个词的那一行都跟着词走（差 {magnitude(followed)}），"
        f"首尾两个位置上的行却变了（差 {number(changed, 2)}）；位置没变的只有中间的词，它的那一行也不变。“猫"
        "追狗”和“狗追猫”也是如此。",
        f"Without positions and mask, {measured['length']} tokens shuffled: Attention(PX) and P·Attention(X) "
        f"differ by {magnitude(exact)} at most (the output's root mean square is 1, float64). With any "
        f"positions, or a causal mask, by {least} at least. When “woman ate raccoon” becomes “raccoon ate "
        f"woman” each row moves with its token (to {magnitude(followed)}), and the rows at the two ends are "
        f"others (by {number(changed, 2)}); only the word in the middle, which stays in its place, keeps its "
        "row. So it is with “cat chases dog” and “dog chases cat”.",
    )
    holds = max(exact, followed) < EXACT and min(changed, *broken.values()) > BROKEN
    return Judgement(Verdict.HOLDS if holds else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    errors = measured["errors"]
    rows = {case: measured["sentences"][case][-1] for case in ("bare", "sinusoidal", "causal")}
    places = range(len(SENTENCES[-1]))
    by_token = Text("与同一个词的行相差", "from the row of the same token")
    return (
        Figure(
            Text("打乱之后相差多少", "What shuffling changes"),
            Text("位置或掩码", "positions or mask"),
            Text("最大差，以输出的均方根为 1", "largest difference, in root mean squares of the output"),
            (
                Series(
                    Text(f"{DRAWS} 次打乱：中位数，最小到最大", f"{DRAWS} shuffles: median, least to most"),
                    range(len(errors)),
                    [median(of) for of in errors.values()],
                    [min(of) for of in errors.values()],
                    [max(of) for of in errors.values()],
                    joined=False,
                ),
            ),
            log_y=True,
            x_names=tuple(CASE_NAMES[case] for case in errors),
        ),
        Figure(
            Text("“女人吃了浣熊”与“浣熊吃了女人”", "“woman ate raccoon” and “raccoon ate woman”"),
            Text("第一句里的词", "token of the first sentence"),
            Text("两句的行之间的距离", "distance between rows of the two"),
            (
                Series(
                    Text("都没有：与同一位置的行相差", "neither: from the row at the same place"),
                    places,
                    rows["bare"]["by_place"],
                    joined=False,
                ),
                *(
                    Series(
                        Text(f"{name.zh}：{by_token.zh}", f"{name.en}: {by_token.en}"),
                        places,
                        rows[case]["by_token"],
                        joined=False,
                    )
                    for case in rows
                    for name in (CASE_NAMES[case],)
                ),
            ),
            x_names=SENTENCES[-1],
        ),
    )


CLAIM = Claim(
    "C10",
    Text("注意力不认词序", "Attention is blind to order"),
    Text(
        "没有位置、也没有掩码的注意力是置换等变的：Attention(PX) = P·Attention(X)；加上位置就不再如此，"
        "加上因果掩码也一样。",
        "Attention without positions and without a mask is permutation-equivariant: Attention(PX) = "
        "P·Attention(X). Positions break that, and so does a causal mask.",
    ),
    Text(
        f"float64 的多头注意力（宽 {WIDTH}，{HEADS} 个头，随机权重）对 {LENGTH} 个词算两遍：先打乱再做注意"
        f"力，先做注意力再打乱，共 {DRAWS} 次；再加四种位置和因果掩码。另取两对首尾互换的句子，词向量随机。",
        f"Multi-head attention in float64 (width {WIDTH}, {HEADS} heads, random weights) over {LENGTH} "
        f"tokens, shuffled before and shuffled after, {DRAWS} times; then with four kinds of positions, and "
        "with a causal mask. And two sentences whose ends change places, with random word vectors.",
    ),
    measure,
    judge,
    figures,
)
