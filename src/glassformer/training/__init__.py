"""Training: one loop, tasks that give a loss, and the road from a text to a run folder."""
