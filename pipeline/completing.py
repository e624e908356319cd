"""Text that has some of its marks: they are shown to the model where it would add others.

Takes what is decided of each word and two ways of reading; knows nothing of texts, models or windows.

    read blind       hello everyone. today. we will discuss two things. first    `everyone.` stands, two are missing
    marks shown      hello everyone. today we will discuss two things. first     one of the two is added
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from .deciding import Reading
from .results import Decision, Fixed


def complete(
    fixed: Fixed, blind: Reading, read_shown: Callable[[Fixed], Reading], no_mark: Mapping[str, str]
) -> list[Decision]:
    """What is decided of each word in the end.

    Where the model would add marks when it sees none, it reads again, shown those that stand. What it then adds to a
    stretch between two marks that lacked one is shown too, until all these are there or nothing more comes. So a
    restored text stays as it is: the model would either add nothing to it, or is shown what it was shown last.

    Args:
        fixed: what stands after each word; None where nothing does.
        blind: the model's reading of the words alone.
        read_shown: reads them with some decisions shown.
        no_mark: the row of the label that writes nothing.
    """
    decided, probabilities = blind
    missing = new = _new_marks(fixed, decided, no_mark)
    last = len(fixed) - 1
    if last in missing:  # shown the marks before it, the model often leaves the end of a text bare
        fixed, missing = [*fixed[:-1], decided[-1]], missing - {last}
    while missing and new:
        decided, probabilities = read_shown(fixed)
        marked = [index for index, given in enumerate(fixed) if given]
        lacking = {bisect_right(marked, index) for index in missing}
        new = {index for index in _new_marks(fixed, decided, no_mark) if bisect_right(marked, index) in lacking}
        fixed = [decided[index] if index in new else given for index, given in enumerate(fixed)]
        missing = missing - new
    pairs = zip(fixed, probabilities.tolist(), strict=True)
    return [given or Decision(no_mark, row[0], "model") for given, row in pairs]


def _new_marks(fixed: Fixed, decided: Sequence[Decision], no_mark: Mapping[str, str]) -> set[int]:
    """The words after which a mark is written that was not there before."""
    pairs = enumerate(zip(fixed, decided, strict=True))
    return {index for index, (given, new) in pairs if given is None and new.row is not no_mark}
