# The target `xgrammar`, built from the source package that scripts/setup fetched (pin: requirements-sources.txt).
#
# Its own CMakeLists.txt is not used: it forces -Werror, -O3 and link-time optimisation on whoever includes it, and
# builds Python bindings unless a config.cmake lies in the build folder. The library is a plain list of sources.
file(STRINGS ${CMAKE_SOURCE_DIR}/requirements-sources.txt pin REGEX "^xgrammar==")
if(NOT pin MATCHES "^xgrammar==([0-9.]+) +--hash=sha256:([0-9a-f]+)")
  message(FATAL_ERROR "requirements-sources.txt: found '${pin}', expected 'xgrammar==X.Y.Z --hash=sha256:...'")
endif()
set(version ${CMAKE_MATCH_1})
set(sha256 ${CMAKE_MATCH_2})

if(DEFINED ENV{XDG_CACHE_HOME})
  set(cache_home $ENV{XDG_CACHE_HOME})
else()
  set(cache_home $ENV{HOME}/.cache)
endif()
set(T9_SOURCES ${cache_home}/tempo9/sources CACHE PATH "Folder of the source packages that scripts/setup fetched")

set(archive ${T9_SOURCES}/xgrammar-${version}.tar.gz)
set(root ${CMAKE_BINARY_DIR}/_deps/xgrammar-${version})
if(NOT EXISTS ${root})
  if(NOT EXISTS ${archive})
    message(FATAL_ERROR "${archive} is not there: run scripts/setup")
  endif()
  file(SHA256 ${archive} found)
  if(NOT found STREQUAL sha256)
    message(FATAL_ERROR "${archive}: found sha256 ${found}, expected ${sha256}: remove it and run scripts/setup")
  endif()
  # Unpacked beside its place and then moved, so that a cut unpacking is never taken for a whole one.
  file(REMOVE_RECURSE ${root}.tmp)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${root}.tmp)
  file(RENAME ${root}.tmp/xgrammar-${version} ${root})
endif()

file(GLOB_RECURSE sources ${root}/cpp/*.cc)
list(FILTER sources EXCLUDE REGEX "/cpp/tvm_ffi/")  # the Python bindings
add_library(xgrammar STATIC ${sources})
target_include_directories(xgrammar SYSTEM
  PUBLIC ${root}/include ${root}/3rdparty/dlpack/include
  PRIVATE ${root}/3rdparty/picojson)
target_compile_definitions(xgrammar PRIVATE XGRAMMAR_ENABLE_CPPTRACE=0 XGRAMMAR_ENABLE_INTERNAL_CHECK=0)
target_compile_options(xgrammar PRIVATE -w -O2)  # a third less to build than -O3, and as fast
target_link_libraries(xgrammar PUBLIC Threads::Threads)
if(T9_SANITIZE)
  # Std containers cross this border, so both sides must be annotated. Undefined behaviour is looked for in our code.
  string(REPLACE ",undefined" "" sanitize "${T9_SANITIZE}")
  target_compile_options(xgrammar PRIVATE -fsanitize=${sanitize} -fno-omit-frame-pointer -O0)  # half the time to build
endif()
