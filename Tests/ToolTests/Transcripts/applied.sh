. "$(dirname "$0")/common.sh"
people
up --to 1
up
