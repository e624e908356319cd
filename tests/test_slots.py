"""Words into pieces with their slots."""

from types import SimpleNamespace

import pytest

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.pipeline.slots import MAX_WORD_PIECES, SlotEncoder


@pytest.fixture
def slots(tiny_tokenizer, tiny_config):
    return SlotEncoder(tiny_tokenizer, tiny_config)


def _config(tiny_config, **changes):
    return SimpleNamespace(**vars(tiny_config) | changes)


def _tokens(tokenizer, ids):
    return tokenizer.convert_ids_to_tokens(ids)


def test_a_mask_stands_after_every_word(slots, tiny_tokenizer):
    ids, positions = slots.assemble(slots.pieces(["hello", "josh", "is"]))
    assert _tokens(tiny_tokenizer, ids) == [
        "<s>", "▁hello", "<mask>", "▁j", "o", "s", "h", "<mask>", "▁is", "<mask>", "</s>",
    ]  # fmt: skip
    assert positions == [2, 7, 9]
    assert [ids[position] for position in positions] == [slots.mask_id] * 3


def test_a_known_label_stands_in_its_slot(slots, tiny_tokenizer):
    ids, positions = slots.assemble(slots.pieces(["the"] * 5), [0, 1, None, 2, 3])
    assert _tokens(tiny_tokenizer, [ids[position] for position in positions]) == ["▁", ",", "<mask>", ".", "?"]


def test_no_words_give_an_empty_window(slots):
    assert slots.assemble([]) == ([slots.bos_id, slots.eos_id], [])
    assert slots.pieces([]) == []


def test_words_are_shown_in_lower_case_unless_the_model_reads_capitals(slots, tiny_tokenizer, tiny_config):
    assert slots.pieces(["HELLO", "Hello"]) == slots.pieces(["hello"]) * 2
    cased = SlotEncoder(tiny_tokenizer, _config(tiny_config, lowercase=False))
    assert cased.pieces(["HELLO"]) != cased.pieces(["hello"])


def test_a_han_word_follows_no_blank(slots, tiny_tokenizer):
    assert [_tokens(tiny_tokenizer, ids) for ids in slots.pieces(["大家", "我们", "今"])] == [
        ["大家"],
        ["我们"],
        ["今"],
    ]


@pytest.mark.parametrize("words_alone", [True, False])
def test_traditional_words_have_the_pieces_of_their_simplified_forms(tiny_tokenizer, tiny_config, words_alone):
    slots = SlotEncoder(tiny_tokenizer, _config(tiny_config, words_alone=words_alone))
    assert slots.pieces(["我們", "电"]) == slots.pieces(["我们", "電"])
    assert slots.unk_id not in slots.pieces(["我們"])[0]


def test_of_words_that_are_split_alone_a_lone_blank_is_dropped(tiny_tokenizer, tiny_config):
    slots = SlotEncoder(tiny_tokenizer, _config(tiny_config, words_alone=True))
    assert [_tokens(tiny_tokenizer, ids) for ids in slots.pieces(["大家", "我们", "𒀀"])] == [
        ["大家"],
        ["▁我们"],
        ["<unk>"],
    ]


@pytest.mark.parametrize("text", ["<mask>", "</s>", "<s>", "<pad>", "<unk>", "a<mask>b", "<MASK>"])
def test_text_never_becomes_a_special_piece(slots, tiny_tokenizer, text):
    for ids in slots.pieces([text]):
        assert not {slots.mask_id, slots.bos_id, slots.eos_id, slots.pad_id} & set(ids)


def test_a_word_without_pieces_is_unknown(slots):
    assert all(ids[-1] == slots.unk_id for ids in slots.pieces(["\u200b", "", "𒀀"]))


def test_of_a_long_word_the_first_and_the_last_pieces_are_shown(slots, tiny_tokenizer):
    (ids,) = slots.pieces(["a" * 50 + "b" * 50])
    assert len(ids) == MAX_WORD_PIECES
    tokens = _tokens(tiny_tokenizer, ids)
    assert tokens == ["▁a"] + ["a"] * 15 + ["b"] * 16


def test_a_word_fits_into_the_smallest_window(tiny_tokenizer, tiny_config):
    slots = SlotEncoder(tiny_tokenizer, _config(tiny_config, max_window_pieces=8))
    pieces = slots.pieces(["a" * 100])
    assert len(slots.assemble(pieces)[0]) <= 8
    assert slots.n_pieces(pieces) == [6]


def test_without_masks_the_last_piece_of_a_word_is_its_slot_and_known_marks_stand_behind_it(
    tiny_tokenizer, tiny_config
):
    slots = SlotEncoder(tiny_tokenizer, _config(tiny_config, slot_style="last-piece"))
    pieces = slots.pieces(["hello", "josh", "is"])
    ids, positions = slots.assemble(pieces, [1, None, 0])
    assert _tokens(tiny_tokenizer, ids) == ["<s>", "▁hello", ",", "▁j", "o", "s", "h", "▁is", "</s>"]
    assert positions == [1, 6, 7]
    assert slots.n_pieces(pieces) == [1, 4, 1]
    assert slots.n_pieces(pieces, [1, None, 0]) == [2, 4, 1]


def test_a_mark_without_a_piece_is_not_shown_where_nothing_has_to_stand(tiny_tokenizer, tiny_config):
    labels = [{**label, "fill": label["fill"].replace("?", "no such piece")} for label in DEFAULT_LABELS]
    slots = SlotEncoder(tiny_tokenizer, _config(tiny_config, slot_style="last-piece", labels=labels))
    assert slots.shows_marks
    assert slots.n_pieces(slots.pieces(["hello", "is"]), [1, 3]) == [2, 1]


def test_the_number_of_pieces_counts_the_slot(slots):
    pieces = slots.pieces(["hello", "josh"])
    assert slots.n_pieces(pieces) == [2, 5]
    assert len(slots.assemble(pieces)[0]) == sum(slots.n_pieces(pieces)) + 2


def test_remembered_words_give_the_same_pieces(slots, monkeypatch):
    monkeypatch.setattr("punctuation_restoration.pipeline.slots.CACHED_WORDS", 2)
    words = ["hello", "josh", "is", "the", "hello"]
    assert slots.pieces(words) == slots.pieces(words) == [slots.pieces([word])[0] for word in words]


def test_a_fill_piece_must_be_in_the_vocabulary(tiny_tokenizer, tiny_config):
    labels = [*tiny_config.labels, {"name": "X", "before": "", "after": "!", "fill": "‽"}]
    with pytest.raises(ValueError, match=r"fill piece '‽' of label X.*Choose another"):
        SlotEncoder(tiny_tokenizer, _config(tiny_config, labels=labels))
