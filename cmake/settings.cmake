# The sanitizers that were chosen, in one target.
function(ludus_sanitize target)
  if(LUDUS_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LUDUS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${LUDUS_SANITIZE})
  endif()
  if(LUDUS_SANITIZE MATCHES "address" AND NOT LUDUS_FUZZ)
    # It checks every access through a pointer; these of the undefined-behaviour sanitizer check it again, for a quarter of the time that CI takes.
    # Fuzz targets keep them.
    target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment,object-size,pointer-overflow)
  endif()
endfunction()

# Warnings are errors in our code; floating point is compiled without
# contraction or fast-math so that results do not depend on the optimiser.
function(ludus_settings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -Wvla -Werror -ffp-contract=off
    -fno-math-errno -fno-semantic-interposition
    # clang warns where it does not follow a wish to vectorise, as at low optimisation or with sanitizers
    $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(${target} PRIVATE OpenMP::OpenMP_C Threads::Threads m)
  ludus_sanitize(${target})
  if(LUDUS_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# ludus_library(NAME folder LINK targets... [WITHOUT regexes...]): static library lud_NAME of all sources in the folder and its
# rooms, but those whose paths a regular expression matches.
function(ludus_library name folder)
  cmake_parse_arguments(arg "" "" "LINK;WITHOUT" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/module/") # what is loaded at run time
  foreach(path IN LISTS arg_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "${path}")
  endforeach()
  if(sources)
    add_library(lud_${name} STATIC ${sources})
    ludus_settings(lud_${name})
    target_link_libraries(lud_${name} PUBLIC ${arg_LINK})
  else()
    add_library(lud_${name} INTERFACE)
    target_link_libraries(lud_${name} INTERFACE ${arg_LINK})
  endif()
endfunction()

# Makes a library of all layers, and of what they stand on, out of TARGET.
function(ludus_put_layers target)
  target_link_options(${target} PUBLIC $<TARGET_PROPERTY:lud_base,INTERFACE_LINK_OPTIONS>)
  foreach(layer base kernels sim agents learn render)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:lud_${layer}>)
    get_target_property(needed lud_${layer} INTERFACE_LINK_LIBRARIES)
    list(FILTER needed EXCLUDE REGEX "^lud_")
    target_link_libraries(${target} PUBLIC ${needed})
  endforeach()
endfunction()
