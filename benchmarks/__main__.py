"""All benchmarks, one after the other."""

from . import busy, decoding, looking, startup, time_to_loss, training

for benchmark in (startup, training, busy, time_to_loss, decoding, looking):
    benchmark.main()
