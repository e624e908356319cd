"""Made sentences with numbers, letters and addresses as they are said: how many come back with a mark inside of them.

python -m tools.spoken_numbers checkpoints/* --output results/spoken_numbers.json
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.data.normalisation import HAN_DIGITS, NumberSpeller
from punctuation_restoration.evaluation.result_files import signature
from punctuation_restoration.loading import load_pipeline
from tools.documents import tell

N_SENTENCES = 22  # of each language and kind
FRAMES = {
    "en": "the first one is {} and that is all i know|it says {} do you want me to write it down|so {} what about the "
    "other one|we talked about {} yesterday and nobody knew|can you check {} please thank you|i think it was {}",
    "ms": "yang pertama {} dan itu sahaja|dia kata {} awak nak saya tulis ke|jadi {} yang lain macam mana|semalam kita "
    "bincang pasal {} tapi tak ada orang tahu|boleh semak {} tak terima kasih|saya rasa {}",
    "zh": "第一个是{}我只知道这些|上面写着{}你要我记下来吗|所以是{}那另外一个呢|昨天我们说到{}可是没有人知道|是{}",
}  # fmt: skip
DIGITS = {"en": "zero one two three four five six seven eight nine".split(), "zh": list(HAN_DIGITS)}
DIGITS["ms"] = "kosong satu dua tiga empat lima enam tujuh lapan sembilan".split()
HOSTS = {"en": "{} at {} dot com", "ms": "{} at {} dot com dot my", "zh": "{} at {} dot com"}
TIMES = {"en": "at {} {} p m", "ms": "pukul {} {} petang", "zh": "{} 点 {} 分"}
MONEY = {"en": "{} dollars and {} cents", "ms": "{} ringgit {} sen", "zh": "{}块{}"}
KINDS = "digits year cardinal letters decimal spaced telephone time money address".split()


def said(language: str, kind: str, chance: random.Random) -> str:
    """One number, name or address of a kind, in the words of a language."""
    spell, joint, number = NumberSpeller(language), "" if language == "zh" else " ", chance.randint
    if kind == "digits":
        digits = [chance.choice(DIGITS[language]) for _ in range(number(3, 8))]
        digits[2] = digits[0]  # so that nobody counts
        if language == "en":
            digits[1] = chance.choice(["", "", "double "]) + digits[1].replace("zero", "oh")
        return joint.join("幺" if word == "一" and chance.random() < 0.5 else word for word in digits)
    if kind == "year":
        year = f"{number(1850, 2030)}"
        if language == "zh":
            return "".join(HAN_DIGITS[int(digit)] for digit in year) + "年"
        return f"{spell(year[:2])} {spell(year[2:])}" if language == "ms" and year[2:] > "09" else spell(year)
    if kind == "cardinal":
        return spell(str(round(number(101, 999) * 10 ** number(0, 5), -number(0, 2))))
    if kind == "letters":
        return " ".join(chance.choice("bcdefghjklmnopqrstuvwxyz") for _ in range(number(3, 5)))
    if kind == "decimal":
        return spell(f"{number(1, 120)}.{number(1, 99):02}")
    if kind == "spaced":
        return f"{number(1_000, 90_000_000):,}".replace(",", " ")
    if kind == "telephone":
        start = chance.choice(["01", "+60 1", "08"])
        return f"{start}{number(1, 9)} {number(201, 999)} {number(2001, 9999)}"
    if kind == "time":
        return TIMES[language].format(number(1, 12), number(10, 59))
    if kind == "money":
        return MONEY[language].format(spell(str(number(2, 90))), spell(str(number(10, 99))))
    return HOSTS[language].format(*chance.sample("mary ahmad wong kumar peter lucy hassan".split(), 2))


def sentences() -> Iterator[tuple[str, str, str, range]]:
    """Language, kind, the sentence, and the offsets inside its number."""
    chance = random.Random(1)
    for language in FRAMES:
        for kind in KINDS * N_SENTENCES:
            number = said(language, kind, chance)
            before, after = chance.choice(FRAMES[language].split("|")).split("{}")
            yield language, kind, before + number + after, range(len(before) + 1, len(before + number))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("models", nargs="+", help="folders of models")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args, rows = parser.parse_args(argv), list[dict[str, Any]]()
    for model in args.models:
        restore, wrong, n_sentences = load_pipeline(model, "cpu"), Counter[str](), 0
        for language, kind, text, inside in sentences():
            n_sentences += 1
            wrong[f"{language} {kind}"] += any(edit["start"] in inside for edit in restore(text)["edits"])
        counts = {"n_sentences": n_sentences, "n_wrong": wrong.total(), "wrong": wrong}
        rows.append({**counts, "signature": signature(model, {}, "cpu")})
    tell({"rows": rows}, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
