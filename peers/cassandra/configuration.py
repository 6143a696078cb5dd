"""What a node is configured with, from its memory, its CPUs and the durability asked for: plain values, no side effects but `write`.

Every choice is Cassandra's own: of conf/cassandra_latest.yaml, conf/cassandra-env.sh, conf/jvm-server.options, conf/jvm17-server.options of
5.0 and of its "Production recommendations" page. README.md lists them with their sources.
"""

import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
MEMORY_MIN = 1024 * MIB
DURABILITIES = {
    # Acknowledged before fsync; the log is synced every 10 s. Shipped.
    "periodic": {"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"},
    # Acknowledged after fsync, which writes share. The shipped window of 1000 ms would be in the latency of every write.
    "group": {"commitlog_sync": "group", "commitlog_sync_group_window": "10ms"},
    # Acknowledged after fsync, begun at once.
    "batch": {"commitlog_sync": "batch"},
}


@dataclasses.dataclass(frozen=True)
class Configuration:
    """A node's settings. `memory` is the limit of all its memory in bytes, or what the machine has when there is no limit."""

    directory: pathlib.Path
    port: int
    cpus: tuple
    memory: int
    limited: bool
    durability: str
    commitlog_access: str
    compaction_throughput: str

    @property
    def heap_mib(self) -> int:
        """cassandra-env.sh: max(min(memory / 2, 1024 MB), min(memory / 4, 8192 MB))."""
        mib = self.memory // MIB
        return max(min(mib // 2, 1024), min(mib // 4, 8192))

    @property
    def direct_mib(self) -> int:
        """Java's direct memory (network and read buffers): half of what the heap leaves; the rest is memtables, metadata, page cache.
        Java's own default, as much again as the heap, would not fit in a small limit."""
        return min(self.heap_mib, (self.memory // MIB - self.heap_mib) // 2)

    def yaml_values(self) -> dict:
        """What differs from node to node in cassandra.yaml."""
        cores, heap = len(self.cpus), self.heap_mib
        synced = self.durability != "periodic"
        return {
            # The defaults for the heap's size, written out so that they are reported: a quarter each.
            "memtable_heap_space": f"{heap // 4}MiB",
            "memtable_offheap_space": f"{heap // 4}MiB",
            # "the smaller of 1/4 of heap or 512MB", "the smaller of 1/16 of heap or 128MB".
            "file_cache_size": f"{min(heap // 4, 512)}MiB",
            "networking_cache_size": f"{min(heap // 16, 128)}MiB",
            # "the smaller of (number of disks, number of cores), with a minimum of 2 and a maximum of 8"; "increase this to the number
            # of cores" on flash.
            "concurrent_compactors": max(2, min(cores, 8)),
            "compaction_throughput": self.compaction_throughput,
            # Shipped; twice the rule of "16 * number_of_drives".
            "concurrent_reads": 32,
            # "8 * number_of_cores is a good rule of thumb", as writes seldom wait. Those that wait for fsync share it only when there
            # are many of them: as many as the transport has threads.
            "concurrent_writes": 128 if synced else max(8 * cores, 8),
            **DURABILITIES[self.durability],
            "commitlog_disk_access_mode": self.commitlog_access,
        }

    def java_options(self) -> list:
        """The options of the Java machine, without the class path."""
        fixed = read_options("jvm17.options") + read_options("jvm17-modules.options")
        return [
            # "set min and max heap sizes to the same value to avoid stop-the-world GC pauses during resize"
            f"-Xms{self.heap_mib}M", f"-Xmx{self.heap_mib}M", f"-XX:MaxDirectMemorySize={self.direct_mib}M", *fixed,
        ]  # fmt: skip

    def write(self) -> pathlib.Path:
        """Writes DIR/conf and returns it."""
        conf = self.directory / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (self.directory / "log").mkdir(exist_ok=True)
        values = self.yaml_values()
        sync = "\n".join(f"{name}: {value}" for name, value in values.items() if name.startswith("commitlog_sync"))
        text = (HERE / "cassandra.yaml.in").read_text()
        for name, value in {
            "DIRECTORY": self.directory, "CQL_PORT": self.port, "STORAGE_PORT": self.port + 1, "COMMITLOG_SYNC": sync, "COMMITLOG_ACCESS": self.commitlog_access,
            "MEMTABLE_HEAP": values["memtable_heap_space"], "MEMTABLE_OFFHEAP": values["memtable_offheap_space"],
            "CONCURRENT_COMPACTORS": values["concurrent_compactors"], "COMPACTION_THROUGHPUT": values["compaction_throughput"],
            "FILE_CACHE": values["file_cache_size"], "NETWORKING_CACHE": values["networking_cache_size"],
            "CONCURRENT_READS": values["concurrent_reads"], "CONCURRENT_WRITES": values["concurrent_writes"],
        }.items():  # fmt: skip
            text = text.replace(f"@{name}@", str(value))
        (conf / "cassandra.yaml").write_text(text)
        (conf / "logback.xml").write_text((HERE / "logback.xml").read_text())
        return conf

    def settings(self) -> dict:
        """All that a report should list, in the order in which a reader wants it."""
        return {
            "server": f"Apache Cassandra {version()}",
            "cpus": ",".join(str(cpu) for cpu in self.cpus),
            "memory_limit": f"{self.memory // MIB}MiB" if self.limited else "none",
            "heap": f"{self.heap_mib}MiB",
            "direct_memory_max": f"{self.direct_mib}MiB",
            "durability": self.durability,
            **{name: str(value) for name, value in {**fixed_yaml_values(), **self.yaml_values()}.items()},
            "java_options": " ".join(option for option in self.java_options() if option.startswith("-X")),
        }


def fixed_yaml_values() -> dict:
    """The plain `name: value` lines of the template that decide speed or safety, and the nested ones in one word."""
    wanted = ("commitlog_segment_size", "memtable_allocation_type", "column_index_size", "trickle_fsync",
              "disk_access_mode", "key_cache_size", "row_cache_size", "storage_compatibility_mode")  # fmt: skip
    lines = (line.split(": ", 1) for line in (HERE / "cassandra.yaml.in").read_text().splitlines() if ": " in line)
    plain = {name: value for name, value in lines if name in wanted}
    return {**plain, "memtable": "TrieMemtable", "sstable_format": "bti", "default_compaction": "UnifiedCompactionStrategy T4"}


def version() -> str:
    """Cassandra's version, as pom.xml pins it."""
    text = (HERE / "pom.xml").read_text()
    return text.split("<artifactId>cassandra-all</artifactId>")[1].split("<version>")[1].split("</version>")[0]


def read_options(name: str) -> list:
    """The options in a file, without its comments."""
    lines = (HERE / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]
