/* SPDX-License-Identifier: Apache-2.0 */
/* test_events.c - tables of events: what a file may say, what an overlay changes, and what the shipped table says */
#include "check_main.h"
#include "unit/expect/loaded.h"
#include "expect/operators.h"

#define EVENT "'name':'n','class':'fail','action':'a'"
#define FILE_OF(events) "{'schema_version':1,'name':'t','events':{" events "}}"
#define XID_79(members) FILE_OF("'xid':{'79':{" members "}}")
#define CHECK_OF(metric, operator)                                                                                     \
	"{'schema_version':1,'name':'t','events':{'xid':{'79':{" EVENT "}}},'checks':{'c':{'metric':'" metric          \
	"','source':'s',"                                                                                              \
	operator"}}}"
#define NO_EVENT(rest) "'no_event':{'table':'xid','label':'code'" rest "}"

static const struct {
	const char *text, *said; /* the first problem, behind the path of the file; "" for none */
} files[] = {
	{ XID_79(EVENT "}},'sxid':{'20034':{" EVENT ",'hours':6}},'kernel':{'oom':{" EVENT ""), "" },
	{ FILE_OF("'xids':{}"), "$.events.xids: unknown key; did you mean 'xid'? Allowed are xid, sxid, kernel" },
	{ FILE_OF("'xid':[]"), "$.events.xid: an object is needed, found an array" },
	{ FILE_OF("'xid':{'79':'fail'}"), "$.events.xid['79']: an object is needed, found 'fail'" },
	{ FILE_OF("'xid':{'7x':{" EVENT "}}"),
		"$.events.xid['7x']: the number of an error is needed ('79'), found '7x'" },
	{ FILE_OF("'xid':{'079':{" EVENT "}}"),
		"$.events.xid['079']: the number of an error is needed ('79'), found '079'" },
	{ FILE_OF("'xid':{'':{" EVENT "}}"), "$.events.xid['']: the number of an error is needed ('79'), found ''" },
	{ FILE_OF("'xid':{'79-':{" EVENT "}}"), "['79-']: the number of an error is needed" },
	{ FILE_OF("'xid':{'79-A':{" EVENT "}}"), "['79-A']: the number of an error is needed" },
	{ FILE_OF("'sxid':{'other':{" EVENT "}}"), "$.events.sxid.other: the number of an error is needed" },
	{ FILE_OF("'sxid':{'other-':{" EVENT "}}"), "['other-']: the number of an error is needed" },
	{ FILE_OF("'sxid':{'others-fatal':{" EVENT "}}"), "['others-fatal']: the number of an error is needed" },
	{ XID_79(EVENT "}},'sxid':{'other-fatal':{" EVENT "},'1-drain-p2p':{" EVENT ""), "" },
	{ FILE_OF("'sxid':{'-1':{" EVENT "}}"),
		"$.events.sxid['-1']: the number of an error is needed ('79'), found '-1'" },
	{ XID_79("'name':'n','class':'error','action':'a'"),
		"$.events.xid['79'].class: one of note, warn, fail is needed, found 'error'" },
	{ XID_79("'name':'n','class':'fail','action':''"), "$.events.xid['79'].action: must not be empty" },
	{ XID_79("'name':'','class':'fail','action':'a'"), "$.events.xid['79'].name: must not be empty" },
	{ XID_79("'name':'n','class':'fail'"), "$.events.xid['79']: the key 'action' is missing" },
	{ XID_79("'name':'n','class':'fail','action':'${gpus}'"),
		"$.events.xid['79'].action: the placeholder ${gpus} must be node, rank, gpu, port or a metric" },
	{ XID_79(EVENT ",'hours':0"),
		"$.events.xid['79'].hours: a number of hours above 0 and up to 8760 is needed, found 0" },
	{ XID_79(EVENT ",'hours':8760"), "" },
	{ XID_79(EVENT ",'hours':8761"),
		"$.events.xid['79'].hours: a number of hours above 0 and up to 8760 is needed, found 8761" },
	{ XID_79(EVENT ",'hours':'6'"), "$.events.xid['79'].hours: a number is needed, found '6'" },
	{ XID_79(EVENT ",'measured_on':3"), "$.events.xid['79'].measured_on: a string is needed, found 3" },
	{ XID_79(EVENT ",'action_code':'drain'"),
		"$.events.xid['79'].action_code: one of none, retry, investigate, fix-launch, fix-settings, "
		"restart-service, fix-storage, fix-fabric, reset-gpu, reboot, replace-node is needed, found 'drain'" },
	{ XID_79(EVENT ",'explains':['gpu-lots']"),
		"$.events.xid['79'].explains[0]: one of xid, sxid, gpu-lost, gpu-init, " },
	{ FILE_OF("'kernel':{'mce':{" EVENT ",'explains':['oom']},'oom':{" EVENT ",'explains':['oops']},'oops':{" EVENT
		  ",'explains':['oops','oom']}}"),
		"$.events.kernel: the 'explains' of 'mce' lead into a circle" },
	{ FILE_OF("'xid':{}"), "$: no checks: every run would pass" },
	{ "{'schema_version':1,'name':'t','observe':true,'events':{'xid':{'79':{" EVENT "}}}}",
		"$: no checks: every run would pass" },
	{ "{'schema_version':1,'name':'t','identify':{'vm_size':['v']},'events':{'xid':{'79':{" EVENT "}}}}",
		"$: no checks: every run would pass" },
	{ CHECK_OF("node.xid_age_hours", NO_EVENT(",'hours':24")), "" },
	{ CHECK_OF("node.xid_age_hours", NO_EVENT("")), "$.checks.c.no_event: the key 'hours' is missing" },
	{ CHECK_OF("node.xid_age_hours", NO_EVENT(",'hours':-1")),
		"$.checks.c.no_event.hours: a number of hours above 0 and up to 8760 is needed, found -1" },
	{ CHECK_OF("node.xid_age_hours", "'no_event':{'table':'smi','label':'code','hours':24}"),
		"$.checks.c.no_event.table: one of xid, sxid, kernel is needed, found 'smi'" },
	{ CHECK_OF("node.xid_age_hours", "'no_event':{'table':'xid','label':'kind','hours':24}"),
		"$.checks.c.no_event.label: node.xid_age_hours has no label 'kind', only gpu, code, of, when" },
	{ CHECK_OF("node.xid_count", NO_EVENT(",'hours':24")),
		"$.checks.c.no_event: does not fit: node.xid_count is no age of an event on a node (*_age_hours)" },
	{ CHECK_OF("node.xid_line", NO_EVENT(",'hours':24")),
		"$.checks.c.no_event: does not fit: node.xid_line is a string" },
	{ CHECK_OF("node.xid_age_hours", NO_EVENT(",'hours':24") ",'min':1"),
		"$.checks.c: no_event must be the only operator: give min a check of its own" },
};

