"""Instants of the timeline: names and contents."""
