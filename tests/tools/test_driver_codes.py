#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""driver_codes.py on a tree of a few invented lines."""
import unittest

import driver_codes

HEADER = """
    NVSWITCH_ERR_HW_A_ONE    = 101,
    NVSWITCH_ERR_HW_A_TWO    = 102,
    NVSWITCH_ERR_HW_A_THREE  = 103,
    NVSWITCH_ERR_HW_A_FOUR   = 104,
    NVSWITCH_ERR_HW_A_SILENT = 105,
"""
ERRORS = """
#define NVERROR_H
#define FIRST_ERROR          (1)
#define UNUSED_ERROR         (2)
#define SECOND_ERROR         (3)
#define SOME_LAST_ERROR      (3)
#define SOME_LEVEL_FATAL     (2)
"""
FIRST = """
    NVSWITCH_REPORT_FATAL(_HW_A_ONE, "one is over", NV_FALSE);
    NVSWITCH_REPORT_NONFATAL(_HW_A_TWO, "two");
    NVSWITCH_REPORT_DATA(_HW_A_SILENT, data);
    NVSWITCH_REPORT_CORRECTABLE_LINK_DATA(device, link, _HW_A_FOUR, &data, "four");
"""
SECOND = """
    NVSWITCH_REPORT_NONFATAL_LINK(device, link, _HW_A_ONE, "one went on %d", 1);
    NVSWITCH_REPORT_CONTAIN(_HW_A_TWO, "two", NV_FALSE);
    NVSWITCH_PRINT_SXID(device, NVSWITCH_ERR_HW_A_THREE,
        "Fatal, three of %s", name);
"""
FILES = [("src/common/nvswitch/interface/ctrl.h", HEADER), ("src/common/sdk/nvidia/inc/nverror.h", ERRORS),
         ("src/common/nvswitch/kernel/lr10/intr.c", FIRST), ("src/common/nvswitch/kernel/ls10/intr.c", SECOND)]


class DriverCodes(unittest.TestCase):
    def test_the_severity_is_that_of_each_generation(self):
        xids, sxids = driver_codes.codes_of(FILES)
        self.assertEqual(xids, {1: "FIRST_ERROR", 2: "UNUSED_ERROR", 3: "SECOND_ERROR"})
        self.assertEqual({number: code["words"] for number, code in sxids.items()}, {
            101: {"lr10": {"fatal"}, "ls10": {"nonfatal"}}, 102: {"lr10": {"nonfatal"}, "ls10": {"fatal", "nonfatal"}},
            103: {"ls10": {"fatal"}}, 104: {"lr10": {"correctable"}}})
        self.assertEqual(sxids[101]["text"], "one is over")

    def test_what_is_missing_and_what_contradicts_is_told(self):
        fail, warn = {"class": "fail"}, {"class": "warn"}
        tables = {"xid": {"1": warn}, "sxid": {"101": fail, "102": warn, "104": fail, "other-fatal": fail}}
        lines, wrong, missing = driver_codes.compare(*driver_codes.codes_of(FILES), tables)
        self.assertEqual(lines, [
            "Xid 3 SECOND_ERROR: no entry",
            "SXid 101 HW_A_ONE: fail, and the driver says nonfatal (lr10 fatal, ls10 nonfatal): stricter",
            "SXid 102 HW_A_TWO: warn, and the driver says fatal (lr10 nonfatal, ls10 fatal/nonfatal)",
            "SXid 103 HW_A_THREE: no entry, so the word decides (ls10 fatal)",
            "SXid 104 HW_A_FOUR: fail, and the driver says correctable (lr10 correctable)"])
        self.assertTrue(wrong)
        self.assertIn(103, missing)
        right = {"xid": {"1": warn, "3": warn}, "sxid": {"101": fail, "102": warn, "102-fatal": fail, "103-fatal": fail, "104": warn}}
        self.assertFalse(driver_codes.compare(*driver_codes.codes_of(FILES), right)[1])


if __name__ == "__main__":
    unittest.main()