TEST_EACH(a_file_with_a_wrong_event_is_refused_with_its_place, files)
{
	const char *path = put("t.json", files[_i].text);
	int result = load_from(fixture_dir, path, NULL);
	if (result < 0)
		ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strncmp(err.text, path, result < 0 ? strlen(path) : 0) == 0, "%s", err.text);
	ck_assert_msg((result < 0) == (*files[_i].said != '\0') && strstr(err.text, with_quotes(files[_i].said)),
		"%s\n%s", files[_i].text, err.text);
}

/* The sites' way to another class: one member of one event. */
TEST(an_overlay_changes_one_event_and_leaves_the_others)
{
	put("t.json",
		"{'schema_version':1,'name':'t','events':{'xid':{'79':{" EVENT "},'94':{" EVENT "},'31':{" EVENT "}}},"
		"'checks':{'c':{'metric':'node.xid_age_hours','source':'s'," NO_EVENT(",'hours':24") "}}}");
	put("site.json", "{'events':{'xid':{'94':{'class':'note','hours':2},'31':null,'999':{'"
			 "name':'new','class':'warn','action':"
			 "'b','measured_on':'1 x B','action_code':'reset-gpu'}}},"
			 "'checks':{'c':{'no_event':{'hours':48},'source':'site'}}}");
	load("t.json", "site.json");
	const struct muster_event_table *xids = &expect.events[MUSTER_EVENT_XID];
	ck_assert_uint_eq(xids->count, 3);
	ck_assert_int_eq(muster_event_find(xids, "79")->class, MUSTER_EVENT_FAIL);
	ck_assert_double_eq(muster_event_find(xids, "79")->hours, 0);
	ck_assert_int_eq(muster_event_find(xids, "94")->class, MUSTER_EVENT_NOTE);
	ck_assert_double_eq(muster_event_find(xids, "94")->hours, 2);
	ck_assert_str_eq(muster_event_find(xids, "94")->name, "n");
	ck_assert_str_eq(muster_event_find(xids, "999")->action, "b");
	ck_assert_str_eq(muster_event_find(xids, "999")->measured_on, "1 x B");
	ck_assert_str_eq(muster_event_find(xids, "999")->action_code, "reset-gpu");
	ck_assert_ptr_null(muster_event_find(xids, "94")->action_code);
	ck_assert_ptr_null(muster_event_find(xids, "31"));
	ck_assert_ptr_null(muster_event_find(&expect.events[MUSTER_EVENT_SXID], "79"));
	ck_assert_double_eq(expect.checks[0].operands[0].value.number, 48);
	ck_assert_ptr_eq(expect.checks[0].operands[0].events, xids);
}

