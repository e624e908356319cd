"""The page: restore punctuation in a text, a transcript or a recording, and see where the model is unsure.

    python app.py

Nothing that a visitor writes is logged or kept. Uploads are deleted after ten minutes, and when the server stops; what
is restored is given to the visitor's browser, which makes the files to download (`page.js`).
"""

import functools
import html
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import gradio as gr
import sound
from cards import Cards
from restorer import BEST, DEFAULTS, MAX_FILE_BYTES, QUICK, PageRestorer, Values
from views import hint

# Visitors' files are in a folder of their own, which is removed when the server stops.
_files = tempfile.TemporaryDirectory(prefix="punctuation-space-", ignore_cleanup_errors=True)
os.environ["GRADIO_TEMP_DIR"] = _files.name
# Gradio notes every call, 10,000 of them, and reads the notes again at each call.
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")

HERE = Path(__file__).parent
ENDPOINT = "restore"
KEPT_SECONDS = 600  # of files
KEPT_SESSIONS = 8  # visitors whose last answers Gradio keeps in memory
MAX_WAITING = 100  # visitors in the queue; the next is told to come back
TOGETHER = 4  # visitors who are served at once; their blocks take turns
SERVED: Values = {
    "api_visibility": "private",
    "concurrency_id": "model",
    "concurrency_limit": TOGETHER,
    "show_progress": "hidden",
}
AT_LAST: Values = {"trigger_mode": "always_last", **SERVED}

EXAMPLES = {
    "Mixed": "okay so the budget is fixed for this year 但是我们还可以改时间表你觉得怎么样 "
    "boleh tak kita mula minggu depan great i think that works 好的那就这样吧",
    "English": "thank you all for coming so before we start how many of you have ever missed a train because of a "
    "comma i have and it was not my fault the sign said stop children crossing",
    "Mandarin": "大家好我今天想讲一个故事你们有没有想过为什么机器写下来的话没有标点"
    "我们读起来很累所以我们教它在每个词后面想一想",
    "Malay": "selamat pagi semua apa khabar hari ini kita akan bincang tentang bas yang selalu lambat kalau hujan bas "
    "tu tak sampai jadi macam mana kita nak pergi kerja saya cadangkan kita naik kereta api",
}
MARKS_CHOICES = [
    ("Commas, periods, question marks", "basic"),
    ("Only sentence ends", "sentence-ends"),
    ("All", "all"),
]
MODEL_CHOICES = [
    ("Accurate: the best marks", BEST),
    ("Fast: small, for live captions and slow machines", QUICK),
]
INTRODUCTION = """# Punctuation restoration
Puts commas, periods and question marks back into recognised speech: English, Mandarin, Malay, and all three in one
sentence. Nothing you write is kept."""
FOOT = """Code: Apache-2.0. Models: CC BY-NC 4.0, for non-commercial use, and the
[Gemma Terms of Use](https://ai.google.dev/gemma/terms): Built with Gemma."""
NO_RECOGNISER = (
    "This page has no recogniser. Whoever runs it sets "
    f"`{sound.VARIABLE}=openai/whisper-small` to have one."
)
FILE_KINDS = "SRT, WebVTT, Whisper JSON and others. Times, speakers and all else stay as they are."
FILE_EMPTY = "The file comes back here with its marks, ready to download."
SOUND_EMPTY = "What was said comes here with its marks, ready to download as text and subtitles."


class Page(gr.Blocks):
    """The page; whoever calls its endpoint may give the text without the options."""

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *more: Any) -> Any:
        if block_fn.api_name == ENDPOINT:
            inputs = [*inputs, *DEFAULTS[max(0, len(inputs) - 1) :]]
        return await super().preprocess_data(block_fn, inputs, *more)


