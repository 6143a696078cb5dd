"""A network of its own for each node: a namespace with one veth pair each, joined by a bridge; the test runner is on the bridge, too.

A one-way cut is a neighbour entry that sends a node's packets for another one to a hardware address that nobody has: the bridge drops
them, without a word to either side. It needs nothing of the kernel but namespaces, bridges and veth.
"""

import functools
import itertools
import os
import re
import shutil
import subprocess
import threading

numbers = itertools.count()
NOBODY = "02:00:00:00:00:fe"
LOSS = "table ip loss { chain arriving { type filter hook input priority 0; iif eth0 numgen random mod 100 < 5 counter drop; }; }"


def run(*words, check: bool = True, given: str = ""):
    done = subprocess.run(words, input=given, capture_output=True, text=True)
    assert not check or done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}"
    return done


def nft(space: str, command: str, check: bool = True):
    """A command of nftables in a namespace."""
    return run("ip", "netns", "exec", space, "nft", "-f", "-", check=check, given=command)


@functools.cache
def why_not() -> str | None:
    """What keeps this machine from having such networks; nothing if it can."""
    if shutil.which("ip") is None:
        return "iproute2 is missing (Debian: iproute2)"
    if os.geteuid() != 0:
        return "network namespaces take root"
    try:
        Network().close()
    except AssertionError as failure:
        return f"network namespaces cannot be made here: {failure}"
    return None


class Network:
    """A bridge with nodes at 10.a.b.1 to 10.a.b.200; the test runner is at .254."""

    def __init__(self):
        number = next(numbers)
        self.name = f"td{os.getpid() % 100_000}x{number}"
        self.base = f"10.{200 + number % 50}.{os.getpid() % 250}"
        self.bridge = f"{self.name}b"
        self.members = {}
        run("ip", "link", "add", self.bridge, "type", "bridge")
        try:
            run("ip", "address", "add", f"{self.base}.254/24", "dev", self.bridge)
            run("ip", "link", "set", self.bridge, "up")
            self.place(200)
        except BaseException:
            self.close()
            raise

    def place(self, number: int):
        """A namespace for a node: its address and its file."""
        space, outside, address = f"{self.name}n{number}", f"{self.name}v{number}", f"{self.base}.{number}"
        if number not in self.members:
            run("ip", "netns", "add", space)
            self.members[number] = space
            run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "link", "set", outside, "master", self.bridge, "up")
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "-n", space, "link", "set", "eth0", "up")
        return address, f"/run/netns/{space}"

    def cut_one_way(self, sender, receiver):
        """What one node sends to the other gets lost."""
        run("ip", "-n", self.members[sender.number], "neighbour", "replace", receiver.address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def heal_one_way(self, sender, receiver):
        run("ip", "-n", self.members[sender.number], "neighbour", "delete", receiver.address, "dev", "eth0", check=False)

    def cut(self, node, others):
        """Between a node and others nothing gets through; clients reach all."""
        for other in others:
            self.cut_one_way(node, other)
            self.cut_one_way(other, node)

    def heal(self, node, others):
        for other in others:
            self.heal_one_way(node, other)
            self.heal_one_way(other, node)

    def lose(self, nodes, stopping: threading.Event):
        """Loses packets until told to stop: five of a hundred that come to any of the nodes, or, where nftables cannot do that, all between two of them in short bursts."""
        spaces = [self.members[node.number] for node in nodes]
        if all(nft(space, LOSS, check=False).returncode == 0 for space in spaces):
            stopping.wait()
            lost = [int(re.search(r"counter packets (\d+)", nft(space, "list table ip loss").stdout)[1]) for space in spaces]
            for space in spaces:
                nft(space, "delete table ip loss")
            assert all(lost), f"packets lost by each: {lost}"
            return
        pairs = [(one, other) for one in nodes for other in nodes if one is not other]
        for one, other in itertools.cycle(pairs):
            self.cut_one_way(one, other)
            stopping.wait(0.05)
            self.heal_one_way(one, other)
            if stopping.wait(0.15):
                return

    def close(self):
        for space in self.members.values():
            run("ip", "netns", "delete", space, check=False)
        run("ip", "link", "delete", self.bridge, check=False)
