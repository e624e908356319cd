"""The page: restore punctuation in a text or a transcript, and see where the model is unsure: `python app.py`.

Nothing that a visitor writes is logged or kept; files are deleted after ten minutes.
"""

import contextlib
import html
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from restorer import BEST, MAX_CHARACTERS, MAX_FILE_BYTES, QUICK, PageRestorer
from views import EMPTY, restored_html, speed_line

from punctuation_restoration.pipeline.restoration_pipeline import EXISTING
from punctuation_restoration.transcripts import FORMATS

# Visitors' files are in a folder of their own, which is removed when the server stops.
_files = tempfile.TemporaryDirectory(prefix="punctuation-space-", ignore_cleanup_errors=True)
os.environ["GRADIO_TEMP_DIR"] = str(Path(_files.name) / "uploads")
# Gradio notes every call, 10,000 of them, and reads the notes again at each call.
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")

LIVE_CHARACTERS = 4_000  # a longer text is restored when the button is pressed, not at every key
KEPT_SECONDS = 600  # of files
KEPT_SESSIONS = 8  # visitors whose last answers Gradio keeps in memory
MAX_WAITING = 100  # visitors in the queue; the next is told to come back
ONE_AT_A_TIME: dict[str, Any] = {
    "api_visibility": "private",
    "concurrency_id": "model",
    "concurrency_limit": 1,
}
AS_IT_IS = "as the file is"

EXAMPLES = {
    "English": "thank you all for coming so before we start how many of you have ever missed a train because of a "
    "comma i have and it was not my fault the sign said stop children crossing",
    "Mandarin": "大家好我今天想讲一个故事你们有没有想过为什么机器写下来的话没有标点"
    "我们读起来很累所以我们教它在每个词后面想一想",
    "Malay": "selamat pagi semua apa khabar hari ini kita akan bincang tentang bas yang selalu lambat kalau hujan bas "
    "tu tak sampai jadi macam mana kita nak pergi kerja saya cadangkan kita naik kereta api",
    "Mixed": "okay so the budget is fixed for this year 但是我们还可以改时间表对不对 boleh tak kita mula minggu depan "
    "i think that works 好的那就这样",
}
MARKS_CHOICES = [
    ("Commas, periods, question marks", "basic"),
    ("Only sentence ends", "sentence-ends"),
    ("All", "all"),
]
EXISTING_CHOICES = {
    "keep": "Keep",
    "replace": "Replace",
}
MODEL_CHOICES = {
    BEST: "Accurate: the best marks",
    QUICK: "Fast: small, for live captions and slow machines",
}
# What is shown, without the alternatives that lie in it.
COPY = """async () => {
    const shown = document.querySelector("#restored .shown")?.cloneNode(true)
    shown?.querySelectorAll(".choices").forEach(one => one.remove())
    if (shown) await navigator.clipboard.writeText(shown.textContent)
    return shown ? "Copied" : "Copy"
}"""
COPIED = "() => new Promise(done => setTimeout(() => done('Copy'), 1500))"


def build(restorer: PageRestorer) -> gr.Blocks:
    """The page for a restorer."""
    with gr.Blocks(
        title="Punctuation restoration", analytics_enabled=False, delete_cache=(60, KEPT_SECONDS)
    ) as page:
        gr.Markdown(
            "# Punctuation restoration\nPuts commas, periods and question marks back into recognised speech: English, "
            "Mandarin, Malay, and all three in one sentence. Nothing you write is kept."
        )
        with gr.Tabs():
            with gr.Tab("Text"):
                typed = _text_tab()
            with gr.Tab("File"):
                upload = _file_tab()
        _connect(restorer, typed, upload, _options(restorer))
        gr.api(
            _told()(restorer.restore),
            api_name="restore",
            concurrency_id="model",
            concurrency_limit=1,
        )
    return page.queue(max_size=MAX_WAITING, default_concurrency_limit=1)


