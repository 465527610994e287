# SPDX-License-Identifier: Apache-2.0
# `ninja bench` (or `make bench`) prints figures; nothing passes or fails by speed.
add_executable(bench_report ${CMAKE_CURRENT_LIST_DIR}/bench_report.c)
target_include_directories(bench_report PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(bench_report PRIVATE MUSTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_libraries(bench_report PRIVATE muster_all)
add_executable(bench_localize ${CMAKE_CURRENT_LIST_DIR}/bench_localize.c)
target_link_libraries(bench_localize PRIVATE muster_all)
add_executable(bench_protocol ${CMAKE_CURRENT_LIST_DIR}/bench_protocol.c)
target_link_libraries(bench_protocol PRIVATE coord_job)
add_executable(bench_history ${CMAKE_CURRENT_LIST_DIR}/bench_history.c)
target_link_libraries(bench_history PRIVATE muster_all)
add_executable(bench_kernel_log ${CMAKE_CURRENT_LIST_DIR}/bench_kernel_log.c)
target_link_libraries(bench_kernel_log PRIVATE muster_all)
add_custom_target(bench
	COMMAND bench_kernel_log 500000
	COMMAND bench_report 8192 131072
	COMMAND bench_report pairs 8192 131072
	COMMAND bench_localize 1024 2048 4096 8192 16384
	COMMAND bench_protocol 1024 16384
	COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/bench_sim.sh $<TARGET_FILE:muster>
	COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/bench_scale.sh $<TARGET_FILE:muster> $<TARGET_FILE:bench_report>
	COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/bench_history.sh $<TARGET_FILE:muster> $<TARGET_FILE:bench_history>
	DEPENDS bench_kernel_log bench_report bench_localize bench_protocol bench_history muster USES_TERMINAL
	COMMENT "Lines of the kernel's log; reports of 8,192 and 131,072 ranks, and of 4,096 nodes, read, judged and written; trials of up to 16,384 nodes planned; the protocol of 8,192 and 131,072 ranks; 16 simulated ranks start to exit; a history of 100,000 reports")
