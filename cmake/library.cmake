# libludus: the public interface (include/ludus/ludus.h) over all layers, shared and static; nothing else is visible.
file(GLOB library_sources CONFIGURE_DEPENDS library/*.c)
if(SDL2_FOUND)
  list(FILTER library_sources EXCLUDE REGEX "/without_sdl\\.c$")
else()
  list(FILTER library_sources EXCLUDE REGEX "/(picture|drawing)\\.c$")
endif()
add_library(libludus SHARED ${library_sources})
ludus_settings(libludus)
target_include_directories(libludus PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
set_source_files_properties(library/error.c PROPERTIES COMPILE_DEFINITIONS LUDUS_VERSION="${PROJECT_VERSION}")
target_link_libraries(libludus PRIVATE lud_learn lud_render)
set_target_properties(libludus PROPERTIES OUTPUT_NAME ludus VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  C_VISIBILITY_PRESET hidden)
target_link_options(libludus PRIVATE LINKER:--exclude-libs,ALL)
if(NOT LUDUS_SANITIZE) # else the program brings the sanitizer's functions
  target_link_options(libludus PRIVATE LINKER:--no-undefined)
endif()

# The same as an archive that holds all layers, and needs what they stand on; outside this build pkg-config --static tells that.
add_library(libludus_static STATIC ${library_sources})
ludus_settings(libludus_static)
ludus_put_layers(libludus_static)
target_include_directories(libludus_static PUBLIC ${PROJECT_SOURCE_DIR}/include)
set_target_properties(libludus_static PROPERTIES OUTPUT_NAME ludus)

# The samples, which include one header and link one library.
file(GLOB sample_sources CONFIGURE_DEPENDS samples/*.c)
foreach(source IN LISTS sample_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(sample_${name} ${source})
  target_compile_options(sample_${name} PRIVATE -Wall -Wextra -Wpedantic -Werror)
  target_link_libraries(sample_${name} PRIVATE libludus m)
  ludus_sanitize(sample_${name})
  list(APPEND ludus_samples sample_${name})
endforeach()

