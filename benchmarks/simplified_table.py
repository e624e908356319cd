"""The simplified form of every Traditional character, from OpenCC, as the module `pipeline/simplified.py`; and for
characters that only Cantonese has a Mandarin one that means the same, which a model of Mandarin knows.

    pip install opencc==1.4.2
    python -m benchmarks.simplified_table
    python -m benchmarks.simplified_table --check

Takes single characters of OpenCC's conversions from Traditional and Hong Kong text, without their tables of phrases: a
character stands for one character, whatever is beside it. Forms that GB 2312 lacks are left out (喎 stays 喎): they are
so rare in Simplified text that no model knows them.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MODULE = Path(__file__).resolve().parents[1] / "pipeline" / "simplified.py"
VERSION = "1.4.2"
CONVERSIONS = ("t2s", "hk2s")  # tw2s takes 么, which is Simplified too, for the rare 幺
CHARACTERS = list(map(chr, range(0x3400, 0xA000)))
# Characters that hardly ever stand in Mandarin text. Those that it has too (呢, 係, 晒, 邊) are left to OpenCC.
CANTONESE = dict(
    zip(
        "唔咗佢哋嘅喺冇啲嗰乜嚟睇諗谂畀俾咁噉㗎噃喎嘢啩揾搵瞓攞嚿孭嗮嗌啱攰",
        "不了他们的在没些那什来看想想给给这这的吧哦事吧找找睡拿块背完叫对累",
        strict=True,
    )
)
TEMPLATE = '''# ruff: noqa: E501
"""Traditional characters and their simplified forms, Cantonese ones and Mandarin ones of the same sense: for jieba and
the encoder; the text keeps its own.

Written by `python -m benchmarks.simplified_table` from the data of OpenCC {version} (https://github.com/BYVoid/OpenCC),
copyright of its authors, under the Apache License 2.0.
"""

TRADITIONAL = "{traditional}"
SIMPLIFIED_FORMS = "{forms}"
SIMPLIFIED = str.maketrans(TRADITIONAL, SIMPLIFIED_FORMS)
'''


def opencc_converter(name: str) -> Callable[[str], str]:
    """The conversion of OpenCC that has this name.

    Raises:
        ImportError: if OpenCC is not installed, or is another version than the table's.
    """
    try:
        import opencc
    except ImportError as error:
        raise ImportError(f"Expected OpenCC, it is not installed. Run `pip install opencc=={VERSION}`.") from error
    if opencc.__version__ != VERSION:
        raise ImportError(
            f"Expected OpenCC {VERSION}, whose data the table has, got {opencc.__version__}. Run `pip install "
            f"opencc=={VERSION}`, or raise VERSION here and write the table anew."
        )
    build: Any = opencc.OpenCC
    converter = build(name)
    return lambda text: str(converter.convert(text))


def simplified_forms(conversions: Sequence[Callable[[str], str]]) -> dict[str, str]:
    """Each character that one of the conversions changes, with its form by the first that does; and Cantonese ones."""
    forms: dict[str, str] = {}
    for convert in conversions:
        found = {character: convert(character) for character in CHARACTERS if character not in forms}
        forms |= {character: form for character, form in found.items() if form != character and is_common(form)}
    return forms | CANTONESE


def is_common(form: str) -> bool:
    """Whether this is one character of GB 2312."""
    return len(form) == 1 and len(form.encode("gb2312", "ignore")) == 2


def module_text(forms: dict[str, str]) -> str:
    """The module that has the table."""
    traditional = "".join(sorted(forms))
    simplified = "".join(forms[character] for character in traditional)
    return TEMPLATE.format(version=VERSION, traditional=traditional, forms=simplified)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the module; with --check only tell whether it is up to date (1 if not)."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--module", type=Path, default=MODULE)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the module is not up to date")
    args = parser.parse_args(argv)
    try:
        text = module_text(simplified_forms([opencc_converter(name) for name in CONVERSIONS]))
    except ImportError as error:
        print(f"simplified_table.py: {error}", file=sys.stderr)
        return 2
    if args.check:
        return int(args.module.read_text(encoding="utf-8") != text)
    args.module.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
