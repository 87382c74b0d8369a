"""The run folder: save and load, for models and tokenizers. It knows nothing of training."""
