"""Subtitles: marks cross cue borders, and nothing but marks ever changes."""

import html
import json
import re
from pathlib import PurePath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from restorers import ANY_WORD, SIGN, mark_everything, marking, patient, srt

from punctuation_restoration.transcripts import FormatError, read_bytes, read_source, restore_file, write_as
from punctuation_restoration.transcripts.reading import sniff_format


def spoken(source: str, file_format: str = "srt") -> str:
    speeches = read_source(source, file_format).speeches
    return speeches[0].text if speeches else ""


def marked(source: str, file_format: str = "srt") -> str:
    return restore_file(mark_everything, read_source(source, file_format)).source()


TAGS = st.sampled_from(
    ["<i>", "</i>", "<b>", '<font color="#fff">', "</font>", r"{\an8}", "<c.yellow>", "<00:00:01.500>", "<v Ann>"]
)
WORDS = st.sampled_from("hello we're 3.5 大家好 走 saya &amp; [door] ♪ a 2019 < {x}".split())
JUNK = st.text(alphabet="ab 好-–<>{}[]()&;:\\/'\"♪>\t1", max_size=12)
PIECE = st.one_of(TAGS, WORDS, st.sampled_from([" ", "  ", "- ", ">> ", "ANNA: ", "\n"]), JUNK)
CUE_TEXT = st.lists(PIECE, max_size=8).map("".join).filter(lambda text: "-->" not in text)
LINE_END = st.sampled_from(["\n", "\r\n"])


@st.composite
def subtitle_files(draw: st.DrawFn, file_format: str) -> str:
    point = "," if file_format == "srt" else "."
    blocks = ["WEBVTT - title\n"] if file_format == "vtt" else []
    for n, text in enumerate(draw(st.lists(CUE_TEXT, max_size=6)), start=1):
        name = draw(st.sampled_from([f"{n}\n", f"{n + 7}\n", "" if file_format == "vtt" else f" {n} \n"]))
        settings = draw(st.sampled_from(["", " align:start position:0%", " X1:40 X2:600 Y1:20 Y2:50"]))
        begins, ends = sorted(draw(st.tuples(st.integers(0, 59), st.integers(0, 59))))
        times = f"00:00:{begins:02}{point}000 --> 00:00:{ends:02}{point}500{settings}\n"
        blocks.append(f"{name}{times}{text}" + draw(st.sampled_from(["\n", "\n\n", ""])))
    if file_format == "vtt" and draw(st.booleans()):
        blocks.insert(1, "NOTE a comment\nhello there\n")
        blocks.insert(2, "STYLE\n::cue { color: red }\n")
    return "\n".join(blocks).replace("\n", draw(LINE_END))


@patient
@given(st.sampled_from(["srt", "vtt"]).flatmap(lambda name: st.tuples(st.just(name), subtitle_files(name))))
@example(("srt", srt("<i>hel</i>lo", "a&nbsp;b", "大家\n好")))
def test_a_file_changes_only_by_marks_that_stand_in_words(given: tuple[str, str]) -> None:
    file_format, source = given
    restored = marked(source, file_format)
    assert restored.replace(SIGN, "") == source
    assert restored.count(SIGN) >= len(ANY_WORD.findall(spoken(source, file_format)))  # copies have theirs too
    for line, before in zip(restored.splitlines(), source.splitlines(), strict=True):
        if "-->" in before or before.startswith(("NOTE", "STYLE", "WEBVTT", "::cue")):
            assert line == before


@patient
@given(st.text(alphabet="12:,.->\n ab好<i/&;{}[]", max_size=80), st.sampled_from(["srt", "vtt"]))
def test_any_text_is_read_or_refused_with_a_line(body: str, file_format: str) -> None:
    source = ("WEBVTT\n\n" if file_format == "vtt" else "") + body
    try:
        assert marked(source, file_format).replace(SIGN, "") == source
    except FormatError as error:
        assert (error.line or 0) > 0  # noqa: PT017 (either is right here)


