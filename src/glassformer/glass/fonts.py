"""Fonts for pictures with words of any script in them."""

from collections.abc import Iterable, Sequence

LATIN = "DejaVu Sans"
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Noto Serif CJK SC",
    "Arial Unicode MS",
)
"""Fonts with Chinese and Japanese characters, one of which most systems have."""


def installed() -> list[str]:
    """The names of the fonts to take here, the first that has a character wins."""
    from matplotlib import font_manager

    names = set(font_manager.get_font_names())
    return [LATIN, *(font for font in CHINESE if font in names)]


def missing(words: Iterable[str], fonts: Sequence[str]) -> list[str]:
    """The words that none of these fonts can show."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    shown: set[int] = set()
    for font in fonts:
        shown |= FT2Font(font_manager.findfont(font)).get_charmap().keys()
    return [word for word in words if any(ord(character) not in shown for character in word)]
