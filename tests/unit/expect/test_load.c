/* SPDX-License-Identifier: Apache-2.0 */
/* test_load.c - expectation files: what is merged, what is refused, and how it says so */
#include "check_main.h"
#include "unit/expect/loaded.h"

#include "expect/operators.h"
#include "expect/load.h"

#include "muster/arena.h"

/* A file of one check; quotes are written as apostrophes. */
#define CHECK(body) CHECKS("'a.check':{" body "}")
#define CHECKS(checks) TOP("'checks':{" checks "}")
#define TOP(members) "{'schema_version':1,'name':'t'," members "}"
#define OF(metric) "'metric':'" metric "','source':'s'"
#define NUMBER OF("node.gpu_count")
#define STRING OF("node.kernel")
#define LETTERS_64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* A machine type by its name, or what it may be called. */
static void load_named(const char *name, const char *is)
{
	ck_assert_msg(load_from(fixture_dir, name, NULL) == 0, "%s", err.text);
	ck_assert_str_eq(expect.name, is);
}

/* The words are in what is said. */
static void refused(const char *folder, const char *name, const char *overlay, enum muster_code code, const char *words)
{
	ck_assert_int_eq(load_from(folder, name, overlay), -1);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s is not in: %s", words, err.text);
}

/* With these first words. */
static void refused_at(const char *name, const char *overlay, const char *said)
{
	refused("/none", fixture_path(name), overlay, MUSTER_EUSAGE, said);
	ck_assert_msg(strncmp(err.text, said, strlen(said)) == 0, "said: %s, not: %s", err.text, said);
}

