#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/golden-image.md are run as they stand there: on a machine that is fit, and on one that is not.

The virtual machine is a folder, ssh and scp are scripts that know where it is, and `muster node` is the simulation's.

usage: golden_image.py MUSTER GOLDEN_IMAGE_MD
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

MUSTER, PAGE = os.path.abspath(sys.argv[1]), sys.argv[2]
BAD = "h2d-slow@node1/gpu4=11.2"

# `muster node OPTIONS` on a simulated node; all else is muster itself.
STAND_IN = f"""#!/bin/bash
set -e
[[ $1 == node ]] || exec {MUSTER} "$@"
shift
words=() rest=()
while (($# > 0)); do
	case $1 in
	--sku | --report) words+=("$1" "$2") ;;
	--*) rest+=("$1" "$2") ;;
	esac
	shift 2
done
[[ -z $FAULT ]] || words+=(--fault "$FAULT")
exec {MUSTER} sim --alone "${{words[@]}}" -- "${{rest[@]}}"
"""
SSH = """#!/bin/sh
[ "$1" = vm ] && cd "$VM" && exec sh -c "$2"
"""
SCP = """#!/bin/bash
set -e
here=$PWD
place() { [[ $1 == vm:* ]] && echo "$VM/${1#vm:}" || echo "$here/$1"; }
for ((i = 1; i < $#; i++)); do cp "$(place "${!i}")" "$(place "${!#}")"; done
"""


