. "$(dirname "$0")/common.sh"
people
up
"$MOONPOOL" -e 'moonpool.open("s.moonpool"):define { Extra = { x = "int" } }'
