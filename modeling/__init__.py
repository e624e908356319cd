"""Configuration and model: tensors in, tensors out. Nothing here knows about text."""
