. "$(dirname "$0")/common.sh"
mkdir m
echo 'return { schema = { P = { id = "int primary", a = "string", b = "int", old_name = "string?" }, Cat = { id = "int primary", name = "string" } } }' >m/0001_start.lua
up
store 's:create("P", { id = 1, a = "text", b = 10, old_name = "n" }) s:create("Cat", { id = 1, name = "Tom" })'
cat >m/0002_swap.lua <<'.'
return {
  schema = { P = { id = "int primary", a = "int", b = "string", new_name = "string?" }, Tomcat = { id = "int primary", name = "string" } },
  up = function(m)
    m:rename_property("P", "a", "b")
    m:rename_property("P", "b", "a")
    m:rename_property("P", "old_name", "new_name")
    m:rename_class("Cat", "Tomcat")
  end,
  down = function(m)
    m:rename_class("Tomcat", "Cat")
    m:rename_property("P", "b", "a")
    m:rename_property("P", "a", "b")
    m:rename_property("P", "new_name", "old_name")
  end,
}
.
echo 'return { P = { id = "int primary", a = "int", b = "string", newname = "string?" }, Kitty = { id = "int primary", name = "string" } }' >wanted.lua
