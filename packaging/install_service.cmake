# Run by `cmake --install`: what depends on a prefix that is known only then. DESTDIR goes in front of every place.
#   T9_SOURCE_DIR, T9_BINARY_DIR are set by whoever includes this.
cmake_path(SET prefix NORMALIZE "${CMAKE_INSTALL_PREFIX}")
set(T9_BINDIR ${prefix}/bin)
set(T9_SYSCONFDIR ${prefix}/etc)
set(zsh_functions ${prefix}/share/zsh/site-functions)
if(prefix STREQUAL "/usr")  # the system's own: its configuration is in /etc, and Debian has a folder for packages
  set(T9_SYSCONFDIR /etc)
  if(EXISTS /etc/debian_version)
    set(zsh_functions /usr/share/zsh/vendor-completions)
  endif()
endif()

configure_file(${T9_SOURCE_DIR}/packaging/systemd/tempo9.service.in ${T9_BINARY_DIR}/pages/tempo9.service @ONLY)
file(INSTALL ${T9_BINARY_DIR}/pages/tempo9.service DESTINATION ${prefix}/lib/systemd/system)
file(INSTALL ${T9_BINARY_DIR}/pages/_tempo9 DESTINATION ${zsh_functions})
if(NOT EXISTS /usr/share/common-licenses/Apache-2.0 OR NOT prefix STREQUAL "/usr")
  file(INSTALL ${T9_SOURCE_DIR}/LICENSE DESTINATION ${prefix}/share/doc/tempo9)
endif()
if(NOT EXISTS "$ENV{DESTDIR}${T9_SYSCONFDIR}/tempo9/serve.conf")  # else it is the administrator's
  file(INSTALL ${T9_SOURCE_DIR}/packaging/systemd/serve.conf DESTINATION ${T9_SYSCONFDIR}/tempo9)
endif()
