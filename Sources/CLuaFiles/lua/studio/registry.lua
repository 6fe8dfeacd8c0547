-- The panels of a script, for every studio that shows it: moonpool.studio.panel adds them.
local registry = { panels = {}, watchers = {} }

-- Adds a panel, replaces the panel with this name, or removes it if there is no function.
function registry.set(name, body)
  local index = #registry.panels + 1
  for i, panel in ipairs(registry.panels) do
    if panel.name == name then index = i end
  end
  if body then
    registry.panels[index] = { name = name, body = body }
  elseif registry.panels[index] then
    table.remove(registry.panels, index)
  end
  for watcher in pairs(registry.watchers) do watcher() end
end

return registry
