/* The name by which Sapporo2's own programs include its class, with what they expect to come along: the C and C++
 * libraries, and namespace std. Programs of one's own include sapporo.h, which brings neither. */
#ifndef GRAVITILE_SAPPOROHOSTCLASS_H
#define GRAVITILE_SAPPOROHOSTCLASS_H

#include "sapporo.h"

#ifdef __cplusplus
#include <sys/time.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace std;
#endif

#endif
