"""Takes the pictures of the page in docs/images: serves it with the default model, photographs what a visitor sees.

python -m tools.pictures            needs Chromium and Playwright; CJK fonts for readable Mandarin
"""

import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "space"))

import app  # noqa: E402  (the page is no package)
from restorer import PageRestorer  # noqa: E402


def show_text(page: Page) -> None:
    """The page as it opens, and a doubtful place with what else it could be."""
    page.locator("#restored .doubt").first.focus()
    page.wait_for_timeout(1000)  # for what glides into place


def show_file(page: Page) -> None:
    """Upload subtitles and wait for them to come back."""
    page.get_by_role("tab", name="File").click()
    page.locator("#upload input[type=file]").set_input_files(ROOT / "examples" / "inputs" / "talk.srt")
    page.locator("#restored-file .shown ins:not(:empty)").first.wait_for()
    page.wait_for_timeout(1000)


VIEWS = (
    ("space-light", show_text, "light", 1280, 720),
    ("space-file", show_file, "light", 1280, 860),
    ("space-phone", show_text, "dark", 390, 960),
)


def main() -> None:
    served = app.build(PageRestorer())
    _, url, _ = app.launch(served, prevent_thread_lock=True, quiet=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, show, theme, width, height in VIEWS:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            page.goto(f"{url}?__theme={theme}")
            page.locator("#restored .shown").wait_for()
            show(page)
            page.screenshot(path=IMAGES / f"{name}.png")
            Image.open(IMAGES / f"{name}.png").quantize(160).save(IMAGES / f"{name}.png", optimize=True)
            page.close()
        browser.close()
    served.close()


if __name__ == "__main__":
    main()
