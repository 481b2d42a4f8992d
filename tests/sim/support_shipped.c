#include "sim/support_shipped.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_folder(support_shipped *shipped, const char *folder) {
    char path[256];
    struct dirent **entries;
    snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/%s", folder);
    const int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const size_t length = strlen(entries[i]->d_name);
        if (length > 5 && !strcmp(entries[i]->d_name + length - 5, ".yaml") &&
            shipped->n < SUPPORT_MOST_SHIPPED)
            snprintf(shipped->files[shipped->n++], sizeof shipped->files[0], "%.120s/%.120s", path,
                     entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

void support_list_shipped(support_shipped *shipped) {
    static const char *const folders[] = {"multigrid", "particle", "proof",      "tribes",
                                          "empo",      "empo/far", "empo/beyond"};
    shipped->n = 0;
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) add_folder(shipped, folders[k]);
}
