"""Evaluation: examples -> pipeline -> counts -> scores with intervals -> tables and JSON."""
