"""Clients stay with the server whose address they were given: `addresses.py DRIVER [COMMAND…]`.

Another program, COMMAND URI ID, inserts one document with the driver; without it, one.py does with pymongo. Then the
documents of all servers that the client may have reached are looked at.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pymongo

from steps import equal, run, step

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ["ALLUVIUM"]
SCRATCH = Path(os.environ["SCRATCH"])
DRIVER = sys.argv[1]
COMMAND = sys.argv[2:] or [sys.executable, str(HERE / "one.py")]
# Drivers that stay with a single address that a URI has, without being told to.
STAYS = DRIVER == "java"
# The other network: its end of the cable, and that of this machine.
SPACE = f"alluvium-{os.getpid()}"
NEAR, FAR = (f"10.213.{os.getpid() % 250}.{end}" for end in (1, 2))
ids = iter(range(1_000_000))


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def server(*options, port, within=(), folder=None):
    """A server of a new database, or of one in a folder; it ends with this."""
    folder = folder or tempfile.mkdtemp(dir=SCRATCH, prefix="db")
    words = [*within, PROGRAM, "serve", os.path.join(folder, "db"), *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout.readline().startswith("listening at "), f"{words} does not start"
        yield Path(folder)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    equal(process.returncode, 0)


def with_option(uri, option):
    return uri + ("&" if "?" in uri else "/?") + option if option else uri


def insert(uri, within=(), environment=None):
    """Inserts a document. Returns its name, and the error if that has failed."""
    name = f"{DRIVER}-{next(ids)}"
    words = [*within, *COMMAND, with_option(uri, "serverSelectionTimeoutMS=4000"), name]
    done = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        env={**os.environ, **(environment or {})},
    )
    return (name, None) if done.returncode == 0 else (name, done.stdout)


def seen(path):
    """The names of the documents of a server, by the socket in the directory of its database."""
    socket_of_owner = str(path / "db" / "server.sock").replace("/", "%2F")
    with pymongo.MongoClient(f"mongodb://{socket_of_owner}/?directConnection=true") as client:
        return {document["_id"] for document in client.addresses.seen.find()}


def arrives(uri, at, **options):
    """Inserts a document, and fails unless it is in the database at a path."""
    for direct in ("", "directConnection=true", "directConnection=false"):
        whole = with_option(uri, direct)
        name, error = insert(whole, **options)
        assert error is None, f"{whole}: {error[-2000:]}"
        assert name in seen(at), f"{whole}: the document is not in the server"


@contextlib.contextmanager
def forwarder(address, port):
    """Forwards a free port of an address to a port of this machine, as a tunnel does."""
    listening = socket.create_server((address, 0))

    def pump(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.create_connection(("127.0.0.1", port))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()


def call(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@contextlib.contextmanager
def another_network():
    """Another network namespace, joined to this one by a cable; `None` if this process may not make one."""
    cable = f"alv{os.getpid() % 100_000}"
    steps = [
        ("ip", "netns", "add", SPACE),
        ("ip", "link", "add", f"{cable}a", "type", "veth", "peer", "name", f"{cable}b", "netns", SPACE),
        ("ip", "addr", "add", f"{NEAR}/30", "dev", f"{cable}a"),
        ("ip", "link", "set", f"{cable}a", "up"),
        ("ip", "-n", SPACE, "addr", "add", f"{FAR}/30", "dev", f"{cable}b"),
        ("ip", "-n", SPACE, "link", "set", f"{cable}b", "up"),
        ("ip", "-n", SPACE, "link", "set", "lo", "up"),
    ]
    try:
        for words in steps:
            try:
                done = call(*words)
            except FileNotFoundError as error:
                done = subprocess.CompletedProcess(words, 1, str(error))
            if done.returncode != 0:
                print(f"left out, since no other network can be made: {' '.join(words)}: {done.stdout.strip()}")
                yield None
                return
        yield ["ip", "netns", "exec", SPACE]
    finally:
        with contextlib.suppress(FileNotFoundError):
            call("ip", "netns", "del", SPACE)


@step
def any_of_several_addresses():
    first, second = free_port(), free_port()
    with server("--listen", f"127.0.0.1:{first}", "--listen", f"127.0.0.2:{second}", port=first) as at:
        arrives(f"mongodb://127.0.0.1:{first}", at)
        arrives(f"mongodb://127.0.0.2:{second}", at)
        arrives(f"mongodb://localhost:{first}", at)


@step
def an_address_in_another_network():
    port = free_port()
    with another_network() as within:
        if within is None:
            return
        with server("--listen", f"0.0.0.0:{port}", "--without-authentication", port=port) as at:
            arrives(f"mongodb://{NEAR}:{port}", at, within=within)
            arrives(f"mongodb://127.0.0.1:{port}", at)
        listen = ("--listen", f"127.0.0.1:{port}", "--listen", f"{NEAR}:{port}", "--without-authentication")
        with server(*listen, port=port) as at:
            arrives(f"mongodb://{NEAR}:{port}", at, within=within)


@step
def a_socket():
    # Drivers change the path that `hello` has to lower case.
    folder = Path(tempfile.mkdtemp(prefix="alluvium-socket-"))
    port = free_port()
    path = folder / "a.sock"
    if DRIVER in ("java", "rust") or str(path) != str(path).lower():
        return print(f"left out: {DRIVER} and sockets at {path}")
    with server("--listen", f"127.0.0.1:{port}", "--socket", path, port=port) as at:
        arrives(f"mongodb://{str(path).replace('/', '%2F')}", at)


@step
def a_forwarded_port():
    port = free_port()
    with another_network() as within:
        if within is None:
            return
        with server("--listen", f"127.0.0.1:{port}", port=port) as at, forwarder(NEAR, port) as forwarded:
            uri = f"mongodb://{NEAR}:{forwarded}"
            name, error = insert(f"{uri}/?directConnection=true", within=within)
            assert error is None and name in seen(at), error
            # Nobody is at the address that the server knows: the client fails, and says which address that is.
            name, error = insert(uri, within=within)
            assert STAYS or error and str(port) in error, error
            # Another Alluvium is there: it has another set name, and gets nothing.
            with server("--listen", f"127.0.0.1:{port}", port=port, within=within) as stranger:
                name, error = insert(uri, within=within)
                equal(seen(stranger), set())
                assert STAYS or error, "the client is not told"
        with forwarder(NEAR, port) as forwarded:
            listen = ("--listen", f"127.0.0.1:{port}", "--advertise", f"{NEAR}:{forwarded}")
            with server(*listen, port=port) as at:
                arrives(f"mongodb://{NEAR}:{forwarded}", at, within=within)


@step
def a_name_in_a_certificate():
    folder = Path(tempfile.mkdtemp(dir=SCRATCH, prefix="tls"))
    ca, key, request, certificate = (folder / name for name in ("ca.pem", "key.pem", "request.pem", "server.pem"))
    (folder / "names").write_text("subjectAltName=DNS:localhost\n")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for words in [
        ("req", "-x509", *new, "-keyout", folder / "ca.key", "-out", ca, "-subj", "/CN=authority", "-days", "2"),
        ("req", *new, "-keyout", key, "-out", request, "-subj", "/CN=server"),
        ("x509", "-req", "-in", request, "-CA", ca, "-CAkey", folder / "ca.key", "-CAcreateserial", "-days", "2",
         "-extfile", folder / "names", "-out", certificate),
    ]:
        done = call("openssl", *map(str, words))
        equal((done.returncode, done.stdout if done.returncode else ""), (0, ""))
    environment, options = {}, f"&tlsCAFile={str(ca).replace('/', '%2F')}"
    if DRIVER == "java":
        # The driver has no option for it.
        store = folder / "trust.p12"
        equal(call("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(ca), "-keystore", str(store),
                   "-storetype", "PKCS12", "-storepass", "changeit").returncode, 0)
        trust = f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=changeit"
        environment, options = {"JAVA_TOOL_OPTIONS": trust}, ""
    port = free_port()
    files = ("--tls-certificate", certificate, "--tls-key", key)
    with server("--listen", f"127.0.0.1:{port}", *files, port=port) as at:
        arrives(f"mongodb://localhost:{port}/?tls=true{options}", at, environment=environment)


@step
def two_servers_are_not_one():
    ports = free_port(), free_port()
    with server("--listen", f"127.0.0.1:{ports[0]}", port=ports[0]) as one:
        with server("--listen", f"127.0.0.1:{ports[1]}", port=ports[1]) as other:
            for _ in range(4):
                before = len(seen(one)), len(seen(other))
                name, error = insert(f"mongodb://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}")
                after = len(seen(one)), len(seen(other))
                equal(sum(after) - sum(before), 0 if error else 1)
    names = set()
    for port in ports:
        with server("--listen", f"127.0.0.1:{port}", port=port):
            with pymongo.MongoClient("127.0.0.1", port, directConnection=True) as client:
                names.add(client.admin.command("hello")["setName"])
    equal(len(names), 2)


@step
def a_name_that_was_given_to_the_set():
    port = free_port()
    listen = ("--listen", f"127.0.0.1:{port}")
    with server(*listen, port=port) as at:
        with pymongo.MongoClient("127.0.0.1", port, directConnection=True) as client:
            members = [{"_id": 0, "host": f"localhost:{port}"}]
            client.admin.command("replSetInitiate", {"_id": "shop", "members": members})
    with server(*listen, port=port, folder=at) as at:
        arrives(f"mongodb://127.0.0.1:{port}", at)
        name, error = insert(f"mongodb://127.0.0.1:{port}/?replicaSet=shop")
        assert error is None and name in seen(at), error
        name, error = insert(f"mongodb://127.0.0.1:{port}/?replicaSet=other")
        assert error and name not in seen(at), "a driver takes the set for another one"
        with pymongo.MongoClient("127.0.0.1", port) as client:
            equal(client.admin.command("ping")["ok"], 1.0)
            equal(client.address, ("localhost", port))


run()
