. "$(dirname "$0")/common.sh"
people
up --to 2
"$MOONPOOL" migrate down s.moonpool --dir m >/dev/null
store 's:object("Person", 1).first = "New"'
