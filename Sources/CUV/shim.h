#include "localsocket.h"
#include <uv.h>
