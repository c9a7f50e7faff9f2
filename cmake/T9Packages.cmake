# What `cmake --install` puts where, and the .deb that CPack makes of it.
include(GNUInstallDirs)

# The program writes its own manual page and completions.
set(pages ${CMAKE_BINARY_DIR}/pages)
set(t9_page_files ${pages}/tempo9.1.gz ${pages}/tempo9 ${pages}/_tempo9 ${pages}/tempo9.fish)
add_custom_command(OUTPUT ${t9_page_files} DEPENDS tempo9 VERBATIM
  COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
  COMMAND tempo9 completion man > ${pages}/tempo9.1
  COMMAND gzip --force --best --no-name ${pages}/tempo9.1
  COMMAND tempo9 completion bash > ${pages}/tempo9
  COMMAND tempo9 completion zsh > ${pages}/_tempo9
  COMMAND tempo9 completion fish > ${pages}/tempo9.fish)
if(NOT T9_SANITIZE)  # nobody installs those, and they do not start everywhere
  add_custom_target(pages ALL DEPENDS ${t9_page_files})
endif()

install(TARGETS tempo9)
install(FILES ${pages}/tempo9.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${pages}/tempo9 DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${pages}/tempo9.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(CODE "set(T9_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\")\nset(T9_BINARY_DIR \"${CMAKE_BINARY_DIR}\")")
install(SCRIPT ${CMAKE_SOURCE_DIR}/packaging/install_service.cmake)
set(doc ${CMAKE_INSTALL_DATADIR}/doc/tempo9)
install(FILES README.md SECURITY.md CHANGELOG.md packaging/copyright DESTINATION ${doc})
install(DIRECTORY docs DESTINATION ${doc} FILES_MATCHING PATTERN *.md PATTERN benchmarks EXCLUDE)
install(FILES packaging/grafana/tempo9.json DESTINATION ${doc}/packaging/grafana)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tempo9)
set(CPACK_PACKAGE_VENDOR "The Tempo9 authors")
set(CPACK_PACKAGE_CONTACT "The Tempo9 authors <maintainers@tempo9.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "local language model server for coding agents")
set(CPACK_PACKAGE_DESCRIPTION
"Tempo9 serves one GGUF file over HTTP as the clients of OpenAI, Anthropic and
Ollama ask for it: chat, tool calls, structured output. Replies are the same
bytes whatever else is being served, and prompts that were read once are kept
in memory and on disk.
.
It listens on the loopback address unless told otherwise, and then asks for a
key. The service is not started by the installation: it has to be told its
model first, in /etc/tempo9/serve.conf.")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_SET_DESTDIR ON)  # the unit and its configuration name the places where they will be
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)  # tempo9 pull
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(deb ${CMAKE_SOURCE_DIR}/packaging/deb)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${deb}/conffiles ${deb}/postinst ${deb}/prerm ${deb}/postrm)
set(CPACK_PRE_BUILD_SCRIPTS ${deb}/changelog.cmake)
include(CPack)
