# `muster skus`, `muster lint` and `muster bind`, as those who use them call them.
add_executable(write_node ${CMAKE_CURRENT_LIST_DIR}/write_node.c)
target_link_libraries(write_node PRIVATE muster_all)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME tools.commands COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/commands.py
		$<TARGET_FILE:muster> $<TARGET_FILE:write_node> ${CMAKE_SOURCE_DIR})
	set_tests_properties(tools.commands PROPERTIES TIMEOUT 120 LABELS integration)
endif()
# `muster nodes`, `muster drain` and `muster resume`, on reports put together by hand.
if(Python3_FOUND)
	add_test(NAME tools.nodes COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/nodes.py $<TARGET_FILE:muster>)
	set_tests_properties(tools.nodes PROPERTIES TIMEOUT 120 LABELS integration)
endif()
# `muster run --repeat` and `muster diff`. Debian's own Python has the validator.
add_test(NAME tools.diff COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/diff.py $<TARGET_FILE:muster>
	${CMAKE_SOURCE_DIR}/docs/diff.schema.json)
set_tests_properties(tools.diff PROPERTIES TIMEOUT 300 LABELS integration)
# The examples of docs/golden-image.md. Debian's own Python has a reader of YAML.
add_test(NAME tools.golden_image COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/golden_image.py
	$<TARGET_FILE:muster> ${CMAKE_SOURCE_DIR}/docs/golden-image.md)
set_tests_properties(tools.golden_image PROPERTIES TIMEOUT 200 LABELS integration)
