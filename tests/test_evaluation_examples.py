"""How a reference becomes text and units, how the pipeline's words are put beside them, and the pitfalls of both."""

import pytest

from punctuation_restoration.evaluation.counts import Counts, add_counts
from punctuation_restoration.evaluation.examples import (
    Example,
    code_switched,
    cut,
    example_from_text,
    example_from_tokens,
)
from punctuation_restoration.evaluation.labels import own_labels, standard_labels
from punctuation_restoration.evaluation.runner import (
    align,
    count_blocks,
    evaluate_examples,
    find_mistakes,
    may_lack_mark,
)
from punctuation_restoration.evaluation.scores import score
from punctuation_restoration.modeling.configuration_punctuation import (
    DEFAULT_LABELS,
    DEFAULT_MARK_LABELS,
    PunctuationRestorationConfig,
)
from punctuation_restoration.pipeline.words import WordFinder

CONFIG = PunctuationRestorationConfig()
LABELS = standard_labels(CONFIG)
FINDER = WordFinder(LABELS.mark_labels)
O, C, P, Q = LABELS.names  # noqa: E741


def from_text(text: str) -> Example:
    return example_from_text(text, FINDER, LABELS, id="doc", source="test")


def from_tokens(*rows: tuple[str, str]) -> Example:
    return example_from_tokens([row[0] for row in rows], [row[1] for row in rows], LABELS, id="doc", source="test")


def units(example: Example) -> list[str]:
    return [example.text[start:end] for start, end in example.spans]


def words(text: str, *decided: tuple[str, str], score: float = 0.9, source: str = "model") -> list[dict]:
    """Words as the pipeline gives them, each looked for after the one before."""
    found, place = [], 0
    for word, label in decided:
        start = text.index(word, place)
        place = start + len(word)
        found.append({"word": word, "start": start, "end": place, "label": label, "score": score, "source": source})
    return found


def counts_of(example: Example, given: list[dict]) -> Counts:
    parts = count_blocks(example, align(example, given, LABELS), LABELS.names)
    return add_counts(LABELS.names, [part.counts for part in parts])


def by_pair(table) -> dict[tuple[str, str], int]:
    """The numbers of a table of reference by predicted label that are not 0."""
    names = LABELS.names
    return {(names[row], names[column]): int(table[row, column]) for row, column in zip(*table.nonzero(), strict=True)}


# English clitics: joined for the model, scored at the original tokens.


def test_split_clitics_are_joined_before_the_model_and_keep_their_own_units():
    example = from_tokens(("we", O), ("'re", O), ("here", P), ("i", O), ("do", O), ("n't", O), ("'the", O), ("end", P))
    assert example.text == "we're here i don't 'the end"
    assert units(example) == ["we", "'re", "here", "i", "do", "n't", "'the", "end"]


def test_a_mark_after_a_joined_word_is_scored_at_its_clitic_and_every_token_once():
    example = from_tokens(("we", O), ("'re", C), ("here", P))
    counts = counts_of(example, words(example.text, ("we're", C), ("here", P)))
    assert counts.n_words == 3
    assert by_pair(counts.pairs) == {(O, O): 1, (C, C): 1, (P, P): 1}


def test_a_mark_before_a_clitic_is_out_of_reach_and_counts_as_a_miss():
    example = from_tokens(("we", C), ("'re", O))
    counts = counts_of(example, words(example.text, ("we're", O)))
    assert by_pair(counts.pairs) == {(C, O): 1, (O, O): 1}


def test_tokens_give_no_mark_away_and_those_without_a_word_are_still_scored():
    example = from_tokens(("More?'", P), ("--", P), ("", C), ("♪?daughter,", C), ("2,000", O), ("Dr.", O))
    assert example.text == "more' ♪daughter 2,000 dr"
    given = words(example.text, ("more", P), ("daughter", C), ("2,000", O), ("dr", O))
    counts = counts_of(example, given)
    assert counts.n_words == 6
    assert by_pair(counts.pairs) == {(P, P): 1, (P, O): 1, (C, O): 1, (C, C): 1, (O, O): 2}


# Mandarin: character boundaries.


