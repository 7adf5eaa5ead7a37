/* What the files of scan share. */
#ifndef OPS_CONTROL_SCAN_H
#define OPS_CONTROL_SCAN_H

#include "op/build.h"
#include "op/scan.h"

/* scan_run.c: a plain reference, one machine and one step after the other. */
bool scan_perform(Call *c);
bool scan_pull(Pull *p); /* scan_pull.c */
bool scan_push(Push *p); /* scan_push.c */

#endif
