"""All benchmarks, one after the other."""

from . import startup, training

startup.main()
training.main()
