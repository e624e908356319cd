"""A file as it was read: its text, and the speeches in it."""

from dataclasses import dataclass, field

from ..pipeline.speech import Speech


@dataclass(slots=True)
class Transcript:
    """A file as read."""

    source: str
    format: str
    speeches: list[Speech]
    warnings: list[str] = field(default_factory=list)

    @property
    def is_ascii_json(self) -> bool:
        """Whether what is written into it must be escaped, as the rest of it is."""
        return self.format in ("json", "jsonl") and self.source.isascii() and "\\u" in self.source
