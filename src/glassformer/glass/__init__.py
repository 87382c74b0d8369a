"""Looking inside: taps that record, traces, and the page that shows them."""

from .trace import Recorder, Trace, trace

__all__ = ["Recorder", "Trace", "trace"]
