# SPDX-License-Identifier: Apache-2.0
"""scripts/compare: samples become the right ratios, tables and report, and a contender that hangs,
fails or is wrong is shown as that and stops nothing."""

import html.parser
import os
import pathlib
import re
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

import compare  # noqa: E402
import contenders  # noqa: E402
import html_report  # noqa: E402
import results  # noqa: E402
import tables  # noqa: E402

CASE = ("all_reduce", 2, "sync", 8)
FACTS = {"contenders": ["weft", "openmpi", "gloo"], "queue": 20, "rounds": 1, "started": "today",
         "versions": {"weft": "weft 1"},
         "machine": {"cores": 2, "model": "some", "system": "Linux", "load": "0"}}


def sample(contender, median, case=CASE, variant="default", **more):
    return {"contender": contender, "variant": variant, "op": case[0], "ranks": case[1],
            "mode": case[2], "bytes": case[3], "round": 1, "min_us": median / 2,
            "median_us": median, "max_us": median * 2, "way": "blocking", **more}


def made(*samples):
    return results.Results(dict(FACTS), list(samples))


def recorded():
    return results.load(HERE / "recorded.json")


class PairedTags(html.parser.HTMLParser):
    """Every tag that is opened is closed in order."""

    EMPTY = ("meta", "line", "circle", "polyline")

    def __init__(self, test):
        super().__init__()
        self.test = test
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            self.test.assertEqual(self.open.pop(), tag)


class Ratios(unittest.TestCase):
    def test_the_time_is_the_median_over_launches_within_all_their_extremes(self):
        cell = made(sample("weft", 1), sample("weft", 9), sample("weft", 2)).cell("weft", *CASE)
        self.assertEqual((cell.least, cell.median, cell.most, cell.launches), (0.5, 2, 18, 3))

    def test_the_best_settings_of_a_library_count(self):
        found = made(sample("weft", 2), sample("openmpi", 8, variant="a"),
                     sample("openmpi", 3, variant="b"), sample("gloo", 10))
        self.assertEqual(found.cell("openmpi", *CASE).variant, "b")
        self.assertEqual(found.ratio("openmpi", *CASE), 1.5)
        self.assertEqual(found.ratio("gloo", *CASE), 5)
        self.assertEqual(found.best_peer(*CASE), ("openmpi", 3))
        self.assertEqual(found.ratio("best", *CASE), 1.5)
        self.assertAlmostEqual(found.ratio("reference", *CASE), 0.369 / 2)

    def test_means_are_geometric(self):
        other = ("all_reduce", 4, "sync", 8)
        found = made(sample("weft", 1), sample("gloo", 2), sample("weft", 1, other),
                     sample("gloo", 8, other))
        mean, count = found.mean_ratio("gloo", "all_reduce", "sync")
        self.assertAlmostEqual(mean, 4)
        self.assertEqual(count, 2)

    def test_wrong_results_have_no_time(self):
        found = made(sample("weft", 2), sample("openmpi", 1, fault="3 wrong elements"),
                     sample("gloo", 4))
        self.assertIsNone(found.time("openmpi", *CASE))
        self.assertEqual(found.best_peer(*CASE), ("gloo", 4))
        text = tables.text_report(found)
        self.assertIn("WRONG", text)
        self.assertIn("Open MPI (default), all_reduce, 2 ranks, 8 B, result needed after each "
                      "call: 3 wrong elements", text)

    def test_the_reference_has_every_rank_and_size(self):
        numbers = results.reference()
        self.assertEqual(sorted(numbers["times"]), ["2", "4", "8"])
        for rows in numbers["times"].values():
            self.assertEqual(len(rows), 5)
            for row in rows.values():
                self.assertEqual(len(row), len(numbers["sizes"]))
        self.assertEqual(results.reference_time("broadcast", 8, "sync", 67108864), 48768)
        self.assertIsNone(results.reference_time("scatter", 2, "sync", 8))
        self.assertIsNone(results.reference_time("all_reduce", 2, "queued", 8))


