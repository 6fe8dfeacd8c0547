return {
  changes = { Dog = { name = "string" } },
  drops = { "Dog.first", "Dog.last" },
  each = { Dog = {
    up = function(old, new) new.name = old.first .. " " .. old.last end,
    down = function(new, old) old.first, old.last = new.name:match "^(%S*) ?(.*)$" end,
  } },
}
