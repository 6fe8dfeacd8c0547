-- Globals that exist only at the prompt. Editors do not receive this file.

---Globals that exist only at the prompt.
---@class moonpool.Prompt
---@help prompt
---@field _ any The last result. _1, _2 … are the results by number.

---Shows help on a name, a function, or a value.
---
---```lua
---help "where"
---help(store.write)
---help(store)
---```
---@param topic? any
function help(topic) end
