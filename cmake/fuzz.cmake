# Every tests/fuzz/fuzz_*.c is one libFuzzer program.
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  ludus_settings(${name})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE lud_learn)
endforeach()
