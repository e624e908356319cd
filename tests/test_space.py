"""The page of the Space: run from the folder that goes to the Hub, asked through its endpoint, used in a browser."""

import contextlib
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import punctuation_restoration
from punctuation_restoration.transcripts import read_bytes, restore_file
from tools import space_folder

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
SPACE = ROOT / "space"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEXT = "hello are you the 你好我们大家今天 saya is the awak in 北京"

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


@pytest.mark.parametrize("keywords", [{}, {"existing": "replace"}, {"truecase": True}])
@pytest.mark.parametrize(
    "text", [TEXT, 'he said "hello you" are, you. the (awak) 我们，大家好吗', "the the the", "", "..."]
)
def test_parts_join_to_the_restored_text_and_each_word_has_its_mark(text, keywords, tiny_pipeline):
    result = tiny_pipeline(text, **keywords)
    parts = list(views.parts(text, result["edits"], result["words"]))
    assert "".join(part for part, _ in parts) == result["text"]
    shown = {index: part for part, index in parts if index is not None}
    assert list(shown) == list(range(len(result["words"])))
    for part, word in zip(shown.values(), result["words"], strict=True):
        mark = word["mark"] if word["source"] == "model" else ""
        assert part.lower().startswith(word["word"].lower())
        assert part.endswith(mark)  # after a closing quotation mark, too
        assert mark or len(part) == len(word["word"])


def word(mark=",", score=0.5, source="model", **others):
    scores = {"O": 1 - score, "COMMA": score} if mark else {"O": score, "COMMA": 1 - score}
    decision = {"mark": mark, "score": score, "source": source, "scores": scores}
    return {"word": "a", "start": 0, "end": 1, **decision, **others}


def test_one_decision_in_ten_marks_is_doubtful_the_least_sure_and_none_that_is_sure():
    assert views.doubtful([word(score=0.9)] * 8) == set()
    assert views.doubtful([word(score=0.9)] * 7 + [word(score=0.5)]) == {7}
    assert views.doubtful([word(score=0.5)] * 10) == {0}
    assert views.doubtful([word(score=0.5)] * 10 + [word("", score=0.4)]) == {10}, "a missing mark may be doubtful too"
    assert views.doubtful([word(score=0.5 - 0.01 * n) for n in range(11)]) == {9, 10}
    assert views.doubtful([word(score=0.1, source="input")]) == set()
    assert views.doubtful([]) == set()


def test_doubts_can_be_reached_by_keyboard_and_name_their_alternatives():
    comma = {"start": 5, "removed": "", "inserted": ",", "label": "COMMA", "score": 0.42, "source": "model"}
    scores = {"O": 0.4, "COMMA": 0.42, "PERIOD": 0.15, "QUESTION": 0.03}
    words = [word(score=0.42, end=5) | {"scores": scores}, word("", 0.99, start=6, end=9)]
    page = views.restored_html("<h>lo you", [comma], words)
    assert '<span class="doubt" tabindex="0">&lt;h&gt;lo,<span' in page
    assert "comma 42%, no mark 40%, period 15%<" in page
    assert page.count('class="doubt"') == 1
    assert views.HINT in page
    assert views.SURE_HINT in views.restored_html("hello", [], [word("", 0.99, end=5)])


def test_both_models_are_offered_where_both_are_there(tiny_checkpoint, monkeypatch):
    restorer = load(SPACE / "restorer.py")
    monkeypatch.setattr(restorer, "DEFAULT_MODEL", tiny_checkpoint)
    monkeypatch.setattr(restorer, "FAST", punctuation_restoration.default_models.HUB_FAST)
    monkeypatch.delenv("PUNCTUATION_RESTORATION_MODEL", raising=False)
    assert restorer.page_models() == {"accurate": tiny_checkpoint}
    monkeypatch.setattr(restorer, "FAST", "somewhere")
    assert restorer.page_models() == {"accurate": tiny_checkpoint, "fast": "somewhere"}
    with pytest.raises(ValueError, match="Expected a model out of"):
        restorer.PageRestorer({"accurate": tiny_checkpoint}).restore("hello", model="fast")


