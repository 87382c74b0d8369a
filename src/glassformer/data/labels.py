"""Short visible names for tokens, whatever bytes they hold; the letters of byte-level BPE."""

import unicodedata


def visible(text: str) -> str:
    """`text` with spaces, line breaks and other invisible characters made visible."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    marks = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}
    if character in marks:
        return marks[character]
    if (category := unicodedata.category(character))[0] in "CZ" or category in ("Mn", "Me"):
        return f"U+{ord(character):04X}"
    return character


def labels_of(tokens: list[str | bytes]) -> list[str]:
    """Labels for byte strings that may cut characters anywhere; a str stands for a special token."""
    labels: list[str] = []
    run: list[bytes] = []
    for token in [*tokens, ""]:
        if isinstance(token, bytes):
            run.append(token)
        else:
            labels += _labels_of_run(run)
            labels.append(token)
            run = []
    return labels[:-1]


def _labels_of_run(run: list[bytes]) -> list[str]:
    # A byte that belongs to no character survives decoding as a lone surrogate, one for each.
    text = b"".join(run).decode("utf-8", "surrogateescape")
    owner: list[tuple[str, int, int]] = []  # for each byte: its character, its place there, the width
    for character in text:
        if "\ud800" <= character <= "\udfff":
            owner.append((f"0x{ord(character) - 0xDC00:02X}", 1, 1))
        else:
            width = len(character.encode())
            owner += [(visible(character), i + 1, width) for i in range(width)]
    labels, at = [], 0
    for token in run:
        pieces: list[tuple[str, bool]] = []  # and whether it is a whole character
        place = 0
        while place < len(token):
            name, first, width = owner[at + place]
            taken = min(width - first + 1, len(token) - place)
            last = first + taken - 1
            span = f" {first}/{width}" if first == last else f" {first}–{last}/{width}"
            pieces.append((name if taken == width else name + span, taken == width and len(name) == 1))
            place += taken
        labels.append(_beside(pieces))
        at += len(token)
    return labels


def _beside(pieces: list[tuple[str, bool]]) -> str:
    """Characters in one word, what is no whole character apart from its neighbours."""
    label = ""
    for i, (text, whole) in enumerate(pieces):
        apart = i > 0 and not (whole and pieces[i - 1][1])
        label += f" {text}" if apart else text
    return label


def byte_letters() -> str:
    """The printable letter that byte-level BPE writes for each byte: itself where it is printable in
    Latin-1, else the next free code point from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    letters, free = [], 0x100
    for byte in range(256):
        letters.append(chr(byte if byte in printable else free))
        free += byte not in printable
    return "".join(letters)
