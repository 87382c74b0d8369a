"""Every figure that the project quotes, measured beside a peer in one run. `make bench` runs them all.

NANOGPT=path names a checkout of nanoGPT, DATA=path the folder of tinyshakespeare.txt, which no registry has.
An absent peer or text is named and skipped. Figures mean something on a machine that does nothing else.
"""
