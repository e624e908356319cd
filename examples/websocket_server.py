"""Live punctuation over WebSocket: one streamer for each connection, one model for all.

    python -m examples.websocket_server [--port 8765] [--look-ahead 4] [--model MODEL]

Send JSON, one message a step; each is answered by {"committed": ..., "tail": ...}:

    {"words": ["hello", "everyone"]}    final words
    {"text": "hello every"}             final text, cut anywhere
    {"hypothesis": "how are"}           what the recogniser thinks comes next; replaces its last hypothesis
    {"flush": true}                     the utterance is over

An answer to something else is {"error": ...}, and the connection stays open. It needs `pip install websockets`.
"""

import argparse
import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any

from transformers import pipeline
from websockets.asyncio.server import Server, ServerConnection, serve

import punctuation_restoration
from punctuation_restoration import PunctuationStreamer
from punctuation_restoration.pipeline.streamer import StreamStep

MAX_MESSAGE = 64 * 1024  # bytes; a longer one closes the connection


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


async def start(restore: Any, look_ahead: int, port: int) -> Server:
    """A running server. The model is asked in a thread, one call at a time, so that connections stay alive."""
    one_at_a_time = asyncio.Lock()

    async def handle(connection: ServerConnection) -> None:
        streamer = PunctuationStreamer(restore, look_ahead)
        async for message in connection:
            try:
                async with one_at_a_time:
                    step = await asyncio.to_thread(take, streamer, message)
                answer = {"committed": step.committed, "tail": step.tail}
            except (ValueError, TypeError, RecursionError) as error:  # of JSON that is too deep
                answer = {"error": str(error)}
            await connection.send(json.dumps(answer))

    return await serve(handle, "127.0.0.1", port, max_size=MAX_MESSAGE)


async def run(restore: Any, look_ahead: int, port: int) -> None:
    server = await start(restore, look_ahead, port)
    print(f"ws://127.0.0.1:{port} is ready", flush=True)
    await server.serve_forever()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--look-ahead", type=int, default=4)
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    restore = pipeline("punctuation-restoration", model=args.model)
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        asyncio.run(run(restore, args.look_ahead, args.port))


if __name__ == "__main__":
    main()
