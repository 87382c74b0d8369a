"""Asking an encoder: what is hidden, what a text is, which texts are alike."""
