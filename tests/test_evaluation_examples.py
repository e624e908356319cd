"""How a reference becomes text and units, how the pipeline's words are put beside them, and the pitfalls of both."""

import numpy as np
import pytest

from punctuation_restoration.evaluation.examples import (
    Example,
    code_switched,
    cut,
    example_from_text,
    example_from_tokens,
    own_labels,
    standard_labels,
)
from punctuation_restoration.evaluation.runner import align, evaluate_examples
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.words import WordFinder

CONFIG = PunctuationRestorationConfig()
LABELS = standard_labels(CONFIG)
FINDER = WordFinder(LABELS.mark_labels)
O, C, P, Q = LABELS.names  # noqa: E741


def from_text(text: str) -> Example:
    return example_from_text("doc", text, FINDER, LABELS)


def from_tokens(*rows: tuple[str, str]) -> Example:
    return example_from_tokens("doc", [row[0] for row in rows], [row[1] for row in rows], LABELS)


def units(example: Example) -> list[str]:
    found = [example.text[start:end] for start, end in example.spans]
    assert found == [unit.text for unit in example.units]
    return found


def words(text: str, *decided: tuple[str, str], score: float = 0.9, source: str = "model") -> list[dict]:
    """Words as the pipeline gives them, each looked for after the one before."""
    found, place = [], 0
    for word, label in decided:
        start = text.index(word, place)
        place = start + len(word)
        found.append({"word": word, "start": start, "end": place, "label": label, "score": score, "source": source})
    return found


def evaluation_of(example: Example, given: list[dict]) -> dict:
    return evaluate_examples(lambda texts: iter([{"words": given, "edits": []}]), [example], LABELS)


def counts_of(example: Example, given: list[dict]) -> dict[tuple[str, str], int]:
    """The numbers of reference and predicted label that are not 0."""
    table, names = np.array(evaluation_of(example, given)["confusion"]), LABELS.names
    return {(names[row], names[column]): int(table[row, column]) for row, column in zip(*table.nonzero(), strict=True)}


def test_split_clitics_are_joined_before_the_model_and_scored_at_their_own_units():
    example = from_tokens(("we", O), ("'re", C), ("here", P), ("i", O), ("do", C), ("n't", O), ("'the", O), ("end", P))
    assert example.text == "we're here i don't 'the end"
    assert units(example) == ["we", "'re", "here", "i", "do", "n't", "'the", "end"]
    given = words(example.text, ("we're", C), ("here", P), ("i", O), ("don't", O), ("the", O), ("end", P))
    # The comma before `n't` is out of reach, and counts as a miss.
    assert counts_of(example, given) == {(O, O): 4, (C, C): 1, (P, P): 2, (C, O): 1}


def test_tokens_give_no_mark_away_and_those_without_a_word_are_still_scored():
    example = from_tokens(("More?'", P), ("--", P), ("", C), ("♪?daughter,", C), ("2,000", O), ("Dr.", O))
    assert example.text == "more' ♪daughter 2,000 dr"
    given = words(example.text, ("more", P), ("daughter", C), ("2,000", O), ("dr", O))
    assert counts_of(example, given) == {(P, P): 1, (P, O): 1, (C, O): 1, (C, C): 1, (O, O): 2}


def test_han_text_is_scored_at_every_character_and_loses_the_blanks_between_them():
    example = from_text("我们 今天，用Python 编程。好吗？")
    assert example.text == "我们今天用python 编程好吗"
    assert units(example) == ["我", "们", "今", "天", "用", "python", "编", "程", "好", "吗"]
    assert example.labels == [O, O, O, C, O, O, O, P, O, Q]