/* The names of a check's operators, each with a blank behind it. */
static void operators_are(const struct muster_check *check, const char *expected)
{
	char names[256] = "";
	for (size_t i = 0, used = 0; i < check->operand_count; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s ", check->operands[i].operator->name);
	ck_assert_str_eq(names, expected);
}

/* What is wrong with a file, and what muster says: after "<path>: ". */
static const struct {
	const char *text, *said;
} bad[] = {
	{ "{'schema_version':1,\n'name' 't'}", "line 2, column" },
	{ "", "line 1, column 1:" },
	{ "[]", "$: an object is needed, found an array" },
	{ "{'name':'t','checks':{}}", "$.schema_version: missing, this muster reads version 1" },
	{ "{'schema_version':2,'name':'t'}", "$.schema_version: this muster reads version 1 only" },
	{ "{'schema_version':'1','name':'t'}", "$.schema_version: this muster reads version 1 only" },
	{ "{'schema_version':1,'checks':{}}", "$.name: missing, each file needs its own name" },
	{ TOP("'paths':['a']"), "$.paths[0]: an absolute path is needed, found \"a\"" },
	{ TOP("'paths':[{'path':'a'}]"), "$.paths[0].path: an absolute path is needed" },
	{ TOP("'paths':[{'content':true}]"), "$.paths[0]: the key \"path\" is missing" },
	{ TOP("'paths':'/a'"), "$.paths: an array is needed, found \"/a\"" },
	{ "{'schema_version':1,'name':7}", "$.name: a string is needed, found 7" },
	{ "{'schema_version':1,'name':''}", "$.name: must not be empty" },
	{ "{'schema_version':1,'name':'t'}", "$: no checks: every run would pass" },
	{ CHECKS(""), "$: no checks: every run would pass" },
	{ TOP("'chekcs':{}"),
		"$.chekcs: unknown key; did you mean \"checks\"? Allowed are schema_version, name, title, extends, "
		"observe, identify, events, causes, measurements, paths, checks" },
	{ TOP("'causes':{'a':{'explains':[],'facts':{},'action':'b'}}"), "$.causes.a.explains: " },
	{ TOP("'causes':{'a':{'explains':['b'],'facts':{'gpu.nmae':'c'},'action':'b'}}"),
		"$.causes.a.facts[\"gpu.nmae\"]: there is no metric of this name" },
	{ TOP("'causes':{'a':{'explains':['b'],'facts':{'gpu.name':'('},'action':'b'}}"),
		"$.causes.a.facts[\"gpu.name\"]: \"(\" is not a POSIX extended regular expression" },
	{ TOP("'causes':{'a':{'explains':['b'],'facts':{'gpu.name':'c'},'action':'${b}'}}"),
		"$.causes.a.action: the placeholder ${b} must be" },
	{ TOP("'observe':1"), "$.observe: true or false is needed, found 1" },
	{ TOP("'extends':5"), "$.extends: the path of a file is needed" },
	{ TOP("'identify':{'gpus':8}"), "$.identify.gpus: unknown key, allowed are vm_size, gpu_name, gpu_count" },
	{ TOP("'identify':{'gpu_count':0}"), "$.identify.gpu_count: a whole number from 1 is needed, found 0" },
	{ TOP("'identify':{'vm_size':'x'}"), "$.identify.vm_size: an array is needed, found \"x\"" },
	{ TOP("'identify':{'vm_size':['x',2]}"), "$.identify.vm_size[1]: a string is needed, found 2" },
	{ TOP("'checks':[]"), "$.checks: an object is needed, found an array" },
	{ CHECKS("'a.check':3"), "$.checks[\"a.check\"]: an object is needed, found 3" },
	{ CHECKS("'plain':3"), "$.checks.plain: an object is needed, found 3" },
	{ CHECKS("'Bad id':{}"),
		"$.checks[\"Bad id\"]: a check's name has 1 to 64 of a to z, 0 to 9, '.', '_' and '-'" },
	{ CHECKS("'probe.gpu':{}"),
		"$.checks[\"probe.gpu\"]: this name is reserved for muster's own findings (probes, missing ranks and "
		"nodes, interrupted runs, unknown machine types, localisation)" },
	{ CHECKS("'ring.split':{}"), "$.checks[\"ring.split\"]: this name is reserved" },
	{ CHECKS("'run.interrupted':{}"), "$.checks[\"run.interrupted\"]: this name is reserved" },
	{ CHECKS("'sku.unknown':{}"), "$.checks[\"sku.unknown\"]: this name is reserved" },
	{ CHECKS("'rank.missing':{}"), "$.checks[\"rank.missing\"]: this name is reserved" },
	{ CHECKS("'a':null"), "$.checks: cannot remove \"a\": it does not exist" },
	{ "{'schema_version':1.5,'name':'t'}", "$.schema_version: this muster reads version 1 only" },
	{ "{'schema_version':0,'name':'t'}", "$.schema_version: this muster reads version 1 only" },
	{ TOP("'title':''"), "$.title: must not be empty" },
	{ TOP("'identify':8"), "$.identify: an object is needed, found 8" },
	{ TOP("'identify':{'gpu_name':['']}"), "$.identify.gpu_name[0]: must not be empty" },
	{ TOP("'identify':{'gpu_count':1.5}"), "$.identify.gpu_count: a whole number from 1 is needed, found 1.5" },
	{ CHECKS("'':{}"), "$.checks[\"\"]: a check's name has 1 to 64 of a to z, 0 to 9, '.', '_' and '-'" },
	{ "{'schema_version':1,'name':'t','checks':{'a" LETTERS_64 "':{}}}",
		"$.checks.a" LETTERS_64 ": a check's name has 1 to 64 of a to z" },
	{ "{'schema_version':1,'name':'t','checks':{'" LETTERS_64 "':{}}}",
		"$.checks." LETTERS_64 ": no metric is given" },
	{ CHECKS("'gpu.probe':{}"), "$.checks[\"gpu.probe\"]: no metric is given" },
};

/* What is wrong with the check "a.check", and what muster says: after its place in the file. */
static const struct {
	const char *body, *said;
} bad_checks[] = {
	{ "'min':3", ": no metric is given" },
	{ "'metric':8", ".metric: a string is needed, found 8" },
	{ "'metric':'node.gpu_cuont','equals':8,'source':'s'",
		".metric: no such metric: 'node.gpu_cuont'; did you mean 'node.gpu_count'" },
	{ "'metric':'zzzzzzzz','equals':8,'source':'s'",
		".metric: no such metric: 'zzzzzzzz' (muster metrics lists them)" },
	{ NUMBER, ": no operator: give one of equals, one_of, min, max, warn_below, warn_above, equals_by, "
		  "same_across, present" },
	{ STRING, ": no operator: give one of equals, one_of, matches, min_version, equals_by, same_across, present" },
	{ NUMBER ",'zzzzzzzz':8",
		".zzzzzzzz: unknown key, allowed are metric, ignore_case, share_of, limit_where, limit_per, within, "
		"uniform, baseline, in_words, inconclusive_while, inconclusive_on, where, when, after, also_after, "
		"anywhere, slows, severity, optional, source, certainty, advice, title, measured_on, proof, "
		"action_code, equals, one_of, matches, min_version, min, max, warn_below, warn_above, equals_by, "
		"same_across, present, observe, min_of_median, max_of_median" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'gpu.pcie_limit_gpbs'",
		".share_of: no such metric: 'gpu.pcie_limit_gpbs'; did you mean 'gpu.pcie_limit_gbps'" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'gpu.h2d_gbps'",
		".share_of: gpu.h2d_gbps is the metric of the check itself" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'gpu.name'",
		".share_of: gpu.h2d_gbps (number, GB/s) is no share of gpu.name (string): numbers in one unit are "
		"needed" },
	{ OF("port.rate_gbps") ",'min':0.5,'share_of':'port.limit_gbps'",
		".share_of: port.rate_gbps (number, Gb/s) is no share of port.limit_gbps (number, GB/s): numbers in "
		"one unit are needed" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'nccl.allreduce_limit_gbps'",
		".share_of: gpu.h2d_gbps has one value for each gpu, and nccl.allreduce_limit_gbps one for each job" },
	{ OF("gpu.h2d_gbps") ",'observe':true,'share_of':'gpu.pcie_limit_gbps'",
		".share_of: says something only beside min, max, warn_below, warn_above, min_of_median, max_of_median "
		"or outlier" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'equals':3,'share_of':'gpu.pcie_limit_gbps'",
		".share_of: does not fit beside equals, which is a value and no share: give it a check of its own" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'limit_where':{'link':'x'}",
		".limit_where: says something only beside share_of" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'gpu.pcie_limit_gbps','limit_where':{'path':'x'}",
		".limit_where.path: gpu.pcie_limit_gbps has no label 'path', only gpu, link" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'gpu.pcie_limit_gbps','limit_where':'x'",
		".limit_where: an object is needed, found \"x\"" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'limit_per':{'metric':'gpu.nvlinks','max':2}",
		".limit_per.metric: says something only beside share_of" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'gpu.pcie_limit_gbps','limit_per':{'metric':'gpu.nvlinks','max':0}",
		".limit_per.max: a number above 0 is needed, found 0" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'share_of':'gpu.pcie_limit_gbps','limit_per':{'metric':'node.kernel','max':2}",
		".limit_per.metric: one number for each gpu is needed" },
	{ OF("gpu.h2d_gbps") ",'min':0.5,'inconclusive_while':{'metric':'gpu.nvlinks','max':2}",
		".inconclusive_while.metric: one number for each node is needed" },
	{ NUMBER ",'min':'8'", ".min: a number is needed, found '8'" },
	{ NUMBER ",'max':true", ".max: a number is needed, found true" },
	{ NUMBER ",'warn_below':[1]", ".warn_below: a number is needed, found an array" },
	{ NUMBER ",'warn_above':{}", ".warn_above: a number is needed, found an object" },
	{ NUMBER ",'min':9,'max':8", ".min: 9 is above max, 8" },
	{ STRING ",'min':9", ".min: does not fit: node.kernel is a string, which has equals, one_of, matches, "
			     "min_version, equals_by, same_across, present" },
	{ OF("gpu.ecc") ",'matches':'x'", ".matches: does not fit: gpu.ecc is a boolean, which has equals, one_of, "
					  "equals_by, same_across, present" },
	{ NUMBER ",'equals':'8'", ".equals: a number is needed for node.gpu_count, found '8'" },
	{ STRING ",'equals':5.15", ".equals: a string is needed for node.kernel, found 5.15" },
	{ OF("gpu.ecc") ",'equals':'on'", ".equals: true or false is needed for gpu.ecc, found 'on'" },
	{ NUMBER ",'one_of':8", ".one_of: an array is needed, found 8" },
	{ NUMBER ",'one_of':[]", ".one_of: at least one value is needed" },
	{ NUMBER ",'one_of':[8,'9']", ".one_of[1]: a number is needed for node.gpu_count, found '9'" },
	{ STRING ",'matches':'a('", ".matches: 'a(' is not a POSIX extended regular expression:" },
	{ STRING ",'matches':'(((a{9}){9}){9})'", ".matches: '(((a{9}){9}){9})' is too large a regular expression: its "
						  "repetitions multiply to more than 200 characters" },
	{ STRING ",'matches':'((((((((((a+)+)+)+)+)+)+)+)+)+)'",
		".matches: '((((((((((a+)+)+)+)+)+)+)+)+)+)' is too large a regular expression: " },
	{ STRING ",'matches':'a{1,32767}'", ".matches: 'a{1,32767}' is too large a regular expression: " },
	{ STRING ",'matches':'(.*)\\\\1'", ".matches: '(.*)\\1' is too large a regular expression: it has a back "
					   "reference, which POSIX extended regular expressions do not have" },
	{ STRING ",'equals':'5','in_words':'five'", ".in_words: says something only beside one_of or matches" },
	{ STRING ",'matches':'5','in_words':''", ".in_words: must not be empty" },
	{ STRING ",'matches':''", ".matches: must not be empty" },
	{ STRING ",'min_version':5", ".min_version: a string is needed, found 5" },
	{ STRING ",'min_version':'5.15-3'",
		".min_version: numbers with dots between them are needed ('2.9.9'), found '5.15-3'" },
	{ STRING ",'min_version':'5.'", ".min_version: numbers with dots" },
	{ STRING ",'min_version':'.5'", ".min_version: numbers with dots" },
	{ STRING ",'min_version':'5..1'", ".min_version: numbers with dots" },
	{ NUMBER ",'min_version':'5'", ".min_version: does not fit: node.gpu_count is a number" },
	{ STRING ",'min_version':'5','ignore_case':true",
		".ignore_case: says something only beside an operator that compares strings" },
	{ NUMBER ",'equals':8,'ignore_case':true",
		".ignore_case: says something only beside an operator that compares strings" },
	{ STRING ",'equals':'x','ignore_case':'yes'", ".ignore_case: true or false is needed, found 'yes'" },
	{ NUMBER ",'equals':8,'one_of':[8]", ": equals and one_of exclude each other: set one of them to null" },
	{ NUMBER ",'present':false,'min':1", ": min is not allowed with present: false" },
	{ NUMBER ",'present':'no'", ".present: true or false is needed, found 'no'" },
	{ NUMBER ",'same_across':'racks'", ".same_across: one of nodes, ranks is needed, found 'racks'" },
	{ NUMBER ",'same_across':'ranks'",
		".same_across: node.gpu_count is a metric of a node, not of a rank: use 'nodes'" },
	{ NUMBER ",'same_across':'nodes','min':8",
		": same_across must be the only operator: give min a check of its own" },
	{ OF("nccl.ring_ranks") ",'same_across':'nodes'",
		".same_across: nccl.ring_ranks has one value for the whole job: there is nothing to compare" },
	{ OF("gpu.numa_node") ",'equals_by':{'label':'gpu'}", ".equals_by: the key 'values' is missing" },
	{ OF("gpu.numa_node") ",'equals_by':{'label':'port','values':{'x':1}}",
		".equals_by.label: gpu.numa_node has no label 'port', only gpu" },
	{ OF("gpu.numa_node") ",'equals_by':{'label':'gpu','values':{}}",
		".equals_by.values: at least one value is needed" },
	{ OF("gpu.numa_node") ",'equals_by':{'label':'gpu','values':{'0001:00:00.0':'1'}}",
		".equals_by.values['0001:00:00.0']: a number is needed for gpu.numa_node, found '1'" },
	{ OF("gpu.numa_node") ",'equals_by':{'label':'gpu','map':{}}",
		".equals_by.map: unknown key, allowed are label, values" },
	{ NUMBER ",'equals':8,'where':{'gpu':'x'}",
		".where.gpu: node.gpu_count has no labels, so it has no label 'gpu'" },
	{ OF("port.state") ",'equals':'ACTIVE','where':{'prot':'x'}",
		".where.prot: port.state has no label 'prot', only port, link_layer" },
	{ OF("port.state") ",'equals':'ACTIVE','where':{'port':1}", ".where.port: a string is needed, found 1" },
	{ OF("nccl.allreduce_us") ",'max':1,'where':{'bytes':'8G'}", ".where.bytes: a number is needed, found '8G'" },
	{ NUMBER ",'equals':8,'when':{'racks':1}",
		".when.racks: unknown key; did you mean 'ranks'? Allowed are nodes, ranks, profile" },
	{ NUMBER ",'equals':8,'when':{'nodes':0}", ".when.nodes: a whole number from 1 is needed, found 0" },
	{ NUMBER ",'equals':8,'when':{'nodes':1.5}", ".when.nodes: a whole number from 1 is needed, found 1.5" },
	{ NUMBER ",'equals':8,'when':{'nodes':'2'}", ".when.nodes: a number is needed, or an object with min and max" },
	{ NUMBER ",'equals':8,'when':{'ranks':{'min':4,'max':2}}", ".when.ranks: min 4 is above max 2" },
	{ NUMBER ",'equals':8,'when':{'ranks':{'least':4}}", ".when.ranks.least: unknown key, allowed are min, max" },
	{ NUMBER ",'equals':8,'when':{'profile':'fast'}",
		".when.profile: one of quick, standard, full is needed, found 'fast'" },
	{ NUMBER ",'equals':8,'when':{'profile':['full',3]}",
		".when.profile[1]: one of quick, standard, full is needed, found 3" },
	{ NUMBER ",'equals':8,'when':{'profile':[]}", ".when.profile: at least one profile is needed" },
	{ NUMBER ",'equals':8,'when':{'domains':0}", ".when.domains: a whole number from 1 is needed, found 0" },
	{ NUMBER ",'equals':8,'when':{'domains':{'min':3,'max':2}}", ".when.domains: min 3 is above max 2" },
	{ NUMBER ",'observe':1", ".observe: true or false is needed, found 1" },
	{ NUMBER ",'observe':false", ".observe: true is needed, or null to remove it" },
	{ NUMBER ",'observe':true,'min':1", ": observe and min exclude each other: set one of them to null" },
	{ NUMBER ",'observe':true,'min_of_median':1",
		": observe and min_of_median exclude each other: set one of them to null" },
	{ NUMBER ",'observe':true,'present':true",
		": observe and present exclude each other: set one of them to null" },
	{ NUMBER ",'observe':true,'same_across':'nodes'",
		": observe and same_across exclude each other: set one of them to null" },
	{ STRING ",'min_of_median':0.9", ".min_of_median: does not fit: node.kernel is a string, which has equals, "
					 "one_of, matches, min_version, equals_by, same_across, present, observe" },
	{ NUMBER ",'min_of_median':'0.9'", ".min_of_median: a number is needed, found '0.9'" },
	{ NUMBER ",'min_of_median':0", ".min_of_median: a number above 0 and up to 1 is needed, found 0" },
	{ NUMBER ",'min_of_median':-0.5", ".min_of_median: a number above 0 and up to 1 is needed, found -0.5" },
	{ NUMBER ",'min_of_median':85", ".min_of_median: a number above 0 and up to 1 is needed, found 85" },
	{ NUMBER ",'max_of_median':0.85", ".max_of_median: a number from 1 is needed, found 0.85" },
	{ OF("nccl.allreduce_us") ",'max_of_median':2",
		".max_of_median: nccl.allreduce_us has one value for the whole job: there is nothing to compare" },
	{ OF("port.firmware") ",'same_across':'nodes','within':'gpu'",
		".within: port.firmware has no label 'gpu', only port, link_layer" },
	{ OF("port.firmware") ",'same_across':'nodes','within':''", ".within: must not be empty" },
	{ OF("port.firmware") ",'equals':'1','within':'port'", ".within: is only allowed with same_across" },
	{ NUMBER ",'equals':8,'severity':'error'", ".severity: one of fail, warn is needed, found 'error'" },
	{ NUMBER ",'equals':8,'action_code':'drain'",
		".action_code: one of none, retry, investigate, fix-launch, fix-settings, "
		"restart-service, fix-storage, fix-fabric, reset-gpu, reboot, replace-node is needed, found 'drain'" },
	{ NUMBER ",'equals':8,'proof':'maybe'", ".proof: one of soft, hard is needed, found 'maybe'" },
	{ NUMBER ",'equals':8,'measured_on':''", ".measured_on: must not be empty" },
	{ NUMBER ",'equals':8,'certainty':'sure'",
		".certainty: one of measured, threshold, specified, inferred is needed, found 'sure'" },
	{ NUMBER ",'equals':8,'optional':'yes'", ".optional: true or false is needed, found 'yes'" },
	{ NUMBER ",'equals':8,'advice':3", ".advice: a string is needed, found 3" },
	{ NUMBER ",'equals':8,'advice':'see ${node'", ".advice: a placeholder without closing brace: '${node'" },
	{ NUMBER ",'equals':8,'advice':'see ${node.kernle}'",
		".advice: the placeholder ${node.kernle} must be node, rank, gpu, port or a metric; did you mean "
		"'node.kernel'" },
	{ NUMBER ",'equals':8,'title':''", ".title: must not be empty" },
	{ "'metric':'node.gpu_count','equals':8", ": no source: give the source of the expected value" },
	{ NUMBER ",'equals':8,'inconclusive_on':['INIT']", ".inconclusive_on: an object is needed, found an array" },
	{ NUMBER ",'equals':8,'inconclusive_on':{'7':''}", ".inconclusive_on['7']: must not be empty" },
	{ NUMBER ",'equals':8,'after':'a.chekc'", ".after: there is no check 'a.chekc'; did you mean 'a.check'" },
	{ STRING ",'warn_below':9", ".warn_below: does not fit: node.kernel is a string" },
	{ STRING ",'warn_above':9", ".warn_above: does not fit: node.kernel is a string" },
	{ STRING ",'max':9", ".max: does not fit: node.kernel is a string" },
	{ STRING ",'min_of_median':0.9", ".min_of_median: does not fit: node.kernel is a string" },
	{ STRING ",'max_of_median':2", ".max_of_median: does not fit: node.kernel is a string" },
	{ OF("nccl.ring_ranks") ",'min_of_median':0.9",
		".min_of_median: nccl.ring_ranks has one value for the whole job" },
	{ OF("nccl.ring_ranks") ",'max_of_median':2",
		".max_of_median: nccl.ring_ranks has one value for the whole job" },
	{ NUMBER ",'min_of_median':'x'", ".min_of_median: a number is needed, found 'x'" },
	{ NUMBER ",'equals':8,'equals_by':{'label':'gpu','values':{'a':1}}",
		".equals_by.label: node.gpu_count has no labels, so it has no label 'gpu'" },
	{ OF("gpu.numa_node") ",'equals':1,'equals_by':{'label':'gpu','values':{'a':1}}",
		": equals and equals_by exclude each other: set one of them to null" },
	{ OF("gpu.numa_node") ",'equals_by':['gpu']", ".equals_by: an object is needed, found an array" },
	{ OF("gpu.numa_node") ",'equals_by':{'values':{'a':1}}", ".equals_by: the key 'label' is missing" },
	{ OF("gpu.numa_node") ",'equals_by':{'label':'gpu','values':['a']}",
		".equals_by.values: an object is needed, found an array" },
	{ OF("gpu.numa_node") ",'min':1,'within':'gpu'", ".within: is only allowed with same_across" },
	{ OF("port.rate_gbps") ",'same_across':'ranks'",
		".same_across: port.rate_gbps is a metric of a node, not of a rank" },
	{ NUMBER ",'present':false,'same_across':'nodes'",
		": same_across must be the only operator: give present a check of its own" },
	{ OF("nccl.allreduce_us") ",'max':1,'where':{'nodes':'8'}", ".where.nodes: a number is needed, found '8'" },
	{ OF("nccl.allreduce_us") ",'max':1,'where':{'ranks':true}", ".where.ranks: a number is needed, found true" },
	{ OF("nccl.allreduce_us") ",'max':1,'where':[8]", ".where: an object is needed, found an array" },
	{ NUMBER ",'equals':8,'when':8", ".when: an object is needed, found 8" },
	{ NUMBER ",'equals':8,'when':{'nodes':{'min':0}}",
		".when.nodes.min: a whole number from 1 is needed, found 0" },
	{ NUMBER ",'equals':8,'when':{'nodes':3000000000}",
		".when.nodes: a whole number from 1 is needed, found 3000000000" },
	{ NUMBER ",'equals':8,'advice':'${rank} ${rankk}'",
		".advice: the placeholder ${rankk} must be node, rank, gpu, port or a metric" },
	{ NUMBER ",'equals':8,'advice':''", ".advice: must not be empty" },
	{ NUMBER ",'equals':8,'after':7", ".after: a string is needed, found 7" },
	{ "'metric':'node.gpu_count','equals':8,'source':''", ".source: must not be empty" },
	{ NUMBER ",'equals':8,'inconclusive_on':{'7':8}", ".inconclusive_on['7']: a string is needed, found 8" },
	{ NUMBER ",'equals':8,'after':'a.check'", ".after: the 'after' of these checks form a circle" },
};

/* What may be said, at its bounds. */
static const char *const good[] = {
	"{'schema_version':1,'name':'t','checks':{'" LETTERS_64 "':{" NUMBER ",'equals':8}}}",
	"{'schema_version':1,'name':'t','checks':{'09._-z':{" NUMBER ",'equals':8}}}",
	"{'schema_version':1,'name':'t','checks':{'probe':{" NUMBER ",'equals':8}}}",
	CHECK(NUMBER ",'min':8,'max':8"),
	CHECK(NUMBER ",'min_of_median':1,'max_of_median':1"),
	CHECK(NUMBER ",'equals':8,'when':{'nodes':{'min':2,'max':2},'ranks':{'max':1},'profile':'quick'}"),
	CHECK(NUMBER ",'equals':8,'when':{}"),
	CHECK(NUMBER ",'present':true,'min':1"),
	CHECK(NUMBER ",'equals':8,'advice':'${node} ${rank} ${gpu} ${port} ${node.cpus} $ {x} }'"),
	CHECK(OF("gpu.name") ",'same_across':'ranks'"),
	CHECK("'metric':'gpu.gemm_checksum','source':'s','same_across':'ranks','within':'made_by'"),
	CHECK(NUMBER ",'max_of_median':1.5"),
	CHECK(OF("gpu.name") ",'same_across':'nodes','within':'gpu'"),
	CHECK(OF("gpu.name") ",'equals_by':{'label':'gpu','values':{'a':'b'}},'ignore_case':true"),
	CHECK(OF("gpu.name") ",'matches':'a','ignore_case':true"),
	CHECK(OF("gpu.name") ",'matches':'a','min_version':'5','ignore_case':true"),
	CHECK(OF("gpu.name") ",'min_version':'5','ignore_case':false"),
	CHECK(OF("gpu.name") ",'one_of':['a'],'in_words':'an a'"),
	CHECK("'metric':'nccl.allreduce_us','source':'s','max':1,'where':{'bytes':8,'nodes':1,'ranks':2}"),
};

TEST_EACH(what_may_be_said_is_taken, good)
{
	put("x.json", good[_i]);
	load("x.json", NULL);
	ck_assert_uint_eq(expect.check_count, 1);
	ck_assert_int_eq(expect.checks[0].after, -1);
}

TEST_EACH(a_bad_file_is_refused_with_its_path_and_what_is_allowed, bad)
{
	char said[1024];
	put("x.json", bad[_i].text);
	snprintf(said, sizeof said, "%s: %s", fixture_path("x.json"), bad[_i].said);
	refused_at("x.json", NULL, said);
}

TEST_EACH(a_bad_check_is_refused_with_its_path_and_what_is_allowed, bad_checks)
{
	char text[1024], said[1024];
	snprintf(text, sizeof text, CHECK("%s"), bad_checks[_i].body);
	put("x.json", text);
	snprintf(said, sizeof said, "%s: $.checks['a.check']%s", fixture_path("x.json"), bad_checks[_i].said);
	refused_at("x.json", NULL, with_quotes(said));
}

#define EIGHT CHECK(NUMBER ",'equals':8")
#define CHILD "{'schema_version':1,'name':'c'}"
#define CHILD_WITH(checks) "{'schema_version':1,'name':'c','checks':{" checks "}}"
#define OVER(members) "{'checks':{'a.check':{" members "}}}"

/* The same, spread over a file, its parent and an overlay: the file that is to blame is named. */
static const struct {
	const char *parent, *child, *overlay, *blamed, *said;
} spread[] = {
	{ EIGHT, CHILD_WITH("'a.check':{'equals':'9'}"), NULL, "child.json",
		"$.checks['a.check'].equals: a number is needed for node.gpu_count, found '9'" },
	{ CHECK(NUMBER ",'equals':'8'"), CHILD_WITH("'a.check':{'title':'t'}"), NULL, "parent.json",
		"$.checks['a.check'].equals: a number is needed for node.gpu_count, found '8'" },
	{ EIGHT, CHILD, OVER("'min':'x'"), "overlay.json", "$.checks['a.check'].min: a number is needed, found 'x'" },
	{ EIGHT, CHILD, "{'checks':{'a.chekc':{'min':7}}}", "overlay.json",
		"$.checks['a.chekc']: no metric is given, and no check of this name is inherited; did you mean "
		"'a.check'" },
	{ EIGHT, CHILD, "{'checks':{'a.chekc':null}}", "overlay.json",
		"$.checks: cannot remove 'a.chekc': it does not exist; did you mean 'a.check'" },
	{ EIGHT, CHILD, OVER("'mni':null"), "overlay.json",
		"$.checks['a.check']: cannot remove 'mni': it does not exist" },
	{ CHECK(NUMBER ",'one_of':[8,9]"), CHILD, OVER("'one_of':{'x':null}"), "overlay.json",
		"$.checks['a.check'].one_of: cannot remove 'x': it does not exist" },
	{ EIGHT, CHILD, OVER("'equals':{'x':null}"), "overlay.json",
		"$.checks['a.check'].equals: cannot remove 'x': it does not exist" },
	{ EIGHT, CHILD_WITH("'new':{'x':{'y':null}}"), NULL, "child.json",
		"$.checks.new.x: cannot remove 'y': it does not exist" },
	{ EIGHT, CHILD_WITH("'a.check':{'mni':{'y':null}}"), NULL, "child.json",
		"$.checks['a.check'].mni: cannot remove 'y': it does not exist" },
	{ EIGHT, CHILD, OVER("'source':null"), "overlay.json",
		"$.checks['a.check']: no source: give the source of the expected value" },
	{ EIGHT, CHILD, "{'extends':'x.json'}", "overlay.json", "$.extends: not allowed in an overlay" },
	{ EIGHT, CHILD, "{'schema_version':3}", "overlay.json", "$.schema_version: this muster reads version 1 only" },
	{ EIGHT, "{'schema_version':1,'name':null}", NULL, "child.json", "$.name: missing" },
	{ EIGHT, CHILD, "{'name':null}", "overlay.json", "$.name: missing" },
	{ EIGHT, CHILD, "{'checks':", "overlay.json", "line 1, column" },
	{ "{'schema_version':1}", CHILD, NULL, "parent.json", "$.name: missing" },
	{ EIGHT, CHILD, "{'checks':null}", "parent.json", "$: no checks: every run would pass" },
};

TEST_EACH(the_file_that_said_it_last_is_blamed, spread)
{
	const char *overlay = spread[_i].overlay ? "overlay.json" : NULL;
	char child[512], said[1024];
	put("parent.json", spread[_i].parent);
	snprintf(child, sizeof child, "{'extends':'parent.json',%s", spread[_i].child + 1);
	put("child.json", child);
	if (overlay)
		put(overlay, spread[_i].overlay);
	if (strstr(spread[_i].said, "no checks")) {
		refused("/none", fixture_path("child.json"), overlay, MUSTER_EUSAGE, spread[_i].said);
		return;
	}
	snprintf(said, sizeof said, "%s: %s", fixture_path(spread[_i].blamed), with_quotes(spread[_i].said));
	refused_at("child.json", overlay, said);
}

TEST(parents_come_first_and_each_patch_changes_what_it_names)
{
	ck_assert_int_eq(mkdir(fixture_path("sub"), 0755), 0);
	put("sub/base.json", "{'schema_version':1,'name':'base','title':'T','checks':{"
			     "'one':{'metric':'node.gpu_count','equals':8,'source':'b','advice':'look'},"
			     "'two':{'metric':'node.cpus','min':4,'source':'b'},"
			     "'three':{'metric':'node.kernel','same_across':'nodes','source':'b'}}}");
	put("leaf.json", "{'schema_version':1,'name':'leaf','extends':'sub/"
			 "base.json','identify':{'vm_size':['A','B'],'gpu_name':['G'],"
			 "'gpu_count':8},'checks':{'four':{'metric':'node.os','present':true,'source':'l'},"
			 "'two':{'min':16,'severity':'warn'},'three':null}}");
	put("site.json", "{'checks':{'one':{'equals':null,'one_of':[4,8],'advice':null}}}");
	load("leaf.json", "site.json");
	ck_assert_str_eq(expect.name, "leaf");
	ck_assert_str_eq(expect.title, "T");
	ck_assert_uint_eq(expect.check_count, 3);
	ck_assert_str_eq(expect.checks[0].id, "one");
	ck_assert_str_eq(expect.checks[1].id, "two");
	ck_assert_str_eq(expect.checks[2].id, "four");
	operators_are(&expect.checks[0], "one_of ");
	ck_assert_uint_eq(expect.checks[0].operands->list_count, 2);
	ck_assert_ptr_null(expect.checks[0].advice);
	ck_assert_str_eq(expect.checks[0].source, "b");
	ck_assert_double_eq(expect.checks[1].operands->value.number, 16);
	ck_assert_int_eq(expect.checks[1].severity, MUSTER_SEVERITY_WARN);
	ck_assert_int_eq(expect.checks[1].after, -1);
	ck_assert_uint_eq(expect.vm_size_count, 2);
	ck_assert_str_eq(expect.vm_sizes[1], "B");
	ck_assert_uint_eq(expect.gpu_name_count, 1);
	ck_assert_int_eq(expect.gpu_count, 8);
	ck_assert_ptr_nonnull(strstr(expect.origin, "site.json < "));
	ck_assert_ptr_nonnull(strstr(expect.origin, "leaf.json < "));
	ck_assert_ptr_nonnull(strstr(expect.origin, "sub/base.json"));
}

/* Words for a pattern that another file has replaced would be a lie. */
static const struct {
	const char *child, *words;
} worded[] = {
	{ "'severity':'warn'", "five" },
	{ "'matches':'^6','source':'c'", NULL },
	{ "'matches':'^6','in_words':'six','source':'c'", "six" },
	{ "'in_words':'six'", NULL },
	{ "'in_words':null", NULL },
	{ "'matches':null,'one_of':['6*'],'source':'c'", NULL },
	{ "'matches':null,'one_of':['6*'],'in_words':'six','source':'c'", "six" },
	{ "'matches':null,'equals':'5.15','source':'c'", NULL },
};

TEST_EACH(words_hold_for_the_pattern_of_their_own_file, worded)
{
	char child[512];
	put("parent.json", CHECK("'metric':'node.kernel','matches':'^5','in_words':'five','source':'p'"));
	snprintf(child, sizeof child,
		"{'schema_version':1,'name':'c','extends':'parent.json','checks':{'a.check':{%s}}}", worded[_i].child);
	put("child.json", child);
	load("child.json", NULL);
	ck_assert_pstr_eq(expect.checks[0].in_words, worded[_i].words);
}

TEST(every_key_of_a_check_arrives)
{
	put("x.json",
		"{'schema_version':1,'name':'t','checks':{"
		"'first':{'metric':'port.state','where':{'link_layer':'InfiniBand','port':'p/1'},"
		"'equals':'ACTIVE','inconclusive_on':{'INIT':'wait'},'after':'second','severity':'warn','optional':"
		"true,"
		"'when':{'nodes':{'min':2},'ranks':16,'profile':['quick','full']},'source':'s','certainty':'measured',"
		"'advice':'${port} on ${node} ${port.rate_gbps}','title':'t',"
		"'measured_on':'2 x A','action_code':'reboot'},"
		"'second':{'metric':'gpu.memory_mib','min':1,'max':4,'warn_below':2,'warn_above':3,'source':'s'},"
		"'third':{'metric':'gpu.numa_node','equals_by':{'label':'gpu','values':{'a':1,'b':2}},'source':'s'},"
		"'fourth':{'metric':'node.kernel','matches':'^5','in_words':'five','source':'s','when':{'nodes':{'max':"
		"3},'domains':{'"
		"min':4}}},"
		"'fifth':{'metric':'port.firmware','same_across':'nodes','within':'link_layer','source':'s','when':{"
		"'domains':2}},"
		"'sixth':{'metric':'gpu.h2d_gbps','min':1,'min_of_median':0.5,'max_of_median':1.5,'source'"
		":'s'},"
		"'seventh':{'metric':'gpu.h2d_gbps','observe':true,'source':'s'},"
		"'eighth':{'metric':'gpu.name','one_of':['*6000*'],'ignore_case':true,'in_words':'a "
		"6000','source':'s'},"
		"'ninth':{'metric':'node.kernel','min_version':'5.15','source':'s'}}}");
	load("x.json", NULL);
	const struct muster_check *c = expect.checks;
	ck_assert_uint_eq(expect.check_count, 9);
	ck_assert_str_eq(c->metric->name, "port.state");
	ck_assert_uint_eq(c->where_count, 2);
	ck_assert_str_eq(c->where[1].value.string, "p/1");
	ck_assert_uint_eq(c->inconclusive_on_count, 1);
	ck_assert_str_eq(c->inconclusive_on[0].why, "wait");
	ck_assert_int_eq(c->after, 1);
	ck_assert_int_eq(c->severity, MUSTER_SEVERITY_WARN);
	ck_assert(c->optional);
	ck_assert_int_eq(c->when_nodes.min, 2);
	ck_assert_int_eq(c->when_nodes.max, 0);
	ck_assert_int_eq(c->when_ranks.min, 16);
	ck_assert_int_eq(c->when_ranks.max, 16);
	ck_assert_uint_eq(c->when_profiles, 1u << MUSTER_QUICK | 1u << MUSTER_FULL);
	ck_assert_str_eq(c->certainty, "measured");
	ck_assert_str_eq(c->title, "t");
	ck_assert_str_eq(c->measured_on, "2 x A");
	ck_assert_str_eq(c->action_code, "reboot");
	ck_assert_ptr_null(c[1].measured_on);
	ck_assert_ptr_null(c[1].action_code);
	operators_are(&c[1], "min max warn_below warn_above ");
	ck_assert_double_eq(c[1].operands[3].value.number, 3);
	operators_are(&c[2], "equals_by ");
	ck_assert_uint_eq(c[2].operands->list_count, 2);
	ck_assert_str_eq(c[2].operands->label, "gpu");
	ck_assert_str_eq(c[2].operands->list[1].label_value, "b");
	ck_assert_double_eq(c[2].operands->list[1].value.number, 2);
	operators_are(&c[3], "matches ");
	ck_assert_str_eq(c[3].operands->value.string, "^5");
	ck_assert(!c[3].ignore_case);
	ck_assert_str_eq(c[3].in_words, "five");
	ck_assert_int_eq(c[3].when_nodes.max, 3);
	ck_assert_int_eq(c[3].when_domains.min, 4);
	ck_assert_int_eq(c[3].when_domains.max, 0);
	ck_assert_ptr_null(c[3].within);
	ck_assert_int_eq(c[4].when_domains.min, 2);
	ck_assert_int_eq(c[4].when_domains.max, 2);
	ck_assert_str_eq(c[4].within, "link_layer");
	operators_are(&c[5], "min min_of_median max_of_median ");
	ck_assert_double_eq(c[5].operands[1].value.number, 0.5);
	ck_assert_double_eq(c[5].operands[2].value.number, 1.5);
	operators_are(&c[6], "observe ");
	operators_are(&c[7], "one_of ");
	ck_assert(c[7].ignore_case);
	ck_assert_str_eq(c[7].in_words, "a 6000");
	operators_are(&c[8], "min_version ");
	ck_assert_str_eq(c[8].operands->value.string, "5.15");
}

/* Beside the file that names it, or anywhere by a whole path. */
TEST(a_parent_is_found_by_its_name_and_by_its_path)
{
	static const char *const forms[] = { "parent.json", "sub/../parent.json", NULL };
	char child[512];
	ck_assert_int_eq(mkdir(fixture_path("sub"), 0700), 0);
	put("parent.json", CHECK(NUMBER ",'min':1"));
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(child, sizeof child, "{'schema_version':1,'name':'child','extends':'%s'}",
			forms[i] ? forms[i] : fixture_path("parent.json"));
		put("child.json", child);
		load("child.json", NULL);
		ck_assert_uint_eq(expect.check_count, 1);
	}
}

