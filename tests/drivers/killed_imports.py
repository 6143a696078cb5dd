"""`tarndb import` that is killed, and whose servers are, while it copies."""

import signal
import subprocess

from waiting import wait_until


class EndedBefore(AssertionError):
    """It was copied to its end before it could be killed: this machine stalled for as long as that takes."""


def kill_again_and_again(command, done, whole, rounds):
    """Starts it once for each of `rounds`: how much is to be `done` at least, of `whole`, before it is killed, and which server is killed before that, or none."""
    for least, victim in rounds:
        before = done()
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        try:
            # It copies: before that, a side that is away ends it.
            wait_until(lambda least=max(least, before + 1), process=process: done() >= least or process.poll() is not None)
            so_far = done()
            if so_far >= whole or process.poll() == 0:
                raise EndedBefore
            assert process.poll() is None, process.stderr.read()
            if victim is not None:
                victim.restart("kill")
                # It goes on by itself, perhaps to its end before this client is connected again.
                wait_until(lambda so_far=so_far, process=process: done() > so_far or process.poll() is not None)
                assert process.poll() in (None, 0), process.stderr.read()
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
