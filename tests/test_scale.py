"""Many workers, many clients: nothing is lost, doubled or mixed up, and no one keeps the others from their turn."""

import asyncio
import importlib
import json
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from punctuation_restoration import PunctuationStreamer

WORDS = "hello you are the best is the day saya awak 我们 大家 你好".split()
SENTENCES = [" ".join(WORDS[n % 5 : n % 7 + 6] + [WORDS[n % len(WORDS)]] * (n % 3)) for n in range(60)]


def kill_a_worker(output: Path, killed: list[int]) -> None:
    """Kill one of Ray's workers while it writes, as a machine does that runs out of memory."""
    end = time.monotonic() + 150
    while time.monotonic() < end and not killed:
        if any(output.glob(".*.part")):
            for process in psutil.Process().children(recursive=True):
                if "Restorer" in process.name() or "Restorer" in " ".join(process.cmdline()):
                    process.kill()
                    killed.append(process.pid)
                    return
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own
def test_workers_restore_an_archive_although_one_of_them_is_killed(
    tiny_checkpoint: str, tiny_pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name, value in (("RAY_AUTH_MODE", "disabled"), ("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_worker_niceness", "0")):
        monkeypatch.setenv(name, value)  # its workers would wait for the other tests
    ray = pytest.importorskip("ray", reason='the example needs `pip install -e ".[bulk]"`')
    pa, pq = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    archive, output, killed = tmp_path / "archive", tmp_path / "output", list[int]()
    (archive / "deep").mkdir(parents=True)
    texts: list[Any] = [*SENTENCES * 4, None, ""]
    table = pa.table({"id": pa.array(range(len(texts)), pa.int16()), "text": texts, "tags": [["a"]] * len(texts)})
    for n in range(3):
        pq.write_table(table, archive / f"{n}.parquet", row_group_size=100)
    lines = [json.dumps({"text": text, "id": n, "sign": "\ud83d"}) for n, text in enumerate(texts)]
    lines += ["{broken", '{"id": 1e999, "text": "hello"}', '{"id": 7}']
    for n in range(3):
        (archive / "deep" / f"{n}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (archive / "no.parquet").write_bytes(b"PAR1 and no more")
    (output / "deep").mkdir(parents=True)
    (output / "deep" / "2.jsonl").write_text("done before")
    example = importlib.import_module("examples.bulk_ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 * 2**20)
    killer = threading.Thread(target=kill_a_worker, args=(output, killed))
    killer.start()
    try:
        with pytest.raises(SystemExit) as ended:
            example.main([str(archive), str(output), "--model", tiny_checkpoint])
    finally:
        ray.shutdown()
        killer.join()
    assert killed
    with pytest.raises(SystemExit, match="0"):  # without Ray, which has ended
        example.main([str(archive / "deep"), str(output / "deep")])
    assert ended.value.code
    assert "5 of 6 files are done.\n" + str(archive / "no.parquet") in capsys.readouterr().out
    assert (output / "deep" / "2.jsonl").read_text() == "done before"
    files = {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}
    assert files == {*(f"{n}.parquet" for n in range(3)), *(f"deep/{n}.jsonl" for n in range(3))}
    expected = [None if text is None else tiny_pipeline(text)["text"] for text in texts]
    assert expected != texts
    for n in range(3):
        done = pq.read_table(output / f"{n}.parquet")
        assert done.drop_columns(["text", "punctuation_error"]).equals(table.drop_columns("text"))
        assert done["text"].to_pylist() == expected
        errors = done["punctuation_error"].to_pylist()
        assert [error is not None for error in errors] == [text is None for text in texts]
    for n in range(2):
        rows = [json.loads(line) for line in (output / "deep" / f"{n}.jsonl").read_text("utf-8").splitlines()]
        *whole, broken, infinite, without = rows
        assert [(row["id"], row["text"], row["sign"]) for row in whole] == [
            (n, text, "\ud83d") for n, text in enumerate(expected)
        ]
        assert (broken["line"], infinite["line"], without["id"]) == (lines[-3] + "\n", lines[-2] + "\n", 7)
        assert all("Expected a string" in row["punctuation_error"] for row in (broken, infinite, without))


def test_fifty_clients_share_calls_of_the_http_service(tiny_pipeline: Any) -> None:
    service = pytest.importorskip("examples.http_service", reason='it needs `pip install -e ".[service]"`')
    httpx = importlib.import_module("httpx")
    calls, may_work = list[int](), threading.Event()

    def restore(texts: list[str], **options: Any) -> Any:
        assert may_work.wait(60)
        calls.append(len(texts))
        return tiny_pipeline(texts, **options)

    async def client(number: int, http: Any) -> None:
        for n in range(10):
            text = SENTENCES[(7 * number + n) % len(SENTENCES)]
            answer = await http.post("/restore", content=text.encode())
            assert (answer.status_code, answer.text) == (200, expected[text])

    async def talk() -> None:
        app = httpx.ASGITransport(service.service(restore))
        async with httpx.AsyncClient(transport=app, base_url="http://here", timeout=100) as http:
            too_long = await http.post("/restore", content=b"a" * (service.MAX_BYTES + 1))
            assert too_long.status_code == 413
            parts = [asyncio.create_task(http.post("/restore", content=b"hello " * 2730)) for _ in range(20)]
            while (await http.get("/health")).json() != {"waiting": 17}:
                await asyncio.sleep(0.01)
            may_work.set()
            codes = [(await part).status_code for part in parts]
            assert sorted(codes) == [200] * 18 + [503] * 2
            calls.clear()
            await asyncio.gather(*(client(number, http) for number in range(50)))

    expected = {text: tiny_pipeline(text)["text"] for text in SENTENCES}
    asyncio.run(talk())
    assert sum(calls) == 500
    assert len(calls) < 100, "texts that wait share a call"


def test_fifty_live_speakers_and_those_who_may_not_speak(tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = pytest.importorskip("examples.websocket_server", reason='it needs `pip install -e ".[service]"`')
    client = importlib.import_module("websockets.asyncio.client")
    exceptions = importlib.import_module("websockets.exceptions")
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 51)

    async def speak(url: str, number: int) -> str:
        said = ""
        async with client.connect(url, proxy=None) as connection:
            for n in range(9):
                await connection.send(json.dumps({"words": SENTENCES[(number + n) % 60].split()}))
                said += json.loads(await connection.recv())["committed"]
            await connection.send('{"flush": true}')
            return said + json.loads(await connection.recv())["committed"]

    async def refused(url: str, **how: Any) -> int:
        with pytest.raises(exceptions.InvalidStatus) as error:
            await client.connect(url, proxy=None, **how)
        return error.value.response.status_code

    async def talk() -> list[str]:
        running = await server.start(tiny_pipeline, 4, 0, ["https://ours.example"])
        url = f"ws://127.0.0.1:{running.sockets[0].getsockname()[1]}"
        assert await refused(url, origin="https://theirs.example") == 403
        async with client.connect(url, proxy=None, origin="https://ours.example") as long:
            said = await asyncio.gather(*(speak(url, number) for number in range(50)))
            others = [await client.connect(url, proxy=None) for _ in range(50)]
            assert await refused(url) == 503
            await long.send(json.dumps({"text": "a" * server.MAX_MESSAGE}))
            with pytest.raises(exceptions.ConnectionClosedError, match="message too big"):
                await long.recv()
            await others[0].send('{"flush": true}')
            assert json.loads(await others[0].recv()) == {"committed": "", "tail": ""}
        running.close()
        await running.wait_closed()
        return said

    for number, said in enumerate(asyncio.run(talk())):
        streamer = PunctuationStreamer(tiny_pipeline, 4)
        for n in range(9):
            streamer.feed_words(SENTENCES[(number + n) % 60].split())
        streamer.flush()
        assert said == streamer.committed
