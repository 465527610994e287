# SPDX-License-Identifier: Apache-2.0
# The protocol of a whole job in one process, on a virtual clock. `ninja schedules` plays many more.
add_library(coord_job STATIC ${CMAKE_CURRENT_LIST_DIR}/job.c ${CMAKE_CURRENT_LIST_DIR}/transport_loop.c
	${CMAKE_CURRENT_LIST_DIR}/worker_script.c)
target_include_directories(coord_job PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(coord_job PUBLIC muster_all)
add_executable(coord_schedules ${CMAKE_CURRENT_LIST_DIR}/schedules.c)
target_link_libraries(coord_schedules PRIVATE coord_job)
set(COORD_SCHEDULES 1000)
if(MUSTER_SANITIZE OR CMAKE_CROSSCOMPILING) # many times slower, and the same seeds
	set(COORD_SCHEDULES 100)
endif()
add_test(NAME coord.schedules COMMAND coord_schedules 1 ${COORD_SCHEDULES})
set_tests_properties(coord.schedules PROPERTIES TIMEOUT 600 LABELS "unit;coord")
add_custom_target(schedules COMMAND coord_schedules 1 200000 DEPENDS coord_schedules USES_TERMINAL
	COMMENT "200,000 schedules of the protocol")
add_executable(coord_traffic ${CMAKE_CURRENT_LIST_DIR}/traffic.c)
target_include_directories(coord_traffic PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(coord_traffic PRIVATE coord_job PkgConfig::CHECK)
add_test(NAME coord.traffic COMMAND coord_traffic)
set_tests_properties(coord.traffic PROPERTIES TIMEOUT 400 LABELS "unit;coord")
