"""Live punctuation over WebSocket: one streamer for each connection, one model for all.

    python -m examples.websocket_server [--port 8765] [--look-ahead 4] [--model MODEL]

Send JSON, one message a step; each is answered by {"committed": ..., "tail": ...}:

    {"words": ["hello", "everyone"]}    final words
    {"text": "hello every"}             final text, cut anywhere
    {"hypothesis": "how are"}           what the recogniser thinks comes next; replaces its last hypothesis
    {"flush": true}                     the utterance is over

An answer to something else is {"error": ...}, and the connection stays open; a message above 8 KiB closes it. Pages of
other sites may connect if `--origin https://captions.example` names theirs. It needs `pip install -e ".[service]"`.
"""

import argparse
import asyncio
import contextlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import torch
from transformers import pipeline
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Origin

import punctuation_restoration
from punctuation_restoration import PunctuationStreamer
from punctuation_restoration.pipeline.streamer import StreamStep

# A step takes as long as its message, and a thread meanwhile: short messages keep the others from waiting.
MAX_MESSAGE = 8 * 1024  # bytes
MAX_CONNECTIONS = 200


def take(streamer: PunctuationStreamer, message: str | bytes) -> StreamStep:
    """One message, one step.

    Raises:
        ValueError, TypeError: it is not one of the messages above.
    """
    request = json.loads(message)
    if not isinstance(request, dict) or len(request) != 1:
        raise ValueError(
            'Expected an object with one of "words", "text", "hypothesis", "flush". Send one.'
        )
    ((kind, value),) = request.items()
    if kind == "flush":
        return streamer.flush()
    steps: dict[str, Any] = {
        "words": streamer.feed_words,
        "text": streamer.feed,
        "hypothesis": streamer.hypothesize,
    }
    if kind not in steps or not isinstance(value, list if kind == "words" else str):
        raise ValueError(
            f"Expected words as a list, or text or hypothesis as a string, got {request!r:.80}. Send one."
        )
    return steps[kind](value)


def too_many(connection: ServerConnection, request: Request) -> Response | None:
    """The refusal of a connection above the limit."""
    if len(connection.server.connections) >= MAX_CONNECTIONS:
        return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections.\n")
    return None


async def start(restore: Any, look_ahead: int, port: int, origins: Sequence[str] = ()) -> Server:
    """A running server. A step runs in a thread, so that no connection waits for another's; few run at once.

    A page of another site could connect in its visitor's name, so a browser's `Origin` must be among `origins`.
    Programs send none.
    """
    threads = ThreadPoolExecutor(os.cpu_count())

    async def handle(connection: ServerConnection) -> None:
        streamer = PunctuationStreamer(restore, look_ahead)
        loop = asyncio.get_running_loop()
        async for message in connection:
            try:
                step = await loop.run_in_executor(threads, take, streamer, message)
                answer = {"committed": step.committed, "tail": step.tail}
            except (ValueError, TypeError, RecursionError) as error:  # of JSON that is too deep
                answer = {"error": str(error)}
            streamer.committed = ""  # the client has it
            await connection.send(json.dumps(answer))

    limits: dict[str, Any] = {"max_size": MAX_MESSAGE, "compression": None}  # 8 KiB when unpacked
    return await serve(
        handle,
        "127.0.0.1",
        port,
        origins=[None, *map(Origin, origins)],
        process_request=too_many,
        **limits,
    )


async def run(restore: Any, look_ahead: int, port: int, origins: Sequence[str]) -> None:
    server = await start(restore, look_ahead, port, origins)
    print(f"ws://127.0.0.1:{port} is ready", flush=True)
    await server.serve_forever()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--look-ahead", type=int, default=4)
    parser.add_argument("--origin", nargs="*", default=[], help="sites whose pages may connect")
    parser.add_argument("--model", default=punctuation_restoration.FAST)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)  # of one step, since several run at once
    restore = pipeline("punctuation-restoration", model=args.model)
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        asyncio.run(run(restore, args.look_ahead, args.port, args.origin))


if __name__ == "__main__":
    main()
