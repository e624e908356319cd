"""The main job on real text: prints what a recogniser writes, and the same text restored.

    make demo

Uses the default model of this checkout; needs no network. The texts are public domain or our own (texts/README.md).
"""

import time
from pathlib import Path

from transformers import logging, pipeline

import punctuation_restoration
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.marks import strip_marks

TEXTS = Path(__file__).parent / "texts"
EXAMPLES = {
    "English, a speech (Ronald Reagan, 1985)": "en_inaugural_address_1985.txt",
    "Mandarin, an essay (Zhu Ziqing)": "zh_zhu_ziqing.txt",
    "Malay, human rights and daily life": "ms_hak_asasi_dan_kehidupan.txt",
    "Mixed, three languages in one talk": "mixed_meeting.txt",
}
N_SHOWN = {"en": 420, "zh": 160, "ms": 420, "mixed": 1000}  # characters of each text that are printed


def as_recognised(text: str, restore) -> str:
    """What a recogniser would have written: the words, in lower case, without marks."""
    config = restore.model.config
    words, _ = strip_marks(text, restore.find_words(text), config.mark_labels, config.label_names)
    return join_words(words).lower()


def main() -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    started = time.perf_counter()
    print(f"Loading {Path(punctuation_restoration.DEFAULT_MODEL).name} ...", flush=True)
    restore = pipeline("punctuation-restoration", device="cpu")
    restore("hello")  # the first call warms up
    print(f"Ready after {time.perf_counter() - started:.1f} s.\n")
    for title, name in EXAMPLES.items():
        recognised = as_recognised((TEXTS / name).read_text(encoding="utf-8"), restore)
        shown = recognised[: N_SHOWN[name.split("_")[0]]].rsplit(" ", 1)[0]
        print(f"{title}\n  in   {shown}\n  out  {restore(shown, final=False)['text']}\n")
    text = as_recognised((TEXTS / "en_inaugural_address_1985.txt").read_text(encoding="utf-8"), restore)
    started = time.perf_counter()
    result = restore(text)
    seconds = time.perf_counter() - started
    n_marks = sum(entry["mark"] != "" for entry in result["words"])
    print(
        f"The whole speech: {len(result['words']):,} words and {n_marks} marks in {seconds:.1f} s, "
        f"{len(result['words']) / seconds:,.0f} words a second."
    )


if __name__ == "__main__":
    main()
