/*
 * standard.h: the streams of the process.
 */
#ifndef TH_STANDARD_H
#define TH_STANDARD_H

#include "thrum/base.h"

/*
 * Called before input is waited for: text written to a terminal is shown, unless another call
 * writes there now.
 */
void th_standard_prompt(thrum_time deadline);

#endif
