"""From documents to batches: reading, conversion to words and labels, shards, windows, augmentation, collation."""