def test_a_file_is_one_text_and_what_was_said_twice_is_read_twice() -> None:
    assert spoken(srt("we came back\nin two thousand", "and nineteen")) == "we came back in two thousand and nineteen"
    assert spoken(srt("大家好我们", "走了")) == "大家好我们\n走了"
    assert spoken(srt("no", "no", "yes", "yes please", "come")) == "no no yes yes please come"
    assert spoken(srt("la la la", "la la la", "la la la")) == "la la la la la la la la la"
    speech = read_source(srt("- hello\n- there", "you", "<b>ANNA: yes</b>"), "srt").speeches[0]
    assert speech.text == "hello there you yes"
    assert [speech.text[turn:].split()[0] for turn in speech.turns] == ["there", "yes"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hel<b>lo</b>", "hello"), ("<I>hello</I> <p class='x'><00:00:01.000>you</p> a <b> c", "hello you a c"),
        (r"{\an8}hello", "hello"), (">> hello >>> there", "hello there"),
        ("- DR. SMITH 2: hello", "hello"), ("[door\nopens]\nhello", "hello"),
        ("(laughs)\nhello (as I said)", "hello (as I said)"), ("so (laughs) hello (APPLAUSE)", "so hello"),
        ("谢谢大家(掌声)我很高兴（开心地笑）再说一次（声明）", "谢谢大家 我很高兴 再说一次（声明）"),
        ("fish &amp; chips", "fish & chips"), ("caf&eacute; &ndash; ok&hellip;", "café – ok…"),
        ("hello\n\nthere", "hello there"), ("hello\n\n7", "hello 7"),
        ("from 10:30 - 11:30\n\n7\nyou", "from 10:30 - 11:30 7 you"),
    ],
)  # fmt: skip
def test_what_is_shown_to_the_model(text: str, expected: str) -> None:
    assert " ".join(spoken(srt(text)).split()) == expected


def test_marks_go_behind_words_inside_their_tags_and_keep_everything_else() -> None:
    source = srt("- <i>hello</i>\n- you  &amp; me", r"{\an8}[door] BOB: yes")
    expected = srt(f"- <i>hello{SIGN}</i>\n- you{SIGN}  &amp; me{SIGN}", rf"{{\an8}}[door] BOB: yes{SIGN}")
    assert marked(source) == expected


def test_a_voice_that_goes_on_is_no_turn_and_keeps_its_name_in_other_formats() -> None:
    times = [f"00:0{n}.000 --> 00:0{n}.900\n" for n in range(3)]
    texts = ["<v Mary Lee>good morning bob", "<v.loud Bob>thanks mary how are", "<v Bob>you today"]
    vtt = "WEBVTT\n\n" + "\n".join(f"{time}{text}\n" for time, text in zip(times, texts, strict=True))
    transcript = read_source(vtt, "vtt")
    assert transcript.speeches[0].turns == [len("good morning bob")]
    restored = restore_file(marking({"today": "."}), transcript)
    assert [sentence.speaker for sentence in restored.speeches[0].sentences] == ["Mary Lee", "Bob"]
    assert write_as(restored, "txt") == "MARY LEE: good morning bob\nBOB: thanks mary how are you today.\n"
    assert spoken(write_as(restored, "srt")).strip() == "good morning bob thanks mary how are you today."


