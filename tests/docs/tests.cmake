# SPDX-License-Identifier: Apache-2.0
# The documentation: its links, what its pages are made from, its commands and the outputs that it shows.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
	set(DOCS_TESTS ${CMAKE_CURRENT_LIST_DIR})
	add_test(NAME docs.links COMMAND Python3::Interpreter -B ${DOCS_TESTS}/links.py ${CMAKE_SOURCE_DIR})
	add_test(NAME docs.standins COMMAND Python3::Interpreter -B ${DOCS_TESTS}/standins.py ${CMAKE_SOURCE_DIR})
	foreach(name lists options troubleshooting)
		add_test(NAME docs.${name} COMMAND Python3::Interpreter -B ${DOCS_TESTS}/${name}.py $<TARGET_FILE:muster>
			${CMAKE_SOURCE_DIR})
		list(APPEND DOCS_QUICK docs.${name})
	endforeach()
	add_test(NAME docs.examples COMMAND Python3::Interpreter -B ${DOCS_TESTS}/examples.py $<TARGET_FILE:muster>
		${CMAKE_SOURCE_DIR})
	add_test(NAME docs.after_update COMMAND Python3::Interpreter -B ${DOCS_TESTS}/after_update.py $<TARGET_FILE:muster>
		${CMAKE_SOURCE_DIR})
	# Debian's own Python has a browser's driver.
	add_test(NAME docs.picture COMMAND /usr/bin/python3 -B ${DOCS_TESTS}/picture.py ${CMAKE_SOURCE_DIR})
	set_tests_properties(docs.links docs.standins docs.picture docs.examples docs.after_update ${DOCS_QUICK} PROPERTIES TIMEOUT 400 SKIP_RETURN_CODE 77 LABELS integration)
endif()
# What starts ranks: the cluster of the examples, and one test for each page with commands.
if(Python3_FOUND AND TARGET muster_mpi)
	add_test(NAME docs.examples.simulated COMMAND Python3::Interpreter -B ${DOCS_TESTS}/examples.py $<TARGET_FILE:muster>
		${CMAKE_SOURCE_DIR} --simulate)
	# 64 ranks at once: beside other tests, probes would reach their deadlines.
	set_tests_properties(docs.examples.simulated PROPERTIES TIMEOUT 600 RUN_SERIAL TRUE LABELS integration)
	file(GLOB_RECURSE DOCS_PAGES CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/docs/*.md)
	foreach(page IN LISTS DOCS_PAGES ITEMS README.md)
		file(STRINGS ${CMAKE_SOURCE_DIR}/${page} commands REGEX "^ *```sh$")
		if(commands)
			string(REGEX REPLACE "^docs/|\\.md$" "" name ${page})
			string(REPLACE "/" "." name ${name})
			add_test(NAME docs.page.${name} COMMAND Python3::Interpreter -B ${DOCS_TESTS}/page.py $<TARGET_FILE:muster>
				${CMAKE_SOURCE_DIR} ${page})
			set_tests_properties(docs.page.${name} PROPERTIES TIMEOUT 600 PROCESSORS 2 LABELS integration)
		endif()
	endforeach()
endif()
