/* What the files of scan share. */
#ifndef OPS_CONTROL_SCAN_H
#define OPS_CONTROL_SCAN_H

#include "op/build.h"
#include "op/scan.h"

/* Do the sequences and initial values have the rows that so many steps need? */
bool scan_check(Call *c, const ScanForm *f, int64_t steps);
/* scan_run.c: a plain reference, one machine and one step after the other. */
bool scan_perform(Call *c);

#endif
