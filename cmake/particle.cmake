# The tasks that `task: NAME` starts from are the scenario files themselves,
# compiled in as bytes (generated/particle_tasks.h).
set(particle_tasks simple simple_adversary simple_crypto simple_push simple_reference
  simple_speaker_listener simple_spread simple_tag simple_world_comm navigation navigation_graph)
set(particle_text "/* Made by cmake/particle.cmake from scenarios/particle. */\n#include <stddef.h>\n")
set(particle_table "")
foreach(task IN LISTS particle_tasks)
  set(task_file ${PROJECT_SOURCE_DIR}/scenarios/particle/${task}.yaml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${task_file})
  file(READ ${task_file} task_bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," task_bytes "${task_bytes}")
  string(APPEND particle_text "static const unsigned char ${task}_bytes[] = {${task_bytes}0};\n")
  string(APPEND particle_table "    {\"${task}\", ${task}_bytes, sizeof ${task}_bytes - 1},\n")
endforeach()
string(APPEND particle_text "static const struct {\n    const char *name;\n    const unsigned char *bytes;\n"
  "    size_t length;\n} task_files[] = {\n${particle_table}};\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/particle_tasks.h CONTENT "${particle_text}" @ONLY)

# One source, compiled for three vector widths; the fitting one is chosen at run
# time. Without contraction all three give the same bits.
set(particle_avx2_options)
set(particle_avx512_options)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(particle_avx2_options -mavx2)
  set(particle_avx512_options -mavx512f -mavx512dq -mavx512vl -mavx512bw -mprefer-vector-width=512)
endif()
foreach(width IN ITEMS float double avx2 avx512)
  set_source_files_properties(sim/particle/particle_${width}.c PROPERTIES COMPILE_OPTIONS
    "${particle_${width}_options}")
endforeach()
