"""Long word lists -> overlapping windows, and which words each of them decides. Knows numbers, not words.

words     0 ........ 64 | 65 ..... 104 | 105 ........ 119 | 120 ...
window 1  decided ........................ | right context |
window 2                | left context     | decided ............ | right context |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Window:
    """Words `first` to `end` (exclusive) are seen, of which `keep_from` to `keep_to` (exclusive) are decided."""

    first: int
    end: int
    keep_from: int
    keep_to: int

    @property
    def kept(self) -> slice:
        """Which of its words are decided, counted from its own first one."""
        return slice(self.keep_from - self.first, self.keep_to - self.first)


def room_of(config: Any) -> int:
    """Pieces of words and slots that a window has room for, beside `<s>`, `</s>` and the padding of a shift."""
    return config.max_window_pieces - 2 - config.shift


def windows_of(n_pieces: Sequence[int], config: Any, **sizes: int | None) -> list[Window]:
    """The windows of a text as a model reads it, in serving, in validation, and to label text.

    Args:
        n_pieces: of each word with its slot.
        config: of the model, a `PunctuationRestorationConfig`.
        sizes: `window`, `left_context` and `right_context` in words, in place of the configuration's.

    Raises:
        ValueError: where the sizes do not fit together.
    """
    window, left, right = config.window_sizes(**sizes)
    return plan_windows(n_pieces, window, left, right, room_of(config))


def plan_windows(
    n_pieces: Sequence[int], window: int, left_context: int, right_context: int, max_pieces: int
) -> list[Window]:
    """Windows over a text, in order, so that each word is decided once, with as much context as there is.

    Overlapping windows with context on both sides are those of Chen et al. (2021), section 3.3.

    Args:
        n_pieces: pieces of each word, its slot included.
        window: words in one window at most.
        left_context, right_context: words seen but not decided, except at the ends of the text.
        max_pieces: pieces in one window at most, without `<s>` and `</s>`. Where words are long, contexts shrink in
            proportion; one word is always decided.
    """
    n_words = len(n_pieces)
    windows: list[Window] = []
    keep_from = 0
    while keep_from < n_words:
        budget = max_pieces - n_pieces[keep_from]
        first = keep_from
        left_pieces = budget * left_context // window  # long words on the left must leave room for the rest
        while first > 0 and keep_from - first < left_context and n_pieces[first - 1] <= left_pieces:
            first -= 1
            left_pieces -= n_pieces[first]
            budget -= n_pieces[first]
        end = keep_from + 1
        while end < n_words and end - first < window and n_pieces[end] <= budget:
            budget -= n_pieces[end]
            end += 1
        n_decidable = end - keep_from
        # A window cut short by long words gives up context in the proportion of the full one.
        n_right = min(right_context, n_decidable * right_context // (window - left_context))
        keep_to = n_words if end == n_words else max(keep_from + 1, end - n_right)
        windows.append(Window(first, end, keep_from, keep_to))
        keep_from = keep_to
    return windows