def build(restorer: PageRestorer, recognise: Any = None) -> gr.Blocks:
    """The page for a restorer, and perhaps for a recogniser: path of a recording -> text and times of its words."""
    cards = Cards(restorer, recognise)
    with Page(
        title="Punctuation restoration", analytics_enabled=False, delete_cache=(60, KEPT_SECONDS)
    ) as page:
        gr.Markdown(INTRODUCTION)
        options = _options(restorer)
        with gr.Tabs():
            with gr.Tab("Text"):
                spoken, live, of_text = _text_tab(cards, options)
            with gr.Tab("File"):
                upload, of_file = _file_tab(cards, options)
            with gr.Tab("Sound"):
                words, of_sound = _sound_tab(cards, options)
        label = "Options: which marks, capitals, certainty, model"
        with gr.Accordion(label, open=False, elem_id="options"), gr.Row():
            for option in options:
                option.render()
        gr.Markdown(FOOT, elem_id="foot")
        page.load(None, spoken, spoken, js="text => restoration.opened(text)")
        # An option restores all that is there anew, in one event. Of several, one after the other, Gradio 6.31 can lose
        # one: the server closes the stream of answers after the first, and its client, which asked for the second on
        # the same stream, waits for ever.
        changes = [option.change for option in options]
        given = [spoken, live, upload, words, *options]
        gr.on(changes, cards.of_all, given, [of_text, of_file, of_sound], **AT_LAST)
        gr.api(
            _told(restorer.restore),
            api_name=ENDPOINT,
            concurrency_id="model",
            concurrency_limit=TOGETHER,
        )
    return page.queue(max_size=MAX_WAITING, default_concurrency_limit=1)


def launch(page: gr.Blocks, **settings: Any) -> Any:
    """Serve the page; `settings` are those of Gradio's `launch`."""
    # The fonts are those of the visitor's own machine: nothing is fetched from elsewhere.
    theme = gr.themes.Soft(
        primary_hue="emerald", font=["system-ui", "sans-serif"], font_mono=["monospace"]
    )
    script = (HERE / "page.js").read_text(encoding="utf-8")
    return page.launch(
        theme=theme, css_paths=HERE / "style.css", head=f"<script>{script}</script>",
        max_file_size=sound.MAX_BYTES if os.environ.get(sound.VARIABLE) else MAX_FILE_BYTES,
        ssr_mode=False, footer_links=["api"], run_history=False, enable_monitoring=False,
        state_session_capacity=KEPT_SESSIONS, max_threads=2 * TOGETHER,
        _frontend=False,  # else the page dies where it does not answer itself within 3 seconds, as on a busy machine
        **settings,
    )  # fmt: skip


def _options(restorer: PageRestorer) -> list[Any]:
    """The fields of the options, in the order of `PageRestorer.restore`; they are shown below the tabs."""
    models = [choice for choice in MODEL_CHOICES if choice[1] in restorer.models]
    return [
        gr.Radio(
            MARKS_CHOICES if restorer.has_more_marks else MARKS_CHOICES[:2],
            value="basic", label="Marks", elem_id="marks", min_width=240, render=False,
        ),
        gr.Radio(
            [("Keep", "keep"), ("Replace", "replace")],
            value="keep", label="Marks that the text has", elem_id="existing", min_width=240, render=False,
        ),
        gr.Checkbox(False, label="Capitals", elem_id="truecase", render=False),
        gr.Slider(
            0, 0.95, value=0, step=0.05, label="Least probability of a mark", elem_id="threshold",
            info="0: the model's own settings", min_width=240, render=False,
        ),
        gr.Radio(
            models, value=BEST, label="Model", visible=len(models) > 1, elem_id="model", render=False
        ),
    ]  # fmt: skip


