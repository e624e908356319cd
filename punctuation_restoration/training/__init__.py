"""The trainer: settings, optimiser, schedule, loop, validation and checkpoints. `train.py` is its command line."""