def examples(language):
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(rf"^```{language}\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


def read_hcl(text):
    """Blocks of a file that uses no more of HCL than this: (name, labels, attributes, blocks), the whole first."""
    root = ("", [], {}, [])
    stack = [root]
    text = re.sub(r"\[\s+(.*?)\s+\]", r"[\1]", text, flags=re.DOTALL)
    for line in filter(str.strip, text.splitlines()):
        opened = re.fullmatch(r'\s*([a-z-]+)((?: "[^"]+")*) \{', line)
        attribute = re.fullmatch(r"\s*([a-z_]+) *= (.+)", line)
        if opened:
            block = (opened[1], re.findall('"([^"]+)"', opened[2]), {}, [])
            stack[-1][3].append(block)
            stack.append(block)
        elif line.strip() == "}":
            stack.pop()
        else:
            stack[-1][2][attribute[1]] = json.loads(attribute[2])
    assert stack == [root], "every block is closed"
    return root


class GoldenImage(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.ci, self.vm, tools = (os.path.join(scratch.name, name) for name in ("ci", "vm", "tools"))
        for folder in (self.ci, self.vm, tools):
            os.mkdir(folder)
        for name, text in (("muster", STAND_IN), ("ssh", SSH), ("scp", SCP)):
            with open(os.path.join(tools, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o755)
        with open(os.path.join(self.ci, "image.json"), "w", encoding="utf-8") as file:
            file.write(self.only("json"))
        with tarfile.open(os.path.join(self.ci, "muster.tar.gz"), "w:gz") as archive:
            archive.add(os.path.join(tools, "muster"), "muster/bin/muster")
        self.environment = dict(os.environ, PATH=tools + ":" + os.environ["PATH"], VM=self.vm, vm="vm",
                                GITHUB_STEP_SUMMARY=os.path.join(self.ci, "summary.md"), MUSTER_METADATA_URL="")

    def only(self, language):
        found = [text for text in examples(language) if language != "sh" or text.startswith("set -e")]
        self.assertEqual(len(found), 1, language)
        return found[0]

    def run_script(self, script, fault, folder=None, shell=("bash", "-e")):
        return subprocess.run([*shell, "-c", script], cwd=folder or self.ci, env=dict(self.environment, FAULT=fault),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)

    def verdict(self, folder=None):
        with open(os.path.join(folder or self.ci, "muster.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertIn("image.driver", [check["check"] for check in report["checks"]])
        return report["verdict"]

    def test_overlay_has_no_problem_and_is_judged(self):
        done = subprocess.run([MUSTER, "lint", "--sku", "Standard_ND96asr_v4", os.path.join(self.ci, "image.json")],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_shell(self):
        for fault, code, verdict in (("", 0, "pass"), (BAD, 1, "fail")):
            done = self.run_script(self.only("sh"), fault, shell=("sh",))
            self.assertEqual((done.returncode, self.verdict()), (code, verdict), done.stdout)
            self.assertIn(f"### muster: {verdict.upper()}", done.stdout)
        os.unlink(os.path.join(self.ci, "muster.json"))
        with tarfile.open(os.path.join(self.ci, "muster.tar.gz"), "w:gz"):
            pass
        os.unlink(os.path.join(self.vm, "muster.json"))
        os.unlink(os.path.join(self.vm, "muster/bin/muster"))
        self.assertEqual(self.run_script(self.only("sh"), "", shell=("sh",)).returncode, 127, "without a program")

    def run_steps(self, steps, fault):
        """As GitHub does: once a step has failed, only those that run always."""
        failed, code, ran = False, 0, []
        for step in steps:
            condition = step.get("if", "success()")
            self.assertIn(condition, ("success()", "always() && hashFiles('muster.json') != ''"))
            wanted = os.path.exists(os.path.join(self.ci, "muster.json")) if "always" in condition else not failed
            if not wanted:
                continue
            ran.append(step.get("name", step.get("uses")))
            if "run" in step:
                done = self.run_script(step["run"], fault)
                code = code or done.returncode
                failed = failed or done.returncode != 0
        return code, ran

    @unittest.skipUnless(yaml, "python3-yaml is not installed")
    def test_github_actions(self):
        steps = yaml.safe_load(self.only("yaml"))
        for step in steps:
            self.assertLessEqual(set(step), {"name", "uses", "run", "if", "with"})
            self.assertEqual(("uses" in step) + ("run" in step), 1, step)
            self.assertEqual("with" in step, "upload" in step.get("uses", ""), step)
        kept = [step["with"]["path"].split() for step in steps if "with" in step][0]
        for fault, code, verdict in (("", 0, "pass"), (BAD, 1, "fail")):
            self.assertEqual(self.run_steps(steps, fault), (code, ["actions/checkout@v4", *(s["name"] for s in steps[1:])]))
            self.assertEqual(self.verdict(), verdict)
            self.assertEqual([name for name in kept if not os.path.exists(os.path.join(self.ci, name))], [])
        with open(self.environment["GITHUB_STEP_SUMMARY"], encoding="utf-8") as file:
            self.assertIn("### muster: FAIL", file.read())
        os.unlink(os.path.join(self.ci, "muster.json"))
        os.unlink(os.path.join(self.ci, "image.json"))
        self.assertEqual(self.run_steps(steps, "")[1], ["actions/checkout@v4", "Check the image"], "without a report")

    def test_packer(self):
        build = read_hcl(self.only("hcl"))[3][0]
        self.assertEqual((build[0], list(build[2])), ("build", ["sources"]))
        for fault, code, verdict in (("", 0, "pass"), (BAD, 1, "fail")):
            failed = 0
            for name, labels, attributes, _ in build[3]:
                if failed != (name == "error-cleanup-provisioner"):
                    continue
                self.assertIn(name, ("provisioner", "error-cleanup-provisioner"))
                if labels == ["shell"]:
                    script = "\n".join(attributes["inline"]).replace("/tmp/", self.vm + "/")
                    failed = self.run_script(script, fault, self.vm, ("sh", "-e")).returncode
                else:
                    self.assertEqual(labels, ["file"])
                    places = [attributes[key].replace("/tmp", self.vm) for key in ("source", "destination")]
                    subprocess.run(["cp", *places], cwd=self.ci, check=True, timeout=60)
            self.assertEqual((failed, self.verdict(self.vm)), (code, verdict))
            self.assertEqual(self.verdict(self.ci), verdict, "what is fetched")
            os.unlink(os.path.join(self.ci, "muster.json"))


unittest.main(argv=sys.argv[:1])
