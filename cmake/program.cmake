# The program `ludus`: verbs and benchmarks over libludus. It links the archive, whose functions it may call whether the public
# header has them or not; the shared library hides all others.
if(SDL2_FOUND)
  ludus_library(bench tests/bench LINK libludus_static)
else()
  ludus_library(bench tests/bench LINK libludus_static WITHOUT /bench_render\\.c$)
  set_source_files_properties(tests/bench/registry.c PROPERTIES COMPILE_DEFINITIONS LUDUS_WITHOUT_SDL)
endif()
file(GLOB cli_sources CONFIGURE_DEPENDS cli/*.c cli/*/*.c)
add_executable(ludus ${cli_sources})
ludus_settings(ludus)
target_link_libraries(ludus PRIVATE lud_bench libludus_static)

# The program as it is without SDL2 or FFmpeg, for tests/cli/test_without.c. What comes first in a link is taken before archives.
function(ludus_stands_in name)
  add_executable(${name} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:ludus> ${ARGN})
  ludus_settings(${name})
  target_link_libraries(${name} PRIVATE lud_bench libludus_static)
endfunction()
