---@meta
-- The functions for the studio.

---Adds to the studio, the page of `moonpool studio` in the browser. In scripts that no studio shows, the functions have no
---effect.
---@class moonpool.studio
---@help moonpool.studio
moonpool.studio = {}

---Adds a panel to the studio, as a tab. The function receives the store, and runs when the panel is shown and after each
---commit. The panel shows each value that it returns: text, objects, a table of rows whose first row is the header, a plot
---or another chart, an SVG document, and buttons: `{ button = "Feed", press = function() … end }`. Without a function,
---removes the panel.
---
---Errors: invalid_argument
---
---```lua
---moonpool.studio.panel("Old dogs", function(store)
---  local old = store:objects("Dog"):where "age > 9"
---  return #old .. " old dogs", old
---end)
---```
---@param name string
---@param body? fun(store: moonpool.Store): ...
function moonpool.studio.panel(name, body) end
