"""How the tests run: without a network and without waiting for the disk, the slow files first."""

import os
import socket
from collections.abc import Iterator
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """What tests share imports torch, which takes seconds; a process that only hands tests out needs none of it."""
    if not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("tiny")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, then those that train, so that in the end no process waits for another."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, "train" not in item.path.name))


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """No test is there to see a power cut, and a short run of training waits for some two hundred files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only this machine may be reached."""
    connect = socket.socket.connect

    def connect_here_only(self: socket.socket, address: Any) -> Any:
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host not in ("localhost", "127.0.0.1", "::1"):
            raise AssertionError(f"Expected no test to use the network, got a connection to {address}.")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here_only)