def test_the_front_matter_is_what_the_hub_reads():
    front = yaml.safe_load((SPACE / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert (SPACE / front["app_file"]).is_file()
    assert front["sdk"] == "gradio"
    assert re.fullmatch(r"6\.\d+\.\d+", front["sdk_version"])
    assert len(front["short_description"]) <= 60  # the Hub refuses longer ones
    ours = punctuation_restoration.default_models
    assert front["models"] == front["preload_from_hub"] == [ours.HUB_MODEL, ours.HUB_FAST]


def test_the_folder_for_the_hub_is_whole_and_restores_files_as_the_command_does(
    tiny_checkpoint, tiny_pipeline, tmp_path
):
    assert space_folder.main([str(tmp_path / "page")]) == 0
    own = {path.name for path in SPACE.iterdir() if path.is_file()}
    assert {path.name for path in (tmp_path / "page").iterdir()} == {*own, "LICENSE", "punctuation_restoration"}
    restorer, path = load(tmp_path / "page" / "restorer.py"), ROOT / "examples" / "inputs" / "talk.srt"
    written, _ = restorer.PageRestorer({"accurate": tiny_checkpoint}).restore_file(path, tmp_path)
    transcript, _ = read_bytes(path.read_bytes(), name=path.name)
    assert written.read_text(encoding="utf-8") == restore_file(tiny_pipeline, transcript).source()


@pytest.fixture(scope="module")
def server(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The page, served by a process of its own from such a folder: its address, and where the process writes."""
    if not importlib.util.find_spec("gradio"):
        pytest.skip("Gradio is not installed: pip install -e '.[space]'")
    folder = tmp_path_factory.mktemp("page")
    assert space_folder.main([str(folder / "space")]) == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ, "PUNCTUATION_RESTORATION_MODEL": tiny_checkpoint, "GRADIO_SERVER_PORT": str(port),
        "PYTHONPATH": "", "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=folder / "space", env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    end = time.monotonic() + 300
    while "Running on local URL" not in (told := (folder / "log.txt").read_text(encoding="utf-8")):
        assert process.poll() is None, told
        assert time.monotonic() < end, told
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}", folder / "log.txt"
    process.terminate()
    assert process.wait(timeout=30) == 0
    left = {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}
    assert left == {"log.txt", "space"}, "visitors' files stay"


@pytest.mark.slow
def test_the_documented_call_gives_what_the_pipeline_gives_and_a_wrong_one_what_is_wrong(server, tiny_pipeline):
    from gradio_client import Client
    from gradio_client.exceptions import AppError

    client = Client(server[0], verbose=False)
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
    for text, threshold, model, message in (
        ("a" * 20_001, 0.0, "accurate", "20,000"),
        ("hello", 7.0, "accurate", "threshold"),
        ("hello", 0.0, "huge", "Expected a model"),
        (None, 0.0, "accurate", "Expected a text, got NoneType"),
    ):
        with pytest.raises(AppError, match=message):
            client.predict(text, "all", "keep", False, threshold, model, api_name="/restore")


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    if not CHROMIUM or not importlib.util.find_spec("playwright"):
        pytest.skip("no Chromium or no Playwright: apt-get install chromium; pip install playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def visit(browser, url: str, theme: str = "light", width: int = 1280) -> Iterator[Any]:
    """A page in the browser, which complains of nothing and asks nobody else."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page, complaints = context.new_page(), []
    page.on("console", lambda told: told.type == "error" and complaints.append(told.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda sent: sent.url.startswith((url, "data:", "blob:")) or complaints.append(sent.url))
    page.goto(f"{url}/?__theme={theme}")
    yield page
    assert complaints == []
    context.close()


def write(page, text: str, expected: str) -> None:
    """Write into the box of the spoken text, and wait for what is restored."""
    page.locator("#spoken textarea").fill(text)
    wait_for(page, expected)


def wait_for(page, text: str) -> None:
    """Wait until this text is shown as the restored one, whichever tab is open."""
    read = "text => [...document.querySelectorAll('#restored .shown')].map(own => own.cloneNode(true)).map(own => {"
    read += "own.querySelectorAll('.choices').forEach(one => one.remove()); return own.textContent}).join() === text"
    page.wait_for_function(read, arg=text)


def wait_for_preview(page, text: str) -> None:
    """Wait until a file's result begins so."""
    page.wait_for_function("text => document.querySelector('#preview textarea').value === text", arg=text)


def press(page, key: str, element) -> None:
    element.focus()
    page.keyboard.press(key)


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_visitor_types_and_reads_the_restored_text(theme, width, server, browser, tiny_pipeline):
    text, result = TEXT * 9, tiny_pipeline(TEXT * 9)
    with visit(browser, server[0], theme, width) as page:
        write(page, text, result["text"])
        edge = page.locator("#restored .shown").bounding_box()
        for doubt in page.locator("#restored .doubt").all():
            doubt.focus()
            box = doubt.locator(".choices").bounding_box()
            assert edge["x"] <= box["x"] < box["x"] + box["width"] <= edge["x"] + edge["width"]
        page.get_by_role("tab", name="Text").focus()
        shown = page.locator("#restored .shown").inner_text()
        assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", result["text"])
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        page.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == result["text"]
        assert "words a second" in page.locator("#about").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert page.evaluate("document.body.classList.contains('dark')") == (theme == "dark")


@pytest.mark.slow
def test_options_change_the_text_at_once_and_the_keyboard_suffices(server, browser, tiny_pipeline):
    with visit(browser, server[0]) as page:
        write(page, TEXT, tiny_pipeline(TEXT)["text"])
        press(page, "Enter", page.get_by_role("button", name="Options"))
        press(page, "Space", page.get_by_label("Only sentence ends"))
        wait_for(page, tiny_pipeline(TEXT, marks="sentence-ends")["text"])
        press(page, "Space", page.get_by_label("Capitals", exact=True))
        before = tiny_pipeline(TEXT, marks="sentence-ends", truecase=True)["text"]
        wait_for(page, before)
        press(page, "Space", page.get_by_label("Restore while I type"))
        page.locator("#spoken textarea").fill("saya are you")
        page.wait_for_timeout(500)
        assert page.locator("#restored .shown").inner_text() == before
        press(page, "Enter", page.get_by_role("button", name="Restore", exact=True))
        wait_for(page, tiny_pipeline("saya are you", marks="sentence-ends", truecase=True)["text"])
        press(page, "Enter", page.get_by_role("button", name="Clear"))
        wait_for(page, "")


@pytest.mark.slow
def test_a_transcript_comes_back_in_one_view_and_an_option_changes_it(server, browser, tiny_pipeline, tmp_path):
    path = ROOT / "examples" / "inputs" / "talk.srt"
    transcript, encoding = read_bytes(path.read_bytes(), name=path.name)
    expected = restore_file(tiny_pipeline, transcript).source()
    with visit(browser, server[0]) as page:
        write(page, TEXT, tiny_pipeline(TEXT)["text"])
        page.get_by_role("tab", name="File").click()
        page.locator("#upload input[type=file]").set_input_files(path)
        wait_for_preview(page, expected[:2000].replace("\r\n", "\n"))
        with page.expect_download() as begun:
            page.locator("#download").click()
        begun.value.save_as(tmp_path / path.name)
        assert begun.value.suggested_filename == "talk-restored.srt"
        assert (tmp_path / path.name).read_bytes() == encoding.encode(expected)
        page.get_by_role("button", name="Options").click()
        page.get_by_label("Capitals", exact=True).click()
        capitals = restore_file(tiny_pipeline, transcript, truecase=True).source()
        wait_for_preview(page, capitals[:2000])
        wait_for(page, tiny_pipeline(TEXT, truecase=True)["text"])


@pytest.mark.slow
def test_what_cannot_be_read_is_said_in_a_sentence_and_logged_nowhere(server, browser, tiny_pipeline, tmp_path):
    (tmp_path / "broken.json").write_text('{"segments": [{"text": "secretword')
    (tmp_path / "broken.srt").write_text("1\n<img src=/nothing.png> --> 00:00:02,000\nsecretword\n")
    with visit(browser, server[0]) as page:
        write(page, TEXT, tiny_pipeline(TEXT)["text"])
        page.get_by_role("tab", name="File").click()
        page.locator("#upload input[type=file]").set_input_files(tmp_path / "broken.srt")
        toast = page.get_by_test_id("toast-body")
        toast.filter(has_text="<img src=/nothing.png>").wait_for()  # as text
        page.reload()
        write(page, TEXT, tiny_pipeline(TEXT)["text"])
        page.get_by_role("tab", name="File").click()
        page.locator("#upload input[type=file]").set_input_files(tmp_path / "broken.json")
        toast.wait_for()
        assert "broken.json" in toast.inner_text()
        assert "Traceback" not in toast.inner_text()
        page.get_by_role("button", name="Options").click()
        page.get_by_label("Capitals", exact=True).click()
        wait_for(page, tiny_pipeline(TEXT, truecase=True)["text"])  # the broken file does not hold the text back
        page.get_by_role("tab", name="Text").click()
        page.locator("#spoken textarea").fill("secretword the " * 2000)
        page.get_by_text("A long text: press").wait_for()
        page.get_by_role("button", name="Restore", exact=True).click()
        page.get_by_text("the page takes up to 20,000").wait_for()
    log = server[1].read_text(encoding="utf-8")
    assert "secretword" not in log
    assert "Traceback" not in log
