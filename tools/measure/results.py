"""Import it in a tool that reads the results that tools/run-tests kept.

It finds the tests of a file of results, each with its verdict and output."""
import re
import xml.etree.ElementTree as tree

# A line of the report of a program of tests (tests/runner.h).
LINE = re.compile(r"^(passed |FAILED |skipped) +[0-9.]+ s  (\S+)\n", re.M)


def tests_of(path):
    """Yields (name, passed|FAILED|skipped, output): the tests that entries report, and entries that report none."""
    for case in tree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        verdict = "passed" if case.get("status") == "run" else "FAILED"
        skip = case.find("skipped") # also if there is no program, which is a failure
        if skip is not None and skip.get("message") == "SKIP_RETURN_CODE=77":
            verdict = "skipped"
        reported, at = [], 0
        for match in LINE.finditer(output):
            reported.append((match.group(2), match.group(1).strip(), output[at:match.start()]))
            at = match.end()
        yield from reported
        if not reported or (verdict == "FAILED" and all(v != "FAILED" for _, v, _ in reported)):
            yield case.get("name"), verdict, output[at:]
