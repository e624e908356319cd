"""Takes the pictures of the page in this folder: serves it with the default model, and photographs what a visitor sees.

python docs/images/make.py            needs Chromium and Playwright; CJK fonts for readable Mandarin
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "space")]

import app  # noqa: E402  (the page is no package)
from restorer import Restorer  # noqa: E402

SHOTS = {  # name: theme, width, example, whether the explanation is open
    "space-light": ("light", 1280, "Mixed", True),
    "space-dark": ("dark", 1280, "English", False),
    "space-phone-light": ("light", 390, "Malay", False),
    "space-phone-dark": ("dark", 390, "Mandarin", False),
}


def show(page: Page, example: str, explained: bool) -> None:
    """Choose an example and wait for its result."""
    page.get_by_role("button", name=example, exact=True).click()
    page.wait_for_function("document.querySelector('#restored textarea').value.length > 5")
    if explained:
        page.get_by_role("button", name="How it works").click()
        page.locator("#masks li").first.wait_for()
    page.wait_for_timeout(1000)  # for what glides into place


def show_file(page: Page) -> None:
    """Upload subtitles and wait for them to come back."""
    page.get_by_role("tab", name="File").click()
    page.locator("#upload input[type=file]").set_input_files(ROOT / "examples" / "transcripts" / "talk.vtt")
    page.wait_for_function("document.querySelector('#preview textarea').value.length > 5")
    page.wait_for_timeout(1000)


def main() -> None:
    served = app.build(Restorer(os.environ.get("PUNCTUATION_MODEL")))
    _, url, _ = app.launch(served, prevent_thread_lock=True, quiet=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (theme, width, example, explained) in SHOTS.items():
            page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=theme)
            page.goto(f"{url}?__theme={theme}")
            show(page, example, explained)
            page.screenshot(path=HERE / f"{name}.png", full_page=True)
            page.close()
        page = browser.new_page(viewport={"width": 1280, "height": 700})
        page.goto(f"{url}?__theme=light")
        show_file(page)
        page.screenshot(path=HERE / "space-file.png")
        browser.close()
    served.close()


if __name__ == "__main__":
    main()
