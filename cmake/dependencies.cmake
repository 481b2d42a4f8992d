# The libraries Ludus stands on, each as one interface target. All of them are
# Debian 12 packages; cmake/install-deps.sh installs them.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)

pkg_check_modules(FYAML REQUIRED IMPORTED_TARGET libfyaml)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
# Without SDL2 nothing is drawn, without FFmpeg's headers no videos are written; all else works (cmake/pictures.cmake).
option(LUDUS_PICTURES "draw worlds where SDL2 is found: windows, pictures, videos" ON)
option(LUDUS_VIDEOS "write videos where FFmpeg's libraries are found" ON)
if(LUDUS_PICTURES)
  pkg_check_modules(SDL2 IMPORTED_TARGET sdl2)
endif()
if(LUDUS_VIDEOS AND SDL2_FOUND)
  pkg_check_modules(AV IMPORTED_TARGET libavcodec libavformat libavutil libswscale)
endif()

find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)
find_path(CGLM_INCLUDE cglm/cglm.h REQUIRED)
find_path(STB_INCLUDE stb_image.h PATH_SUFFIXES stb REQUIRED)
find_path(DNNL_INCLUDE dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)

function(ludus_dependency name)
  cmake_parse_arguments(arg "" "" "INCLUDE;LINK" ${ARGN})
  add_library(ludus_${name} INTERFACE)
  target_include_directories(ludus_${name} SYSTEM INTERFACE ${arg_INCLUDE})
  target_link_libraries(ludus_${name} INTERFACE ${arg_LINK})
endfunction()

ludus_dependency(json LINK PkgConfig::JANSSON)
ludus_dependency(yaml LINK PkgConfig::FYAML)
ludus_dependency(xxhash LINK PkgConfig::XXHASH)
ludus_dependency(hdf5 LINK PkgConfig::HDF5 PkgConfig::DEFLATE)
ludus_dependency(random INCLUDE ${RANDOM123_INCLUDE})
ludus_dependency(dnnl INCLUDE ${DNNL_INCLUDE} LINK ${DNNL_LIBRARY})
if(SDL2_FOUND)
  ludus_dependency(sdl LINK PkgConfig::SDL2)
  # SDL would read the headers of all vector instructions, 50,000 lines, in every file that draws.
  target_compile_definitions(ludus_sdl INTERFACE SDL_DISABLE_IMMINTRIN_H SDL_DISABLE_XMMINTRIN_H SDL_DISABLE_EMMINTRIN_H
    SDL_DISABLE_MMINTRIN_H SDL_DISABLE_PMMINTRIN_H)
endif()
ludus_dependency(cglm INCLUDE ${CGLM_INCLUDE})
ludus_dependency(stb INCLUDE ${STB_INCLUDE})
if(AV_FOUND)
  ludus_dependency(video INCLUDE ${AV_INCLUDE_DIRS} LINK ${CMAKE_DL_LIBS}) # loaded when the first video is opened: render/video/av.c
endif()