def test_han_text_is_scored_at_every_character_and_loses_the_blanks_between_them():
    example = from_text("我们 今天，用Python 编程。好吗？")
    assert example.text == "我们今天用python 编程好吗"
    assert units(example) == ["我", "们", "今", "天", "用", "python", "编", "程", "好", "吗"]
    assert example.labels == (O, O, O, C, O, O, O, P, O, Q)


def test_a_mark_inside_a_word_that_was_not_split_is_a_miss():
    example = from_text("北，京好。")
    # One word of the model over both characters: its mark belongs to the second, and the comma cannot be reached.
    counts = counts_of(example, words(example.text, ("北京", P), ("好", P)))
    assert counts.n_words == 3
    assert by_pair(counts.pairs) == {(C, O): 1, (O, P): 1, (P, P): 1}
    assert score(counts).micro.recall == pytest.approx(1 / 2)


def test_systems_that_find_other_words_are_scored_on_the_same_places():
    example = from_text("我们今天去北京，你呢？")
    coarse = words(example.text, ("我们今天", O), ("去北京", C), ("你呢", Q))
    fine = words(example.text, *((sign, {"京": C, "呢": Q}.get(sign, O)) for sign in "我们今天去北京你呢"))
    assert counts_of(example, coarse).numbers.tolist() == counts_of(example, fine).numbers.tolist()
    assert counts_of(example, coarse).n_words == 9


# What the text must not tell, and what its marks mean.


def test_input_is_lower_case_and_without_marks():
    assert (
        from_text('He said: "Hello, World!" It costs $3.50 at 12:30.').text
        == "he said hello world it costs $3.50 at 12:30"
    )


def test_marks_mean_what_the_table_says():
    # The mapping of the IWSLT data: colons and dashes are commas, exclamation marks and semicolons periods.
    example = from_text("one: two — three; four! five? six")
    assert example.labels == (C, C, P, P, Q, O)


def test_a_model_with_other_labels_is_scored_in_the_labels_of_the_benchmark():
    exclamation = {"name": "EXCLAMATION", "before": "", "after": "!", "fill": "!"}
    config = PunctuationRestorationConfig(
        labels=[*DEFAULT_LABELS, exclamation], mark_labels={**DEFAULT_MARK_LABELS, "!": "EXCLAMATION"}
    )
    example = from_text("stop! no")
    assert example.labels == (P, O)
    prediction = align(example, words(example.text, ("stop", "EXCLAMATION"), ("no", O)), standard_labels(config))
    assert prediction.labels == (P, O)
    own = own_labels(config)
    example = example_from_text("stop! no", WordFinder(own.mark_labels), own, id="doc", source="test")
    assert example.labels == ("EXCLAMATION", O)


def test_a_mark_that_means_nothing_in_a_benchmark_counts_as_none():
    config = PunctuationRestorationConfig(
        labels=[*DEFAULT_LABELS, {"name": "TILDE", "before": "", "after": "~", "fill": "~"}],
        mark_labels={**DEFAULT_MARK_LABELS, "~": "TILDE"},
    )
    example = from_text("stop no")
    prediction = align(example, words(example.text, ("stop", "TILDE"), ("no", P)), standard_labels(config))
    assert prediction.labels == (O, P)


# Putting words beside units.


def test_a_mark_inside_a_token_is_an_insertion_and_the_token_is_still_scored_once():
    example = from_tokens(("and/or", O), ("so", P))
    counts = counts_of(example, words(example.text, ("and", C), ("or", O), ("so", P)))
    assert (counts.n_words, counts.stray.tolist()) == (2, [0, 1, 0, 0])
    assert score(counts).micro.precision == pytest.approx(1 / 2)


def test_a_mark_that_the_token_itself_has_is_no_insertion_of_the_model():
    example = from_tokens(("a?b", O))
    given = words(example.text, ("a", Q), ("b", O), source="input")
    assert not counts_of(example, given).stray.any()


def test_words_that_are_not_of_this_text_are_refused():
    example = from_text("one two")
    for wrong in ([("two", O)], [("one", O), ("two", O), ("two", O)]):
        given = words("one two two", *wrong)
        if len(wrong) == 1:
            given = given + words("one two two", ("one", O))
        with pytest.raises(ValueError, match="in order inside 'doc'"):
            align(example, given, LABELS)
    with pytest.raises(ValueError, match="'DASH'"):
        align(example, words(example.text, ("one", "DASH")), LABELS)


