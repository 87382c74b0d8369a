"""The mathematics: pure tensors in, tensors out. No files, no printing, no device choice."""
