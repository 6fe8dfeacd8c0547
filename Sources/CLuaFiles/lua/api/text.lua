---@meta
-- JSON and CSV.

---Reads and writes JSON, strictly according to RFC 8259.
---@class moonpool.json
---@help moonpool.json
---A value that encode writes as {}. Empty objects from decode are equal to it.
---
---```lua
---print(moonpool.json.encode { a = moonpool.json.empty_object, b = {} })  --> {"a":{},"b":[]}
---print(moonpool.json.decode("{}") == moonpool.json.empty_object)  --> true
---```
---@field empty_object table
moonpool.json = {}

---Writes a value as JSON; NaN and infinities become "NaN", "Infinity" and "-Infinity".
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.json.encode { 1, 2.5, "x" })  --> [1,2.5,"x"]
---```
---@param value any
---@return string
function moonpool.json.encode(value) end

---Parses JSON; null becomes moonpool.null, and a number that neither an int64 nor a double represents becomes a
---decimal.
---
---Errors: invalid_argument
---
---```lua
---print(moonpool.json.decode('{"a": [1, 2]}').a[2])  --> 2
---```
---@param text string
---@return any
function moonpool.json.decode(text) end

---Iterates over the values of a JSON Lines file, or the rows of a JSON text, in constant memory.
---
---Errors: invalid_argument
---
---```lua
---store:objects("Toy"):export("toys.jsonl")
---for toy in moonpool.json.rows("toys.jsonl") do print(toy.name) break end  --> ball
---```
---@param path string
---@param options? moonpool.JSONOptions
---@return fun(): any
function moonpool.json.rows(path, options) end

---Reads and writes CSV (RFC 4180) and its dialects.
---@class moonpool.csv
---@help moonpool.csv
moonpool.csv = {}

---Reads a CSV file; returns its rows as tables keyed by column name, and the column names.
---
---Errors: invalid_argument
---
---```lua
---moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } })
---local rows, names = moonpool.csv.read("toys.csv")
---print(rows[1].name, #names)  --> ball 2
---```
---@param path string
---@param options? moonpool.CSVOptions
---@return table<string, any>[]
---@return string[]
function moonpool.csv.read(path, options) end

---Iterates over the rows of a CSV file in constant memory.
---
---Errors: invalid_argument
---
---```lua
---moonpool.csv.write("toys.csv", { { name = "ball", price = 3 }, { name = "rope" } })
---for row in moonpool.csv.rows("toys.csv") do print(row.name, row.price) end
-----> ball 3
-----> rope nil
---```
---@param path string
---@param options? moonpool.CSVOptions
---@return fun(): table<string, any>
function moonpool.csv.rows(path, options) end

---Writes rows to a CSV file. The default columns are the names in all rows, in alphabetical order.
---
---Errors: invalid_argument, disk_full
---
---```lua
---moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } }, { "price", "name" })
---print(io.open("toys.csv"):read("l"):match("[%a,]+"))  --> price,name
---```
---@param path string
---@param rows table[]
---@param names? string[]
---@param options? {separator: string}
function moonpool.csv.write(path, rows, names, options) end
