/* LUDUS_MUTANT: the number of the mutant that is switched on. LUDUS_MUTANT_TRACE: a file that gets the
 * numbers of those whose functions a process has entered. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int lud_mutant_active;
unsigned char lud_mutant_entered[LUD_MUTANTS_MOST];

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("LUDUS_MUTANT");
    lud_mutant_active = text ? atoi(text) : -1;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("LUDUS_MUTANT_TRACE");
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (file < 0) return;
    for (int i = 0; i < LUD_MUTANTS_MOST; i++)
        if (lud_mutant_entered[i]) dprintf(file, "%d\n", i);
    close(file);
}
