"""Programs for the command line; each module has a `main(argv=None)` that returns an exit code."""
