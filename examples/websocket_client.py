"""A recogniser that changes its mind, simulated -> the server's answers: text that stays, and a tail that may change.

    python -m examples.websocket_server &
    python -m examples.websocket_client [--url ws://127.0.0.1:8765]

Each line shows what is committed, and after the bar what is not. It needs `pip install -e ".[service]"`.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from websockets.sync.client import ClientConnection, connect

# What the recogniser hears as somebody speaks; it is sure of words only when the next ones are there.
UTTERANCES = (
    (
        ["good", "good morning", "good mourning every", "good morning everyone"],
        "good morning everyone",
    ),
    (["thank", "thank you four", "thank you for coming"], "thank you for coming"),
    (["how", "how was", "how was your", "how was your trip"], "how was your trip"),
)


def messages() -> Iterator[dict[str, Any]]:
    """Hypotheses, then the final words, of each utterance; a pause ends the last one."""
    for hypotheses, final in UTTERANCES:
        for hypothesis in hypotheses:
            yield {"hypothesis": hypothesis}
        yield {"words": final.split()}
    yield {"flush": True}


def talk(connection: ClientConnection) -> str:
    """Send everything, print every answer. Returns the committed text."""
    committed = ""
    for message in messages():
        connection.send(json.dumps(message))
        answer = json.loads(connection.recv())
        committed += answer["committed"]
        print(f"{committed[-60:]:>60} |{answer['tail']}")
    return committed


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="ws://127.0.0.1:8765")
    args = parser.parse_args(argv)
    with connect(args.url, proxy=None) as connection:
        print(talk(connection))


if __name__ == "__main__":
    main()
