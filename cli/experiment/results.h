/* What an experiment found: a table of runs, a table of variants with intervals, a figure. */
#pragma once

#include "base/text.h"
#include "cli/experiment/plan.h"

/* Writes FOLDER/runs.csv, FOLDER/summary.csv, summary.md and summary.tex, and FOLDER/curves.png, .svg and
 * .pdf; `said` gets the summary as Markdown. Runs that are not done are left out. */
lud_status lud_experiment_results(const lud_experiment *experiment, const char *folder, lud_text *said,
                                  lud_error *error);
