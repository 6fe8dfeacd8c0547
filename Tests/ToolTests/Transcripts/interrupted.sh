. "$(dirname "$0")/common.sh"
people
up --to 2
cat >m/0003_ages.lua <<'.'
return {
  changes = { Person = { note = "string?" } },
  up = function(m)
    m:each("Person", function(old, new)
      if old.id == 3 then error "stopped" end
      new.note = "n" .. old.id
    end, { batch = 1, resumable = true })
  end,
}
.
up 2>/dev/null || :