TEST(after_may_name_a_check_that_was_switched_off)
{
	put("x.json", "{'schema_version':1,'name':'x','checks':{'a':{" NUMBER ",'equals':8},'b':{" NUMBER
		      ",'min':1,'after':'a'}}}");
	put("site.json", "{'checks':{'a':null}}");
	load("x.json", "site.json");
	ck_assert_uint_eq(expect.check_count, 1);
	ck_assert_int_eq(expect.checks[0].after, -1);
}

TEST(a_loop_of_files_names_the_chain)
{
	char said[1024];
	put("a.json", "{'schema_version':1,'name':'a','extends':'b.json'}");
	put("b.json", "{'schema_version':1,'name':'b','extends':'./c.json'}");
	put("c.json", "{'schema_version':1,'name':'c','extends':'b.json'}");
	snprintf(said, sizeof said, "%s/./c.json: $.extends: a loop: %s/b.json < %s/./c.json < %s/./b.json",
		fixture_dir, fixture_dir, fixture_dir, fixture_dir);
	refused_at("a.json", NULL, said);
	ck_assert_str_eq(err.text, said);
}

/* Files f0.json, f1.json, ..., each of which extends the next; the last has a check. */
static void put_chain(int count)
{
	char name[32], text[128];
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof name, "f%d.json", i);
		snprintf(text, sizeof text, "{'schema_version':1,'name':'f','extends':'f%d.json'}", i + 1);
		put(name, i < count - 1 ? text : CHECK(NUMBER ",'equals':8"));
	}
}

