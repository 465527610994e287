# `ninja bench` (or `make bench`) prints figures; nothing passes or fails by speed.
add_executable(bench_report ${CMAKE_CURRENT_LIST_DIR}/bench_report.c)
target_include_directories(bench_report PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(bench_report PRIVATE MUSTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_libraries(bench_report PRIVATE muster_all)
add_custom_target(bench COMMAND bench_report 8192 131072 DEPENDS bench_report USES_TERMINAL
	COMMENT "Reading, judging and writing reports of 8,192 and 131,072 ranks")