def test_the_last_word_of_each_text_is_counted_apart_but_not_where_the_text_was_cut():
    example = from_text("one two. three four.")
    given = words(example.text, ("one", O), ("two", P), ("three", O), ("four", P))
    assert by_pair(counts_of(example, given).end_text) == {(P, P): 1}
    [shorter] = cut([example], 2)
    assert (shorter.text, shorter.labels) == ("one two", (O, P))
    assert not counts_of(shorter, given[:2]).end_text.any()
    assert cut([example, example], 5)[1].text == "one"


def test_blocks_of_a_long_text_add_up_and_only_the_last_ends_it():
    example = from_tokens(*[("word", O)] * 449, ("end", P))
    given = words(example.text, *[("word", C)] * 449, ("end", P))
    parts = count_blocks(example, align(example, given, LABELS), LABELS.names)
    assert [part.counts.n_words for part in parts] == [200, 200, 50]
    assert [part.counts.end_text.sum() for part in parts] == [0, 0, 1]


def test_the_most_certain_mistakes_come_first_with_both_readings():
    example = from_text("we went home. and then, we slept.")
    given = words(example.text, ("we", O), ("went", O), ("home", C), ("and", O), ("then", O), ("we", O), ("slept", P))
    for word, certainty in zip(given, (0.5, 0.5, 0.7, 0.5, 0.99, 0.5, 0.5), strict=True):
        word["score"] = certainty
    first, second = find_mistakes(example, align(example, given, LABELS))
    assert (first.score, second.score) == (0.7, 0.99)
    assert first.reference_text == "we went home[.] and then, we slept."
    assert first.predicted_text == "we went home[,] and then we slept."
    result = iter([{"words": given}])
    assert evaluate_examples(lambda texts: result, [example], LABELS, n_mistakes=1).mistakes == [second]


def test_marks_where_the_reference_may_lack_one_are_told_apart():
    # 41 units without a mark up to the period, 40 up to the comma, 2 up to the end.
    example = from_tokens(*[("a", O)] * 40, ("b", P), *[("c", O)] * 39, ("d", C), ("e", O), ("f", O))
    assert may_lack_mark(example) == [True] * 41 + [False] * 42
    labels = [O] * 83
    labels[5] = labels[40] = labels[50] = labels[80] = labels[81] = P
    result = iter([{"words": words(example.text, *zip((word for word in example.text.split()), labels, strict=True))}])
    calibration = evaluate_examples(lambda texts: result, [example], LABELS).calibration
    assert calibration["all_words"][0].sum() == 83
    assert [calibration["marks"][row].sum() for row in (0, 1)] == [5, 1]
    assert [calibration["marks_where_marked"][row].sum() for row in (0, 1)] == [3, 0]


def test_a_blank_between_han_characters_is_where_a_caption_may_lack_a_mark():
    example = from_text("我们 今天，很好 。 你 用 Python 吗 好")
    assert units(example) == ["我", "们", "今", "天", "很", "好", "你", "用", "python", "吗", "好"]
    assert example.broken == {1, 6, 9}
    assert [n for n, unsure in enumerate(may_lack_mark(example)) if unsure] == [1, 6, 9]


def test_wrong_references_are_refused():
    with pytest.raises(ValueError, match="2 tokens, 1 labels"):
        example_from_tokens(["a", "b"], [O], LABELS, id="doc", source="test")
    with pytest.raises(ValueError, match="COMA"):
        from_tokens(("a", "COMA"))


def test_sentences_that_mix_languages_are_kept_with_their_units_and_labels():
    example = from_text("用 Python, 好。没有英文。Only this. 我用 API. Vue 好吗？一个 x 不算。")
    mixed = code_switched(example)
    assert mixed.text == "用 python 好我用 api vue 好吗"
    assert units(mixed) == ["用", "python", "好", "我", "用", "api", "vue", "好", "吗"]
    assert mixed.labels == (O, C, P, O, O, P, O, O, Q)
    assert code_switched(from_text("没有英文。Only this.")).spans == ()