TEST(eight_files_may_extend_each_other_and_no_more)
{
	put_chain(8);
	put("site.json", "{'schema_version':1,'name':'site'}");
	load("f0.json", "site.json");
	ck_assert_str_eq(expect.name, "site");
	ck_assert_uint_eq(expect.file_count, 9);
	put_chain(10);
	refused("/none", fixture_path("f0.json"), NULL, MUSTER_EUSAGE,
		"f7.json: $.extends: more than 8 files extend each other");
}

TEST(a_missing_parent_is_named_with_who_wants_it)
{
	char said[512];
	put("a.json", "{'schema_version':1,'name':'a','extends':'none.json'}");
	snprintf(said, sizeof said, "%s/a.json: $.extends: %s/none.json: No such file or directory", fixture_dir,
		fixture_dir);
	refused_at("a.json", NULL, said);
	ck_assert_str_eq(err.text, said);
	refused_at("none.json", NULL, "");
}

TEST(a_file_beyond_the_limit_is_refused)
{
	char *text = malloc(1024 * 1024 + 2);
	memset(text, ' ', 1024 * 1024 + 1);
	text[1024 * 1024 + 1] = '\0';
	fixture_write("big.json", text);
	free(text);
	refused("/none", fixture_path("big.json"), NULL, MUSTER_EUSAGE, "at most 1048576");
}