def launch(page: gr.Blocks, **settings: Any) -> Any:
    """Serve the page; `settings` are those of Gradio's `launch`."""
    # The fonts are those of the visitor's own machine: nothing is fetched from elsewhere.
    theme = gr.themes.Soft(
        primary_hue="emerald", font=["system-ui", "sans-serif"], font_mono=["monospace"]
    )
    return page.launch(
        theme=theme, css_paths=Path(__file__).with_name("style.css"), max_file_size=MAX_FILE_BYTES, ssr_mode=False,
        footer_links=["api"], run_history=False, state_session_capacity=KEPT_SESSIONS, enable_monitoring=False,
        _frontend=False,  # else the page dies where it does not answer itself within 3 seconds, as on a busy machine
        **settings,
    )  # fmt: skip


def _text_tab() -> dict[str, Any]:
    with gr.Row():
        with gr.Column(min_width=320):
            spoken = gr.Textbox(
                label="Text without punctuation", lines=5, max_lines=16, elem_id="spoken", autofocus=True,
                placeholder="hello how are you · 你好吗今天很热 · apa khabar awak nak pergi mana",
                info=f"Up to {MAX_CHARACTERS:,} characters. Shift+Enter restores.",
            )  # fmt: skip
            with gr.Row():
                press = gr.Button("Restore", variant="primary", elem_id="press", min_width=120)
                gr.ClearButton([spoken], value="Clear", min_width=120)
            live = gr.Checkbox(True, label="Restore while I type", elem_id="live", container=False)
            gr.Examples(
                [[text] for text in EXAMPLES.values()], [spoken], label="Examples", example_labels=list(EXAMPLES),
                cache_examples=False, api_visibility="private",
            )  # fmt: skip
        with gr.Column(min_width=320):
            restored = gr.HTML(
                EMPTY, html_template='<p class="title">Restored text</p>${value}', container=True,
                min_height=180, max_height=480, elem_id="restored",
            )  # fmt: skip
            with gr.Row():
                about = gr.Markdown(elem_id="about")
                copy = gr.Button("Copy", size="sm", scale=0, min_width=120, elem_id="copy")
            copy.click(None, None, copy, js=COPY).then(None, None, copy, js=COPIED)
    return {"spoken": spoken, "live": live, "press": press, "outputs": [restored, about]}


def _file_tab() -> dict[str, Any]:
    with gr.Row():
        with gr.Column(min_width=320):
            label = f"SRT, WebVTT, Whisper JSON and others; up to {MAX_FILE_BYTES / 1e6:.0f} MB"
            formats, endings = [AS_IT_IS, *FORMATS], [f".{name}" for name in FORMATS]
            upload: dict[str, Any] = {
                "file": gr.File(label=label, file_types=endings, height=180, elem_id="upload"),
                "to": gr.Dropdown(
                    formats, value=AS_IT_IS, label="Format of the result", elem_id="to"
                ),
            }
            gr.Markdown("Times, speakers and all else stay as they are; words are never changed.")
        with gr.Column(min_width=320):
            upload["download"] = gr.DownloadButton(
                "Download", interactive=False, variant="primary", elem_id="download"
            )
            upload["about"] = gr.Markdown(elem_id="about-file")
            upload["preview"] = gr.Textbox(
                label="How the result begins",
                lines=12,
                max_lines=12,
                interactive=False,
                elem_id="preview",
            )
            upload["outputs"] = [upload["download"], upload["about"], upload["preview"]]
    return upload


