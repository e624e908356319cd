"""A small streaming model to start from: an LSTM with random weights, and pieces that are learned from text.

    python -m examples.from_nothing --texts my_language/ --shift 4 --output models/start
    python train.py --model models/start --data my_language/ --language xx --encoder-rate 0.002 --output runs/small

Takes texts, or the sources of a recipe; writes a model folder for `prepare --tokenizer` and `train.py --model`. Pieces
are byte pairs of all languages at once, digits are 0 and nothing tells the languages apart, as in Li & Lin (2020). The
same texts give the same pieces at every shift.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from punctuation_restoration.data.preparation import recipe_for_texts
from punctuation_restoration.data.readers import read_documents
from punctuation_restoration.data.recipe import Recipe, load_recipe
from punctuation_restoration.modeling.configuration_punctuation import (
    PunctuationLSTMConfig,
    PunctuationRestorationConfig,
)
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.conventions import UNSPACED, script_of
from punctuation_restoration.pipeline.slots import as_shown
from punctuation_restoration.pipeline.words import WordFinder
from punctuation_restoration.training.settings import MODEL_KEYS

SPECIAL = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
}  # ids 0 to 3
SIZES = {  # of the encoder: what each is, and what it is in a model of a few MB
    "embedding_size": ("width of the embedding", 256),
    "hidden_size": ("width of the LSTM", 512),
    "num_hidden_layers": ("layers of the LSTM", 1),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Learn the pieces, and write model and tokenizer."""
    args = parse_args(argv)
    recipe = load_recipe(args.recipe) if args.recipe else recipe_for_texts(args.texts, "xx")
    config: Any = start_config(recipe, args.shift, {name: getattr(args, name) for name in SIZES})
    tokenizer = learn_pieces(recipe_words(recipe, config, args.max_words), args.pieces)
    config.encoder_config.vocab_size = len(tokenizer)  # fewer, where the texts have no more
    torch.manual_seed(args.seed)
    PunctuationRestorationModel(config).save_pretrained(args.output)
    tokenizer.save_pretrained(args.output)
    print(
        f"{args.output}: {len(tokenizer):,} pieces, a shift of {args.shift}, random weights. Train it."
    )
    return 0


def start_config(
    recipe: Recipe, shift: int, sizes: Mapping[str, Any]
) -> PunctuationRestorationConfig:
    """What the recipe says of the model, and an LSTM of these sizes as its encoder."""
    encoder = PunctuationLSTMConfig(**sizes)
    fields = {key: value for key, value in recipe.model.items() if key not in MODEL_KEYS}
    own = {"slot_style": "last-piece", "shift": shift, "digits_as_zero": True, "head_width": 256}
    own["max_window_pieces"] = max(recipe.sampling.lengths)
    return PunctuationRestorationConfig(encoder_config=encoder, **{**own, **fields})


def recipe_words(
    recipe: Recipe, config: PunctuationRestorationConfig, max_words: int
) -> Iterator[str]:
    """Words of all sources as the encoder sees them in running text: with the blank before them, where they have one.

    Held-out documents are among them: they, too, are text without marks. Each source gives `max_words` at most.
    """
    finder = WordFinder(config.mark_labels or ())
    for source in recipe.sources:
        documents = read_documents(Path(recipe.root) / source.path, source.text_field)
        words = (
            word
            for text in documents
            for word in text.words or [word.spoken for word in finder(text.text)]
        )
        for word in as_shown(islice(words, max_words), config.lowercase, config.digits_as_zero):
            yield word if script_of(word) in UNSPACED else " " + word


def learn_pieces(words: Iterable[str], n_pieces: int) -> PreTrainedTokenizerFast:
    """A tokenizer of at most so many byte pairs; half of them may be single characters, for scripts that have many."""
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL["unk_token"]))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    trainer = trainers.BpeTrainer(
        vocab_size=n_pieces,
        special_tokens=list(SPECIAL.values()),
        limit_alphabet=n_pieces // 2,
        show_progress=False,
    )
    tokenizer.train_from_iterator(words, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--recipe", help="recipe file (YAML): its sources, and its `model`")
    given.add_argument("--texts", nargs="+", help="files or folders of text, instead of a recipe")
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    parser.add_argument("--pieces", type=int, default=16_000, help="size of the vocabulary")
    parser.add_argument(
        "--max-words", type=int, default=300_000, help="of each source, to learn the pieces from"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the weights")
    parser.add_argument(
        "--shift", type=int, default=4, help="pieces that are read after a word (4)"
    )
    for name, (meaning, default) in SIZES.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=int, default=default, help=f"{meaning} ({default})"
        )
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