/* ---- the shipped table ---- */

static const struct {
	enum muster_event_source table;
	enum muster_event_class class;
	const char *codes;
} classes[] = {
	/* reset, reboot or a new GPU, by NVIDIA's catalogue or AzNHC */
	{ MUSTER_EVENT_XID, MUSTER_EVENT_FAIL,
		"46 48 54 56 57 58 62 64 74 79 80 81 95 110 119 120 136 140 143 149 150 151 156 158 167 169 "
		"171 172 154-gpu-reset-required 154-node-reboot-required 154-drain-and-reset 999-fatal 144-fatal "
		"145-fatal 146-fatal 147-fatal 148-fatal 149-fatal 150-fatal" },
	{ MUSTER_EVENT_XID, MUSTER_EVENT_WARN,
		"154-drain-p2p 154-recover-imex-domain 154-unknown 74-watch 999-nonfatal "
		"63 65 68 69 73 92 94 109 144 145 146 147 148 154 155 157 144-nonfatal 149-nonfatal 150-nonfatal" },
	{ MUSTER_EVENT_XID, MUSTER_EVENT_NOTE, "11 13 25 31 37 43 45 66 74-harmless 106 107 121 137 162 163" },
	{ MUSTER_EVENT_SXID, MUSTER_EVENT_FAIL,
		"11001 12020 14017 19084 20034 22003 23001 24007 10003 10006 20034-fatal 11004-nonfatal 12028-nonfatal "
		"19084-nonfatal 19048 19048-fatal 19049-fatal 19055-fatal 20035-fatal 22012-fatal 25008-fatal "
		"99999-fatal" },
	{ MUSTER_EVENT_SXID, MUSTER_EVENT_WARN,
		"10001 10004 20001 20009 20012 22012 22012-na 19048-nonfatal 19061-nonfatal 11001-nonfatal "
		"99999-nonfatal" },
	{ MUSTER_EVENT_SXID, MUSTER_EVENT_NOTE,
		"11012 12021 19049 19049-nonfatal 22013 24001 10005 99999-correctable" },
	{ MUSTER_EVENT_KERNEL, MUSTER_EVENT_FAIL,
		"aer-fatal gpu-lost gpu-init reset-needed driver-reboot nvswitch-init edac-uncorrected read-only" },
	{ MUSTER_EVENT_KERNEL, MUSTER_EVENT_WARN, "aer-nonfatal pcie-link nic-error link-flap mce hung-task lockup" },
	{ MUSTER_EVENT_KERNEL, MUSTER_EVENT_NOTE, "aer-corrected edac-corrected oom" },
};

TEST_EACH(each_code_has_the_class_that_its_meaning_asks_for, classes)
{
	load_shipped("Standard_ND96isr_H200_v5");
	char *copy = strdup(classes[_i].codes), *rest = copy, *code;
	while ((code = strsep(&rest, " "))) {
		const struct muster_event *event = muster_event_find(&expect.events[classes[_i].table], code);
		ck_assert_msg(event != NULL, "%s", code);
		ck_assert_msg(event->class == classes[_i].class, "%s is %d", code, (int)event->class);
	}
	free(copy);
}

/* Numbers that no driver has used since Ampere, or that NVIDIA reserves: who logs one is asked to look. */
TEST(a_code_without_a_meaning_has_no_entry)
{
	static const char *const unknown[] = { "0", "5", "10", "14", "49", "87", "90", "91", "177", "999" };
	load_shipped("common");
	for (size_t i = 0; i < LENGTH(unknown); i++)
		ck_assert_ptr_null(muster_event_find(&expect.events[MUSTER_EVENT_XID], unknown[i]));
	ck_assert_double_eq(muster_event_find(&expect.events[MUSTER_EVENT_KERNEL], "link-flap")->hours, 6);
}

TEST_MAIN(.setup = fixture_open, .teardown = loaded_done)
