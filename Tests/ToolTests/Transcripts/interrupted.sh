. "$(dirname "$0")/common.sh"
people
up --to 2
cat >m/0003_ages.lua <<'.'
return {
  changes = { Person = { note = "string?" } },
  each = { Person = function(old, new)
    if old.id == 3 then error "stopped" end
    new.note = "n" .. old.id
  end },
}
.
"$MOONPOOL" migrate start s.moonpool --dir m >/dev/null || :
