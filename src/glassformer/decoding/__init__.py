"""Writing with a model: one loop over a state, samplers from logits to logits, text that streams."""
