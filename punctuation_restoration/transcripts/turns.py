"""Takes plain text that says who speaks, as calls, interviews and chats are written down; gives its speech.

    Agent: hello how can i help you
    [00:04] Customer: hi my bill is wrong      ->  hello how can i help you hi my bill is wrong it is too high
    it is too high

Names and times stay in the file and are not shown to the model; a change of name is a change of speaker.
"""

import re
from collections import Counter
from itertools import islice

from ..pipeline.speech import Chunk, SpeechBuilder, Transcript
from .tables import numbered_lines

_TIME = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,3})?"
_NAMED = re.compile(
    rf"[ \t\ufeff]*(?:(?:\[{_TIME}\]|\({_TIME}\)|{_TIME})[ \t\-–—]*)?"
    rf"(?P<name>[^\W_][\w .'’\-]{{0,39}}?)(?:[ \t]*[\[(]{_TIME}[\])])?[ \t]*(?::(?=[ \t]|$)|：)[ \t]*"
)
_LINES_READ = 200  # to find out whether a text names its speakers
_LEAST_NAMED = 3  # lines, and half of all
_LINES_A_NAME = 1.5  # a list (`Price: ...`, `Colour: ...`) has one; people who talk come back


def names_speakers(source: str) -> bool:
    """Whether most lines of a text begin with the name of who speaks, and these names come back."""
    lines = list(islice(numbered_lines(source), _LINES_READ))
    names = Counter(named["name"] for _, *span in lines if (named := _NAMED.match(source, *span)))
    n_named = names.total()
    return n_named >= max(_LEAST_NAMED, len(lines) / 2) and n_named >= _LINES_A_NAME * len(names)


def read_turns(source: str) -> Transcript:
    """One speech; a line without a name goes on with the last one."""
    builder = SpeechBuilder()
    for _, start, end in numbered_lines(source):
        named = _NAMED.match(source, start, end)
        builder.part()
        if named:
            builder.introduce(named["name"], named["name"])
        builder.say(Chunk.plain(source, named.end() if named else start, end))
    return Transcript(source, "turns", [builder.build()] if builder.length else [])
