#include "ops/isa.h"
