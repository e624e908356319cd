"""Writes the IWSLT benchmarks from the public files, as they are downloaded.

    python -m tools.iwslt downloads/
    python evaluate.py --benchmark iwslt2011-test zh-tst2011+2012-punctuated

Takes files, folders and archives, also archives within archives, and finds by their names what it needs: `dev2012`,
`test2011` and `test2011asr` of Che et al. (2016), and `IWSLT17.TED.tst2010.zh-en.zh.xml` and its like.
docs/benchmarks.md says where they are. Fetches nothing, and knows nothing about models.

    test2011                    IWSLT17.TED.tst2010.zh-en.zh.xml
    i<TAB>O                     <doc docid="837" genre="lectures">
    'm<TAB>O                    <seg id="1">  你好， 再见。  </seg>
    here<TAB>PERIOD             <seg id="2">  谢谢  </seg></doc>
"""

import argparse
import hashlib
import json
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile

import regex

from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, NEW_ROOT
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.whole_files import write_whole

LABELS = frozenset(label["name"] for label in DEFAULT_LABELS)
TARGETS = {
    r"dev2012(\.txt|\.tsv)?": "en/iwslt2012-dev.tsv",
    r"test2011(\.txt|\.tsv)?": "en/iwslt2011-test.tsv",
    r"test2011asr(\.txt|\.tsv)?": "en/iwslt2011-test-asr.tsv",
    r"IWSLT\d\d\..*(dev2010|tst201[012])\..*\bzh\.xml": r"zh/iwslt-\1.jsonl",
}
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
# The first digits of the SHA-256 of the files that our figures were measured on.
KNOWN = {
    "en/iwslt2012-dev.tsv": "3810f16887cbeaa1",
    "en/iwslt2011-test.tsv": "c40fa64edcaf28e2",
    "en/iwslt2011-test-asr.tsv": "4f5feefce6d8b0e5",
    "zh/iwslt-dev2010.jsonl": "092da55ebae75364",
    "zh/iwslt-tst2010.jsonl": "f9c47bec9325a441",
    "zh/iwslt-tst2011.jsonl": "fb195f0d00f2f91d",
    "zh/iwslt-tst2012.jsonl": "2318c62f8821bda9",
}
PUNCTUATED_SHARE = 0.8  # of segments that end in a stop; a talk with less was captioned without marks
_LATIN_MARK = regex.compile(r"(?<=\p{Han})[,.?!;]")
_HAN_MARKS = {",": "，", ".": "。", "?": "？", "!": "！", ";": "；"}
_STOP = regex.compile("[。？！][”’」』）\"')]*$")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 2 for a wrong input."""
    parser = argparse.ArgumentParser(prog="python -m tools.iwslt", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="files, folders and archives that you downloaded")
    parser.add_argument("--output", type=Path, default=NEW_ROOT, help="folder of benchmarks to write")
    args = parser.parse_args(argv)
    try:
        for target, content in convert(args.paths).items():
            write_whole(args.output / target, content, force=True)
            verdict = "the copy" if is_known(target, content) else "NOT the copy"
            size = f"{len(content.splitlines()):,} {'talks' if target.endswith('.jsonl') else 'tokens'}"
            print(f"wrote {args.output / target}: {size}; {verdict} that our figures were measured on")
    except (ValueError, OSError) as error:
        print(f"iwslt: {error}", file=sys.stderr)
        return 2
    ready = [
        name for name, one in BENCHMARKS.items() if one.files and all((args.output / f).is_file() for f in one.files)
    ]
    print(f"evaluate.py --bench-root {args.output} --benchmark {' '.join(ready)}")
    return 0


def convert(paths: Sequence[Path]) -> dict[str, bytes]:
    """The content of each benchmark file that can be made, by its path below the folder of benchmarks.

    Where several files would give the same one, that which gives our copy is taken, otherwise the first. A `ValueError`
    if there is none, or one is damaged or not in its layout, which it names.
    """
    made: dict[str, bytes] = {}
    for path in paths:
        if not path.exists():
            raise ValueError(f"Expected a file, a folder or an archive at {path}, found none. Check the path.")
        for target, content, name in wanted_files(path, str(path)):
            result = (talks if target.endswith(".jsonl") else tokens)(content, name)
            if target not in made or is_known(target, result):
                made[target] = result
    if not made:
        wanted = f"dev2012, test2011, test2011asr or IWSLT17.TED.*.zh.xml in {', '.join(map(str, paths))}"
        raise ValueError(f"Expected {wanted}, found none. docs/benchmarks.md says what to download.")
    return made


def wanted_files(path: Path, name: str) -> Iterator[tuple[str, bytes, str]]:
    """The benchmark file, the content and the name of every public file at a path, below it, or in an archive there."""
    if path.is_dir():
        for file in sorted(path.iterdir()):
            yield from wanted_files(file, f"{name}/{file.name}")
    elif target := target_of(path.name):
        yield target, path.read_bytes(), name
    elif path.name.endswith(ARCHIVES):
        with TemporaryDirectory() as folder:
            try:
                # What a tar archive may write is limited to the folder; for zip archives it always is.
                shutil.unpack_archive(path, folder, **({} if path.suffix == ".zip" else {"filter": "data"}))
            except (shutil.ReadError, BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
                raise ValueError(f"Expected a whole archive in {name}, got: {error}. Download it again.") from error
            yield from wanted_files(Path(folder), name)


def target_of(name: str) -> str:
    """The benchmark file that a public file becomes, by its name; empty for any other."""
    matches = ((regex.fullmatch(pattern, Path(name).name), target) for pattern, target in TARGETS.items())
    return next((match.expand(target) for match, target in matches if match), "")


def tokens(content: bytes, name: str) -> bytes:
    """A file of Che et al., one token and label a line, with our ends of lines. A token may be empty."""
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected UTF-8 in {name}, got other bytes ({error.reason}). Download it again.") from error
    for number, line in enumerate(lines, 1):
        if line.count("\t") != 1 or line.partition("\t")[2] not in LABELS:
            wanted = f"word<TAB>LABEL, with a label of {sorted(LABELS)}, in {name}, line {number}"
            raise ValueError(f"Expected {wanted}, got {line[:60]!r}. Is it the file of Che et al.?")
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def talks(content: bytes, name: str) -> bytes:
    """A WIT3 file of Mandarin talks as JSONL, one talk a line: its segments in one, as captions run on."""
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ValueError(f"Expected XML in {name}, could not read it: {error}. Download it again.") from error
    rows = [_talk(doc) for doc in root.iter("doc") if doc.find(".//seg") is not None]
    if not rows:
        raise ValueError(f"Expected <doc docid=...> with <seg> in {name}, found none. Is it a file of talks of WIT3?")
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")


def _talk(doc: ElementTree.Element) -> dict[str, Any]:
    segments = ["".join(segment.itertext()).strip() for segment in doc.iter("seg")]
    segments = [_LATIN_MARK.sub(lambda mark: _HAN_MARKS[mark[0]], segment) for segment in segments]
    share = sum(bool(_STOP.search(segment)) for segment in segments) / len(segments)
    return {
        "id": f"ted-{doc.get('docid')}",
        "language": "zh",
        "punctuated": share >= PUNCTUATED_SHARE,
        "share_of_segments_ending_in_a_stop": round(share, 2),
        "text": "".join(segments),
    }


def is_known(target: str, content: bytes) -> bool:
    """Whether this is the file that our figures were measured on."""
    return hashlib.sha256(content).hexdigest().startswith(KNOWN[target])


if __name__ == "__main__":
    raise SystemExit(main())