/* The text of a file whose member "x" is `unit` repeated between two brackets. */
static char *repeated(const char *before, const char *unit, size_t count, const char *behind)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	fprintf(out, "{\"schema_version\": 1, \"name\": \"x\", \"x\": %s", before);
	for (size_t i = 0; i < count; i++)
		fprintf(out, unit, i);
	fprintf(out, "%s}", behind);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static const struct {
	const char *before, *unit;
	size_t count;
	const char *behind, *said;
} large[] = {
	{ "[", "%zu,", 1024, "1]", "$.x: more than 1024 members" },
	{ "{", "\"%zu\": 1, ", 1024, "\"x\": 1}", "$.x: more than 1024 members" },
	{ "[[1], ", "[[%zu]],", 1022, "[]]", "$.x: unknown key" }, /* as many as may be */
	{ "\"", "%04zu", 1024, "\"", "$.x: unknown key" },         /* as long as may be */
	{ "{\"", "%04zu", 1024, "\": 1}", "$.x: unknown key" },
	{ "\"", "%06zu", 683, "\"", "$.x: a string of 4098 bytes, at most 4096 are allowed" },
	{ "{\"", "%06zu", 683, "\": 1}", "$.x: a key of more than 4096 bytes" },
	{ "[{\"a\": \"", "%06zu", 683, "\"}]", "$.x[0].a: a string of 4098 bytes, at most 4096 are allowed" },
	/* what a terminal would obey */
	{ "\"", "\\u001b[31m", 1, "\"", "$.x: a control character" },
	{ "{\"a\": \"", "\\u009b", 1, "\"}", "$.x.a: a control character" },
	{ "{\"", "\\u007f", 1, "\": 1}", "$.x: a control character in a key" },
	{ "\"", "\xc2\xa0\xc3\xa9", 1, "\"", "$.x: unknown key" },
	{ "", "[", 70, "", "line 1, column 104: nested deeper than 64 levels" },
};

