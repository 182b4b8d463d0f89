/* A name that older programs include. */
#include "gravitile.h"
