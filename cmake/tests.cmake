# Every test_*.c below tests/ is one cmocka program and one CTest entry.
# Those that share memory between threads; `make test-threads` runs them under the thread sanitizer.
set(ludus_thread_tests
  kernels/test_math kernels/test_operations learn/empo/test_empo_async learn/empo/exact/test_exact
  learn/episodes/test_sampler learn/mappo/test_mad learn/nn/test_init learn/nn/test_nn learn/store/test_checkpoint learn/test_train
  library/test_handles_in_threads sim/particle/test_particle_properties sim/proof/test_proof_batch sim/test_batch
  sim/test_statespace)

# Those that take ten seconds and more by themselves; `make test` leaves them to `make test-all`.
set(ludus_long_tests
  cli/documents/test_documents cli/test_experiment cli/test_first_hour cli/documents/test_guide cli/test_hosts cli/test_ranks cli/test_runs cli/test_starved cli/test_sweep
  kernels/test_cuda_emulated kernels/test_rows
  learn/empo/test_empo_accuracy learn/empo/test_empo_phase1 learn/empo/test_empo_trajectory learn/empo/test_empo_update
  learn/nn/test_cuda_optimisers_emulated learn/proof_ppo/test_cuda_proof_emulated learn/proof_ppo/test_proof_ppo
  learn/proof_ppo/test_ranking learn/golden/test_cuda_golden_emulated learn/test_cuda_learners_emulated learn/test_defaults
  learn/test_any_options learn/test_interrupt learn/test_out_of_memory learn/test_strangers learn/test_thread_counts
  render/test_out_of_memory sim/test_levels)

# Those that take many minutes under sanitizers and show numbers, documents or processes there, whose code others run as well:
# `make test-sanitize` leaves them out, and they are built when asked for by name.
set(ludus_unsanitized_tests
  cli/documents/test_documents cli/documents/test_guide cli/test_first_hour cli/test_hosts cli/test_ranks cli/test_transcripts
  kernels/test_rows learn/empo/test_empo_accuracy learn/empo/test_empo_trajectory learn/empo/test_empo_update
  learn/golden/test_cuda_golden_emulated learn/golden/test_golden_bytes learn/nn/test_cuda_optimisers_emulated
  learn/proof_ppo/test_cuda_proof_emulated learn/proof_ppo/test_proof_ppo learn/proof_ppo/test_ranking
  learn/test_cuda_learners_emulated learn/test_defaults learn/test_thread_counts)

# Where tests look for what is in the repository and for programs: elsewhere where they are carried to another machine.
set(LUDUS_TEST_FILES ${PROJECT_SOURCE_DIR} CACHE STRING "the repository, as tests name it")
set(LUDUS_TEST_PROGRAMS ${PROJECT_BINARY_DIR} CACHE STRING "the build, as tests name it")

# What tests link: the layers; under sanitizers, whose checks take fifty megabytes of every program, one shared library of all layers,
# but in the tests that put functions of their own in the place of a layer's.
set(ludus_layers lud_learn lud_render)
set(ludus_standing_in test_examples test_fences test_out_of_memory)
if(LUDUS_SANITIZE)
  add_library(lud_layers SHARED)
  ludus_settings(lud_layers)
  ludus_put_layers(lud_layers)
  set_target_properties(lud_layers PROPERTIES LINKER_LANGUAGE CXX)
  set(ludus_layers lud_layers)
endif()

# A quarter of a thousand programs to link: gold, which is where GNU ld is, takes a fifth of its time.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold ludus_gold_links)

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
set(nowhere ${PROJECT_BINARY_DIR}/tests-run-here)
file(MAKE_DIRECTORY ${nowhere})
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/test_*.c)
if(NOT SDL2_FOUND) # what remains are the tests that draw nothing
  list(FILTER test_sources EXCLUDE REGEX "/tests/(render|cli)/|/tests/library/test_(python|samples)")
  list(APPEND test_sources ${PROJECT_SOURCE_DIR}/tests/cli/test_cuda_solve.c)
endif()
if(NOT AV_FOUND)
  list(FILTER test_sources EXCLUDE REGEX "/test_(gif|guide|record|video_failures|without)\\.c$")
endif()
if(LUDUS_FUZZ OR LUDUS_SANITIZE) # its programs are others, or none
  list(FILTER test_sources EXCLUDE REGEX "/tests/fuzz/")
