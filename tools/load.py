"""Fifty clients, ten requests each, at a service that runs here: errors, times of an answer, memory of the service.

python -m examples.http_service & python -m tools.load http://127.0.0.1:8000 --pid $!
python -m examples.websocket_server & python -m tools.load ws://127.0.0.1:8765 --pid $!
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

import httpx
import psutil
from websockets.asyncio.client import connect

N_CLIENTS, N_REQUESTS = 50, 10
TEXTS = (
    "hello this is josh here to help you and we will talk about the new project today",
    "大家好我们今天讨论一下新的项目你们觉得怎么样",
    "terima kasih kerana menghubungi kami ada apa yang boleh saya bantu",
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="of examples.http_service or examples.websocket_server")
    parser.add_argument("--pid", type=int, required=True, help="process of the service")
    parser.add_argument("--rounds", type=int, default=5, help="memory should be the same after each")
    args = parser.parse_args(argv)
    service = psutil.Process(args.pid)
    client = speaker if args.url.startswith("ws") else reader
    for _ in range(args.rounds):
        began = time.perf_counter()
        seconds, errors = asyncio.run(round_of(client, args.url))
        rate = len(seconds) / (time.perf_counter() - began)
        middle, slow = (statistics.quantiles(seconds, n=20)[n] for n in (9, 18))
        print(
            f"{len(seconds)} answers, {rate:.0f}/s, {len(errors)} errors {errors[:1]}; median {1000 * middle:.0f} ms, "
            f"95th percentile {1000 * slow:.0f} ms; {service.memory_info().rss / 1e6:.0f} MB; load "
            f"{psutil.getloadavg()[0]:.0f} on {psutil.cpu_count()} cores",
            flush=True,
        )


async def round_of(client: Any, url: str) -> tuple[list[float], list[str]]:
    """Seconds of each answer, and the errors, of all clients at once."""
    seconds: list[float] = []
    done = await asyncio.gather(*(client(url, n, seconds) for n in range(N_CLIENTS)), return_exceptions=True)
    return seconds, [repr(error) for error in done if error]


async def reader(url: str, number: int, seconds: list[float]) -> None:
    """A client of the HTTP service."""
    async with httpx.AsyncClient(timeout=300, trust_env=False) as http:
        for n in range(N_REQUESTS):
            began = time.perf_counter()
            answer = await http.post(f"{url}/restore", content=TEXTS[(number + n) % 3].encode())
            answer.raise_for_status()
            seconds.append(time.perf_counter() - began)


async def speaker(url: str, number: int, seconds: list[float]) -> None:
    """A client of the WebSocket server: five words a message, then the end of the utterance."""
    words = TEXTS[2 * (number % 2)].split() * 10
    async with connect(url, proxy=None, open_timeout=300, ping_timeout=None) as connection:
        for n in range(N_REQUESTS):
            said = {"words": words[5 * n : 5 * n + 5]} if n < N_REQUESTS - 1 else {"flush": True}
            began = time.perf_counter()
            await connection.send(json.dumps(said))
            answer = json.loads(await connection.recv())
            seconds.append(time.perf_counter() - began)
            if "error" in answer:
                raise ValueError(answer["error"])


if __name__ == "__main__":
    main()
