"""Writes the same keys over and over, on the Python driver of whichever environment runs it.

    python tablets.py ADDRESS PORT KEYS

It says "warm" once it has written every key some times, waits for a line, writes every key once more, and says "done".
"""

import sys

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy, TokenAwarePolicy

# A driver that has come to a primary by luck does not know it yet.
ROUNDS = 8


def main(address: str, port: int, keys: int):
    profile = ExecutionProfile(TokenAwarePolicy(RoundRobinPolicy()), consistency_level=ConsistencyLevel.QUORUM)
    driver = Cluster([address], port=port, protocol_version=4, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    session = driver.connect()
    insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)")

    def write(round_number: int):
        execute_concurrent_with_args(session, insert, [(key, round_number) for key in range(keys)], concurrency=50)

    for round_number in range(ROUNDS):
        write(round_number)
    print("warm", flush=True)
    sys.stdin.readline()
    write(ROUNDS)
    print("done", flush=True)
    driver.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
