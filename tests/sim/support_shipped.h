/* The scenarios that ship, of all worlds. Some name data sets that do not, and cannot be loaded. */
#pragma once

enum { SUPPORT_MOST_SHIPPED = 256 };

typedef struct support_shipped {
    int n;
    char files[SUPPORT_MOST_SHIPPED][256];
} support_shipped;

/* Lists them, folder by folder, each in alphabetical order. */
void support_list_shipped(support_shipped *shipped);
