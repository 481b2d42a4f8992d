# The CUDA sources compiled for the host (tests/emulation), a module that only tests load: through LUDUS_CUDA_MODULE.
# Every test_cuda*.c runs twice: as it is, on a GPU or skipped, and as `..._emulated`.
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  message(STATUS "CUDA emulation for tests: not built (no C++ compiler)")
  return()
endif()
enable_language(CXX)
if(LUDUS_SANITIZE MATCHES "thread")
  return() # the thread sanitizer does not follow fibers
endif()
if(LUDUS_SANITIZE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL CMAKE_C_COMPILER_ID)
  return() # sanitizers of two compilers do not mix in one process
endif()

# The runtime, which its own test links as well.
file(GLOB emulation_runtime CONFIGURE_DEPENDS tests/emulation/*.cc)
add_library(emulation_runtime OBJECT ${emulation_runtime})
if(LUDUS_SANITIZE MATCHES "address") # it switches a hundred times for every number that a kernel computes; kernels are what is looked at
  set_source_files_properties(tests/emulation/threads.cc PROPERTIES COMPILE_OPTIONS "-O2;-fno-sanitize=all"
    COMPILE_DEFINITIONS ADDRESS_SANITIZER)
endif()
function(ludus_emulation_settings target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/emulation)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Werror -ffp-contract=off)
  ludus_sanitize(${target})
endfunction()
ludus_emulation_settings(emulation_runtime)

file(GLOB emulated_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} kernels/cuda/*.cu sim/*/*.cu learn/*/*.cu learn/*/*/*.cu)
set(emulated_wrappers)
foreach(source IN LISTS emulated_sources)
  get_filename_component(name ${source} NAME_WE)
  set(wrapper ${PROJECT_BINARY_DIR}/generated/emulation/${name}.cc)
  file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n" @ONLY)
  list(APPEND emulated_wrappers ${wrapper})
endforeach()
add_library(ludus_cuda_emulated MODULE ${emulated_wrappers} $<TARGET_OBJECTS:emulation_runtime>)
ludus_emulation_settings(ludus_cuda_emulated)
set_target_properties(ludus_cuda_emulated PROPERTIES PREFIX "")
target_include_directories(ludus_cuda_emulated PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_include_directories(ludus_cuda_emulated SYSTEM PRIVATE ${RANDOM123_INCLUDE})
target_link_options(ludus_cuda_emulated PRIVATE LINKER:--no-undefined)
if(LUDUS_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(ludus_cuda_emulated PRIVATE LINKER:-z,undefs) # the program brings the sanitizer's functions
endif()

add_executable(emulation_test_self tests/emulation/self/test_self.cc $<TARGET_OBJECTS:emulation_runtime>)
ludus_emulation_settings(emulation_test_self)
add_test(NAME emulation/test_self COMMAND emulation_test_self)
