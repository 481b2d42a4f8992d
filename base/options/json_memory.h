/* Memory of JSON values. Jansson's functions that fill an object or a list fail without a word that anybody
 * would hear; so that no JSON is ever printed with something missing, all its memory comes from here, and
 * whoever is about to print asks whether some was refused. */
#pragma once

#include <stdbool.h>

/* Makes jansson take its memory from here; before its first use. */
void lud_json_watch(void);
/* Whether some was refused since then. Any thread may ask. */
bool lud_json_failed(void);
