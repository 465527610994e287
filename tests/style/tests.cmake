# SPDX-License-Identifier: Apache-2.0
# How the sources read, as far as a machine can tell.
set(STYLE ${CMAKE_CURRENT_LIST_DIR})
add_test(NAME style.text COMMAND sh ${STYLE}/text.sh ${CMAKE_SOURCE_DIR})
add_test(NAME style.text_finds_faults COMMAND sh ${STYLE}/text_finds_faults.sh ${CMAKE_BINARY_DIR}/style-faults)
add_test(NAME style.words COMMAND sh ${STYLE}/words.sh ${CMAKE_SOURCE_DIR})
add_test(NAME style.words_finds_faults COMMAND sh ${STYLE}/words_finds_faults.sh ${CMAKE_BINARY_DIR}/style-words)
add_test(NAME style.format COMMAND sh ${STYLE}/format.sh ${CMAKE_SOURCE_DIR})
add_test(NAME style.shell COMMAND sh ${STYLE}/shell.sh ${CMAKE_SOURCE_DIR})
add_test(NAME style.tidy COMMAND sh ${STYLE}/tidy.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(style.text style.text_finds_faults style.words style.words_finds_faults style.format style.shell style.tidy PROPERTIES
	TIMEOUT 900 SKIP_RETURN_CODE 77 LABELS style)

# The folders of src/ use only those above them in src/README.md's map; and the test sees what goes the other way.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	add_test(NAME style.arrows COMMAND Python3::Interpreter -B ${STYLE}/arrows.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
		${CMAKE_NM})
	add_test(NAME style.arrows_find_faults COMMAND Python3::Interpreter -B ${STYLE}/arrows_find_faults.py
		${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_NM} ${CMAKE_C_COMPILER})
	add_test(NAME style.declarations COMMAND Python3::Interpreter -B ${STYLE}/declarations.py ${CMAKE_SOURCE_DIR})
	# Lines of each feature, and its budget.
	add_custom_target(lines COMMAND Python3::Interpreter -B ${STYLE}/lines.py ${CMAKE_SOURCE_DIR} USES_TERMINAL)
	add_test(NAME style.lines COMMAND Python3::Interpreter -B ${STYLE}/lines.py ${CMAKE_SOURCE_DIR})
	add_test(NAME style.finds_faults COMMAND Python3::Interpreter -B ${STYLE}/finds_faults.py)
	add_test(NAME style.metric_names COMMAND Python3::Interpreter -B ${STYLE}/metric_names.py ${CMAKE_SOURCE_DIR} $<TARGET_FILE:muster>)
	add_test(NAME style.metric_names_find_faults COMMAND Python3::Interpreter -B ${STYLE}/metric_names_find_faults.py)
	set_tests_properties(style.arrows style.arrows_find_faults style.declarations style.metric_names
		style.metric_names_find_faults style.lines style.finds_faults PROPERTIES
		TIMEOUT 600 LABELS style)
endif()
