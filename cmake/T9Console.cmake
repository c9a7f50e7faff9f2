# The console's files (web/) and the clients' pages (docs/connect/) as a source file, so that the binary needs none at
# run time.
#
# As a module: t9_console(<target>) adds that source to the target; it is written anew when a file changes.
# As a script: cmake -DROOT=... -DOUTPUT=... -P T9Console.cmake writes it.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(T9_CONSOLE_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
endif()

set(T9_CONSOLE_html "text/html; charset=utf-8")
set(T9_CONSOLE_css "text/css; charset=utf-8")
set(T9_CONSOLE_js "text/javascript; charset=utf-8")
set(T9_CONSOLE_svg "image/svg+xml")
set(T9_CONSOLE_md "text/markdown; charset=utf-8")

function(t9_console target)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/* ${PROJECT_SOURCE_DIR}/docs/connect/*.md)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/console_files.cc)
  add_custom_command(OUTPUT ${output} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${output} -P ${T9_CONSOLE_SCRIPT}
    DEPENDS ${files} ${T9_CONSOLE_SCRIPT})
  target_sources(${target} PRIVATE ${output})
endfunction()

# write_entry(<file> <path>): its line of the table, appended to `table`.
function(write_entry file path)
  get_filename_component(suffix ${file} LAST_EXT)
  string(SUBSTRING ${suffix} 1 -1 suffix)
  if(NOT DEFINED T9_CONSOLE_${suffix})
    message(FATAL_ERROR "${file}: found .${suffix}, whose content type T9Console.cmake does not know")
  endif()
  # A text file's own semicolons and brackets mean nothing to CMake as long as it stands in quotes.
  file(READ ${file} text)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  string(FIND "${text}" ")console\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file}: found the mark that ends it in the source that is written")
  endif()
  set(table "${table}    {\"/console/${path}\", \"${T9_CONSOLE_${suffix}}\", \"\\\"${hash}\\\"\", R\"console(${text})console\"},\n"
    PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB pages ${ROOT}/web/*)
  file(GLOB clients ${ROOT}/docs/connect/*.md)
  set(table "")
  foreach(file ${pages})
    get_filename_component(name ${file} NAME)
    write_entry(${file} ${name})
  endforeach()
  foreach(file ${clients})
    get_filename_component(name ${file} NAME)
    write_entry(${file} connect/${name})
  endforeach()
  file(WRITE ${OUTPUT} "// Written by cmake/T9Console.cmake.
#include \"server/console.h\"

namespace tempo9::server {
namespace {

constexpr ConsoleFile kConsoleFiles[] = {
${table}};

}  // namespace

std::span<const ConsoleFile> console_files() { return kConsoleFiles; }

}  // namespace tempo9::server
")
endif()
