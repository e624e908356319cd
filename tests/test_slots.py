"""Words become the pieces that they have in running text, whatever the tokenizer, with their slots."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.slots import MAX_WORD_PIECES, SlotEncoder


@pytest.fixture
def slots(tiny_tokenizer, tiny_config):
    return SlotEncoder(tiny_tokenizer, tiny_config)


def _config(tiny_config, **changes):
    return SimpleNamespace(**vars(tiny_config) | changes)


def _tokens(tokenizer, ids):
    return tokenizer.convert_ids_to_tokens(ids)


def test_the_last_piece_of_a_word_is_its_slot(slots, tiny_tokenizer):
    ids, positions = slots.assemble(slots.pieces(["hello", "josh", "is"]))
    assert _tokens(tiny_tokenizer, ids) == ["<s>", "▁hello", "▁j", "o", "s", "h", "▁is", "</s>"]
    assert positions == [1, 5, 6]


def test_words_are_shown_in_lower_case(slots):
    assert slots.pieces(["HELLO", "Hello"]) == slots.pieces(["hello"]) * 2


def test_a_han_word_follows_no_blank(slots, tiny_tokenizer):
    words = ["大家", "我们", "今"]
    assert [_tokens(tiny_tokenizer, ids) for ids in slots.pieces(words)] == [[word] for word in words]


@pytest.mark.parametrize("words_alone", [True, False])
def test_traditional_words_have_the_pieces_of_their_simplified_forms(tiny_tokenizer, tiny_config, words_alone):
    slots = SlotEncoder(tiny_tokenizer, _config(tiny_config, words_alone=words_alone))
    assert slots.pieces(["我們", "电"]) == slots.pieces(["我们", "電"])
    assert slots.unk_id not in slots.pieces(["我們"])[0]


def test_of_words_that_are_split_alone_a_lone_blank_is_dropped(tiny_tokenizer, tiny_config):
    slots = SlotEncoder(tiny_tokenizer, _config(tiny_config, words_alone=True))
    tokens = [_tokens(tiny_tokenizer, ids) for ids in slots.pieces(["大家", "我们", "𒀀"])]
    assert tokens == [["大家"], ["▁我们"], ["<unk>"]]


@pytest.mark.parametrize("text", ["<mask>", "</s>", "<s>", "<pad>", "<unk>", "a<mask>b", "<MASK>"])
def test_text_never_becomes_a_special_piece(slots, tiny_tokenizer, text):
    for ids in slots.pieces([text]):
        assert not {tiny_tokenizer.mask_token_id, slots.bos_id, slots.eos_id, slots.pad_id} & set(ids)


def test_a_word_without_pieces_is_unknown(slots):
    assert all(ids[-1] == slots.unk_id for ids in slots.pieces(["\u200b", "", "𒀀"]))


def test_threads_share_what_was_split(slots, monkeypatch):
    monkeypatch.setattr("punctuation_restoration.pipeline.slots.CACHED_WORDS", 3)
    texts = [[f"hello{n}", "you", f"saya{n % 7}", "a" * 99] for n in range(200)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(slots.pieces, texts)) == list(map(slots.pieces, texts))


def test_of_a_long_word_the_first_and_the_last_pieces_are_shown(slots, tiny_tokenizer, tiny_config):
    (ids,) = slots.pieces(["a" * 50 + "b" * 50])
    assert len(ids) == MAX_WORD_PIECES
    assert _tokens(tiny_tokenizer, ids) == ["▁a"] + ["a"] * 15 + ["b"] * 16
    smallest = SlotEncoder(tiny_tokenizer, _config(tiny_config, max_window_pieces=8))
    pieces = smallest.pieces(["a" * 100])
    assert len(smallest.assemble(pieces)[0]) <= 8


SENTENCES = [
    "hello josh you are the best",
    "what's the e-mail of doña 50 people don't know",
    "saya tak tahu kenapa awak pergi ke sana lah",
]
HAN = ["我们", "今天", "很", "好", "大家", "北京"]
TEXT = [*SENTENCES, "".join(HAN), "hello hello the best what people know", "今天我们大家很好"] * 3


XLMR = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def _trained(model, pre_tokenizer, trainer, normalizer=None, **special):
    """A tokenizer of the sentences."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer, tokenizer.normalizer = pre_tokenizer, normalizer
    kind = type(pre_tokenizer).__name__
    tokenizer.decoder = {"ByteLevel": decoders.ByteLevel, "Metaspace": decoders.Metaspace}.get(kind, decoders.Fuse)()
    tokenizer.train_from_iterator(TEXT, trainer)
    if "cls_token" in special:
        ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def _bpe(add_prefix_space=False, special=("<|end|>",)):
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=ALPHABET, special_tokens=list(special))
    ends = {"eos_token": special[0]} if special else {}
    return _trained(models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space), trainer, **ends)


