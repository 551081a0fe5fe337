"""Locks that a forked child does not wait for: who holds one may be a thread that it has not."""

from __future__ import annotations

import os
import threading
import weakref

from zero.errors import StateError


class OfProcess:
    """The lock of what belongs to the process that made it. Another one is told so."""

    def __init__(self, what: str):
        self._what, self._process, self._lock = what, os.getpid(), threading.RLock()

    def is_elsewhere(self) -> bool:
        """Whether this process was forked from the one that it belongs to."""
        return self._process != os.getpid()

    def __enter__(self) -> None:
        if self.is_elsewhere():
            raise StateError(
                f"the {self._what} belongs to the process that made it, and this one was forked "
                f"from it: make the {self._what} after the fork"
            )
        self._lock.acquire()

    def __exit__(self, *_) -> None:
        self._lock.release()


class OneAtATime:
    """The lock of what changes the whole process. A child that was forked while another
    thread `did` it has what that thread left half done."""

    _all: weakref.WeakSet[OneAtATime] = weakref.WeakSet()

    def __init__(self, did: str):
        self._did, self._lock, self._half_done = did, threading.RLock(), False
        self._all.add(self)

    def __enter__(self) -> None:
        if self._half_done:
            raise StateError(
                f"this process was forked while another thread {self._did}, and has what that "
                "left half done: fork before or after it, or start the process by spawn"
            )
        self._lock.acquire()

    def __exit__(self, *_) -> None:
        self._lock.release()

    @classmethod
    def after_fork(cls) -> None:
        for each in cls._all:
            each._half_done = not each._lock.acquire(blocking=False)
            if not each._half_done:
                each._lock.release()


os.register_at_fork(after_in_child=OneAtATime.after_fork)