class Reports(unittest.TestCase):
    def test_the_text_has_a_row_for_every_case(self):
        found = recorded()
        text = tables.text_report(found)
        for mode in found.modes():
            for op in found.operators():
                heading, rows = tables.rows_of(found, op, mode, True)
                self.assertEqual(len(rows), len(found.cases(op, mode)))
                for row in rows:
                    self.assertEqual(len(row), len(heading))
                    self.assertIn(row[2], text)
        self.assertEqual(len(found.operators()), 2)

    def test_the_page_is_whole_and_refers_to_nothing_outside(self):
        page = html_report.html_report(recorded())
        parser = PairedTags(self)
        parser.feed(page)
        self.assertEqual(parser.open, [])
        self.assertIsNone(re.search(r"(src|href)=|url\(|@import|<script", page))
        self.assertEqual(page.count("<svg"), 2 * 2 * 2)  # operators, modes, ranks
        self.assertNotIn("nan", page)

    def test_a_page_of_faults_only_is_whole(self):
        fault = {key: value for key, value in sample("weft", 1, fault="timed <out>").items()
                 if not key.endswith("_us")}
        page = html_report.html_report(made(fault))
        parser = PairedTags(self)
        parser.feed(page)
        self.assertEqual(parser.open, [])
        self.assertIn("timed &lt;out&gt;", page)

    def test_saved_results_are_read_back_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "results.json"
            recorded().save(file)
            self.assertEqual(results.load(file).samples, recorded().samples)

    def test_the_table_goes_between_the_marks_of_the_document(self):
        text = compare.with_table(f"a\n{compare.BEGIN}\nold\n{compare.END}\nz\n", recorded())
        self.assertTrue(text.startswith(f"a\n{compare.BEGIN}\n"))
        self.assertTrue(text.endswith(f"{compare.END}\nz\n"))
        self.assertNotIn("old", text)
        self.assertIn("| operator |", text)
        compare.with_table(compare.DOCS.read_text(encoding="utf-8"), recorded())


class Faults(unittest.TestCase):
    """A program of Gloo's name that does what the test says."""

    CASE = contenders.Case("all_reduce", 2, "sync", 1)
    ROW = ('{"operation": "all_reduce", "bytes": SIZE, "batches": 5, "calls_per_batch": 1, '
           '"min_us": 1, "median_us": 2, "max_us": 3, "wrong": 0, "way": "blocking"}')

    def run_program(self, script, sizes=(8, 64, 512)):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "peer_gloo"
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            program.chmod(0o755)
            launcher = contenders.Launcher("no-weft", folder, 0.01, 0.5)
            self.assertEqual(launcher.missing("gloo"), "")
            self.assertNotEqual(launcher.missing("weft"), "")
            return launcher.run("gloo", contenders.Variant("v"), self.CASE, sizes)

    def setUp(self):
        self.grace = contenders.GRACE
        contenders.GRACE = 0.2

    def tearDown(self):
        contenders.GRACE = self.grace

    def row(self, size):
        return f"echo '{self.ROW.replace('SIZE', str(size))}'"

    def test_a_program_that_hangs_is_ended_and_what_it_did_counts(self):
        wait = f'exec "{sys.executable}" -c "import signal; signal.pause()"'
        script = f"{self.row(8)}; printf '{{\"oper'; {wait}"
        first, second, third = self.run_program(script)
        self.assertEqual(first["median_us"], 2)
        self.assertEqual(second["fault"], "timed out")
        self.assertTrue(third["fault"].startswith("not tried"))

    def test_an_alarm_is_a_time_out(self):
        samples = self.run_program("kill -ALRM $$")
        self.assertEqual(samples[0]["fault"], "timed out")

    def test_after_a_failure_the_next_size_is_tried(self):
        samples = self.run_program("echo no luck >&2; exit 3")
        self.assertEqual([each["fault"] for each in samples], ["failed (3): no luck"] * 3)

    def test_wrong_elements_are_a_fault(self):
        script = self.row(8).replace('"wrong": 0', '"wrong": 7')
        (found,) = self.run_program(script, [8])
        self.assertEqual(found["fault"], "7 wrong elements")

    def test_a_whole_run_goes_on_without_weft_and_with_a_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "peer_gloo"
            program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
            os.chmod(program, 0o755)
            args = compare.parse_arguments(
                ["--weft", "no-weft", "--peers", folder, "--out", folder,
                 "--contenders", "weft,gloo", "--ops", "reduce", "--ranks", "2",
                 "--sizes", "8,1K", "--rounds", "2", "--timeout", "1"])
            run = compare.Comparison(
                args, contenders.Launcher(args.weft, args.peers, args.min_time, args.timeout))
            run.run()
            text = tables.text_report(run.results)
        self.assertEqual(run.contenders, ["gloo"])
        self.assertEqual(len(run.results.faults()), 4)  # two sizes, two modes
        self.assertIn("FAILED", text)


if __name__ == "__main__":
    unittest.main()
