-- Lists, sets and maps of values and of objects, and changes to them.
--
-- Prints:
--
--     tracks: Intro, Ballad, Finale
--     tags: jazz, live, trio
--     both: jazz, live
--     only here: trio
--     ratings: Ann 5, Bob 3
--     highest rating: 5
--     loudest player of "Ballad": Zoe
--     after Zoe left: bass nil, drums Tim
--     albums with a rating below 4: Nightfall
--     invalid_argument

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "collections",
  schema = {
    Album = {
      title = "string primary",
      tracks = "string[]",          -- a list: keeps the order of its elements
      tags = "string<>",            -- a set: unique values, ordered by value
      ratings = "int{}",            -- a map: text keys to values, ordered by key
      players = "Player{}",         -- links; deleting an object keeps its key
    },
    Player = { name = "string primary", volume = "int" },
  },
}

local album = store:write(function()
  return store:create("Album", {
    title = "Nightfall",
    tracks = { "Intro", "Finale" },
    tags = { "trio", "jazz", "jazz" },
    ratings = { Bob = 3 },
    players = { bass = { name = "Zoe", volume = 11 }, drums = { name = "Tim", volume = 7 } },
  })
end)

store:write(function()
  album.tracks:insert(2, "Ballad")
  album.tags:add("live")
  album.ratings.Ann = 5
end)

print("tracks: " .. table.concat(album.tracks:to_table(), ", "))
print("tags: " .. table.concat(album.tags:to_table(), ", "))
print("both: " .. table.concat(album.tags:intersection { "live", "jazz", "studio" }, ", "))
print("only here: " .. table.concat(album.tags:difference { "live", "jazz" }, ", "))

local ratings, highest = {}, 0
for name, rating in pairs(album.ratings) do
  ratings[#ratings + 1] = name .. " " .. rating
  highest = math.max(highest, rating)
end
print("ratings: " .. table.concat(ratings, ", "))
print("highest rating: " .. highest)
print('loudest player of "Ballad": ' .. album.players:sorted("volume", "desc")[1].name)

store:write(function() store:delete(album.players.bass) end)
print("after Zoe left: bass " .. tostring(album.players.bass) .. ", drums " .. album.players.drums.name)

local low = store:objects("Album"):where("any ratings < 4")
print("albums with a rating below 4: " .. low[1].title)

-- The name of a method is not usable as a key with a dot; use `set` and `get` for such keys.
local ok, err = pcall(function()
  store:write(function() album.ratings.clear = 1 end)
end)
print(err.code)
