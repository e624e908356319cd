"""Adds pieces to a model's vocabulary that new text needs, for languages new to the model.

Takes a model and texts, writes a model folder: old pieces keep their ids, so data prepared before still fit. New pieces
are whole words that were cut into many, and signs that were unknown.
"""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken
from transformers import AutoTokenizer

from punctuation_restoration.data.readers import read_documents
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.conventions import UNSPACED, script_of
from punctuation_restoration.pipeline.slots import as_shown
from punctuation_restoration.pipeline.words import WordFinder

MIN_COUNT = 3  # a piece seen less often could not be trained
NEW_PIECES_FILE = "new_pieces.json"


def extend_model(start: str, texts: Sequence[str], n_pieces: int, out: Path) -> list[str]:
    """Write `start` with up to `n_pieces` new pieces to `out`. Gives the pieces; `out/new_pieces.json` has their ids.

    The embedding of a new piece starts as the mean of the pieces it was split into, or of all pieces if it was unknown.

    Raises:
        ValueError: if texts cannot be read.
    """
    model = PunctuationRestorationModel.from_pretrained(start, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(start)
    finder = WordFinder(model.config.mark_labels)
    words: Counter[str] = Counter()
    for document in itertools.chain.from_iterable(map(read_documents, texts)):
        spoken = document.words or [word.spoken for word in finder(document.text)]
        words.update(as_shown(spoken, model.config.lowercase, model.config.digits_as_zero))
    found = missing_pieces(words, tokenizer, n_pieces)
    # A word takes the blank before it along, and is no part of another one; where words have no blanks it may be.
    is_word = {piece: script_of(piece) not in UNSPACED for piece in found}
    tokenizer.add_tokens([AddedToken(piece, single_word=alone, lstrip=True) for piece, alone in is_word.items()])
    ids = range(len(tokenizer) - len(found), len(tokenizer))
    model.resize_token_embeddings(max(len(tokenizer), model.get_input_embeddings().num_embeddings), mean_resizing=False)
    rows = model.get_input_embeddings().weight
    with torch.no_grad():
        for index, old in zip(ids, found.values(), strict=True):
            known = [piece for piece in old if piece != tokenizer.unk_token_id]
            rows[index] = rows[known].mean(0) if known else rows[: ids.start].mean(0)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    (out / NEW_PIECES_FILE).write_text(json.dumps(list(ids)), encoding="utf-8")
    return list(found)


def missing_pieces(words: Counter[str], tokenizer: Any, n_pieces: int) -> dict[str, list[int]]:
    """Pieces to add, each with the pieces that it is split into today; those that shorten the text most come first.

    Candidates are words cut into three pieces or more, and unknown signs. A word is worth the pieces it saves times
    how often it occurs; a sign, of which the model sees nothing so far, ten times how often it occurs.
    """

    def split(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids

    old = {word: split(word) for word, n in words.items() if n >= MIN_COUNT}
    unknown = {word for word, ids in old.items() if tokenizer.unk_token_id in ids}
    worth = {word: words[word] * (len(ids) - 1) for word, ids in old.items() if len(ids) >= 3 and word not in unknown}
    for sign in set("".join(unknown)):
        old[sign] = split(sign)
        if tokenizer.unk_token_id in old[sign]:
            worth[sign] = 10 * sum(words[word] * word.count(sign) for word in unknown)
    best = sorted(worth, key=lambda piece: (-worth[piece], piece))
    return {piece: old[piece] for piece in best[:n_pieces]}