TEST_EACH(a_file_of_more_than_any_machine_needs_is_refused, large)
{
	char *text = repeated(large[_i].before, large[_i].unit, large[_i].count, large[_i].behind);
	fixture_write("x.json", text);
	free(text);
	refused("/none", fixture_path("x.json"), NULL, MUSTER_EUSAGE, large[_i].said);
}

TEST(a_pattern_of_one_of_is_short_and_a_plain_text_need_not_be)
{
	char as[258] = { 0 }, pattern[512], plain[1024];
	memset(as, 'a', sizeof as - 1);
	snprintf(pattern, sizeof pattern, CHECK(STRING ",'one_of':['x','*%.256s']"), as);
	snprintf(plain, sizeof plain, CHECK(STRING ",'one_of':['x','%s','*%.255s']"), as, as);
	put("x.json", pattern);
	put("y.json", plain);
	refused("/none", fixture_path("x.json"), NULL, MUSTER_EUSAGE,
		"$.checks[\"a.check\"].one_of[1]: a pattern of more than 256 bytes");
	load("y.json", NULL);
}

TEST(a_name_is_a_file_in_the_folder_whatever_its_case)
{
	put("Some_SKU.json", CHECK(NUMBER ",'equals':8"));
	put("other.json", CHECK(NUMBER ",'equals':8"));
	put("note.txt", "not an expectation");
	load_named("some_sku", "t");
	refused(fixture_dir, "some_skus", NULL, MUSTER_ENOTSUPPORTED,
		"; did you mean \"Some_SKU\"? (muster skus lists all)");
	ck_assert_msg(strstr(err.text, "no machine type \"some_skus\" in /tmp/") == err.text, "%s", err.text);
	refused(fixture_path("none"), "x", NULL, MUSTER_EUSAGE, "");
}

