"""What the tests of transcripts share: a restorer that writes a sign wherever a mark could stand."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

SIGN = "‡"  # stands for a mark; it occurs nowhere else
ANY_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")


def mark_everything(texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
    """Writes a sign after every word and every Han character: the most that a restorer could do."""
    for text in texts:
        words = [{"word": m.group(), "start": m.start(), "end": m.end(), "score": 1.0} for m in ANY_WORD.finditer(text)]
        edits = [{"start": word["end"], "removed": "", "inserted": SIGN, "score": 1.0} for word in words]
        yield {"text": ANY_WORD.sub(lambda m: m.group() + SIGN, text), "edits": edits, "words": words}