def _text_tab(cards: Cards, options: list[Any]) -> tuple[gr.Textbox, gr.Checkbox, gr.HTML]:
    """The text that is given, whether it is restored while it is typed, and the card of the result."""
    example = next(iter(EXAMPLES.values()))
    with gr.Row():
        with gr.Column():
            spoken = gr.Textbox(
                example, label="Text without punctuation", lines=5, max_lines=16, elem_id="spoken",
                placeholder="hello how are you · 你好吗今天很热 · apa khabar awak nak pergi mana",
                info="Shift+Enter restores.",
            )  # fmt: skip
            gr.HTML('<span id="count" role="status"></span>', elem_id="counter")
            with gr.Row():
                press = gr.Button("Restore", variant="primary", elem_id="press", min_width=120)
                gr.ClearButton([spoken], min_width=120)
        with gr.Column():
            *_, shown = cards.of_text(example)
            card = _card(shown, "Restored text", "restored")
    live = gr.Checkbox(True, label="Restore while I type", elem_id="live", container=False)
    gr.Examples(
        [[text] for text in EXAMPLES.values()], [spoken], label="Examples", example_labels=list(EXAMPLES),
        cache_examples=False, api_visibility="private",
    )  # fmt: skip
    given = [spoken, *options]
    pressed = gr.on([press.click, spoken.submit], cards.of_text, given, card, **SERVED)
    spoken.change(None, spoken, None, js="text => {restoration.count(text)}")
    spoken.change(cards.live, [spoken, live, *options], card, cancels=[pressed], **AT_LAST)
    return spoken, live, card


def _file_tab(cards: Cards, options: list[Any]) -> tuple[gr.File, gr.HTML]:
    """The file that is given, and the card of the result."""
    with gr.Row():
        with gr.Column():
            label = f"A transcript of up to {MAX_FILE_BYTES // 1_000_000} MB"
            upload = gr.File(label=label, height=180, elem_id="upload")
            gr.Markdown(FILE_KINDS)
        with gr.Column():
            card = _card(hint(FILE_EMPTY), "Restored file", "restored-file")
    _clear_at_once(upload, card)
    # Not at every change: taking a file away needs no answer, and one that is under way can cost the next, see `build`.
    upload.upload(cards.of_file, [upload, *options], card, **AT_LAST)
    return upload, card


def _sound_tab(cards: Cards, options: list[Any]) -> tuple[gr.JSON, gr.HTML]:
    """What was heard in the recording that is given, and the card of the result."""
    has_recogniser = cards.recognise is not None
    gr.Markdown(NO_RECOGNISER, visible=not has_recogniser, elem_id="no-recogniser")
    with gr.Row(visible=has_recogniser):
        with gr.Column():
            recording = gr.Audio(
                sources=["upload", "microphone"], type="filepath", elem_id="recording",
                label=f"A recording of up to {sound.MAX_SECONDS // 60} minutes",
                buttons=[],  # "share" would send it elsewhere
            )  # fmt: skip
            text = gr.Textbox(
                label="What was heard", lines=5, max_lines=16, interactive=False, elem_id="heard"
            )
            words = gr.JSON(visible=False)  # with times; it stays in the visitor's browser
        with gr.Column():
            card = _card(hint(SOUND_EMPTY), "Restored speech", "restored-speech")
    _clear_at_once(recording, card)
    recording.change(cards.of_sound, [recording, *options], [words, text, card], **AT_LAST)
    return words, card


def _card(value: str, title: str, name: str) -> gr.HTML:
    return gr.HTML(
        value, html_template=f'<p class="title">{title}</p>${{value}}', container=True, js_on_load=None,
        min_height=180, elem_id=name,
    )  # fmt: skip


def _clear_at_once(given: Any, card: gr.HTML) -> None:
    """When something else is given, or it is taken away, what was shown goes without asking the server."""
    given.change(None, None, card, js=f"() => {json.dumps(card.value)}")


def _told(restore: Any) -> Any:
    """The function, whose errors are told to who called it, and not to the server's log."""

    @functools.wraps(restore)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return restore(*args, **keywords)
        except ValueError as error:
            message = html.escape(str(error), quote=False)  # Gradio shows it as HTML
            raise gr.Error(message, title="Not restored", print_exception=False) from error

    return call


def _stop(*_: Any) -> None:
    """End at once, without visitors' files, which would stay where a process is told to terminate."""
    _files.cleanup()
    os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    launch(build(PageRestorer(revision=os.environ.get("PUNCTUATION_REVISION")), sound.recogniser()))
