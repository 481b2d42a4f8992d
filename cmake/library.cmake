# libludus: the public interface (include/ludus/ludus.h) over all layers, shared and static; nothing else is visible.
file(GLOB library_sources CONFIGURE_DEPENDS library/*.c)
add_library(libludus SHARED ${library_sources})
ludus_settings(libludus)
target_include_directories(libludus PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
set_source_files_properties(library/error.c PROPERTIES COMPILE_DEFINITIONS LUDUS_VERSION="${PROJECT_VERSION}")
target_link_libraries(libludus PRIVATE lud_learn lud_render)
set_target_properties(libludus PROPERTIES OUTPUT_NAME ludus VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  C_VISIBILITY_PRESET hidden)
target_link_options(libludus PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)

# The samples, which include one header and link one library.
file(GLOB sample_sources CONFIGURE_DEPENDS samples/*.c)
foreach(source IN LISTS sample_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(sample_${name} ${source})
  target_compile_options(sample_${name} PRIVATE -Wall -Wextra -Wpedantic -Werror)
  target_link_libraries(sample_${name} PRIVATE libludus m)
endforeach()

include(GNUInstallDirs)
install(TARGETS ludus RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libludus EXPORT ludus LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/ludus/ludus.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ludus)