/* With a slash or ".json" behind a name it is a path; else the name of a file in the folder. */
static const struct {
	const char *name;
	enum muster_code code;
	const char *said;
} names[] = {
	{ "sub/x", MUSTER_EUSAGE, "sub/x: No such file" },
	{ "x.json", MUSTER_EUSAGE, "x.json: No such file" },
	{ ".json", MUSTER_ENOTSUPPORTED, "no machine type \".json\" in " },
	{ "x.jso", MUSTER_ENOTSUPPORTED, " (muster skus lists all)" },
	{ "abcdefgh", MUSTER_ENOTSUPPORTED, "no machine type \"abcdefgh\" in " },
	{ "", MUSTER_ENOTSUPPORTED, "no machine type \"\" in " },
};

TEST_EACH(a_path_is_told_from_a_name, names)
{
	refused(fixture_dir, names[_i].name, NULL, names[_i].code, names[_i].said);
}

TEST(of_two_names_that_differ_in_case_the_same_one_is_taken)
{
	put("ABC.json", "{'schema_version':1,'name':'ABC','checks':{'a':{" NUMBER ",'equals':8}}}");
	put("abc.json", "{'schema_version':1,'name':'abc','checks':{'a':{" NUMBER ",'equals':8}}}");
	load_named("abc", "abc");
	load_named("ABC", "ABC");
	load_named("aBC", "ABC");
	load_named("Abc", "ABC");
}

