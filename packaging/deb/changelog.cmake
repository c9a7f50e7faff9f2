# Run by CPack on what it has staged: Debian's changelog, which says where the real one is.
file(GLOB_RECURSE docs "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/CHANGELOG.md")
list(GET docs 0 changelog)
cmake_path(GET changelog PARENT_PATH folder)
string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where it is set
file(WRITE ${folder}/changelog.Debian "tempo9 (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * See CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${day}
")
execute_process(COMMAND gzip --force --best --no-name ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