def _wordpiece():
    letters = list("abcdefghijklmnopqrstuvwxyz,.?")
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=BERT, initial_alphabet=letters)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), BERT, strict=True))
    bert = normalizers.BertNormalizer(lowercase=True)
    return _trained(models.WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer(), trainer, bert, **names)


def _unigram(scheme="always"):
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=XLMR, unk_token="<unk>")
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), XLMR, strict=True))
    return _trained(
        models.Unigram(), pre_tokenizers.Metaspace(prepend_scheme=scheme), trainer, normalizers.NFKC(), **names
    )


def _blank_by_normaliser():
    """Gemma's way: a blank becomes `▁` and nothing is put before the text."""
    trainer = trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>", "<bos>", "<eos>"])
    names = {"unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>"}
    split = pre_tokenizers.Split("▁", "merged_with_next")
    return _trained(models.BPE(unk_token="<unk>"), split, trainer, normalizers.Replace(" ", "▁"), **names)


FAMILIES = {
    "SentencePiece unigram": _unigram,
    "SentencePiece, blank before the text alone": lambda: _unigram("first"),
    "WordPiece": _wordpiece,
    "byte-level BPE": _bpe,
    "byte-level BPE, blank before the text": lambda: _bpe(add_prefix_space=True),
    "BPE, blanks as signs": _blank_by_normaliser,
}


@pytest.fixture(scope="module", params=FAMILIES)
def tokenizer(request):
    return FAMILIES[request.param]()


def _slots(tokenizer, **changes):
    return SlotEncoder(tokenizer, PunctuationRestorationConfig(**changes))


def _flat(words):
    return [piece for word in words for piece in word]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_words_have_the_pieces_of_the_whole_sentence(tokenizer, sentence):
    before = tokenizer("a", add_special_tokens=False).input_ids
    whole = tokenizer(f"a {sentence}", add_special_tokens=False).input_ids
    assert whole[: len(before)] == before
    assert _flat(_slots(tokenizer).pieces(sentence.split())) == whole[len(before) :]


def test_no_piece_of_a_han_word_begins_with_a_blank(tokenizer):
    pieces = _slots(tokenizer).pieces(HAN)
    assert tokenizer.decode(_flat(pieces)).replace(" ", "") == "".join(HAN)
    for ids in pieces:
        for piece in tokenizer.convert_ids_to_tokens(ids):
            assert not piece.startswith(("▁", "Ġ"))


def test_every_tokenizer_tags_and_starts_and_ends_a_window(tokenizer):
    slots = _slots(tokenizer)
    ids, positions = slots.assemble(slots.pieces(["hello", "josh"]))
    assert len(ids) > 2
    assert positions[-1] == len(ids) - 2
    assert all(isinstance(index, int) and 0 <= index < len(tokenizer) for index in [*ids, slots.pad_id, slots.unk_id])


def test_the_ends_are_those_that_the_tokenizer_writes():
    tokenizer = _wordpiece()
    ids, _ = _slots(tokenizer).assemble([[7]])
    assert tokenizer.convert_ids_to_tokens(ids)[::2] == ["[CLS]", "[SEP]"]


def test_a_tokenizer_without_special_pieces_puts_a_period_at_the_ends():
    bare = _bpe(special=())
    ids, positions = _slots(bare).assemble(_slots(bare).pieces(["hello"]))
    assert [bare.decode([ids[0]]), bare.decode([ids[-1]])] == [".", "."]
    assert positions == [len(ids) - 2]