endif()
add_custom_target(thread_tests)
add_custom_target(cuda_tests) # what `make bench-gpu` carries to a GPU
foreach(source IN LISTS test_sources)
  get_filename_component(folder ${source} DIRECTORY)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${folder})
  string(REGEX REPLACE "/.*" "" layer ${folder})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "/" "_" target ${folder}/${name})
  # helpers shared by the tests of one layer: tests/<layer>/**/support_*.c, compiled once
  file(GLOB_RECURSE support CONFIGURE_DEPENDS tests/${layer}/support_*.c)
  if(support AND NOT TARGET lud_test_${layer})
    add_library(lud_test_${layer} STATIC ${support})
    ludus_settings(lud_test_${layer})
    # compiled as the layers are, linked by the tests
    target_include_directories(lud_test_${layer} PRIVATE tests $<TARGET_PROPERTY:lud_learn,INTERFACE_INCLUDE_DIRECTORIES>
      $<TARGET_PROPERTY:lud_render,INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(lud_test_${layer} PRIVATE LUDUS_SOURCE_DIR="${LUDUS_TEST_FILES}"
      LUDUS_BINARY_DIR="${LUDUS_TEST_PROGRAMS}")
    target_link_libraries(lud_test_${layer} PRIVATE PkgConfig::CMOCKA)
    add_dependencies(lud_test_${layer} lud_render lud_learn)
  endif()
  add_executable(${target} ${source})
  ludus_settings(${target})
  if(LUDUS_SANITIZE AND "${folder}/${name}" IN_LIST ludus_unsanitized_tests)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(ludus_gold_links)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
  if(support)
    target_link_libraries(${target} PRIVATE lud_test_${layer})
  endif()
  target_include_directories(${target} PRIVATE tests)
  target_compile_definitions(${target} PRIVATE LUDUS_SOURCE_DIR="${LUDUS_TEST_FILES}"
    LUDUS_BINARY_DIR="${LUDUS_TEST_PROGRAMS}")
  if(${name} IN_LIST ludus_standing_in)
    target_link_libraries(${target} PRIVATE lud_learn lud_render)
  else()
    target_link_libraries(${target} PRIVATE ${ludus_layers})
  endif()
  target_link_libraries(${target} PRIVATE PkgConfig::CMOCKA $<$<BOOL:${AV_FOUND}>:PkgConfig::AV>)
  if(${name} STREQUAL test_out_of_memory) # see tests/out_of_memory.h
    target_sources(${target} PRIVATE tests/out_of_memory.c)
    foreach(function malloc calloc realloc free aligned_alloc strdup strndup asprintf lud_arena_create lud_arena_take
            lud_arena_take_array lud_arena_text lud_device_allocate lud_device_reserve dnnl_engine_create
            dnnl_stream_create dnnl_primitive_attr_create dnnl_post_ops_create dnnl_primitive_desc_create
            dnnl_primitive_create dnnl_memory_create dnnl_primitive_execute dnnl_sgemm)
      target_link_options(${target} PRIVATE -Wl,--wrap=${function})
    endforeach()
  else()
    # the program, where a test may start it: in the layers below it only by a name in the build folder
    file(STRINGS ${source} starts_programs REGEX LUDUS_BINARY_DIR LIMIT_COUNT 1)
    if(TARGET ludus AND (layer STREQUAL "cli" OR starts_programs))
      add_dependencies(${target} ludus)
    endif()
  endif()
  if("${layer}" STREQUAL "library")
    target_link_libraries(${target} PRIVATE libludus)
    add_dependencies(${target} ${ludus_samples})
    target_compile_definitions(${target} PRIVATE CMAKE_PROGRAM="${CMAKE_COMMAND}" C_COMPILER="${CMAKE_C_COMPILER}"
      SANITIZED="${LUDUS_SANITIZE}")
  endif()
  if(${name} STREQUAL test_examples)
    add_dependencies(${target} ludus_with_examples)
    target_link_libraries(${target} PRIVATE lud_examples)
  endif()
  if(${target} STREQUAL kernels_test_fences)
    foreach(function lud_cpu_workspace lud_cpu_product_scratch lud_cpu_operand_scratch)
      target_link_options(${target} PRIVATE -Wl,--wrap=${function})
    endforeach()
  endif()
  if(${target} STREQUAL kernels_test_device)
    add_library(other_module MODULE tests/kernels/other_module.c) # what it must refuse to load
    set_target_properties(other_module PROPERTIES PREFIX "")
    ludus_settings(other_module)
    add_dependencies(${target} other_module)
  endif()
  if(${target} STREQUAL cli_test_starved)
    add_library(starve MODULE tests/cli/starve.c) # preloaded, it refuses an allocation
    set_target_properties(starve PROPERTIES PREFIX "")
    target_compile_definitions(starve PRIVATE _GNU_SOURCE)
    add_dependencies(${target} starve)
  endif()
  if(${name} MATCHES "ranks" AND TARGET ludus_mpi)
    add_dependencies(${target} ludus_mpi)
  endif()
  if(${target} STREQUAL cli_test_ranks AND TARGET ludus_cuda_emulated)
    add_dependencies(${target} ludus_cuda_emulated)
  endif()
  if(${target} STREQUAL cli_test_without)
    ludus_stands_in(ludus_without_sdl ${ludus_render_without_sdl} tests/bench/registry.c)
    target_compile_definitions(ludus_without_sdl PRIVATE LUDUS_WITHOUT_SDL)
    ludus_stands_in(ludus_without_ffmpeg render/video/without_ffmpeg.c)
    add_dependencies(${target} ludus_without_sdl ludus_without_ffmpeg)
  endif()
  if(${target} STREQUAL cli_test_fixtures)
    add_dependencies(${target} fixtures)
  endif()
  # Tests find their files by themselves: they run in a folder that stays empty. Threads that wait do not spin, so that
  # a loaded machine is slower and no more.
  add_test(NAME ${folder}/${name} COMMAND ${target} WORKING_DIRECTORY ${nowhere})
  set_tests_properties(${folder}/${name} PROPERTIES TIMEOUT 1500 ENVIRONMENT OMP_WAIT_POLICY=passive)
  if(${folder}/${name} IN_LIST ludus_thread_tests)
    set_tests_properties(${folder}/${name} PROPERTIES LABELS threads)
    add_dependencies(thread_tests ${target})
  endif()
  if(${name} MATCHES "^test_cuda")
    add_dependencies(cuda_tests ${target})
  endif()
  if(${name} MATCHES "^test_cuda" AND TARGET ludus_cuda_emulated)
    add_test(NAME ${folder}/${name}_emulated COMMAND ${target} WORKING_DIRECTORY ${nowhere})
    # The emulation switches stacks at every barrier: frames that the address sanitizer keeps apart would take two thirds of the time.
    set_tests_properties(${folder}/${name}_emulated PROPERTIES TIMEOUT 1500
      ENVIRONMENT "OMP_WAIT_POLICY=passive;ASAN_OPTIONS=detect_stack_use_after_return=0;LUDUS_CUDA_MODULE=$<TARGET_FILE:ludus_cuda_emulated>")
    add_dependencies(${target} ludus_cuda_emulated)
  endif()
endforeach()
if(TARGET ludus_mpi AND TARGET cli_test_ranks)
  add_test(NAME cli/test_hosts COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/hosts.sh ${PROJECT_BINARY_DIR} WORKING_DIRECTORY ${nowhere})
  set_tests_properties(cli/test_hosts PROPERTIES TIMEOUT 1500 SKIP_RETURN_CODE 77 ENVIRONMENT OMP_WAIT_POLICY=passive)
endif()
foreach(label IN ITEMS long unsanitized)
  foreach(test IN LISTS ludus_${label}_tests)
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS ${label})
    endif()
  endforeach()
endforeach()
if(TARGET ludus_cuda AND TARGET ludus_cuda_emulated AND TARGET ludus)
  add_test(NAME gpu/folder COMMAND ${PROJECT_SOURCE_DIR}/tests/gpu/test-folder ${PROJECT_BINARY_DIR}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(gpu/folder PROPERTIES TIMEOUT 300)
endif()
if(SDL2_FOUND AND TARGET ludus)
  add_library(random_events MODULE tests/endurance/random_events.c) # preloaded into the window by tests/endurance/soak.py
  set_target_properties(random_events PROPERTIES PREFIX "")
  ludus_settings(random_events)
  target_link_libraries(random_events PRIVATE ludus_sdl)
endif()
