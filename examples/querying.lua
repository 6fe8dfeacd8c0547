-- Querying: a tour of the predicate language over cities, countries and travelers.
--
-- Prints:
--
--     over 1 million: Berlin, Madrid, Paris, Vienna
--     by argument: Berlin, Madrid
--     shorthand: Bern
--     without a river: Madrid
--     text: Berlin, Bern
--     pattern: Berlin, Paris
--     matches one of a list: Bern, Vienna
--     between: Paris, Vienna
--     calculated: Berlin
--     spoken there: Berlin, Bern, Vienna
--     all visits were long: Bern, Madrid, Paris
--     never visited: Bern, Madrid
--     most languages: Switzerland
--     first language: Austria, Germany, Switzerland
--     whole lists: Spain
--     two long visits: Berlin
--     backwards: Germany
--     backwards without a property: Paris
--     total nights: 13
--     inside a mixed value: Berlin, Bern
--     through a link in a mixed value: Paris
--     list elements in a mixed value: Berlin
--     by type: Berlin, Bern
--     full text, the best first: Vienna, Paris
--     in the text itself: Berlin, Madrid
--     by visits: Berlin, Vienna, Paris
--     one of each country: Bern, Berlin, Vienna
--     by river: none 1, Aare 1, Danube 1, Seine 1, Spree 1
--     11.2 million people in 5 cities, 2.24 on average
--     looks up 1 value in the unique index for: name == 'Bern'
--     renamed: Bern (CH)
--     'City' has no property 'poeple'; did you mean 'people'?
--       people > 1 and poeple < 3
--                      ^~~~~~

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "querying",
  schema = {
    Country = { name = "string primary", languages = "string[]", cities = "backlinks City.country" },
    City = {
      name = "string primary",
      title = "string?",
      people = "double",                       -- in millions
      area = "int",                            -- in square kilometers
      river = "string?",
      country = "Country",
      visits = "Visit[]",
      about = "string? fulltext",
      facts = "mixed",                         -- a value of any type: a map, a list, a link, text
    },
    Visit = { year = "int", nights = "int" },
  },
}

store:write(function()
  local function country(name, ...) return store:create("Country", { name = name, languages = { ... } }) end
  local function city(name, people, area, river, country_of, ...)
    return store:create("City",
      { name = name, people = people, area = area, river = river, country = country_of, visits = { ... } })
  end
  local swiss = country("Switzerland", "German", "French", "Italian", "Romansh")
  city("Bern", 0.1, 51, "Aare", swiss)
  city("Berlin", 3.7, 891, "Spree", country("Germany", "German"),
    { year = 2019, nights = 4 }, { year = 2021, nights = 5 }, { year = 2023, nights = 1 })
  city("Vienna", 2.0, 414, "Danube", country("Austria", "German"), { year = 2020, nights = 1 })
  city("Paris", 2.1, 105, "Seine", country("France", "French"), { year = 2022, nights = 2 })
  local madrid = city("Madrid", 3.3, 604, nil, country("Spain", "Spanish"))
  local function fill(name, about, facts) store:object("City", name):update { about = about, facts = facts } end
  fill("Bern", "Bears and arcades", { founded = 1191 })
  fill("Berlin", "A museum on an island", { founded = 1237, sights = { "Reichstag", "Tiergarten" } })
  fill("Vienna", "Museum beside museum, opera, museum", "the city of music")
  fill("Paris", "A museum with a pyramid, a tower, cafés, boulevards and bridges", madrid)
end)

local cities = store:objects("City"):sorted("name")

local function names(results)
  return table.concat(results:map(function(object) return object.name end), ", ")
end

local function show(title, results) print(title .. ": " .. names(results)) end

-- Values and text. Arguments are numbered from 1. nil equals only nil, and has no order.
show("over 1 million", cities:where "people > 1")
show("by argument", cities:where("people > $1 and area >= $2", 3, 600))
show("shorthand", cities:where { river = "Aare" })
show("without a river", cities:where "river == nil")
show("text", cities:where "name beginswith[c] 'BER'")
show("pattern", cities:where "river like 'S?*e*'")
show("matches one of a list", cities:where("name in $1", { "Vienna", "Bern", "Rome" }))
show("between", cities:where "people between {2, 3}")
show("calculated", cities:where "people * 1000000 / area < 5000 and people + 0.5 > 4")

-- Links and lists. `any` is the default quantifier; `all` and `none` are true for an empty list.
show("spoken there", cities:where("any country.languages == $1", "German"))
show("all visits were long", cities:where "all visits.nights >= 2")
show("never visited", cities:where "visits.@count == 0")
local countries = store:objects("Country"):sorted("name")
show("most languages", countries:where "languages[size] > 1")
show("first language", countries:where "languages[1] == 'German'")
show("whole lists", countries:where "languages == {'Spanish'}")
show("two long visits", cities:where "subquery(visits, $v, $v.nights > 3 and $v.year > 2000).@count >= 2")
show("backwards", countries:where "cities.people > 3.5")
show("backwards without a property",
  store:objects("City"):where("any visits in $1", store:objects("Visit"):where "year == 2022"))
print("total nights: " .. store:objects("Visit"):where("@links.City.visits.people > 1"):sum "nights")

-- Mixed values: a name is the key of a map, or a property of a linked object; `any` tests the elements of a list.
show("inside a mixed value", cities:where "facts.founded > 1000")
show("through a link in a mixed value", cities:where "facts.country.name == 'Spain'")
show("list elements in a mixed value", cities:where "any facts.sights beginswith 'Reich'")
show("by type", cities:where "facts.@type == 'map'")

-- Full text: words in any order; `-word` excludes a word, `word*` matches a prefix, and `@rank` is the relevance of a
-- match.
show("full text, the best first", store:objects("City"):where "about text 'museum -island' sort(@rank)")

-- The order, and the clauses after the condition in the text.
show("in the text itself", cities:where "truepredicate sort(people desc) limit(2)")
show("by visits", cities:sorted { { "visits.@count", "desc" }, { "visits.@sum.nights" } }:limit(3))
show("one of each country", store:objects("City"):where("any country.languages == 'German'"):distinct("country.name"))

-- Sections: live groups of objects with the same value.
local rivers = {}
for i, section in ipairs(store:objects("City"):group_by "river") do
  rivers[i] = (section.key or "none") .. " " .. #section.objects
end
print("by river: " .. table.concat(rivers, ", "))

-- Aggregates of a collection.
print(("%.1f million people in %d cities, %.2f on average"):format(
  cities:sum "people", cities:count(), cities:average "people"))

-- An explanation of the query's plan.
print((store:objects("City"):where("name == 'Bern'"):explain():match "[^\n]+"))

-- Change all objects of a query in one transaction.
store:write(function() cities:where("country.name == 'Switzerland'"):update { title = "Bern (CH)" } end)
print("renamed: " .. cities:where("title != nil")[1].title)

-- The error for an invalid predicate shows its position and suggests a correction.
local ok, err = pcall(function() return #cities:where "people > 1 and poeple < 3" end)
print(err.message)

store:close()
