"""The page of `space/`, served by a process of its own, and a caller of its endpoint."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SPACE = ROOT / "space"


@dataclass(frozen=True, slots=True)
class Server:
    """The page as it is served: its address, and where its process writes."""

    url: str
    log: Path


@contextlib.contextmanager
def serve(folder: Path, model: str, n_seconds: float = 300) -> Iterator[Server]:
    """Serve a copy of the page, made in `folder`, by a process of its own."""
    shutil.copytree(SPACE, folder / "space", ignore=shutil.ignore_patterns("__pycache__"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}", folder / "log.txt")
    environment = {
        **os.environ, "PUNCTUATION_RESTORATION_MODEL": model, "GRADIO_SERVER_PORT": str(port), "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    with open(server.log, "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=folder / "space", env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + n_seconds
        while "Running on local URL" not in server.log.read_text(encoding="utf-8"):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Expected the page, got:\n{server.log.read_text(encoding='utf-8')}")
            time.sleep(0.1)
        urllib.request.urlopen(server.url, timeout=120).close()  # it answers, too
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)


def ask(url: str, *arguments: object) -> tuple[str, Any]:
    """Call /restore as any HTTP client may: the name of the last event, and what came with it."""
    body = json.dumps({"data": arguments}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/gradio_api/call/restore", body, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        event = json.load(answer)["event_id"]
    with urllib.request.urlopen(f"{url}/gradio_api/call/restore/{event}", timeout=120) as stream:
        events = re.findall(r"event: (\w+)\ndata: (.*)\n", stream.read().decode())
    name, value = events[-1]
    return name, json.loads(value)
