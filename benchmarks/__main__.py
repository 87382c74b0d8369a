"""All benchmarks, one after the other."""

from . import busy, decoding, decoding_memory, encoder, looking, startup, time_to_loss, training, word2vec

for benchmark in (
    startup,
    training,
    busy,
    time_to_loss,
    decoding,
    decoding_memory,
    looking,
    word2vec,
    encoder,
):
    benchmark.main()