def test_captions_that_scroll_are_read_once_and_marked_in_every_copy() -> None:
    lines = ["hi everyone welcome", "today we bake", "bread are you", "ready first we", "need flour"]
    blocks = ["WEBVTT\n"]
    for n, (above, below) in enumerate(zip(["", *lines], lines, strict=False)):
        blocks.append(f"00:{n:02}.000 --> 00:{n:02}.990\n{above or ' '}\n{below}\n")
        blocks.append(f"00:{n:02}.990 --> 00:{n + 1:02}.000\n{below}\n \n")
    source = "\n".join(blocks)
    transcript = read_source(source, "vtt")
    assert transcript.speeches[0].text == " ".join(lines)

    restored = restore_file(marking({"bake": "."}), transcript).source()
    assert restored == source.replace("today we bake", "today we bake.")
    assert restored.count("bake.") == 3


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1\n00:00:01,000 -> 00:00:02,000\nhello\n", r"talk:1: Expected cue times below the number 1"),
        ("1\n00:00:01,000 --> 00:00:0x,000\nhello\n", r"talk:2: Expected cue times such as .* got '00:00:01,000"),
        (srt("hello") + "\n2\n00:00:09,000 --> 00:00:08,000\nyou\n", r"talk:6: Expected a cue that ends after"),
        (srt("hello") + "\n2\n00:00:99,000 --> 00:01:08,000\nyou\n", r"talk:6: Expected cue times"),
        ("hello there\n", r"talk:1: Expected a cue's number or times, got 'hello there'"),
        (srt("hello") + "\n2\n00:00:05,000 -> 00:00:06,000\nyou\n", r"talk:6: .* times .*got '00:00:05,000 ->"),
        (srt("hello") + "\n2\n00:00:05,000\nyou\n", r"talk:6: Expected cue times .*got '00:00:05,000'"),
        (srt("hello") + "\n2\nsoon --> later\nyou\n", r"talk:6: Expected cue times .*got 'soon --> later'"),
        (srt("a", "b", "c").replace("00:00:02,000 --> 00:00:02,900\n", ""), r"talk:5: Expected cue times below .* 2"),
        ("1\n\nhello\n", r"talk:1: Expected cue times below the number 1, got none"),
        ("00:01.000 --> 00:02.000\nhello\n", r"talk:1: Expected WEBVTT in the first line"),
        ("WEBVTT\n\n00:0x.000 --> 00:02.000\nhello\n", r"talk:3: Expected cue times such as 00:00:01.000"),
        ("WEBVTT\n\n00:01.000 -> 00:02.000\nhello\n", r"talk:3: Expected cue times such as 00:00:01.000"),
        ("WEBVTT\n\n00:03.000 --> 00:02.000\nhello\n", r"talk:3: Expected a cue that ends after"),
    ],
)
def test_broken_files_are_refused_with_file_and_line(source: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_bytes(source.encode(), "vtt" if "WEBVTT" in source + message else "srt", name="talk")


def test_overlapping_and_empty_cues_are_reported_and_kept() -> None:
    source = (
        "1\n00:00:01,000 --> 00:00:03,000\nhello\n\n2\n00:00:02,000 --> 00:00:04,000\n\n"
        "3\n00:00:01,500 --> 00:00:05,000\nthere\n"
    )
    assert read_source(source, "srt").warnings == [
        "line 6: the cue overlaps the cue above it",
        "line 6: the cue has no text",
        "line 9: the cue begins before the cue above it; they are read in this order",
    ]
    assert marked(source) == source.replace("hello", "hello" + SIGN).replace("there", "there" + SIGN)


def test_sentences_have_the_times_of_their_cues() -> None:
    restored = restore_file(marking({"stop": "."}), read_source(srt("hello there", "you stop now"), "srt"))
    assert [sentence.row() for sentence in restored.speeches[0].sentences] == [
        {"start": 1.0, "end": 2.63, "text": "hello there you stop."},  # seven of the cue's ten letters
        {"start": 2.63, "end": 2.9, "text": "now"},
    ]


SHOWN = (
    "1\n00:00:01,000 --> 00:00:03,000\n[music]\n\n"
    "2\n00:00:04,000 --> 00:00:06,000\nMARY: i went\nhome\n\n"
    "3\n00:00:06,500 --> 00:00:07,500\n(laughs)\n- really [door]\n\n"
    "4\n00:00:08,000 --> 00:00:10,000\nMARY: yes\n\n"
    "5\n00:00:10,000 --> 00:00:12,000\nMARY: it was\n(sighs)\n"
)


def test_names_dashes_and_sounds_stay_in_new_cues() -> None:
    restored = restore_file(marking({"home": ".", "really": "?", "was": "."}), read_source(SHOWN, "srt"))
    blocks = [block.split("\n", 2)[2].split() for block in write_as(restored, "srt").strip().split("\n\n")]
    assert [" ".join(words) for words in blocks] == [
        "[music]", "MARY: i went home.", "- (laughs) really? [door]", "MARY: yes it was. (sighs)",
    ]  # fmt: skip
    rows = [sentence.row() for sentence in restored.speeches[0].sentences]
    assert (rows[0]["text"], rows[0]["speaker"]) == ("i went home.", "MARY")
    assert restored.source() == SHOWN.replace("home", "home.").replace("really", "really?").replace("was", "was.")


def test_a_sound_inside_a_sentence_has_its_own_cue_and_no_other_lies_over_it() -> None:
    segments = [
        {"start": n, "end": n + 1, "text": text} for n, text in enumerate(["i went", "[music]", "home (sighs)"])
    ]
    words = [{**segment, "word": segment["text"]} for segment in segments]
    for source, file_format in (
        (srt("i went", "[music]", "home (sighs)"), "srt"),
        (json.dumps({"segments": segments}), "json"),
        (json.dumps({"segments": [{**one, "words": [one]} for one in words]}), "json"),
    ):
        restored = restore_file(marking({"home": "."}), read_source(source, file_format))
        written = write_as(restored, "srt")
        assert [block.split("\n")[2] for block in written.strip().split("\n\n")] == [
            "i went",
            "[music]",
            "home. (sighs)",
        ]
        assert not read_source(written, "srt").warnings
    rolling = srt(
        "[music]", "[music]\nhello you all", "hello you all\nit is late", "it is late\nso we go", "so we go\nhome"
    )
    assert write_as(restore_file(marking({}), read_source(rolling, "srt")), "srt").count("[music]") == 1


def test_in_captions_that_scroll_a_sound_below_a_repeated_line_is_shown_when_it_is_heard() -> None:
    told = srt(
        "hello you all",
        "hello you all\nit is late",
        "it is late\n[music]",
        "[music]\nso we go",
        "so we go\n[door]\nhome",
    )
    restored = restore_file(marking({}), read_source(told, "srt"))
    sounds = [(sound.text, sound.time) for sound in restored.speeches[0].speech.sounds]
    assert sounds == [("[music]", (3.0, 3.9)), ("[door]", (5.0, 5.9))]
    shown = " ".join(line for line in write_as(restored, "srt").splitlines() if re.search(r"[a-z]", line))
    assert shown == "hello you all it is late [music] so we go [door] home"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file_may_break_off_anywhere_after_its_first_times(line_end: str) -> None:
    source = srt("hello you", "hello you", "hello").replace("\n", line_end)
    for end in range(source.index("hello"), len(source)):
        assert "hello you hello you hello".startswith(" ".join(spoken(source[:end]).split()))
        assert marked(source[:end]).replace(SIGN, "") == source[:end]


BRACKETED = [
    "i called (my mother) today", "(so) we left", 'he said "hello there" and left', "他说「你好」走了",
    "the dogs' home", "... and we left", "👍 hello there", "it fell to -5 degrees", "read a <b>word</b> &lt;now&gt;",
]  # fmt: skip


@pytest.mark.parametrize("text", BRACKETED)
def test_signs_stay_with_their_words_in_new_cues(text: str) -> None:
    new = write_as(restore_file(marking({}), read_source(srt(text), "srt")), "srt")
    assert new.splitlines()[2] == text.replace("<b>", "").replace("</b>", "").replace("&lt;", "<").replace("&gt;", ">")


def test_a_number_that_ends_a_cue_without_a_number_of_its_own_is_said() -> None:
    without = srt("the year was\n1984", "and it rained").replace("1\n00:", "00:").replace("2\n00:", "00:")
    assert spoken(without).split() == "the year was 1984 and it rained".split()


@pytest.mark.parametrize("texts", [("hello", "in 1984"), ("the year was\n\n1984", "", "and\n\n2\nit rained")])
@pytest.mark.parametrize("below", ["\n\n", "\r\n\r\n", "\n \n"])
def test_empty_lines_below_a_cues_number_are_passed_over(texts: tuple[str, ...], below: str) -> None:
    said = spoken(srt(*texts)).split()
    apart = re.sub(r"(?m)^(\d+)\n(?=00:)", rf"\1{below}", srt(*texts))
    for source in (apart, srt(*texts).replace("\n", "\n\n"), srt(*texts).replace("\n", "\r\r\n")):
        assert spoken(source).split() == said
        assert marked(source).replace(SIGN, "") == source
        assert sniff_format(source) == "srt"
    twice = "WEBVTT\n\n00:01.000 --> 00:02.000\nhello\nyou\n".replace("\n", "\r\r\n")
    assert marked(twice, "vtt") == twice.replace("hello", f"hello{SIGN}").replace("you", f"you{SIGN}")


def test_zooms_names_in_webvtt() -> None:
    texts = ["Mary Lee: good morning", "Bo Chan: morning", "Mary Lee: shall we"]
    vtt = "WEBVTT\n\n" + "\n".join(f"{n}\n00:0{n}.000 --> 00:0{n}.900\n{text}\n" for n, text in enumerate(texts))
    assert spoken(vtt, "vtt").split() == "good morning morning shall we".split()
    assert spoken(vtt.replace("Bo Chan: ", "").replace("Mary Lee: shall", "Note: shall"), "vtt").count(":") == 2


def test_highlighted_words_are_read_once_and_marked_in_every_copy() -> None:
    cues = [
        " ".join(f"<u>{word}</u>" if k == n else word for k, word in enumerate(line.split()))
        for line in ("hello how are you", "no no")
        for n in range(len(line.split()) + 1)  # the last cue of a line has no word highlighted
    ]
    transcript = read_source(srt(*cues), "srt")
    assert transcript.speeches[0].text.split() == "hello how are you no no".split()
    restored = restore_file(marking({"hello": ",", "you": "?"}), transcript)
    assert restored.source().replace("<u>", "").replace("</u>", "").count("hello, how are you?") == 5
    assert write_as(restored, "txt") == "hello, how are you?\nno no\n"
    assert restored.speeches[0].sentences[0].ends == 5.9


@pytest.mark.parametrize(
    ("first", "second", "starts"),
    [
        ("<i>Hello?</i>", "Hello?", 70), (r"{\an8}No!", "No!", 4), ("<v Ann>Hello", "<v Bo>Hello", 2),
        ("<b>Ja</b>", "<i>Ja</i>", 3),
    ],
)  # fmt: skip
def test_what_another_says_or_somebody_says_later_is_said_twice(first: str, second: str, starts: int) -> None:
    times = f"00:01.000 --> 00:02.000\n{first}\n\n{starts // 60:02}:{starts % 60:02}.000 --> 01:30.000\n{second}\n"
    speech = read_source(f"WEBVTT\n\n{times}", "vtt").speeches[0]
    assert len(speech.text.split()) == 2
    assert [span.time[0] for span in speech.spans] == [1.0, starts]


GROWING = ["we", "we met.", "we met in.", "we met in Rome.", "Who.", "Who was.", "Who was there."]


def test_of_captions_that_grow_the_last_stage_counts_whatever_marks_the_others_have() -> None:
    restored = restore_file(marking({"there": "?"}), read_source(srt(*GROWING), "srt"))
    assert restored.speeches[0].speech.text == "we met in Rome. Who was there."
    rows = [sentence.row() for sentence in restored.speeches[0].sentences]
    assert rows == [
        {"start": 1.0, "end": 4.9, "text": "we met in Rome."},
        {"start": 5.0, "end": 7.9, "text": "Who was there?."},
    ]
    assert restored.source() == srt(*GROWING).replace("there.", "there?.")


@pytest.mark.parametrize("text", ["r&amp;d", "caf&eacute; so"])
def test_entities_of_json_are_escaped_once_in_webvtt(text: str) -> None:
    segments = [{"start": 0.0, "end": 1.0, "text": text}]
    restored = restore_file(marking({}), read_source(json.dumps({"segments": segments}), "json"))
    assert write_as(restored, "vtt").splitlines()[3] == text.replace("&eacute;", "é")


@pytest.mark.parametrize("text", ["at&t rock&notes", "see a.com/x=1&region=us", "the <b> tag", "<i>so</i> a < b"])
@pytest.mark.parametrize("target", ["srt", "vtt"])
def test_words_that_look_like_tags_or_entities_are_the_same_in_new_cues(text: str, target: str) -> None:
    for source in (json.dumps({"segments": [{"start": 0.0, "end": 9.0, "text": text}]}), srt(html.escape(text))):
        transcript = read_source(source, "json" if source[0] == "{" else "srt")
        written = write_as(restore_file(marking({}), transcript), target)
        (again,) = read_source(written, target).speeches
        assert again.text.split() == text.split()


def test_a_voice_is_named_as_it_is_written() -> None:
    vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v R&notes &amp; d>hello you\n"
    assert write_as(restore_file(marking({}), read_source(vtt, "vtt")), "txt") == "R&NOTES & D: hello you\n"


def test_a_line_of_digits_of_any_length_is_said() -> None:
    source = srt("hello\n\n" + "7" * 5000, "you")
    assert marked(source).count("7") == 5000


@pytest.mark.parametrize("end", ["<br>", "<BR />", "\\N"])
def test_line_breaks_part_words(end: str) -> None:
    source = srt(f"where do you live{end}in london")
    restored = restore_file(marking({"live": "?"}), read_source(source, "srt"))
    assert restored.source() == source.replace("live", "live?")
    assert write_as(restored, "txt") == "where do you live?\nin london\n"


@pytest.mark.parametrize("name", ["calls.csv", "page.html", "talk.smi"])
def test_tables_and_markup_are_refused_rather_than_read_as_text(name: str) -> None:
    with pytest.raises(FormatError, match=PurePath(name).suffix):
        read_bytes(b"id,text\n1,hello you\n", name=name)
