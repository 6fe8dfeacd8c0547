. "$(dirname "$0")/common.sh"
people
