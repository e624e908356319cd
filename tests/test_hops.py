"""Hops are counted as the benchmark says."""

import sys
import threading

from benchmarks.hops import HopCounter


def test_functions_below_the_folder_are_counted_once_and_others_not(tmp_path, monkeypatch):
    (tmp_path / "counted_module.py").write_text(
        "def inner(n):\n    return n\n\n"
        "def outer(n):\n    return [inner(one) for one in sorted(range(n), key=lambda one: one)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import counted_module

    counter, before = HopCounter(tmp_path), sys.getprofile()
    with counter.counting():
        counted_module.outer(3)
        thread = threading.Thread(target=counted_module.inner, args=(1,))
        thread.start()
        thread.join()
    counted_module.outer(3)
    names = ["counted_module.py: outer", "counted_module.py: inner"]
    assert counter.result() == {"hops": 2, "deepest": 2, "deepest_path": names}
    assert sys.getprofile() is before
