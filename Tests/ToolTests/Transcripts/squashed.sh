. "$(dirname "$0")/common.sh"
people
up
cp s.moonpool applied.moonpool
"$MOONPOOL" migrate squash --to 2 --dir m >/dev/null