def test_systems_that_find_other_words_are_scored_on_the_same_places():
    example = from_text("北，京好。")
    # One word of the model over both characters: its mark belongs to the second, and the comma cannot be reached.
    given = words(example.text, ("北京", P), ("好", O))
    assert counts_of(example, given) == {(C, O): 1, (O, P): 1, (P, O): 1}
    # Of two decisions none is right, and one is a mark; nothing was decided after the first character.
    all_words, marks = evaluation_of(example, given)["calibration"].values()
    assert [(sum(bins["n"]), sum(bins["n_right"])) for bins in (all_words, marks)] == [(2, 0), (1, 0)]
    example = from_text("我们今天去北京，你呢？")
    coarse = words(example.text, ("我们今天", O), ("去北京", C), ("你呢", Q))
    fine = words(example.text, *((sign, {"京": C, "呢": Q}.get(sign, O)) for sign in "我们今天去北京你呢"))
    assert counts_of(example, coarse) == counts_of(example, fine)
    assert sum(counts_of(example, coarse).values()) == 9


def test_input_is_lower_case_and_without_marks_and_these_mean_what_the_table_says():
    text = from_text('He said: "Hello, World!" It costs $3.50 at 12:30.').text
    assert text == "he said hello world it costs $3.50 at 12:30"
    # The mapping of the IWSLT data: colons and dashes are commas, exclamation marks and semicolons periods.
    assert from_text("one: two — three; four! five? six").labels == [C, C, P, P, Q, O]


@pytest.mark.parametrize(("sign", "name", "means"), [("!", "EXCLAMATION", P), ("~", "TILDE", O)])
def test_a_model_with_other_labels_is_scored_in_the_labels_of_the_benchmark(sign, name, means):
    more = {"name": name, "before": "", "after": sign}
    config = PunctuationRestorationConfig(labels=[*CONFIG.labels, more], mark_labels={**CONFIG.mark_labels, sign: name})
    labels, _ = align(from_text("stop no"), words("stop no", ("stop", name), ("no", P)), standard_labels(config))
    assert labels == [means, P]
    own = own_labels(config)
    assert example_from_text("doc", f"stop{sign} no", WordFinder(own.mark_labels), own).labels == [name, O]


def test_a_mark_inside_a_token_counts_as_one_behind_it_unless_the_token_has_it():
    example = from_tokens(("and/or", O), ("and/so", P))
    given = words(example.text, ("and", C), ("or", O), ("and", C), ("so", P))
    assert counts_of(example, given) == {(O, C): 1, (P, P): 1}
    given = words("a?b", ("a", Q), ("b", O), source="input")
    assert counts_of(from_tokens(("a?b", O)), given) == {(O, O): 1}


def test_the_last_word_of_each_text_is_counted_apart_but_not_where_the_text_was_cut():
    example = from_tokens(*[("word", O)] * 449, ("end", P))
    found = evaluation_of(example, words(example.text, *[("word", C)] * 449, ("end", P)))
    assert found["units"] == [[0, 0, 200], [0, 0, 200], [1, 1, 50]]
    assert [found["scores"][part]["n_predicted"] for part in ("mid_text", "end_text")] == [449, 1]
    example = from_text("one two. three four.")
    [shorter] = cut([example], 2)
    assert (shorter.text, shorter.labels) == ("one two", [O, P])
    found = evaluation_of(shorter, words(shorter.text, ("one", O), ("two", P)))
    assert found["scores"]["end_text"]["n_predicted"] == 0
    assert cut([example, example], 5)[1].text == "one"


def test_sentences_that_mix_languages_are_kept_with_their_units_and_labels():
    example = from_text("用 Python, 好。没有英文。Only this. 我用 API. Vue 好吗？一个 x 不算。")
    mixed = code_switched(example, LABELS)
    assert mixed.text == "用 python 好我用 api vue 好吗"
    assert units(mixed) == ["用", "python", "好", "我", "用", "api", "vue", "好", "吗"]
    assert mixed.labels == [O, C, P, O, O, P, O, O, Q]
    assert code_switched(from_text("没有英文。Only this."), LABELS).units == []
