"""Every figure that the project quotes, measured beside a peer in one run. `make bench` runs them all.

NANOGPT=path names a checkout of nanoGPT, which no registry carries. An absent peer is named and skipped.
"""
