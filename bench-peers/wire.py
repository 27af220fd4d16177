#!/usr/bin/env python3
"""Servers of MongoDB's protocol beside each other, driven by pymongo.

    bench-peers/wire.py [--documents 100000] [--processes 1,8] [--only NAME] [--json FILE]

Starts `alluvium serve` (the program in $ALLUVIUM, or target/release/alluvium) with its data on disk and its log on, and
where they are there mongo-java-server (MONGO_JAVA_SERVER=CLASSPATH, its jars from Maven; in memory) and secantusdb (pip). Each gets the same
documents of some 1.1 KB, from one or several client processes. Prints operations in a second, and microseconds of processor
time of the server for each, and of find_one the latencies that 50 and 99 in 100 are below, as a client sees them. Timings of a small machine include the clients, which share its cores.
"""

import argparse
import json
import multiprocessing as mp
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pymongo
import pymongo.errors

WORKLOADS = ["insert_many", "insert_one", "find_one", "inc", "indexed", "range", "group"]
# Operations of a workload for each document that was inserted.
SHARES = {"insert_many": 1, "insert_one": 5, "find_one": 5, "inc": 5, "indexed": 50, "range": 50}
BODY = " ".join(f"word{n * 7919 % 5003}" for n in range(110))
STRIDE = 10_000_000


def document(process, n):
    return {
        "_id": process * STRIDE + n,
        "author": f"author{n % 997}",
        "n": n,
        "score": (n * 31) % 1000,
        "time": 1_600_000_000 + n * 13,
        "tags": ["a", "b", f"t{n % 17}"],
        "body": BODY,
    }


def work(uri, process, processes, documents, workload, ready, start, done):
    client = pymongo.MongoClient(uri)
    comments = client.bench.comments
    share = documents // processes
    batch = [document(process, n) for n in range(share)] if workload.startswith("insert") else []
    latencies = []
    client.admin.command("ping")
    ready.put(process)
    start.wait()
    count = max(1, share // SHARES.get(workload, share))
    if workload == "insert_many":
        for at in range(0, share, 1000):
            comments.insert_many(batch[at : at + 1000], ordered=False)
    elif workload == "insert_one":
        for one in batch[:count]:
            client.bench.single.insert_one(one)
    elif workload == "find_one":
        before = time.perf_counter()
        for n in range(count):
            assert comments.find_one({"_id": process * STRIDE + n * 7919 % share})
            now = time.perf_counter()
            latencies.append(now - before)
            before = now
    elif workload == "inc":
        for n in range(count):
            comments.update_one({"_id": process * STRIDE + n}, {"$inc": {"score": 1}})
    elif workload == "indexed":
        for n in range(count):
            list(comments.find({"author": f"author{n % 997}"}).limit(10))
    elif workload == "range":
        for n in range(count):
            list(comments.find({"time": {"$gte": 1_600_000_000 + n * 130}}).sort("time", 1).limit(10))
    elif workload == "group":
        count = max(1, 8 // processes)
        for _ in range(count):
            list(comments.aggregate([{"$group": {"_id": "$author", "n": {"$sum": 1}, "score": {"$avg": "$score"}}}]))
    done.put((count, latencies))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server, processes, documents, workload):
    ready, done, start = mp.Queue(), mp.Queue(), mp.Event()
    arguments = (processes, documents, workload, ready, start, done)
    workers = [mp.Process(target=work, args=(server.uri, process, *arguments)) for process in range(processes)]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.get()
    cpu, began = cpu_seconds(server.pid), time.monotonic()
    start.set()
    parts = [done.get(timeout=600) for _ in workers]
    count = sum(count for count, _ in parts)
    latencies = sorted(latency for _, some in parts for latency in some)
    seconds, cpu = time.monotonic() - began, cpu_seconds(server.pid) - cpu
    for worker in workers:
        worker.join()
    record = {"rate": count / seconds, "cpu_us": cpu / count * 1e6}
    if latencies:
        record |= {f"p{share}_us": latencies[len(latencies) * share // 100] * 1e6 for share in (50, 99)}
    return record


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server in a process of its own."""

    def __init__(self, name, command, port):
        self.name, self.uri = name, f"mongodb://127.0.0.1:{port}/?directConnection=true"
        self.directory = tempfile.mkdtemp(prefix=f"wire-{name}-")
        self.process = subprocess.Popen(
            command, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.pid = self.process.pid
        client = pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=30_000)
        try:
            client.admin.command("ping")
        except pymongo.errors.PyMongoError:
            self.stop()
            raise
        finally:
            client.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def servers():
    """The commands of the servers that are here."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    alluvium = os.environ.get("ALLUVIUM", os.path.join(root, "target/release/alluvium"))
    yield "alluvium", lambda port: [os.path.abspath(alluvium), "serve", "db", "--listen", f"127.0.0.1:{port}"]
    classes = os.environ.get("MONGO_JAVA_SERVER")
    if classes:
        yield "mongo-java-server", lambda port: ["java", "-cp", classes, java_main(), "127.0.0.1", str(port)]
    secantus = shutil.which("secantusd-py", path=f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '')}")
    if secantus:
        yield "secantusdb", lambda port: [secantus, "--port", str(port), "--storage-path", "data", "--log-level", "ERROR"]


def java_main():
    """A program that serves MongoDB's clients from Java's memory, with a version that current drivers accept."""
    path = os.path.join(tempfile.gettempdir(), "Main.java")
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            "import de.bwaldvogel.mongo.*; import de.bwaldvogel.mongo.backend.memory.*;"
            "public class Main { public static void main(String[] a) throws Exception {"
            "new MongoServer(new MemoryBackend().version(ServerVersion.MONGO_5_0)).bind(a[0], Integer.parseInt(a[1]));"
            "Thread.currentThread().join(); } }"
        )
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--processes", default="1,8")
    parser.add_argument("--only")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    records = []
    for name, command in servers():
        if arguments.only not in (None, name):
            continue
        for processes in map(int, arguments.processes.split(",")):
            port = free_port()
            try:
                server = Server(name, command(port), port)
            except pymongo.errors.PyMongoError as error:
                print(f"{name}: not measured: {error}", flush=True)
                continue
            try:
                for workload in WORKLOADS:
                    if workload == "indexed":
                        client = pymongo.MongoClient(server.uri)
                        client.bench.comments.create_index("author")
                        client.bench.comments.create_index("time")
                        client.close()
                    record = measure(server, processes, arguments.documents, workload)
                    record = {"server": name, "processes": processes, "workload": workload, **record}
                    records.append(record)
                    print("{server:18} {processes:2} {workload:12} {rate:10.0f}/s {cpu_us:10.1f} us".format(**record), end="")
                    shown = "  p50 {p50_us:.0f} us, p99 {p99_us:.0f} us".format(**record) if "p50_us" in record else ""
                    print(shown, flush=True)
            finally:
                server.stop()
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
