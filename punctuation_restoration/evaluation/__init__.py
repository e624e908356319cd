"""Evaluation: examples -> pipeline -> counts -> scores with intervals -> tables, JSON and pictures."""
