-- Queries: filter, sort, aggregate; over links and backlinks; and what a mistake looks like.
--
-- Prints:
--
--     over 1 million: Berlin, Madrid, Paris, Vienna
--     in German-speaking countries: Berlin, Bern, Vienna
--     the largest: Berlin, Madrid, Paris
--     3 names with an a after the first letter
--     people in all: 11.2 million
--     Germany has a city over 3.5 million
--     invalid_query

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "queries",
  schema = {
    Country = { name = "string primary", languages = "string[]", cities = "backlinks City.country" },
    City = {
      name = "string primary",
      people = "double",                       -- in millions
      country = "Country",
    },
  },
}

store:write(function()
  local function country(name, ...) return store:create("Country", { name = name, languages = { ... } }) end
  local function city(name, people, country_of)
    store:create("City", { name = name, people = people, country = country_of })
  end
  city("Berlin", 3.7, country("Germany", "German"))
  city("Vienna", 2.0, country("Austria", "German"))
  city("Bern", 0.1, country("Switzerland", "German", "French", "Italian", "Romansh"))
  city("Paris", 2.1, country("France", "French"))
  city("Madrid", 3.3, country("Spain", "Spanish"))
end)

local cities = store:objects("City"):sorted("name")

local function names(results)
  return table.concat(results:map(function(object) return object.name end), ", ")
end

print("over 1 million: " .. names(cities:where "people > 1"))
print("in German-speaking countries: " .. names(cities:where("any country.languages == $1", "German")))
print("the largest: " .. names(store:objects("City"):sorted("people", "desc"):limit(3):sorted("name")))
print(#cities:where "name contains[c] 'a' and not name beginswith[c] 'a'"
  .. " names with an a after the first letter")
print(("people in all: %.1f million"):format(cities:sum "people"))
print(names(store:objects("Country"):where "any cities.people > 3.5") .. " has a city over 3.5 million")

-- A mistake is an error that shows where it is and what was meant.
local ok, err = pcall(function() return #cities:where "poeple > 1" end)
print(err.code)

store:close()
