#include "agents/overlay_source.h"

void lud_overlay_source_destroy(lud_overlay_source *source) {
    if (source && source->destroy) source->destroy(source);
}
