"""A Java application as a process, which runs until its standard input ends and says what it has counted in its last line."""

import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

from ledger import PAUSE_S
from nodes import until


class Application:
    """The process, and what it has said."""

    def __init__(self, classes: pathlib.Path, jars: pathlib.Path, *command: str):
        if shutil.which("java") is None or not classes.is_dir():
            pytest.skip("a JDK or Maven is missing (Debian: openjdk-17-jdk-headless, maven)")
        java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", f"-Dpause_ms={round(PAUSE_S * 1000)}", "-cp", f"{classes}{os.pathsep}{jars}/*", *command]
        self.process = subprocess.Popen(java, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(map(str.rstrip, iter(self.process.stdout.readline, ""))))
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def wait_ready(self):
        until("the application is ready", lambda: "ready" in self.lines or self.process.poll() is not None, 120)
        assert self.process.poll() is None, self.lines

    def counted(self) -> dict:
        """What it has counted, once it has ended."""
        return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", self.lines[-1])}

    def end(self) -> list[str]:
        self.process.stdin.close()
        self.process.wait(180)
        self.reader.join()
        return self.lines
