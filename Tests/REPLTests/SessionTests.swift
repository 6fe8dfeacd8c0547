import TestThreads
import Testing

@testable import REPL

@Suite struct SessionTests {
    private static let dogs = """
        store:define {
          Person = { name = "string", dogs = "backlinks Dog.owner" },
          Dog = { id = "int primary", name = "string", age = "int?", owner = "Person" } }
        store:write(function()
          local ann = store:create("Person", { name = "Ann" })
          for i = 1, 50 do
            store:create("Dog", { id = i, name = "dog " .. i, owner = i % 2 == 0 and ann or nil })
          end
        end)
        """

    @Test func `a session shows the values of expressions and numbers them`() throws {
        let session = try TestSession()
        #expect(try session.run("1 + 1") == "2")
        #expect(try session.run("= 'a', nil, 2.5") == "\"a\"\nnil\n2.5")
        #expect(try session.run("_, _1, _4") == "\"a\"\n2\n2.5")
        #expect(try session.run("x = 5") == "")
        #expect(try session.run("print(x)") == "5")
        #expect(try session.run("'one\\ntwo'") == "[[\none\ntwo]]")
    }

    @Test func `a session reports errors with their location`() throws {
        let session = try TestSession()
        #expect(
            try session.run("nothing.x")
                == """
                entry 2:1: attempt to index a nil value (global 'nothing')
                  nothing.x
                  ^~~~~~~
                """)
        #expect(try session.run("a b") == "entry 3:1: syntax error near 'b'\n  a b\n    ^")
        #expect(try session.run("error { code = 7 }") == "error: { code = 7 }")
        #expect(
            try session.run("local a = 1\nnothing.x = a\nprint(a)") == """
                entry 5:2: attempt to index a nil value (global 'nothing')
                  1 | local a = 1
                > 2 | nothing.x = a
                      ^~~~~~~
                  3 | print(a)
                """)
        _ = try session.run("local function inner()\n  error('deep')\nend")
        #expect(
            try session.run("local function outer() inner() end outer()") == """
                entry 6:2: deep
                  1 | local function inner()
                > 2 |   error('deep')
                  3 | end
                  entry 6:2: in upvalue 'inner'
                  entry 7:1: in local 'outer'
                  entry 7:1: in function <entry 7:1>
                """)
    }

    @Test func `a session shows sets, maps and values of collections`() throws {
        let session = try TestSession(columns: 76, rows: 14)
        _ = try session.run(
            """
            store:define { Dog = { id = "int primary", tags = "string<>", notes = "int?{}", pups = "Dog{}",
              friends = "Dog<>", many = "int{}" } }
            rex = store:write(function()
              local many = {} for i = 1, 9 do many["k" .. i] = i end
              return store:create("Dog", { id = 1, tags = { "b", "a" }, notes = { x = 1, ["a b"] = moonpool.null },
                pups = { p = { id = 2 } }, friends = { { id = 3 } }, many = many })
            end)
            """)
        #expect(
            try session.run("rex") == """
                Dog {
                  id = 1,
                  friends = 1 Dog,
                  many = 9 int,
                  notes = { ["a b"] = nil, x = 1 },
                  pups = 1 Dog,
                  tags = { "a", "b" }
                }
                """)
        #expect(try session.run("rex.tags") == "set Dog.tags { \"a\", \"b\" }")
        #expect(try session.run("rex.notes") == "map Dog.notes { [\"a b\"] = nil, x = 1 }")
        #expect(try session.run("rex.pups") == "map Dog.pups { p = Dog 2 }")
        #expect(try session.run("rex.friends").contains("friends"))
        #expect(try session.run("rex.tags:sorted 'desc'") == "Values of string { \"b\", \"a\" }")
        _ = try session.run(
            "tags, notes = rex.tags, rex.notes store:write(function() store:delete(rex) end)")
        #expect(try session.run("tags") == "set Dog.tags (invalid)")
        #expect(try session.run("notes") == "map Dog.notes (invalid)")
    }

    @Test func `a session shows objects, results and lists`() throws {
        let session = try TestSession(columns: 60, rows: 14)
        _ = try session.run(Self.dogs)
        let dog = try session.run("store:object('Dog', 2)")
        #expect(
            dog == """
                Dog {
                  id = 2,
                  age = nil,
                  name = "dog 2",
                  owner = Person "Ann"
                }
                """)
        let table = try session.run("store:objects 'Dog'")
        #expect(table.hasSuffix("50 Dog · … 44 more: .last shows them"), "\(table)")
        #expect(table.split(separator: "\n").allSatisfy { $0.count <= 60 })
        #expect(try session.run(".last").split(separator: "\n").count == 54)
        #expect(try session.run("store:objects('Person')[1].dogs:limit(1)").contains("dog 2"))
        #expect(
            try session.run("{ store:object('Dog', 1), store:object('Dog', 2) }").contains("2 Dog"))
        let nested = try session.run("{ favorite = store:object('Dog', 1) }")
        #expect(nested.contains("favorite = Dog {"))
        _ = try session.run(
            "local rex = store:object('Dog', 1) store:write(function() store:delete(rex) end)")
        #expect(try session.run("rex") == "Dog (deleted)")
    }

    @Test func `transactions are undone and redone`() throws {
        let session = try TestSession()
        _ = try session.run(Self.dogs)
        let version = try #require(UInt64(try session.run("store.version")))
        _ = try session.run("store:write(function() store:delete_all() end)")
        #expect(
            try session.run(".undo")
                == "undid version \(version + 1); the store is at version \(version + 2)")
        #expect(try session.run("#store:objects 'Dog' > 0") == "true")
        #expect(try session.run(".redo") == "redone; the store is at version \(version + 3)")
        #expect(try session.run("#store:objects 'Dog'") == "0")
        #expect(try session.run(".redo").contains("nothing to redo"))
        _ = try session.run(".begin")
        #expect(try session.run(".undo").contains("is already open"))
        _ = try session.run(".rollback")
    }

    @Test(arguments: [".quit now", ".exit 1", ".commit all", ".classes Dog", ".redo 2", ".pins x"])
    func `an argument of a command that takes none is an error`(entry: String) throws {
        let session = try TestSession()
        _ = try session.run(Self.dogs)
        let words = entry.split(separator: " ")
        #expect(
            try session.run(entry).contains("\(words[0]) takes no arguments, got '\(words[1])'"))
    }

    @Test func `the prompt shows name, version, write and observers`() throws {
        let session = try TestSession()
        _ = try session.run(Self.dogs)
        _ = try session.run("store = moonpool.open { in_memory = 'kennel' }")
        let version = try session.run("store.version")
        #expect(try session.prompt() == "kennel v\(version)> ")
        _ = try session.run(".begin")
        #expect(try session.prompt() == "kennel v\(version) write> ")
        _ = try session.run(".rollback")
        _ = try session.run("token = store:observe(function() end)")
        #expect(try session.prompt() == "kennel v\(version) 1 observer> ")
        _ = try session.run("token:invalidate() store:close() store = nil")
        #expect(try session.prompt().hasSuffix("> "))
    }

    @Test func `the writes of an interrupted entry are rolled back`() throws {
        let session = try TestSession()
        _ = try session.run(Self.dogs)
        let text = try session.runAndInterrupt(
            "store:write(function() store:create('Person', { name = 'x' }) print('in') while true do end end)"
        )
        #expect(text.contains("interrupted"))
        #expect(try session.run("#store:objects 'Person', store.is_in_write") == "1\nfalse")
        _ = try session.run(".begin")
        _ = try session.runAndInterrupt(
            "store:create('Person', { name = 'x' }) print('in') while true do pcall(error) end")
        #expect(try session.run("#store:objects 'Person', store.is_in_write") == "2\ntrue")
        #expect(try session.run(".rollback") == "rolled back")
        #expect(
            try session.runAndInterrupt(
                "coroutine.wrap(function() print('in') while true do end end)()"
            ).contains("interrupted"))
    }

    @Test func `errors of observers name the observer and show its line`() throws {
        let session = try TestSession()
        _ = try session.run(Self.dogs)
        _ = try session.run(
            """
            token = store:objects("Dog"):observe(function(change)
              if change.type == "update" then error("no") end
            end, { name = "strict" })
            """)
        _ = try session.run("store:refresh()")
        let text = try session.run(
            "store:write(function() store:create('Dog', { id = 99, name = '' }) end) store:refresh()"
        )
        #expect(text.contains("'strict'"))
        #expect(text.contains("> 2 |   if change.type == \"update\" then error(\"no\") end"))
    }

    @Test func `commands print results, and their errors are reported`() throws {
        let session = try TestSession()
        #expect(try session.run(".classes").hasPrefix("no classes yet"))
        _ = try session.run(Self.dogs)
        let classes = try session.run(".classes").split(separator: "\n").map {
            $0.split(separator: " ").map(String.init)
        }
        #expect(classes[0] == ["class", "objects", "bytes", "properties"])
        #expect(classes[1][0...1] == ["Dog", "50"])
        #expect(Int(classes[1][2].filter { $0 != "," }) ?? 0 > 400)
        #expect(classes[2].suffix(2) == ["dogs,", "name"])
        #expect(
            try session.run(".schema --tree") == """
                Dog (50 objects)
                ├─ id     int primary
                ├─ age    int?
                ├─ name   string
                └─ owner  Person  → Person
                Person (1 object)
                ├─ dogs  backlinks Dog.owner
                └─ name  string
                """)
        #expect(try session.run(".schema --mermaid").hasPrefix("erDiagram"))
        #expect(try session.run(".schema Dog --dot").hasPrefix("digraph"))
        #expect(
            try session.run(".schema --xml")
                == "expected --tree, --lua, --mermaid or --dot, got '--xml'")
        #expect(try session.run(".schema Dog Person") == ".schema takes at most one class")
        #expect(
            try session.run(".schema Dog --lua") == """
                Dog = {
                  id    = "int primary",
                  age   = "int?",
                  name  = "string",
                  owner = "Person",
                }
                """)
        #expect(try session.run(".schema Dgo").contains("did you mean 'Dog'?"))
        #expect(try session.run(".observers") == "no observers")
        #expect(try session.run(".scema") == "unknown command .scema; did you mean .schema?")
        #expect(
            try session.run(".why")
                == "there are no observers; register one with results:observe(fn)")
        let plan = try session.run(".explain store:objects('Dog'):where 'id = 3'")
        #expect(plan.contains("id"))
        #expect(try session.run(".explain Dog where id = 3") == plan)
        #expect(try session.run(".explain Dog id = 3") == plan)
        #expect(try session.run(".explain Dog").contains("Dog"))
        for command in [".explain", ".watch"] {
            let shown = try session.run("\(command) Dgo")
            #expect(shown == "there is no class 'Dgo'; did you mean 'Dog'?")
        }
        #expect(
            try session.run(".explain Dog where").contains("a predicate is missing after 'where'"))
        #expect(try session.run(".explain Dgo where id = 3").contains("did you mean 'Dog'?"))
        _ = try session.run("Dog = store:objects('Dog'):where 'id = 3'")
        #expect(try session.run(".explain Dog") == plan)
        _ = try session.run("Dog = nil")
        #expect(try session.run(".explain 1") == "expected a query, got a number")
        #expect(try session.run(".commit").contains("no write transaction"))
        #expect(try session.run(".help").contains(".observers"))
        #expect(try session.run(".help observe").contains("observe"))
        #expect(try session.run(".help Dog").hasPrefix("Dog = {"))
        #expect(
            try session.run(".load /nowhere.lua")
                == "cannot read /nowhere.lua: No such file or directory")
        #expect(try session.run(".timing on").hasPrefix("timing is on\n"))
        #expect(try session.run("1").hasPrefix("1\n"))
    }

    @Test func `a session completes names, members and key paths without running code`() throws {
        let session = try TestSession()
        _ = try session.run(Self.dogs)
        _ = try session.run(
            """
            local kennel = { open = true, opened = 2, ["not a name"] = 1 }
            touched = 0
            trap = setmetatable({}, { __index = function() touched = touched + 1 return 1 end })
            """)
        #expect(try session.complete("ken") == ["kennel"])
        #expect(try session.complete("x = kennel.op") == ["open", "opened"])
        #expect(try session.complete("kennel.") == ["open", "opened"])
        #expect(try session.complete("trap.x.") == [])
        #expect(try session.complete("trap.") == [])
        #expect(try session.run("touched") == "0")
        #expect(try session.complete("string.for") == ["format"])
        #expect(try session.complete("store:objects(\"D") == ["Dog"])
        #expect(try session.complete("store:objects \"P") == ["Person"])
        #expect(try session.complete("store:objects(\"Dog\"):wh") == ["where"])
        #expect(try session.complete("store:objects(\"Dog\"):where \"na") == ["name"])
        #expect(
            try session.complete("store:objects(\"Dog\"):where(\"age > 3 and owner.n") == ["name"])
        #expect(try session.complete("store:objects(\"Dog\"):sorted(\"owner.dogs.a") == ["age"])
        #expect(try session.complete("store:objects(\"Dog\")[1].ow") == ["owner"])
        #expect(
            try session.complete("store:freeze():objects('Dog'):group_by('age'):ind") == [
                "index_of"
            ])
        #expect(try session.complete("store:objects('Dog'):observe(f):inv") == ["invalidate"])
        #expect(try session.complete("store:object('Dog', 1).owner.dogs:limit(1):fir") == ["first"])
        #expect(try session.complete("moonpool.open('x'):objects('D") == ["Dog"])
        #expect(try session.complete("store:object('Dog', 1):no_such():fir") == [])
        #expect(
            try session.complete("store:objects(\"Dog\")[1].owner.") == [
                "class", "dogs", "name", "store",
            ])
        #expect(try session.complete("store:create(\"Dog\", { na") == ["name"])
        #expect(
            try session.complete("store:create(\"Dog\", { id = 1, ") == ["age", "name", "owner"])
        #expect(try session.complete("store:objects(\"Dog\"):where { ow") == ["owner"])
        #expect(try session.complete("store:object(\"Dog\", 1):update({ a") == ["age"])
        #expect(try session.complete("store:create(\"Dog\", { name = ken") == ["kennel"])
        #expect(try session.complete("print { na").isEmpty)
        #expect(
            try session.complete("store:objects(\"Dog\"):observe(f, { keypaths = { \"owner.na")
                == ["name"])
        #expect(
            try session.complete(
                "store:objects(\"Dog\"):observe(function(c) print(c[1]) end, { keypaths = { \"ag")
                == ["age"])
        #expect(
            try session.complete("store:objects(\"Dog\"):observe(f, { keypaths = { \"Per").isEmpty)
        #expect(try session.complete("store:object(\"Dog\", 1):observe_value(\"ow") == ["owner"])
        #expect(try session.complete(".explain Do") == ["Dog"])
        #expect(try session.complete(".watch Dog wh") == ["where"])
        #expect(try session.complete(".watch Dog where age > 1 and own") == ["owner"])
        #expect(try session.complete(".cl") == [".classes"])
        #expect(try session.complete(".mode j") == ["json", "jsonl"])
        #expect(try session.complete(".schema --m") == ["--mermaid"])
        #expect(try session.complete(".watch store:objects(\"Do") == ["Dog"])
        #expect(try session.complete(".schema P") == ["Person"])
        #expect(try session.complete("fun") == ["function"])
        #expect(try session.complete("-- ken") == [])
        #expect(try session.complete("dofile \"/etc/pass").contains("passwd"))
    }

    @Test func `a session loads a file like typed entries`() throws {
        let session = try TestSession()
        let folder = try TemporaryFolder()
        let path = try folder.write("#!/x\nlocal loaded = 7\nlate()", to: "a.lua")
        #expect(try session.run(".load \(path)").contains("\(path):3: attempt to call a nil value"))
        #expect(try session.run("loaded") == "7")
        try folder.write(
            "a = 2\n.mode json\na + 1\nfor i = 1, 2 do\n  print(i)\nend\n", to: "a.lua")
        #expect(try session.run(".load \(path)") == "output mode: json\n3\n1\n2")
        try folder.write("b = = 2\n", to: "a.lua")
        #expect(try session.run(".load \(path)").contains("unexpected symbol"))
    }
}
