"""The unified tests of one specification: the folder SUITE in `specifications`."""

import os

from test.unified_format import generate_test_classes

globals().update(
    generate_test_classes(
        os.path.join("specifications", os.environ["SUITE"]),
        module=__name__,
        class_name_prefix="Spec",
        # Helpers that the driver does not have.
        expected_failures=["ListDatabaseObjects .*", "ListCollectionObjects .*", "MapReduce .*"],
    )
)
