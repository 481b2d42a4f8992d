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

file(GLOB emulated_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} kernels/cuda/*.cu sim/*/*.cu learn/*/*.cu learn/*/*/*.cu)
file(GLOB emulation_sources CONFIGURE_DEPENDS tests/emulation/*.cc)
foreach(source IN LISTS emulated_sources)
  get_filename_component(name ${source} NAME_WE)
  set(wrapper ${PROJECT_BINARY_DIR}/generated/emulation/${name}.cc)
  file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n" @ONLY)
  list(APPEND emulation_sources ${wrapper})
endforeach()
add_library(ludus_cuda_emulated MODULE ${emulation_sources})
set_target_properties(ludus_cuda_emulated PROPERTIES PREFIX "" CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
  CXX_VISIBILITY_PRESET hidden)
target_include_directories(ludus_cuda_emulated PRIVATE ${PROJECT_SOURCE_DIR}/tests/emulation ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR}/generated)
target_include_directories(ludus_cuda_emulated SYSTEM PRIVATE ${RANDOM123_INCLUDE})
target_compile_options(ludus_cuda_emulated PRIVATE -Wall -Wextra -Wshadow -Werror -ffp-contract=off)
target_compile_definitions(ludus_cuda_emulated PRIVATE _GNU_SOURCE)
target_link_options(ludus_cuda_emulated PRIVATE LINKER:--no-undefined)
ludus_sanitize(ludus_cuda_emulated)
if(LUDUS_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(ludus_cuda_emulated PRIVATE LINKER:-z,undefs) # the program brings the sanitizer's functions
endif()

file(GLOB emulation_runtime CONFIGURE_DEPENDS tests/emulation/*.cc)
add_executable(emulation_test_self tests/emulation/self/test_self.cc ${emulation_runtime})
set_target_properties(emulation_test_self PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
target_include_directories(emulation_test_self PRIVATE tests/emulation)
target_compile_definitions(emulation_test_self PRIVATE _GNU_SOURCE)
target_compile_options(emulation_test_self PRIVATE -Wall -Wextra -Wshadow -Werror)
ludus_sanitize(emulation_test_self)
add_test(NAME emulation/test_self COMMAND emulation_test_self)
