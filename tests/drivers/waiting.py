"""Waiting for what comes some time."""

import time

SECONDS_MAX = 90


def wait_until(condition):
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)
