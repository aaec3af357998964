"""The process of an engine, as the process that measures sees it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.peers import PROJECT, Peer
from benchmarks.usage import Usage, watched

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.queries import Query

START_WITHIN = 180.0  # seconds


class EngineFailed(Exception):
    """The process ended, or did not answer in time."""


class EngineProcess:
    """The process of one engine, which waits for queries.

    Args:
        peer: the engine.
        log: file for its standard error.
        env: more variables of its environment.
    """

    def __init__(self, peer: Peer, log: Path, env: Mapping[str, str]) -> None:
        self.peer = peer
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                peer.command,
                cwd=PROJECT,
                # Let the first import compile a checkout, since installed packages are compiled.
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **peer.env, **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._replies: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        ready = self._reply(START_WITHIN)
        self.start_seconds: float = ready["seconds"]
        self.versions: dict[str, str] = ready["versions"]

    def ask(
        self, path: Path, query: Query, *, check: bool, patience: float
    ) -> tuple[dict[str, Any], Usage]:
        """Return the engine's reply, and the memory and processor time that it used.

        Raises:
            EngineFailed: the process ended, or was killed after ``patience`` seconds.
        """
        fields = {**asdict(query), "kind": query.kind.value}
        request = {"path": str(path), "query": fields, "check": check}
        with watched(self._process.pid) as usage:
            assert self._process.stdin is not None  # it is a pipe
            print(json.dumps(request), file=self._process.stdin, flush=True)
            reply = self._reply(patience)
        return reply, usage

    def close(self) -> None:
        """End the process and its children."""
        processes = self._family()
        if self._process.stdin is not None:
            self._process.stdin.close()
        _, alive = psutil.wait_procs(processes, timeout=20)
        for process in alive:
            process.kill()
        self._process.wait()

    def _family(self) -> list[psutil.Process]:
        try:
            process = psutil.Process(self._process.pid)
            return [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _listen(self) -> None:
        assert self._process.stdout is not None  # it is a pipe
        for line in self._process.stdout:
            self._replies.put(line)
        self._replies.put("")

    def _reply(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=seconds)
        except queue.Empty:
            for process in self._family():
                process.kill()
            raise EngineFailed(f"no answer within {seconds:.0f} s") from None
        if not line:
            raise EngineFailed(f"the process ended; see {self._log}")
        reply: dict[str, Any] = json.loads(line)
        return reply
