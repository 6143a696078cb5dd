"""Writes the same keys over and over, on the Python driver of whichever environment runs it.

    python tablets.py ADDRESS PORT KEYS

It says "warm" once it has written every key some times. For each line that it reads it writes every key once more, and says how many of these writes failed.
"""

import sys

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy, TokenAwarePolicy

# A driver that has come to a primary by luck does not know it yet.
ROUNDS = 8


def main(address: str, port: int, keys: int):
    profile = ExecutionProfile(TokenAwarePolicy(RoundRobinPolicy()), consistency_level=ConsistencyLevel.ONE, request_timeout=60)
    driver = Cluster(
        [address], port=port, protocol_version=4, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=60, control_connection_timeout=60
    )
    session = driver.connect()
    insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)")

    def failures(round_number: int) -> int:
        values = [(key, round_number) for key in range(keys)]
        results = execute_concurrent_with_args(session, insert, values, concurrency=50, raise_on_first_error=False)
        return sum(not result.success for result in results)

    assert sum(failures(round_number) for round_number in range(ROUNDS)) == 0
    print("warm", flush=True)
    for round_number, _ in enumerate(sys.stdin, ROUNDS):
        print(failures(round_number), flush=True)
    driver.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
