"""Marks over HTTP: a text in, the same with marks out. Texts that wait are restored in one call.

python -m examples.http_service [--port 8000] [--model MODEL]    it needs pip install -e ".[service]"
curl 127.0.0.1:8000/restore --data-binary 'hello how are you'; curl 127.0.0.1:8000/health
"""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import PlainTextResponse
from transformers import pipeline

from punctuation_restoration.default_models import find_model

MAX_BYTES = 16_384  # of one text
MAX_WAITING = 262_144  # characters of all texts that wait: seconds of work


def service(restore: Any) -> FastAPI:
    """The application for a pipeline."""
    app, at_work = FastAPI(title="Punctuation restoration"), asyncio.Lock()
    waiting: tuple[list[str], list[Any]] = [], []  # texts of the next call, and its results

    @app.post("/restore", response_class=PlainTextResponse)
    async def restore_text(request: Request) -> str:
        nonlocal waiting
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_BYTES:
                raise HTTPException(413, f"Expected up to {MAX_BYTES} bytes. Send parts.")
        if sum(map(len, waiting[0])) > MAX_WAITING:
            raise HTTPException(503, "Too much text waits. Try again.", {"Retry-After": "1"})
        texts, results = own = waiting
        texts.append(body.decode(errors="replace"))
        place = len(texts) - 1
        async with at_work:
            if not results:  # the first of them to come here works for all
                waiting = ([], []) if waiting is own else waiting
                results += await asyncio.to_thread(restore, texts, return_words=False)
        return results[place]["text"]

    app.get("/health")(lambda: {"waiting": len(waiting[0])})
    return app


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Serves marks: see examples/http_service.py.")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", type=find_model, default=find_model(), help="or fast")
    args = parser.parse_args(argv)
    uvicorn.run(service(pipeline("punctuation-restoration", model=args.model)), port=args.port)


if __name__ == "__main__":
    main()
