/// The Lua contestant's program: one function for each step, written as a script author would write it.
let luaText = #"""
    local moonpool = require "moonpool"
    local store, held, batch, token, tokens, calls

    -- The generator of `Person.swift` again.
    local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    local letters = {}
    for draw = 0, 1023 do letters[draw] = alphabet:byte(draw % 52 + 1) end

    local function mix(z)
      z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
      z = (z ~ (z >> 27)) * 0x94d049bb133111eb
      return z ~ (z >> 31)
    end

    local golden = 0x9e3779b97f4a7c15

    local function remainder(z, n)
      local rest = z - ((z >> 1) // n << 1) * n
      while not math.ult(rest, n) do rest = rest - n end
      return rest
    end

    local function make_person(index, is_random)
      local state = mix(index + 1) ~ 0x5851f42d4c957f2d
      local function draw()
        state = state + golden
        return mix(state)
      end
      local age = remainder(draw(), 100)
      local score = (draw() >> 11) * (1000.0 / 9007199254740992.0)
      local active = draw() & 1 == 1
      local length = 8 + remainder(draw(), 5)
      local a, b = draw(), draw()
      local name = string.char(
        letters[a & 1023], letters[a >> 10 & 1023], letters[a >> 20 & 1023],
        letters[a >> 30 & 1023], letters[a >> 40 & 1023], letters[a >> 50 & 1023],
        letters[b & 1023], letters[b >> 10 & 1023], letters[b >> 20 & 1023],
        letters[b >> 30 & 1023], letters[b >> 40 & 1023], letters[b >> 50 & 1023]):sub(1, length)
      local id = is_random and mix(index * golden + 77) >> 1 or index
      return { id, name, age, score, active }
    end

    local steps = {}

    function steps.open(path, durability)
      store = moonpool.open {
        path = path,
        durability = durability,
        schema = {
          Person = {
            { "id", "int primary" }, { "name", "string" }, { "age", "int" },
            { "score", "double" }, { "active", "bool" },
          },
          Pet = { owner = "Person" },
          Club = { members = "Person[]" },
        },
      }
    end

    function steps.close()
      if token then token:invalidate() end
      if store then store:close() end
      store, held, batch, token = nil, nil, nil, nil
      collectgarbage()
    end

    -- Not timed: the values that a script inserts.
    function steps.prepare(from, to, is_random)
      batch = {}
      for index = from, to - 1 do batch[#batch + 1] = make_person(index, is_random == 1) end
    end

    function steps.begin_write() store:begin_write() end
    function steps.commit_write() store:commit_write() end

    function steps.insert()
      for _, person in ipairs(batch) do
        store:create("Person", {
          id = person[1], name = person[2], age = person[3], score = person[4], active = person[5],
        })
      end
    end

    function steps.insert_each()
      for _, person in ipairs(batch) do
        store:write(function()
          store:create("Person", {
            id = person[1], name = person[2], age = person[3], score = person[4], active = person[5],
          })
        end)
      end
    end

    function steps.hold(keys)
      held = {}
      for i, key in ipairs(keys) do held[i] = store:object("Person", key) end
    end

    function steps.update_scores(base)
      for number, person in ipairs(held) do
        store:write(function() person.score = base + number - 1.0 end)
      end
    end

    function steps.sum_of_ages()
      local sum = 0
      for person in store:objects("Person"):each() do sum = sum + person.age end
      return sum
    end

    function steps.sum_of_held_ages()
      local sum = 0
      for i = 1, #held do sum = sum + held[i].age end
      return sum
    end

    function steps.sum_of_ages_of(keys)
      local sum = 0
      for i = 1, #keys do sum = sum + store:object("Person", keys[i]).age end
      return sum
    end

    function steps.sum_of_scores_of(keys)
      local sum = 0.0
      for i = 1, #keys do sum = sum + store:object("Person", keys[i]).score end
      return sum
    end

    function steps.count_older(age)
      return #store:objects("Person"):where("age > $1", age)
    end

    function steps.count_older_named(age, prefix)
      return #store:objects("Person"):where("age > $1 and name beginswith $2", age, prefix)
    end

    function steps.sum_of_active_scores()
      return store:objects("Person"):where("active == true"):sum "score"
    end

    function steps.keys_by_score()
      local sorted = store:objects("Person"):sorted "score"
      local keys = {}
      for i = 1, math.min(100, #sorted) do keys[i] = sorted[i].id end
      if #sorted > 100 then keys[101] = sorted:last().id end
      return keys
    end

    function steps.first_keys_by_score()
      local keys = {}
      for person in store:objects("Person"):sorted("score"):limit(100):each() do
        keys[#keys + 1] = person.id
      end
      return keys
    end

    function steps.delete_younger(age)
      return store:write(function()
        local young = store:objects("Person"):where("age < $1", age)
        local count = #young
        store:delete(young)
        return count
      end)
    end

    function steps.insert_pets()
      store:write(function()
        for person in store:objects("Person"):each() do store:create("Pet", { owner = person }) end
      end)
    end

    function steps.insert_club()
      store:write(function()
        local members = store:create("Club", {}).members
        for person in store:objects("Person"):each() do members:append(person) end
      end)
    end

    local function observe(collection)
      token = collection:observe(function(change)
        if change.type == "update" then
          -- A row that moves is a deletion and an insertion.
          called(math.max(#change.deletions, #change.insertions) + #change.modifications)
        end
      end)
      store:refresh()
    end

    local function older(age) return store:objects("Person"):where("age > $1", age) end

    function steps.observe_older(age) observe(older(age)) end
    function steps.observe_older_by_score(age) observe(older(age):sorted "score") end
    function steps.observe_pets_of_older(age)
      observe(store:objects("Pet"):where("owner.age > $1", age))
    end
    function steps.observe_club() observe(store:objects("Club")[1].members) end

    function steps.observe_each(keys)
      tokens, calls, held = {}, 0, store:object("Person", keys[1])
      local function count(change)
        if change.type ~= "initial" then calls = calls + 1 end
      end
      for i, key in ipairs(keys) do
        if i % 2 == 1 then
          tokens[i] = store:object("Person", key):observe(count)
        else
          tokens[i] = store:objects("Person"):where("age == $1", i % 100)
            :observe(count, { keypaths = { "age" } })
        end
      end
      store:refresh()
    end

    function steps.update_observed(commits)
      for number = 1, commits do
        store:write(function() held.score = number + 0.0 end)
        store:refresh()
      end
      return calls
    end

    function steps.end_observers()
      for _, each in ipairs(tokens) do each:invalidate() end
      tokens = nil
    end

    function steps.set_age(key, age)
      rest()
      local person = store:object("Person", key)
      began()
      store:write(function() person.age = age end)
    end

    function steps.set_score(key, score)
      rest()
      local person = store:object("Person", key)
      began()
      store:write(function() person.score = score + 0.0 end)
    end

    function steps.append_to_club(key)
      rest()
      local members, person = store:objects("Club")[1].members, store:object("Person", key)
      began()
      store:write(function() members:append(person) end)
    end

    function run_step(name, arguments)
      local result = steps[name](table.unpack(arguments, 1, arguments.n))
      return type(result) == "table" and result or { result }
    end
    """#
