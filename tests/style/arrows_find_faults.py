#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""arrows.py finds an #include and a symbol that go the wrong way, and names both files and the symbol.

usage: arrows_find_faults.py SOURCE BUILD NM CC

The sources and objects are copied, and one file is added that includes and one that calls what lies further down.
"""

import os
import shutil
import subprocess
import sys
import tempfile

INCLUDES = "src/util/wrong_include.c includes src/cli/cli.h: util must not use cli"
SIMULATES = "src/cli/wrong_command.c includes src/sim/fault.h: cli must not use sim"
USES = "src/util/wrong_call.c uses muster_report_exit of src/report/report.c: util must not use report"
NAMED = "src/util/wrong_call.c defines wrong, which does not begin with muster_"
LINKED = "muster has a symbol of the simulator: muster_sim_command"
CIRCLE = "src/eval: a circle of answers.h, blocks.h, drafts.h, entries.h, findings.h"
UNKNOWN = "src/attic/ is not in the map of src/README.md"


def arrows(root, build, nm):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "arrows.py")
    done = subprocess.run([sys.executable, script, root, build, nm], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(source, build, nm, cc):
    with tempfile.TemporaryDirectory() as folder:
        root, objects = os.path.join(folder, "tree"), os.path.join(folder, "build/CMakeFiles/muster_all.dir/src")
        for name in ("src", "include"):
            shutil.copytree(os.path.join(source, name), os.path.join(root, name))
        shutil.copytree(os.path.join(build, "CMakeFiles/muster_all.dir/src"), objects)
        linked = os.path.join(folder, "build/muster")
        shutil.copy(os.path.join(build, "muster"), linked)
        code, before = arrows(root, os.path.join(folder, "build"), nm)
        if code == 0 and before or code != 0 and not before:
            sys.exit(f"exit status {code} with {len(before)} complaints")
        write(os.path.join(root, "src/util/wrong_include.c"), '#include "cli/cli.h"\n')
        write(os.path.join(root, "src/cli/wrong_command.c"), '#include "sim/fault.h"\n')
        write(os.path.join(root, "src/attic/old.c"), "\n")
        with open(os.path.join(root, "src/eval/entries.h"), "a", encoding="utf-8") as file:
            file.write('#include "eval/findings.h"\n')
        call = os.path.join(root, "src/util/wrong_call.c")
        write(call, "int muster_report_exit(void);\nint wrong(void);\nint wrong(void)\n{\n"
                    "\treturn muster_report_exit();\n}\n")
        subprocess.run([cc, "-c", call, "-o", os.path.join(objects, "util/wrong_call.c.o")], check=True)
        shutil.copy(os.path.join(build, "libexec/muster/muster-sim"), linked)
        code, after = arrows(root, os.path.join(folder, "build"), nm)
        added = [line for line in after if line not in before]
        others = [line for line in added if line.startswith("muster has ") and line != LINKED]
        added = [line for line in added if line not in others]
        wanted = [INCLUDES, SIMULATES, USES, NAMED, LINKED, UNKNOWN, CIRCLE]
        if code != 1 or len(others) < 20 or sorted(added) != sorted(wanted):
            sys.exit("\n".join([f"exit status {code}; wanted:", *wanted, "found:", *added]))


if __name__ == "__main__":
    main(*sys.argv[1:])
