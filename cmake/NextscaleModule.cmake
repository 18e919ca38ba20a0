# nextscale_module(NAME SOURCES ... DEPENDS ...): one static library a module, `nextscale_NAME`, whose dependencies are named.
# Headers are included as "module/file.h" from src/.
add_library(nextscale_flags INTERFACE)
target_include_directories(nextscale_flags INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include/nextscale>)
target_compile_features(nextscale_flags INTERFACE cxx_std_20)
target_compile_options(nextscale_flags INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers>
  $<$<BOOL:${NEXTSCALE_WERROR}>:-Werror>)
if(NEXTSCALE_SANITIZE)
  target_compile_options(nextscale_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=${NEXTSCALE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(nextscale_flags INTERFACE -fsanitize=${NEXTSCALE_SANITIZE})
endif()

function(nextscale_module NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(nextscale_${NAME} STATIC ${ARG_SOURCES})
  add_library(nextscale::${NAME} ALIAS nextscale_${NAME})
  set_target_properties(nextscale_${NAME} PROPERTIES EXPORT_NAME ${NAME})
  target_link_libraries(nextscale_${NAME} PUBLIC nextscale_flags ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY NEXTSCALE_MODULES nextscale_${NAME})
endfunction()

# nextscale_test(NAME SOURCES ... DEPENDS ...): one GoogleTest binary a module, run by ctest as one test a TEST().
function(nextscale_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE NEXTSCALE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${NAME} COMMAND ${NAME})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()