def _options(restorer: PageRestorer) -> list[Any]:
    """The fields of the options, in the order of `PageRestorer.restore`."""
    marks = MARKS_CHOICES if restorer.has_more_marks else MARKS_CHOICES[:2]
    existing = [(EXISTING_CHOICES[name], name) for name in EXISTING]
    models = [(MODEL_CHOICES[name], name) for name in restorer.models]
    model = gr.Radio(models, value=BEST, label="Model", visible=len(models) > 1, elem_id="model")
    with (
        gr.Accordion("Options: which marks, capitals, certainty", open=False, elem_id="options"),
        gr.Row(),
    ):
        return [
            gr.Radio(marks, value="basic", label="Marks", elem_id="marks", min_width=240),
            gr.Radio(existing, value=EXISTING[0], label="Marks that the text has", elem_id="existing", min_width=240),
            gr.Checkbox(False, label="Capitals", elem_id="truecase"),
            gr.Slider(
                0, 0.95, value=0, step=0.05, label="Write a mark from this probability on", elem_id="threshold",
                info="0: the model's own settings", min_width=240,
            ),
            model,
        ]  # fmt: skip


def _connect(
    restorer: PageRestorer, typed: dict[str, Any], upload: dict[str, Any], options: list[Any]
) -> None:
    """What happens when a text or a file is given, and when an option changes."""
    results = Path(_files.name) / "results"

    @_told()
    def show(text: str, *given: Any) -> tuple[Any, ...]:
        if not text.strip():
            return EMPTY, ""
        done = restorer.restore(text, *given)
        return restored_html(text, done["edits"], done["words"]), speed_line(
            done["words"], done["seconds"]
        )

    def show_live(text: str, is_live: bool, *given: Any) -> tuple[Any, ...]:
        if text.strip() and not is_live:
            return (gr.skip(),) * len(typed["outputs"])
        if len(text) > LIVE_CHARACTERS:
            return gr.skip(), "A long text: press **Restore**."
        return show(text, *given)

    @_told()
    def restore_file(path: str | None, to: str, *given: Any) -> tuple[Any, ...]:
        if path is None:
            return gr.DownloadButton(value=None, interactive=False), "", ""
        results.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=results))
        removal = threading.Timer(KEPT_SECONDS, shutil.rmtree, (folder, True))
        removal.daemon = True
        removal.start()
        target, restored = restorer.restore_file(
            Path(path), folder, to.replace(AS_IT_IS, ""), *given
        )
        line = f"{target.name} · {speed_line(restored['words'], restored['seconds'])}"
        return gr.DownloadButton(value=str(target), interactive=True), line, restored["text"][:2000]

    def show_both(
        text: str, is_live: bool, path: str | None, to: str, *given: Any
    ) -> tuple[Any, ...]:
        shown = show_live(text, is_live, *given)
        try:
            return *shown, *restore_file(path, to, *given)
        except gr.Error as error:  # of the file; the text is shown all the same
            gr.Warning(error.message, title=error.title)
            return *shown, *[gr.skip()] * len(upload["outputs"])

    text, file = [typed["spoken"], typed["live"]], [upload["file"], upload["to"]]
    at_last: dict[str, Any] = {"trigger_mode": "always_last", **ONE_AT_A_TIME}
    gr.on(
        [typed["press"].click, text[0].submit],
        show,
        [text[0], *options],
        typed["outputs"],
        **ONE_AT_A_TIME,
    )
    text[0].change(
        show_live, [*text, *options], typed["outputs"], show_progress="hidden", **at_last
    )
    gr.on(
        [file[0].change, file[1].change],
        restore_file,
        [*file, *options],
        upload["outputs"],
        **at_last,
    )
    # One event for both tabs. Of two, one after the other, Gradio 6.31 can lose one: the server closes the stream of
    # answers after the first, and its client, which asked for the second on the same stream, waits for ever.
    changes, outputs = (
        [option.change for option in options],
        [*typed["outputs"], *upload["outputs"]],
    )
    gr.on(changes, show_both, [*text, *file, *options], outputs, show_progress="hidden", **at_last)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What is wrong with an input is told to the visitor, and not to the server's log."""
    try:
        yield
    except ValueError as error:
        # Gradio shows messages as HTML, and this one may quote a file.
        message = html.escape(str(error))
        raise gr.Error(message, title="Not restored", print_exception=False) from error


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # else visitors' files would stay
    launch(build(PageRestorer(revision=os.environ.get("PUNCTUATION_REVISION"))))
