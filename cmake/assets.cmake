# What ships inside the program: the sprite atlas and the font. They are read into the object file of
# render/canvas/assets.c by the assembler, so the program works from any folder.
set(ludus_assets ${PROJECT_SOURCE_DIR}/assets/atlas.png ${PROJECT_SOURCE_DIR}/assets/Inter-Regular.otf)
set_source_files_properties(render/canvas/assets.c PROPERTIES
  COMPILE_DEFINITIONS LUDUS_ASSET_FOLDER="${PROJECT_SOURCE_DIR}/assets/"
  OBJECT_DEPENDS "${ludus_assets}")

# The program that draws the atlas; `ninja atlas` draws it anew after a change.
add_executable(make_atlas EXCLUDE_FROM_ALL assets/make_atlas.c)
ludus_settings(make_atlas)
target_link_libraries(make_atlas PRIVATE ludus_stb)
add_custom_target(atlas COMMAND make_atlas ${PROJECT_SOURCE_DIR}/assets/atlas.png)

# The generator of scenarios/proof/family_tree; its files are in the repository.
add_executable(make_family_tree assets/make_family_tree.c)
ludus_settings(make_family_tree)
target_link_libraries(make_family_tree PRIVATE lud_sim)
