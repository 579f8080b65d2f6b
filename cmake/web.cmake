# The web page (web/): built with Node and npm in the build tree, packed into one file.
#   AUTO  if Node and npm are there; otherwise, and if building it fails, a page that says how to get it
#   ON    a missing page is an error
#   OFF   always that other page
set(SCHEDULEARN_WEB AUTO CACHE STRING "the web page: AUTO, ON or OFF")
set_property(CACHE SCHEDULEARN_WEB PROPERTY STRINGS AUTO ON OFF)
set(SCHEDULEARN_NODE_LEAST 18.20)

# AUTO or ON if the page can be built here, else OFF.
function(sl_web_mode result)
  set(${result} ${SCHEDULEARN_WEB} PARENT_SCOPE)
  if(NOT SCHEDULEARN_WEB MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "SCHEDULEARN_WEB is '${SCHEDULEARN_WEB}': it can be AUTO, ON or OFF")
  endif()
  if(SCHEDULEARN_WEB STREQUAL OFF)
    return()
  endif()
  find_program(SCHEDULEARN_NODE NAMES node nodejs)
  find_program(SCHEDULEARN_NPM npm)
  set(version none)
  if(SCHEDULEARN_NODE AND SCHEDULEARN_NPM)
    execute_process(COMMAND ${SCHEDULEARN_NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX REPLACE "^v" "" version "${version}")
    if(version VERSION_GREATER_EQUAL SCHEDULEARN_NODE_LEAST)
      return()
    endif()
  endif()
  set(missing "the web page needs Node.js ${SCHEDULEARN_NODE_LEAST} or later and npm (found: ${version}); tools/install web")
  if(SCHEDULEARN_WEB STREQUAL ON)
    message(FATAL_ERROR "${missing}")
  endif()
  message(STATUS "${missing}")
  set(${result} OFF PARENT_SCOPE)
endfunction()

# Sets `result` to the path of the pack; the target sl_page makes it.
function(sl_page_pack result)
  sl_web_mode(mode)
  set(work ${CMAKE_BINARY_DIR}/web)
  set(source ${CMAKE_SOURCE_DIR}/web)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${source}/src/* ${source}/public/*)
  file(GLOB tools CONFIGURE_DEPENDS ${source}/*.* ${source}/.npmrc ${source}/tools/*)
  # The stamp is left out when AUTO had to do without the page, so that the next build tries again.
  add_custom_command(
    OUTPUT ${work}/built.${mode}
    BYPRODUCTS ${work}/page.pack
    COMMAND ${CMAKE_COMMAND} -DMODE=${mode} -DSOURCE=${CMAKE_SOURCE_DIR} -DWORK=${work} -DNODE=${SCHEDULEARN_NODE}
            -DNPM=${SCHEDULEARN_NPM} -DTESTS=${SCHEDULEARN_TESTS} -P ${CMAKE_SOURCE_DIR}/cmake/web_build.cmake
    DEPENDS ${files} ${tools} ${CMAKE_SOURCE_DIR}/cmake/web_build.cmake ${CMAKE_SOURCE_DIR}/src/web/placeholder.html
    COMMENT "Building the web page"
    VERBATIM)
  add_custom_target(sl_page DEPENDS ${work}/built.${mode})
  set(${result} ${work}/page.pack PARENT_SCOPE)
endfunction()
