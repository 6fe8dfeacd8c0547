# Functions for the scripts that make the folders of the transcripts. $MOONPOOL is the program.

store() { "$MOONPOOL" -e "local s = moonpool.open 's.moonpool' s:write(function() $1 end)"; }
up() { "$MOONPOOL" migrate up s.moonpool --dir m "$@" >/dev/null; }

# Three migrations of people; `wanted.lua` is a schema with a further change.
people() {
  mkdir m
  cat >m/0001_people.lua <<'.'
return {
  schema = { Person = { id = "int primary", first = "string", last = "string", age = "string" } },
  up = function(m)
    for id = 1, 3 do
      m:create("Person", { id = id, first = "F" .. id, last = "L" .. id, age = tostring(20 + id) })
    end
  end,
}
.
  cat >m/0002_names.lua <<'.'
-- Joins the names.
return {
  schema = { Person = { id = "int primary", name = "string", age = "string" } },
  drops = { "Person.first", "Person.last" },
  up = function(m)
    m:each("Person", function(old, new) new.name = old.first .. " " .. old.last end)
  end,
  down = function(m)
    m:each("Person", function(old, new) new.first, new.last = old.name:match "(%S*) ?(.*)" end)
  end,
}
.
  cat >m/0003_ages.lua <<'.'
return { changes = { Person = { age = "int", note = "string?" } } }
.
  cat >wanted.lua <<'.'
return { Person = { id = "int primary", name = "string", age = "int", note = "string?", mail = "string? indexed" } }
.
}
