# render/ with SDL2 and FFmpeg, or what is left of it without them: render/without_sdl.c and render/video/without_ffmpeg.c stand in
# for what is missing, so that the program and the library are linked from the same sources either way.

# What of render/ needs no SDL2.
set(ludus_render_without_sdl render/without_sdl.c render/record_options.c render/canvas/theme.c render/canvas/picture.c
  render/plots/plot.c render/plots/plot_axes.c render/plots/plot_svg.c
  render/plots/plot_pdf.c render/plots/plot_vector.c render/viewer/remembered.c)

if(SDL2_FOUND)
  set(without /without_sdl\\.c$)
  if(AV_FOUND)
    list(APPEND without /without_ffmpeg\\.c$)
  else()
    message(STATUS "FFmpeg's libraries were not found or not asked for: no videos, pictures only")
    list(APPEND without /video/encoder\\.c$ /video/av\\.c$)
  endif()
  ludus_library(render render LINK lud_agents ludus_sdl ludus_cglm ludus_stb $<TARGET_NAME_IF_EXISTS:ludus_video> WITHOUT ${without})
else()
  message(STATUS "SDL2 was not found or not asked for: no windows, pictures and videos")
  add_library(lud_render STATIC ${ludus_render_without_sdl})
  ludus_settings(lud_render)
  target_link_libraries(lud_render PUBLIC lud_agents ludus_cglm ludus_stb)
endif()
