"""The page of the Space: run from a copy of its folder, asked through its endpoint and used in a real browser."""

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import space_server
import yaml
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.transcripts import read_bytes, restore_transcript

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
SPACE = ROOT / "space"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEXT = "hello are you the 你好我们大家今天 saya is the awak in 北京"
N_CLIENTS = 50

needs_gradio = pytest.mark.skipif(
    not importlib.util.find_spec("gradio"), reason="Gradio is not installed: pip install -e '.[space]'"
)
needs_browser = pytest.mark.skipif(
    not CHROMIUM or not importlib.util.find_spec("playwright"),
    reason="no Chromium or no Playwright: apt-get install chromium; pip install playwright",
)
# The libraries of the client side warn of their own futures; what the page does runs in a process of its own.
pytestmark = pytest.mark.filterwarnings("default")


def load(path: Path):
    """A module that is in no package."""
    spec = importlib.util.spec_from_file_location(f"loaded_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


views = load(SPACE / "views.py")


@pytest.mark.parametrize("keywords", [{}, {"existing": "replace"}, {"truecase": True}, {"existing": "condition"}])
@pytest.mark.parametrize(
    "text", [TEXT, 'he said "hello you" are, you. the (awak) 我们，大家好吗', "the the the", "", "..."]
)
def test_highlights_join_to_the_restored_text_and_show_each_mark_once(text, keywords, tiny_pipeline):
    result = tiny_pipeline(text, **keywords)
    parts = views.highlights(text, result["edits"], result["words"])
    assert "".join(part for part, _ in parts) == result["text"]
    words = [word for word in result["words"] if word["mark"]]
    shown = [(part, edit["label"], edit["score"], edit["source"]) for part, edit in parts if edit]
    assert shown == [(word["mark"], word["label"], word["score"], word["source"]) for word in words]


@pytest.mark.parametrize(("style", "slot"), [("mask", "<mask>"), ("last-piece", "")])
def test_the_page_shows_a_mask_where_the_model_reads_one(style, slot, tiny_config, tiny_tokenizer):
    config = type(tiny_config)(**{**tiny_config.to_dict(), "slot_style": style})
    model = PunctuationRestorationModel(config).eval()
    restorer = object.__new__(load(SPACE / "restorer.py").PageRestorer)
    restorer.pipeline = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")
    text = "hello, you are"
    words = restorer.pipeline(text, existing="condition")["words"]
    shown = restorer.slots(text, words, "condition")
    assert shown == [("▁hello", ","), ("▁you", slot), ("▁are", slot)]


def test_subtitles_made_of_a_file_in_another_encoding_are_utf_8(tiny_checkpoint, tmp_path):
    restorer = load(SPACE / "restorer.py").PageRestorer(tiny_checkpoint)
    given = tmp_path / "talk.srt"
    given.write_bytes("1\n00:00:01,000 --> 00:00:02,000\nhello 你好\n".encode("utf-16"))
    made, _ = restorer.restore_file(given, tmp_path, "vtt")
    assert "你好" in made.read_text("utf-8")
    kept, _ = restorer.restore_file(given, tmp_path)
    assert "你好" in kept.read_text("utf-16")


def test_certainty_has_four_names_each_with_a_colour():
    scores = {0.95: views.SURE, 0.9: views.SURE, 0.7: views.LIKELY, 0.69: views.UNSURE}
    assert {score: views.certainty_of({"score": score, "source": "model"}) for score in scores} == scores
    assert views.certainty_of({"score": 1.0, "source": "input"}) == views.OWN
    assert set(views.CLASSES) == {views.SURE, views.LIKELY, views.UNSURE, views.OWN}
    style = (SPACE / "style.css").read_text(encoding="utf-8")
    assert all(f".{name} {{ background: #" in style for name in views.CLASSES.values())


def test_each_mark_has_its_colour_and_its_probability():
    comma = {"start": 5, "removed": "", "inserted": ",", "label": "COMMA", "score": 0.92, "source": "model"}
    words = [
        {"word": "hello", "start": 0, "end": 5, "mark": ",", "label": "COMMA", "score": 0.92, "source": "model"},
        {"word": "you", "start": 6, "end": 9, "mark": "?", "label": "QUESTION", "score": 1.0, "source": "input"},
    ]
    page = views.certainty_html(views.highlights("hello you?", [comma], words))
    assert 'hello<mark class="sure" title="comma, 92%">,</mark>' in page
    assert ' you<mark class="own" title="was in the text">?</mark>' in page
    assert views.OWN in page
    assert views.OWN not in views.certainty_html(views.highlights("hello", [comma], words[:1]))


def test_masks_and_marks_show_the_text_of_visitors_as_text():
    word = {"mark": ",", "score": 0.5, "source": "model"}
    assert "<b>" not in views.certainty_html([("<b>", None)])
    page = views.masks_html([("<script>alert(1)</script>", "<mask>")], [word] * 4)
    assert "<script>" not in page
    assert "&lt;mask&gt;" in page
    assert "3 words more" in page


def test_the_front_matter_is_what_the_hub_reads():
    front = yaml.safe_load((SPACE / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert (SPACE / front["app_file"]).is_file()
    assert front["sdk"] == "gradio"
    assert re.fullmatch(r"6\.\d+\.\d+", front["sdk_version"])
    assert len(front["short_description"]) <= 60  # the Hub refuses longer ones
    assert front["models"] == [punctuation_restoration.default_models.HUB_MODEL]


@pytest.fixture(scope="module")
def server(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """The page, served by a process of its own from a copy of the folder."""
    with space_server.serve(tmp_path_factory.mktemp("page"), tiny_checkpoint) as server:
        yield server


@needs_gradio
@pytest.mark.slow
def test_the_documented_call_gives_what_the_pipeline_gives(server, tiny_pipeline):
    from gradio_client import Client

    client = Client(server.url, verbose=False)
    code = (SPACE / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    code = code.replace('Client("http://127.0.0.1:7860")', "given").replace("from gradio_client import Client", "")
    names = {"given": client}
    exec(code, names)
    expected = tiny_pipeline("hello how are you")
    assert names["answer"]["text"] == expected["text"]
    assert [word["mark"] for word in names["answer"]["words"]] == [word["mark"] for word in expected["words"]]
    answer = client.predict(TEXT, "sentence-ends", "keep", True, 0.0, api_name="/restore")
    assert answer["text"] == tiny_pipeline(TEXT, marks="sentence-ends", truecase=True)["text"]
    assert list(client.view_api(print_info=False, return_format="dict")["named_endpoints"]) == ["/restore"]


@needs_gradio
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("a" * 20_001, "all", "keep", False, 0.0), "20,000"),
        (("hello", "some", "keep", False, 0.0), "sentence-ends"),
        (("hello", "all", "keep", False, 7.0), "threshold"),
        ((None, "all", "keep", False, 0.0), "Expected a text, got NoneType"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(arguments, expected, server):
    name, value = space_server.ask(server.url, *arguments)
    assert name == "error"
    assert expected in json.dumps(value)


@needs_gradio
@pytest.mark.slow
def test_fifty_visitors_at_once_each_get_their_own_text(server, tiny_pipeline):
    syllables = ("the", "you", "are", "hello", "is", "saya", "awak", "我们", "大家", "你好")
    texts = [" ".join(syllables[(i * step + i) % 10] for step in range(1, 12)) + f" {i}" for i in range(N_CLIENTS)]

    answers = space_server.visit_at_once(server.url, texts)
    assert answers == [restored["text"] for restored in tiny_pipeline(texts)]


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page in the browser, and what it complained of and asked for."""

    def __init__(self, browser, url: str, theme: str = "light", width: int = 1280) -> None:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        context.set_default_timeout(60_000)
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", lambda told: told.type == "error" and self.complaints.append(told.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda sent: self._note(sent.url, url))
        self.page.goto(f"{url}/?__theme={theme}")

    def _note(self, asked: str, own: str) -> None:
        if not asked.startswith((own, "data:", "blob:")):
            self.foreign.append(asked)

    def type(self, text: str) -> None:
        self.page.locator("#spoken textarea").fill(text)

    def wait_for(self, text: str, box: str = "#restored textarea") -> None:
        """Wait until a box has this text."""
        self.page.wait_for_function(
            "([box, text]) => document.querySelector(box).value === text", arg=[box, text], timeout=60_000
        )

    def end(self) -> None:
        assert self.complaints == []
        assert self.foreign == []
        self.page.context.close()


@needs_gradio
@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_visitor_types_and_reads_the_restored_text(theme, width, server, browser, tiny_pipeline):
    visit = Visit(browser, server.url, theme, width)
    visit.type(TEXT)
    result = tiny_pipeline(TEXT)
    visit.wait_for(result["text"])
    page = visit.page
    shown = page.locator("#certain .certain").inner_text()
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", result["text"])
    assert "words a second" in page.locator("#about").inner_text()
    page.get_by_role("button", name="How it works").click()
    page.locator("#masks li").nth(len(result["words"]) - 1).wait_for()
    assert page.locator("#masks li").count() == len(result["words"])
    assert page.locator("#masks .slot").first.inner_text() == "<mask>"
    overhang = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overhang <= 0
    assert page.evaluate("document.body.classList.contains('dark')") == (theme == "dark")
    visit.end()


@needs_gradio
@needs_browser
@pytest.mark.slow
def test_options_change_the_text_at_once_and_the_keyboard_suffices(server, browser, tiny_pipeline):
    visit = Visit(browser, server.url)
    page = visit.page
    visit.type(TEXT)
    visit.wait_for(tiny_pipeline(TEXT)["text"])
    page.get_by_role("button", name="Options").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Only sentence ends").focus()
    page.keyboard.press("Space")
    visit.wait_for(tiny_pipeline(TEXT, marks="sentence-ends")["text"])
    page.get_by_label("Capitals", exact=True).focus()
    page.keyboard.press("Space")
    visit.wait_for(tiny_pipeline(TEXT, marks="sentence-ends", truecase=True)["text"])
    page.get_by_role("button", name="Clear").focus()
    page.keyboard.press("Enter")
    visit.wait_for("")
    page.get_by_role("button", name="Malay").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#restored textarea').value.length > 20")
    assert "words a second" in page.locator("#about").inner_text()
    visit.end()


@needs_gradio
@needs_browser
@pytest.mark.slow
def test_the_text_is_restored_again_while_it_is_typed_or_by_the_button(server, browser, tiny_pipeline):
    visit = Visit(browser, server.url)
    spoken, restored = (visit.page.locator(f"#{name} textarea") for name in ("spoken", "restored"))
    spoken.press_sequentially("hello are")
    visit.wait_for(tiny_pipeline("hello are")["text"])
    spoken.press_sequentially(" you the")
    before = tiny_pipeline("hello are you the")["text"]
    visit.wait_for(before)
    assert spoken.input_value() == "hello are you the"
    visit.page.get_by_label("Restore while I type").uncheck()
    visit.type("saya are you")
    visit.page.wait_for_timeout(500)
    assert restored.input_value() == before
    visit.page.get_by_role("button", name="Restore", exact=True).click()
    visit.wait_for(tiny_pipeline("saya are you")["text"])
    visit.end()


@needs_gradio
@needs_browser
@pytest.mark.slow
def test_a_transcript_comes_back_with_marks_and_in_other_formats(server, browser, tiny_pipeline, tmp_path):
    visit = Visit(browser, server.url)
    page = visit.page
    page.get_by_role("tab", name="File").click()
    for name in ("talk.srt", "talk.vtt", "whisper.json"):
        path = ROOT / "examples" / "transcripts" / name
        transcript, encoding = read_bytes(path.read_bytes(), name=name)
        expected = restore_transcript(transcript, tiny_pipeline).source()
        page.locator("#upload input[type=file]").set_input_files(path)
        visit.wait_for(expected[:2000].replace("\r\n", "\n"), "#preview textarea")
        with page.expect_download() as begun:
            page.locator("#download").click()
        begun.value.save_as(tmp_path / name)
        assert begun.value.suggested_filename == f"{path.stem}-restored{path.suffix}"
        assert (tmp_path / name).read_bytes() == encoding.encode(expected)
        page.get_by_label("Remove").or_(page.get_by_label("Clear")).first.click()
        visit.wait_for("", "#preview textarea")
    visit.end()


@needs_gradio
@needs_browser
@pytest.mark.slow
def test_an_option_changes_the_file_too_and_a_broken_file_does_not_hold_the_text_back(
    server, browser, tiny_pipeline, tmp_path
):
    visit = Visit(browser, server.url)
    page = visit.page
    visit.type(TEXT)
    visit.wait_for(tiny_pipeline(TEXT)["text"])
    page.get_by_role("tab", name="File").click()
    path = ROOT / "examples" / "transcripts" / "talk.srt"
    page.locator("#upload input[type=file]").set_input_files(path)
    transcript, _ = read_bytes(path.read_bytes(), name=path.name)
    visit.wait_for(restore_transcript(transcript, tiny_pipeline).source()[:2000], "#preview textarea")
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Capitals", exact=True).click()
    capitals = restore_transcript(transcript, tiny_pipeline, truecase=True).source()[:2000]
    visit.wait_for(capitals, "#preview textarea")
    visit.wait_for(tiny_pipeline(TEXT, truecase=True)["text"])
    page.get_by_label("Remove").or_(page.get_by_label("Clear")).first.click()
    visit.wait_for("", "#preview textarea")
    (tmp_path / "broken.json").write_text('{"segments": [{"text": "hello')
    page.locator("#upload input[type=file]").set_input_files(tmp_path / "broken.json")
    page.get_by_test_id("toast-body").first.wait_for()
    page.get_by_label("Capitals", exact=True).click()
    visit.wait_for(tiny_pipeline(TEXT)["text"])
    visit.end()


@needs_gradio
@needs_browser
@pytest.mark.slow
def test_what_cannot_be_read_is_said_in_a_sentence_and_logged_nowhere(server, browser, tmp_path):
    visit = Visit(browser, server.url)
    page = visit.page
    page.get_by_role("tab", name="File").click()
    (tmp_path / "broken.json").write_text('{"segments": [{"text": "secretword')
    page.locator("#upload input[type=file]").set_input_files(tmp_path / "broken.json")
    toast = page.get_by_test_id("toast-body")
    toast.wait_for()
    assert "broken.json" in toast.inner_text()
    assert "Traceback" not in toast.inner_text()
    page.get_by_role("tab", name="Text").click()
    visit.type("secretword the " * 2000)
    page.get_by_text("A long text: press").wait_for()
    page.get_by_role("button", name="Restore", exact=True).click()
    page.get_by_text("the page takes up to 20,000").wait_for()
    visit.end()
    log = server.log.read_text(encoding="utf-8")
    assert "secretword" not in log
    assert "Traceback" not in log
