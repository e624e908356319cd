"""Text in, text out, one file a stage: text -> words -> slots -> encoder -> labels -> edits -> text."""
