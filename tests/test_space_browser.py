"""The page in use: asked through its endpoint, and by a visitor in a browser."""
# ruff: noqa: F811  (fixtures are imported by name)

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from restorers import RECORDED
from space_page import SPACE, TEXT, chosen, last, page_restorer, recording, sound, tiny_recogniser  # noqa: F401

from punctuation_restoration.transcripts import read_bytes, restore_file
from tools import space_folder

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# The libraries of the client side warn of their own futures; what the page does runs in a process of its own.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def server(
    tiny_checkpoint: str, tiny_recogniser: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
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
        "PYTHONPATH": "", "RECOGNISER": tiny_recogniser, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=folder / "space", env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    end = time.monotonic() + 900  # a busy machine
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
    body = json.dumps({"data": ["hello how are you"]}).encode()
    asked = urllib.request.Request(f"{server[0]}/gradio_api/call/restore", body, {"Content-Type": "application/json"})
    event = json.load(urllib.request.urlopen(asked))["event_id"]
    told = urllib.request.urlopen(f"{server[0]}/gradio_api/call/restore/{event}").read().decode()
    assert json.loads(told.partition("data: ")[2])[0]["text"] == expected["text"], "the text is enough"
    for text, threshold, model, message in (
        ("a" * 200_001, 0.0, "accurate", "200,000"),
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
    context.set_default_timeout(90_000)  # a busy machine
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


def wait_for(page, text: str, card: str = "restored") -> None:
    """Wait until this text is shown as the restored one, whichever tab is open."""
    read = f"text => [...document.querySelectorAll('#{card} .shown')].map(own => own.cloneNode(true)).map(own => {{"
    read += "own.querySelectorAll('.choices').forEach(one => one.remove()); return own.textContent}).join() === text"
    page.wait_for_function(read, arg=text)


def downloaded(page, card: str, file_format: str) -> tuple[str, bytes]:
    with page.expect_download() as begun:
        page.locator(f"#{card} [data-format={file_format}]").click()
    return begun.value.suggested_filename, Path(begun.value.path()).read_bytes()


def copied(page, button: str) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    pressed = page.locator(f"#restored [data-do={button}]")
    pressed.click()
    pressed.filter(has_text="Copied").wait_for()
    return page.evaluate("navigator.clipboard.readText()")


def press(page, key: str, element) -> None:
    element.focus()
    page.keyboard.press(key)


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_page_shows_itself_and_a_doubtful_mark_gives_way_to_the_next_best(
    theme, width, server, browser, tiny_pipeline, page_restorer
):
    text, result = TEXT * 9, tiny_pipeline(TEXT * 9)
    with visit(browser, server[0], theme, width) as page:
        example = page.locator("#spoken textarea").input_value()
        wait_for(page, tiny_pipeline(example)["text"])
        write(page, text, result["text"])
        edge = page.locator("#restored .shown").bounding_box()
        for doubt in page.locator("#restored .doubt").all():
            doubt.focus()
            box = doubt.locator(".choices").bounding_box()
            assert edge["x"] <= box["x"] < box["x"] + box["width"] <= edge["x"] + edge["width"]
        shown = last(page_restorer.restored(text))
        assert copied(page, "copy") == result["text"]
        for doubt in page.locator("#restored .doubt").all():
            press(page, "Enter", doubt)
        wait_for(page, chosen(shown, "txt", 1))
        assert downloaded(page, "restored", "txt") == ("restored.txt", chosen(shown, "txt", 1).encode())
        press(page, "Enter", page.get_by_role("button", name="Before"))
        assert page.locator("#restored .before").inner_text() == text
        assert not page.locator("#restored .shown").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert page.evaluate("document.body.classList.contains('dark')") == (theme == "dark")
        above = page.locator("#press").bounding_box()
        below = page.locator("#restored").bounding_box()["y"] - above["y"] - above["height"]
        assert width > 640 or below < 40, "the result is right below the text"
        link = copied(page, "link")
        page.goto("about:blank")
        page.goto(link)
        wait_for(page, result["text"])
        assert page.locator("#spoken textarea").input_value() == text


@pytest.mark.slow
def test_a_click_that_ends_a_sentence_gives_the_next_word_its_capital_on_the_page_in_copy_and_download(
    server, browser, page_restorer
):
    shown = last(page_restorer.restored(TEXT * 9, "basic", "keep", True, 0.0, "accurate"))
    letter = next(one for one in shown.choices if one.of is not None)
    stop = next(n for n, sign in enumerate(letter.signs) if sign.isupper())
    assert letter.signs[0].islower()
    expected = chosen(shown, "txt", stop, only=letter.of)
    assert sum(map(str.isupper, expected)) == sum(map(str.isupper, chosen(shown, "txt"))) + 1
    with visit(browser, server[0]) as page:
        page.get_by_role("button", name="Options").click()
        page.get_by_label("Capitals", exact=True).click()
        write(page, TEXT * 9, chosen(shown, "txt"))
        for _ in range(stop):
            page.locator(f"#restored .doubt[data-number='{letter.of}']").click()
        wait_for(page, expected)
        assert copied(page, "copy") == expected
        assert downloaded(page, "restored", "txt") == ("restored.txt", expected.encode())
        page.locator(f"#restored .doubt[data-number='{letter.of}']").click()  # round to what it was
        wait_for(page, chosen(shown, "txt", stop + 1, only=letter.of))


@pytest.mark.slow
def test_options_change_the_text_at_once_and_the_keyboard_suffices(server, browser, tiny_pipeline):
    with visit(browser, server[0]) as page:
        write(page, TEXT, tiny_pipeline(TEXT)["text"])
        press(page, "Enter", page.get_by_role("button", name="Options"))
        press(page, "Space", page.get_by_label("Only sentence ends"))
        wait_for(page, tiny_pipeline(TEXT, marks="sentence-ends")["text"])
        press(page, "Space", page.get_by_label("Capitals", exact=True))
        wait_for(page, tiny_pipeline(TEXT, marks="sentence-ends", truecase=True)["text"])
        press(page, "Space", page.get_by_label("Restore while I type"))
        page.locator("#spoken textarea").fill("saya are you {{awak}} ${hello} <i>is</i>")
        page.get_by_text("Press Restore to see").wait_for()
        assert page.locator("#restored button:enabled").count() == 0
        press(page, "Enter", page.get_by_role("button", name="Restore", exact=True))
        text = "saya are you {{awak}} ${hello} <i>is</i>"
        wait_for(page, tiny_pipeline(text, marks="sentence-ends", truecase=True)["text"])
        press(page, "Enter", page.get_by_role("button", name="Clear"))
        page.get_by_text("Your text comes here").wait_for()
        assert page.locator("#press").is_disabled()
        page.locator("#spoken textarea").fill("a" * 200_001)
        page.get_by_text("200,001 of 200,000 characters: too long").wait_for()
        assert page.locator("#press").is_disabled()


@pytest.mark.slow
def test_a_transcript_comes_back_and_an_option_changes_it(server, browser, tiny_pipeline, tmp_path):
    path = tmp_path / "talk.srt"
    path.write_bytes((RECORDED / "talk.srt").read_text(encoding="utf-8").encode("utf-16"))  # with its byte order mark
    transcript, encoding = read_bytes(path.read_bytes(), name=path.name)
    expected = restore_file(tiny_pipeline, transcript).source()
    with visit(browser, server[0]) as page:
        write(page, TEXT, tiny_pipeline(TEXT)["text"])
        page.get_by_role("tab", name="File").click()
        page.locator("#upload input[type=file]").set_input_files(path)
        wait_for(page, expected, "restored-file")
        assert downloaded(page, "restored-file", "srt") == ("talk-restored.srt", encoding.encode(expected))
        page.get_by_role("button", name="Options").click()
        page.get_by_label("Capitals", exact=True).click()
        wait_for(page, restore_file(tiny_pipeline, transcript, truecase=True).source(), "restored-file")
        wait_for(page, tiny_pipeline(TEXT, truecase=True)["text"])


@pytest.mark.slow
def test_a_broken_file_is_quoted_as_text_clears_the_result_and_is_logged_nowhere(server, browser, tmp_path):
    (tmp_path / "broken.srt").write_text("1\n<img src=/nothing.png> --> 00:00:02,000\nsecretword\n")
    with visit(browser, server[0]) as page:
        page.get_by_role("tab", name="File").click()
        page.locator("#upload input[type=file]").set_input_files(RECORDED / "talk.vtt")
        page.locator("#restored-file .doubt").first.wait_for()
        page.locator("#upload button[aria-label=Clear]").click()
        page.get_by_text("The file comes back here").wait_for()
        page.locator("#upload input[type=file]").set_input_files(tmp_path / "broken.srt")
        problem = page.get_by_role("alert")
        problem.filter(has_text="Not restored. broken.srt, line 2 cannot be read").wait_for()
        assert "<img src=/nothing.png>" in problem.inner_text()  # nothing is fetched, says `visit`
        assert page.locator("#restored-file button:enabled").count() == 0
        page.get_by_role("tab", name="Text").click()
        page.locator("#spoken textarea").fill("secretword the " * 2000)
        page.get_by_text("A long text: press").wait_for()
    log = server[1].read_text(encoding="utf-8")
    assert "secretword" not in log
    assert "Traceback" not in log


@pytest.mark.slow
def test_a_recording_is_heard_and_comes_back_with_marks(server, browser, recording, tiny_recogniser, page_restorer):
    heard = sound.Recogniser(tiny_recogniser)(recording)
    with visit(browser, server[0]) as page:
        page.get_by_role("tab", name="Sound").click()
        page.locator("#recording input[type=file]").set_input_files(recording)
        wait_for(page, chosen(last(page_restorer.restored(heard)), "txt"), "restored-speech")
        assert page.locator("#heard textarea").input_value() == heard["text"].strip()
        assert b" --> 00:00:0" in downloaded(page, "restored-speech", "srt")[1]
