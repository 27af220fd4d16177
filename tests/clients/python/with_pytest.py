"""pytest-mongo starts the program in place of mongod, for a suite of tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

SUITE = '''
import pytest


@pytest.mark.parametrize("n", range(3))
def test_each_test_has_an_empty_database(mongodb, n):
    pets = mongodb["test"]["pets"]
    assert pets.count_documents({}) == 0
    pets.insert_many([{"_id": i} for i in range(n + 1)])
    assert pets.count_documents({}) == n + 1


def test_the_process_is_known(mongo_proc, mongodb):
    assert mongo_proc.running()
    assert mongodb.server_info()["version"]
'''

suite = Path(os.environ["SCRATCH"]) / "test_suite.py"
suite.write_text(SUITE)
words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--mongo-exec={os.environ['MONGOD']}", str(suite)]
done = subprocess.run([sys.executable, *words], cwd=suite.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
text = done.stdout.decode(errors="replace")
counts = {name: int(n) for n, name in re.findall(r"(\d+) (passed|failed|error)", text)}
failed = counts.get("failed", 0) + counts.get("error", 0)
if failed or done.returncode:
    print(text)
print(f"{counts.get('passed', 0)} passed, {max(failed, int(done.returncode != 0))} failed")
