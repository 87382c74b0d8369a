"""A text that is everywhere: the topics of Python's manual, which come with it."""


def text() -> str:
    """About half a million characters of English; other versions of Python have other wordings."""
    from pydoc_data.topics import topics

    return "\n\n".join(str(topic) for topic in topics.values())
