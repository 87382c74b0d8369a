"""From files to batches: sources, tokenizers, token files, windows."""
