"""Folders as `transformers` writes them, in and out: one file a family, its names and settings as data."""
