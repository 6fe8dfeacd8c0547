-- The settings of luacheck for the Lua files of the program.
std = "lua54"
globals = { "moonpool" }
files["Sources/CLuaFiles/lua/api"] = {
   -- Declarations have no bodies, and signatures are one line.
   ignore = { "212", "241" },
   max_line_length = false,
}
files["Sources/CLuaFiles/lua/api/prompt.lua"] = { globals = { "help" } }
-- The module moonpool.prompt, and what only the prompt's own commands may use.
files["Sources/CLuaFiles/lua/prompt"] = { read_globals = { "prompt", "session" } }
-- The primitives of the host.
files["Sources/CLuaFiles/lua/migrate"] = { read_globals = { host = { other_fields = true, fields = { globals = { read_only = false, other_fields = true } } } } }
-- A function for a worker repeats names, because it has no upvalues.
files["Sources/CLuaFiles/lua/studio"] = { ignore = { "43." } }
files["Sources/CLuaFiles/lua/library.lua"] = { max_line_length = false }
-- The examples that follow these lines use their variables.
files["Sources/CLuaFiles/lua/example.lua"] = { ignore = { "211" } }
-- Scenarios keep values alive in variables that nothing reads, and repeat names.
files["Tests/Specifications"] = {
   globals = { "store" },
   read_globals = {
      "before", "changes", "code", "describe", "dog", "elsewhere", "environment", "equal", "except", "fails",
      "fill_linked", "folder", "kennel", "linked", "message", "obj", "reports", "same", "scenario", "schema",
      "sweep", "target", "tests_all", "turn", "unique",
   },
   ignore = { "21.", "241", "311", "4[1-3].", "581" },
   max_line_length = 160,
}
files["Tests/SpecificationTests"] = { ignore = { "11.", "12." } }
