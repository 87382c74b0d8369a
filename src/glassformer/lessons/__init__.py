"""The lessons: texts in Chinese and English, a sheet, and questions whose answers are computed."""

from .alignment import LESSON as alignment
from .blanks import LESSON as blanks
from .block import LESSON as block
from .bottleneck import LESSON as bottleneck
from .build import LESSON as build
from .cost import LESSON as cost
from .cross_attention import LESSON as cross_attention
from .four_words import LESSON as four_words
from .leak import LESSON as leak
from .lesson import Chapter, Lesson, Text
from .lstm import LESSON as lstm
from .many_heads import LESSON as many_heads
from .masks import LESSON as masks
from .order import LESSON as order
from .rnn import LESSON as rnn
from .scale import LESSON as scale
from .three_machines import LESSON as three_machines
from .two_heads import LESSON as two_heads
from .two_values import LESSON as two_values
from .word_vectors import LESSON as word_vectors

CHAPTERS: tuple[Chapter, ...] = (
    Chapter(Text("注意力之前", "Before attention"), (word_vectors, rnn, lstm, bottleneck, alignment)),
    Chapter(
        Text("Transformer", "The Transformer"),
        (two_values, four_words, two_heads, masks, leak, scale, order, many_heads, block, cost, build),
    ),
    Chapter(Text("三种架构", "Three architectures"), (three_machines, blanks, cross_attention)),
)
"""In the order in which they are read. A lesson's number is its place here and stands nowhere else."""

LESSONS: tuple[Lesson, ...] = tuple(lesson for chapter in CHAPTERS for lesson in chapter.lessons)