TEST(a_file_is_found_by_what_its_machine_is_called)
{
	put("x.json", "{'schema_version':1,'name':'x','identify':{'vm_size':['Standard_X_v6','Standard_XBSE_v6'],"
		      "'gpu_name':['GPU'],'gpu_count':1},'checks':{'a':{" NUMBER ",'equals':1}}}");
	put("other.json", CHECK(NUMBER ",'equals':8"));
	put("broken.json", "{'identify':{'vm_size':['Standard_X_v6'");
	put("strange.json", "{'schema_version':1,'name':'s','identify':{'vm_size':'Standard_X_v6'}}");
	put("stranger.json", "{'schema_version':1,'name':'s','identify':['vm_size',{'vm_size':[7,null]}]}");
	put("list.json", "[]");
	load_named("standard_x_V6", "x");
	load_named("Standard_xBSE_v6", "x");
	load_named("STANDARD_XBSE_V6", "x");
	refused(fixture_dir, "GPU", NULL, MUSTER_ENOTSUPPORTED, "");
	/* a file's own name goes before what another one calls its machine */
	put("Standard_X_v6.json", CHECK(NUMBER ",'equals':8"));
	load_named("standard_x_v6", "t");
	ck_assert_ptr_nonnull(strstr(expect.origin, "/Standard_X_v6.json"));
}

static const char *const path_lists[][3] = {
	/* of the file, of the overlay, of both together */
	{ "['/a', {'path': '/b', 'content': true}, {'path': '/c'}]", NULL, "/a content:/b /c" },
	{ "['/a']", "['/b', '/b']", "/b /b" },
	{ "['/a']", "null", "" },
	{ "['/a']", "[]", "" },
	{ "null", "['/b']", "/b" },
	{ "null", NULL, "" },
};

static void paths_are(const char **paths, size_t count, const char *expected)
{
	char text[256] = "";
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", paths[i]);
	ck_assert_str_eq(text, expected);
}

TEST_EACH(the_last_list_of_paths_counts, path_lists)
{
	struct muster_arena *arena = muster_arena_new();
	const char *const *list = path_lists[_i];
	const char **paths = NULL;
	size_t count = 0;
	put("parent.json", "{'schema_version': 1, 'name': 'p', 'checks': {'a': {'metric': 'node.os', 'observe': true, "
			   "'source': 's'}}, 'paths': ['/parent']}");
	put("file.json", muster_arena_printf(arena,
				 "{'schema_version': 1, 'name': 'f', 'extends': 'parent.json', 'paths': %s}", list[0]));
	put("site.json", list[1] ? muster_arena_printf(arena, "{'paths': %s}", list[1]) : "{}");
	load("file.json", "site.json");
	paths_are(expect.paths, expect.path_count, list[2]);
	ck_assert_msg(muster_expect_paths_load(
			      fixture_dir, "file", fixture_path("site.json"), arena, &paths, &count, &err) == 0,
		"%s", err.text);
	paths_are(paths, count, list[2]);
	muster_arena_free(arena);
}

static void problem_print(void *arg, const char *problem)
{
	(void)arg;
	fprintf(stderr, "%s\n", problem);
}

TEST(every_shipped_file_can_be_judged_by_and_says_why)
{
	struct muster_arena *arena = muster_arena_new();
	const char **types;
	size_t count;
	ck_assert_int_eq(muster_expect_names(MUSTER_SOURCE_DIR "/configs", arena, &types, &count, &err), 0);
	ck_assert_uint_gt(count, 22);
	for (size_t n = 0; n < count; n++) {
		ck_assert_uint_eq(
			muster_expect_lint(MUSTER_SOURCE_DIR "/configs", types[n], NULL, problem_print, NULL), 0);
		load_shipped(types[n]);
		ck_assert_str_eq(expect.name, types[n]);
		ck_assert_ptr_nonnull(expect.title);
		ck_assert(expect.check_count > 10 || strcmp(types[n], "events") == 0);
		for (size_t i = 0; i < expect.check_count; i++) {
			const struct muster_check *check = &expect.checks[i];

			ck_assert_msg(check->certainty != NULL, "%s: %s has no certainty", types[n], check->id);
			ck_assert_msg(check->advice || muster_check_operand(check, MUSTER_OF_EVENT),
				"%s: %s has no advice", types[n], check->id);
		}
	}
	muster_arena_free(arena);
}

TEST_MAIN(.setup = fixture_open, .teardown = loaded_done)
