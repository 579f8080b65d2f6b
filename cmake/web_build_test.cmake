# cmake -DSOURCE=… -DWORK=… -P web_build_test.cmake: what web_build.cmake leaves behind when the page cannot be built.
function(build mode npm)
  file(REMOVE_RECURSE ${WORK})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DMODE=${mode} -DSOURCE=${SOURCE} -DWORK=${WORK} -DNODE=/bin/false -DNPM=${npm} -DTESTS=OFF -P ${SOURCE}/cmake/web_build.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(status ${status} PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

function(expect_placeholder)
  file(READ ${WORK}/page.pack pack)
  if(NOT status EQUAL 0 OR NOT pack MATCHES "^schedulearn-page 1\nindex.html text/html identity changing [0-9]+ [0-9a-f]+\n\n<!doctype html>" OR
     NOT pack MATCHES "The web page is not in this build")
    message(FATAL_ERROR "no placeholder (${status}): ${said}")
  endif()
endfunction()

build(OFF /bin/false)
expect_placeholder()
if(NOT EXISTS ${WORK}/built.OFF)
  message(FATAL_ERROR "what was built would be built again")
endif()
build(AUTO /bin/false)
expect_placeholder()
if(EXISTS ${WORK}/built.AUTO OR EXISTS ${WORK}/packages.stamp OR NOT said MATCHES "npm ci failed")
  message(FATAL_ERROR "the next build would not try again, or nothing was said: ${said}")
endif()
build(ON /bin/false)
if(status EQUAL 0 OR EXISTS ${WORK}/page.pack OR NOT said MATCHES "the web page was not built: npm ci failed")
  message(FATAL_ERROR "a missing page is an error: ${said}")
endif()
