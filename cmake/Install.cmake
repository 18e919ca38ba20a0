# `cmake --install` puts the program, the library (one static archive a module), its headers, the bundled model and a find_package config:
#   find_package(nextscale REQUIRED)
#   target_link_libraries(app PRIVATE nextscale::engine)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(NEXTSCALE_MODULE_TARGETS GLOBAL PROPERTY NEXTSCALE_MODULES)
list(REMOVE_ITEM NEXTSCALE_MODULE_TARGETS nextscale_cli)
install(TARGETS nextscale_flags ${NEXTSCALE_MODULE_TARGETS} EXPORT nextscaleTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS nextscale RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nextscale FILES_MATCHING PATTERN "*.h"
  PATTERN "cli" EXCLUDE PATTERN "*-inl.h" EXCLUDE PATTERN "*_internal.h" EXCLUDE)
install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DATADIR}/nextscale)
install(FILES LICENSE NOTICE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT nextscaleTargets NAMESPACE nextscale:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nextscale)
configure_package_config_file(cmake/nextscaleConfig.cmake.in ${CMAKE_BINARY_DIR}/nextscaleConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nextscale)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/nextscaleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/nextscaleConfig.cmake ${CMAKE_BINARY_DIR}/nextscaleConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nextscale)
