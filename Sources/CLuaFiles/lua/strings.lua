-- Text functions that several files of the program use.
local strings = {}

-- Returns a number with its noun: "1 object", "2 objects".
function strings.count(number, noun, plural)
  return number .. " " .. (number == 1 and noun or plural or noun .. "s")
end

return strings
