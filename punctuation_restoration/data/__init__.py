"""From documents to batches: reading, conversion to words and labels, shards, windows, augmentation, collation.

Only `prepare` and the readers touch files of text; everything after them works on piece ids.
"""
