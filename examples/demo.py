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
EXAMPLES = {  # the file, and how many of its characters are printed
    "English, a speech (Ronald Reagan, 1985)": ("en_inaugural_address_1985.txt", 420),
    "Mandarin, an essay (Zhu Ziqing)": ("zh_zhu_ziqing.txt", 160),
    "Malay, human rights and daily life": ("ms_hak_asasi_dan_kehidupan.txt", 420),
    "Mixed, three languages in one talk": ("mixed_meeting.txt", 1000),
}


def as_recognised(name: str, restore) -> str:
    """What a recogniser would have written of a text: the words, in lower case, without marks."""
    text, config = (TEXTS / name).read_text(encoding="utf-8"), restore.model.config
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
    for title, (name, n_shown) in EXAMPLES.items():
        shown = as_recognised(name, restore)[:n_shown].rsplit(" ", 1)[0]
        print(f"{title}\n  in   {shown}\n  out  {restore(shown, final=False)['text']}\n")
    text = as_recognised("en_inaugural_address_1985.txt", restore)
    started = time.perf_counter()
    words = restore(text)["words"]
    seconds = time.perf_counter() - started
    found = f"{len(words):,} words and {sum(word['mark'] != '' for word in words)} marks"
    print(
        f"The whole speech: {found} in {seconds:.1f} s, {len(words) / seconds:,.0f} words a second."
    )


if __name__ == "__main__":
    main()
