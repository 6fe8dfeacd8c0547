import Foundation
import TestThreads
import Testing

/// The messages between the page and `moonpool studio`.
@Suite struct StudioProtocolTests {
    private let folder = try! TemporaryFolder()

    private static let dogs = """
        local store = moonpool.open { path = "zoo.moonpool", durability = "memory", schema = {
          Person = { { "name", "string primary" }, { "dogs", "backlinks Dog.owner" } },
          Dog = { { "id", "int primary" }, { "name", "string" }, { "age", "int?" }, { "owner", "Person" } },
          Any = { { "value", "mixed" }, { "data", "data?" }, { "float", "float?" }, { "money", "decimal?" }, { "when", "date?" },
                  { "list", "int[]" }, { "set", "string<>" }, { "map", "mixed{}" } } } }

        """

    private func change(_ code: String) throws {
        try Tool.run(["-e", Self.dogs + "store:write(function() \(code) end)"], in: folder.path)
            .expectSuccess()
    }

    /// Changes the store, and opens a page of a studio that has it.
    private func page(_ code: String) throws -> SocketClient {
        try change(code)
        return try StudioProgram.page(["zoo.moonpool"], in: folder.path)
    }

    @Test func `rows arrive, and events have the ranges of each commit`() throws {
        try change("for i = 1, 10 do store:create('Dog', { i, 'Dog ' .. i, i }) end")
        let studio = try StudioProgram(["zoo.moonpool"], in: folder.path)
        let page = try studio.welcome()
        let rows = try page.ok([
            "do": "rows", "class": "Dog", "where": "age > 3", "sort": [["age", "descending"]],
            "first": 0, "count": 3,
        ])
        #expect(rows["total"] as? Int == 7 && rows["all"] as? Int == 10)
        let names = (rows["rows"] as? [[String: Any]])?.compactMap { $0["name"] as? String }
        #expect(names == ["Dog 10", "Dog 9", "Dog 8"])
        let columns = (rows["columns"] as? [[String: Any]])?.compactMap { $0["name"] as? String }
        #expect(columns == ["id", "name", "age", "owner"])
        try change(
            "store:object('Dog', 9).name = 'New' store:delete(store:object('Dog', 8)) store:create('Dog', { 11, 'x', 20 })"
        )
        let event = try page.event()
        #expect(event["total"] as? Int == 7)
        #expect(
            event["deletions"] as? [[Int]] == [[2, 1]]
                && event["insertions"] as? [[Int]] == [[0, 1]])
        #expect(event["modifications"] as? [[Int]] == [[1, 1]])
        let changed = event["rows"] as? [String: [String: Any]]
        #expect(
            changed?["2"]?["name"] as? String == "Dog 9"
                && changed?["0"]?["name"] as? String == "Dog 11")
        // Without an acknowledgment, the next change waits.
        try change("store:object('Dog', 10).age = 30")
        let other = try studio.welcome()
        let now = try other.ok(["do": "rows", "class": "Dog", "where": "age == 30"])
        #expect(now["total"] as? Int == 1)
        _ = try page.request([
            "do": "value", "class": "Dog",
            "ref": (rows["rows"] as? [[String: Any]])?[0]["ref"] ?? 0, "property": "name",
        ])
        #expect(!page.hasEvent)
        page.seen(event)
        let next = try page.event()
        #expect((next["version"] as? Int ?? 0) > (event["version"] as? Int ?? 0))
        let ended = try page.request(["do": "end", "on": event["on"] ?? 0])
        #expect(ended["ok"] as? Bool == true)
    }

    @Test func `a slow page receives one reset instead of many changes`() throws {
        try change("store:create('Dog', { 0, 'a', 0 })")
        let studio = try StudioProgram(["zoo.moonpool"], in: folder.path)
        let page = try studio.welcome()
        _ = try page.request(["do": "rows", "class": "Dog"])
        try change("store:create('Dog', { 1, 'a', 0 })")
        let first = try page.event()
        // Every second object is a range of its own.
        try change("for i = 2, 4002 do store:create('Dog', { i, 'a', i }) end")
        try change("for i = 2, 4002, 2 do store:object('Dog', i).age = 1 end")
        let other = try studio.welcome()
        _ = try other.ok(["do": "rows", "class": "Dog", "where": "age == 1"])
        page.seen(first)
        let event = try page.event()
        #expect(event["reset"] as? Bool == true && event["total"] as? Int == 4003)
        page.seen(event)
        let window = try page.ok([
            "do": "window", "on": event["on"] ?? 0, "first": 4000, "count": 10,
        ])
        #expect((window["rows"] as? [[String: Any]])?.count == 3)
    }

    @Test func `changes that a page has not seen arrive as one`() throws {
        try change("for i = 1, 60 do store:create('Dog', { i, 'Dog ' .. i, i % 7 }) end")
        let studio = try StudioProgram(["zoo.moonpool"], in: folder.path)
        let query =
            [
                "do": "rows", "class": "Dog", "where": "age < 5",
                "sort": [["age", "ascending"], ["name", "ascending"]], "count": 500,
            ] as [String: Any]
        func content(_ page: SocketClient) throws -> (names: [String], version: Int) {
            let reply = try page.ok(query)
            let rows = try #require(reply["rows"] as? [[String: Any]])
            return (rows.map { SocketClient.text($0) }, try #require(reply["version"] as? Int))
        }
        let (page, other) = (try studio.welcome(), try studio.welcome())
        var (names, version) = try content(page)
        for seed in 1...4 {
            let script = """
                math.randomseed(\(seed))
                for i = 1, 30 do
                  store:write(function()
                    local dogs = store:objects("Dog")
                    for _ = 1, math.random(3) do store:create("Dog", { #dogs + math.random(1 << 40), "New " .. i, math.random(6) }) end
                    for _ = 1, math.random(3) do store:delete(dogs[math.random(#dogs)]) end
                    for _ = 1, math.random(3) do dogs[math.random(#dogs)].age = math.random(6) end
                    for _ = 1, math.random(3) do dogs[math.random(#dogs)].name = "Dog " .. math.random(99) end
                  end)
                end
                store:write(function() store:create("Dog", { -\(seed), "Last", 0 }) end)
                """
            try Tool.run(["-e", Self.dogs + script], in: folder.path).expectSuccess()
            let expected = try content(other)
            var count = 0
            while version < expected.version {
                let event = try page.event()
                for range in try #require(event["deletions"] as? [[Int]]).reversed() {
                    names.removeSubrange(range[0]..<range[0] + range[1])
                }
                for range in try #require(event["insertions"] as? [[Int]]) {
                    names.insert(contentsOf: Array(repeating: "", count: range[1]), at: range[0])
                }
                for (index, row) in try #require(event["rows"] as? [String: Any]) {
                    names[try #require(Int(index))] = SocketClient.text(row)
                }
                #expect(event["total"] as? Int == names.count)
                version = try #require(event["version"] as? Int)
                page.seen(event)
                count += 1
            }
            #expect(names == expected.names && count <= 2)
        }
    }

    @Test func `fields with values of other types are errors, and later requests work`() throws {
        let page = try page("store:create('Dog', { 1, 'Rex', 3 })")
        _ = try page.ok(["do": "rows", "class": "Dog"])
        let rows = page.last
        for (name, value) in [
            ("first", Int.max), ("first", -1), ("first", 0.5), ("first", "0"), ("count", Int.min),
            ("count", -1), ("count", 1.5), ("count", [1]), ("sort", [[1]]),
            ("class", 7), ("class", ["Dog"]), ("where", ["age"]), ("linked", 3), ("at", "1"),
            ("at", Int.max),
        ] as [(String, Any)] {
            var request: [String: Any] = ["do": "rows", "class": "Dog"]
            request[name] = value
            #expect(try page.request(request)["error"] != nil, "\(name): \(value)")
            if name == "first" || name == "count" {
                request = ["do": "window", "on": rows, name: value]
                #expect(try page.request(request)["error"] != nil, "\(name): \(value)")
            }
        }
        try change("store:object('Dog', 1).age = 4")
        #expect(try page.event()["on"] as? Int == rows)
    }

    @Test func `operations of a write happen together or not at all`() throws {
        let page = try page(
            "store:create('Dog', { 1, 'Rex', 3 }) store:create('Any', { value = 1.0 })")
        func write(_ operations: [[String: Any]]) throws -> [String: Any] {
            try page.request(["do": "write", "operations": operations])
        }
        func failure(_ operations: [[String: Any]]) throws -> [String: Any] {
            let reply = try write(operations)
            return try #require(reply["error"] as? [String: Any], "\(reply)")
        }
        func set(_ value: Any, _ property: String = "age", was: Any? = nil) -> [String: Any] {
            var operation: [String: Any] = [
                "do": "set", "class": "Dog", "ref": 0, "property": property, "value": value,
            ]
            operation["was"] = was
            return operation
        }
        // An object, a link to it and an edit.
        let new = try SocketClient.ok(
            write([
                ["do": "create", "class": "Person", "values": ["name": "Ann"]],
                set(["link": "Person", "created": 0], "owner", was: NSNull()),
                set(["typed": " 4 "], was: 3),
            ]))
        #expect((new["objects"] as? [Any])?.count == 3 && new["changed"] as? Bool == true)
        let version = try #require(new["version"] as? Int)
        // The second operation fails, so the first has no effect.
        let both = try failure([set(5), set(["typed": "x"])])
        #expect(both["code"] as? String == "type_mismatch")
        let conflict = try failure([set(9, was: 3)])
        #expect(conflict["code"] as? String == "conflict" && conflict["current"] as? Int == 4)
        for (operation, code) in [
            (set(NSNull(), "name"), "missing_value"), (set(1, "agee"), "unknown_property"),
            (set(2, "id"), "invalid_argument"),
            (["do": "create", "class": "Dog", "values": ["id": 1, "name": "x"]], "duplicate_key"),
            (
                ["do": "set", "class": "Dog", "ref": 9, "property": "age", "value": 1],
                "invalid_object"
            ),
            (["do": "explode"], "invalid_argument"),
            (["do": "create", "class": "Dgo", "values": [:]], "unknown_class"),
        ] as [([String: Any], String)] {
            #expect(try failure([operation])["code"] as? String == code, "\(operation)")
        }
        // What changes nothing writes nothing, also with the digits and the type of a value.
        for operation in [
            set(4), set(["typed": "004"], was: 99),
            ["do": "set", "class": "Any", "ref": 0, "property": "value", "value": ["typed": "1"]],
            ["do": "delete", "class": "Dog", "ref": 9],
        ] as [[String: Any]] {
            let reply = try SocketClient.ok(write([operation]))
            #expect(reply["changed"] as? Bool == false && reply["version"] as? Int == version)
        }
        // Collections, and values of every type.
        func any(_ property: String, _ action: String, _ value: Any, key: Any? = nil) -> [String:
            Any]
        {
            var operation: [String: Any] = [
                "do": action, "class": "Any", "ref": 0, "property": property, "value": value,
            ]
            operation["key"] = key
            return operation
        }
        _ = try SocketClient.ok(
            write([
                any("list", "append", 7), any("list", "append", ["typed": "8"]),
                any("list", "set", 9, key: 0), any("list", "remove", NSNull(), key: 1),
                any("set", "append", "b"), any("set", "append", "a"), any("set", "remove", "b"),
                any("map", "append", true, key: "clear"), any("map", "set", 2, key: "k"),
                any("data", "set", ["data": "YQBi"]), any("float", "set", ["float": "0.5"]),
                any("money", "set", ["typed": "1.50"]),
                any("when", "set", ["date": "1970-01-01T00:00:00.25Z"]),
                any("value", "set", ["int": "9007199254740993"]),
            ]))
        let rows = try page.ok(["do": "rows", "class": "Any"])
        let values = (rows["rows"] as? [[String: Any]])?.first?["values"]
        #expect(
            SocketClient.text(values ?? 0)
                == #"[{"int":"9007199254740993"},{"data":"YQBi","size":3},{"float":"0.5"},{"decimal":"1.50"},"#
                + #"{"date":"1970-01-01T00:00:00.25Z"},{"head":[9],"list":1},{"head":["a"],"set":1},"#
                + #"{"head":[["clear",true],["k",2]],"map":2}]"#)
        // Undo and redo.
        #expect(try page.ok(["do": "undo"])["reversed"] as? Int == version + 1)
        let links = try page.ok(["do": "backlinks", "class": "Person", "refs": [0]])
        #expect((links["links"] as? [[String: Any]])?.first?["count"] as? Int == 1)
        #expect(try page.request(["do": "redo"])["ok"] != nil)
        #expect(try page.request(["do": "redo"])["error"] != nil)
    }

    @Test func `an embedded object is created from JSON`() throws {
        try Tool.run(
            [
                "-e",
                """
                moonpool.open { path = "zoo.moonpool", schema = {
                  Home = { embedded = true, { "street", "string" }, { "since", "date?" } },
                  Dog = { { "id", "int primary" }, { "home", "Home" } } } }
                """,
            ], in: folder.path
        ).expectSuccess()
        let page = try StudioProgram.page(["zoo.moonpool"], in: folder.path)
        func create(_ id: Int, _ home: String) throws -> [String: Any] {
            let values: [String: Any] = ["id": id, "home": ["typed": home]]
            return try page.request([
                "do": "write", "operations": [["do": "create", "class": "Dog", "values": values]],
            ])
        }
        _ = try SocketClient.ok(create(1, #"{ "street": "Elm", "since": "2020-01-02" }"#))
        let rows = try page.ok(["do": "rows", "class": "Home"])
        let values = (rows["rows"] as? [[String: Any]])?.first?["values"]
        #expect(SocketClient.text(values ?? 0) == #"["Elm",{"date":"2020-01-02T00:00:00Z"}]"#)
        for (home, message) in [
            ("Elm", "not JSON"), ("5", "expected an object in JSON, got '5'"),
            (#"{ "stret": "x" }"#, "'Home' has no property 'stret'"),
        ] {
            let error = try create(2, home)["error"] as? [String: Any]
            #expect((error?["message"] as? String)?.contains(message) == true, "\(home)")
        }
    }

    @Test func `entries are evaluated one after another, and their output is limited`() throws {
        try change("store:create('Dog', { 1, 'Rex', 3 })")
        let studio = try StudioProgram(["zoo.moonpool"], in: folder.path)
        let page = try studio.welcome()
        func parts(_ text: String) throws -> [[String: Any]] {
            try #require(page.ok(["do": "evaluate", "text": text])["parts"] as? [[String: Any]])
        }
        #expect(try parts("store:object('Dog', 1).age")[0]["text"] as? String == "3\n")
        #expect(try parts("io.write('a') print('b')")[0]["kind"] as? String == "output")
        #expect(try parts("error('x')").last?["kind"] as? String == "error")
        let unfinished = try page.ok(["do": "evaluate", "text": "if true then"])
        #expect(unfinished["unfinished"] as? Bool == true)
        let flood = try parts("for i = 1, 200000 do print('a line') end")
        let texts = flood.compactMap { $0["text"] as? String }
        #expect(texts.joined().utf8.count < 300_000 && texts.last?.contains("more lines") == true)
        let complete = try page.ok(["do": "complete", "entry": "store:obje"])
        #expect(complete["candidates"] as? [String] == ["object", "objects"])
        #expect(try page.request(["do": "interrupt"])["ok"] as? Bool == true)
        #expect(try parts("1")[0]["text"] as? String == "1\n")
        _ = try? page.request(["do": "evaluate", "text": "os.exit(3)"])
        let outcome = try studio.process.finish(within: 60)
        #expect(outcome.exitCode == 3 && outcome.lines.count == 1 && outcome.error == "")
    }

    @Test func `an entry that closes the store is answered, and so are later ones`() throws {
        let page = try page("store:create('Dog', { 1, 'Rex', 3 })")
        let closing = try page.ok(["do": "evaluate", "text": "store:close()"])
        #expect((closing["parts"] as? [Any])?.isEmpty == true)
        let parts = try page.ok(["do": "evaluate", "text": "1 + 1"])["parts"] as? [[String: Any]]
        #expect(parts?.first?["text"] as? String == "2\n")
        let error = try page.request(["do": "rows", "class": "Dog"])["error"] as? [String: Any]
        #expect(error?["code"] as? String == "closed")
    }

    @Test func `a console is read-only or off as the command says`() throws {
        try change("store:create('Dog', { 1, 'Rex', 3 })")
        let write = ["do": "evaluate", "text": "store:write(function() end)"]
        let reader = try StudioProgram(["zoo.moonpool", "--read-only"], in: folder.path)
        let reply = try reader.welcome().ok(write)["parts"] as? [[String: Any]]
        #expect(
            reply?[0]["kind"] as? String == "error"
                && (reply?[0]["text"] as? String)?.contains("read-only") == true)
        let off = try StudioProgram(["zoo.moonpool", "--no-console"], in: folder.path)
        let page = try off.welcome()
        #expect(try page.request(write)["error"] != nil)
        #expect(try page.ok(["do": "rows", "class": "Dog"])["total"] as? Int == 1)
    }

    @Test func `a studio that shows a store read-only refuses every way to write`() throws {
        try change("store:create('Dog', { 1, 'Rex', 3 })")
        let studio = try StudioProgram(["zoo.moonpool", "--read-only"], in: folder.path)
        let page = try studio.welcome()
        for request in [
            ["do": "write", "operations": [["do": "delete", "class": "Dog", "ref": 0]]],
            ["do": "undo"], ["do": "redo"],
        ] as [[String: Any]] {
            let error = try page.request(request)["error"] as? [String: Any]
            #expect(error?["code"] as? String == "read_only", "\(request)")
        }
    }

    @Test func `values of a property are completed as literals that select them`() throws {
        let page = try page(
            #"""
            for i, name in ipairs { "O'Brien", "a\\b\n\"", "Ömer", "ömer", "Rex", "Rex" } do store:create("Dog", { i, name, i > 3 and i or nil }) end
            store:create("Any", { float = 0.1, money = moonpool.decimal("1.50"), when = moonpool.date(0.25) })
            """#)
        func complete(_ name: String, _ property: String, _ text: String = "") throws -> [String] {
            let request = ["do": "complete", "class": name, "property": property, "text": text]
            return try #require(page.ok(request)["values"] as? [String])
        }
        #expect(try complete("Dog", "name", "o") == ["'O\\'Brien'"])
        #expect(try complete("Dog", "name", "Ö") == ["'Ömer'", "'ömer'"])
        #expect(try complete("Dog", "age") == ["4", "5", "6"])
        #expect(try complete("Any", "when", "1970-01") == ["1970-01-01T00:00:00.25Z"])
        for (name, property) in [
            ("Dog", "name"), ("Dog", "id"), ("Any", "float"), ("Any", "money"), ("Any", "when"),
        ] {
            let values = try complete(name, property)
            #expect(values.count == (name == "Any" ? 1 : property == "id" ? 6 : 5))
            for value in values {
                let query = ["do": "rows", "class": name, "where": "\(property) == \(value)"]
                let total = try page.ok(query)["total"] as? Int
                #expect(total == (value == "'Rex'" ? 2 : 1), "\(property) == \(value)")
            }
        }
        for property in ["owner", "nothing"] {
            let request = ["do": "complete", "class": "Dog", "property": property]
            #expect(try page.request(request)["error"] != nil)
        }
    }

    @Test func `a query that is not valid is an error with its column`() throws {
        let page = try page("")
        let reply = try page.request(["do": "rows", "class": "Dog", "where": "age > > 3"])
        let error = try #require(reply["error"] as? [String: Any])
        #expect(
            error["code"] as? String == "invalid_query" && error["column"] as? Int == 7
                && error["line"] as? Int == 1)
        #expect(error["text"] as? String == "age > > 3")
        #expect(error["length"] as? Int == 1)
        #expect((error["message"] as? String)?.contains("\n") == false)
        let second = try page.request([
            "do": "rows", "class": "Dog", "where": "age > 3 and\n  nmae == 'é' or name == 1",
        ])
        let other = try #require(second["error"] as? [String: Any])
        #expect(other["line"] as? Int == 2 && other["column"] as? Int == 3, "\(other)")
        #expect(other["length"] as? Int == 4)
        #expect(other["text"] as? String == "  nmae == 'é' or name == 1")
        for request in [
            ["do": "rows", "class": "Dgo"], ["do": "rows"],
            ["do": "rows", "class": "Dog", "first": -1],
            ["do": "rows", "class": "Dog", "first": "x"],
            ["do": "window", "on": 99], ["do": "object", "class": "Dog"],
            ["do": "export", "class": "Dog", "format": "exe"],
            ["do": "value", "class": "Dog", "ref": 5, "property": "name"],
        ] as [[String: Any]] {
            let reply = try page.request(request)
            #expect(
                reply["error"] != nil || (reply["ok"] as? [String: Any])?["deleted"] != nil,
                "\(request) \(reply)")
        }
    }

    @Test func `a request with a field of a wrong type is an error in words`() throws {
        let page = try page(
            """
            store:create('Dog', { 1, 'Rex', 3 })
            store:create('Any', { value = 1, list = { 1 }, set = { 'a' }, map = { k = 1 } })
            """)
        let valid: [String: Any] = [
            "class": "Dog", "ref": 0, "refs": [0], "property": "name", "where": "age > 3",
            "sort": [["age", "ascending"]], "first": 0, "count": 5, "at": 3, "format": "lua",
            "text": "return {}", "dir": "none", "name": "a.csv", "upload": "1-x", "observer": 1,
            "object": "Dog 1", "on": 1, "number": 1, "version": 1, "protocol": 1, "losses": ["Dog"],
            "second": 2, "save": false, "preview": false, "entry": "x", "reveal": 0,
            "linked": ["class": "Person", "ref": 0, "property": "owner"],
        ]
        let wrong: [Any] = [
            NSNull(), true, -1, 1.5, 1e300, 9_007_199_254_740_993, "", "x", "#99999999999999999999",
            [Any](), [1], [[Any]()], [String: Any](), ["link": "Dog"], ["link": 1], ["typed": 5],
            ["created": "x"], [NSNull()],
        ]
        // Another third for each field.
        var turn = 0
        func some() -> [Any] {
            turn += 1
            return wrong.enumerated().filter { RandomSeeds.areAll || ($0.offset + turn) % 3 == 0 }
                .map(\.element)
        }
        func check(_ request: [String: Any]) throws {
            let reply = try page.request(request)
            guard let error = reply["error"] as? [String: Any] else {
                if reply["ok"] is [String: Any] {
                    _ = try page.request(["do": "end", "on": page.last])
                }
                return
            }
            let message = try #require(error["message"] as? String)
            let isRaw = message.contains(
                /attempt to|bad argument|\.lua:\d|table: 0x|userdata|stack traceback/)
            #expect(error["code"] is String && !isRaw, "\(request): \(message)")
        }
        for (action, fields) in [
            "rows": "class where sort linked reveal first count at", "window": "on first count",
            "end": "on", "object": "class ref at", "value": "class ref property at",
            "backlinks": "class refs", "undo": "version", "diff": "first second",
            "why": "observer", "whynot": "observer object", "plan": "text dir save",
            "define": "text losses", "migrations": "dir", "rehearse": "dir", "panel": "name",
            "press": "on number", "copy": "class refs format at",
            "complete": "class property text entry", "hello": "protocol",
            "export": "class where sort linked format at",
            "import": "upload name class preview",
        ] {
            try check(["do": action])
            for field in fields.split(separator: " ").map(String.init) {
                for value in some() {
                    var request = valid
                    if action != "complete" || field != "entry" { request["entry"] = nil }
                    request[field] = value
                    request["do"] = action
                    try check(request)
                }
            }
        }
        for operation in ["create", "set", "append", "remove", "delete", "x"] {
            for property in ["value", "data", "float", "list", "set", "map"] {
                for value in some() {
                    for (field, other) in [
                        ("value", 1), ("key", 0), ("was", 1), ("ref", 0), ("values", 0),
                        ("key", "k"),
                    ] as [(String, Any)] {
                        var request: [String: Any] = [
                            "do": operation, "class": "Any", "ref": 0, "property": property,
                            "values": [property: value],
                        ]
                        request[field] = field == "key" ? other : value
                        if field == "key" { request["value"] = value }
                        try check(["do": "write", "operations": [request]])
                    }
                }
            }
        }
        for id in wrong where !(id is String) {
            page.send(SocketClient.text(["id": id, "do": "schema"]))
            page.send(SocketClient.text(["id": 900, "do": id]))
        }
        #expect(try page.ok(["do": "schema"])["classes"] != nil)
    }

    @Test func `values keep their digits and their types`() throws {
        let page = try page(
            """
            local ann = store:create("Person", { name = "Ann" })
            store:create("Dog", { id = 1, name = string.rep("é", 300), owner = ann })
            store:create("Any", { value = 9007199254740993, data = moonpool.data("a\\0b"), float = 0.5, money = moonpool.decimal("1.50"),
              when = moonpool.date(0), list = { 1, 2, 3, 4, 5, 6 }, set = { "b", "a" }, map = { k = 1 } })
            store:create("Any", { value = 1.0 })
            store:create("Any", { value = 0 / 0 })
            store:create("Any", { value = ann })
            store:create("Any", { value = moonpool.uuid("00000000-0000-0000-0000-000000000001") })
            store:create("Any", { value = { 1, "x" } })
            store:create("Any", { value = moonpool.data("a\\0b") })
            store:create("Any", { value = moonpool.decimal("123456789012345678901234") })
            store:create("Any", { value = moonpool.float(0.5) })
            store:create("Any", { value = math.mininteger })
            store:create("Any", { value = -0.0, float = -0.0 })
            """)
        func values(_ name: String) throws -> [[Any]] {
            let reply = try page.ok(["do": "rows", "class": name])
            return try #require(reply["rows"] as? [[String: Any]]).compactMap {
                $0["values"] as? [Any]
            }
        }
        let any = try values("Any")
        let first = SocketClient.text(Array(any[0].prefix(5)))
        #expect(
            first
                == #"[{"int":"9007199254740993"},{"data":"YQBi","size":3},{"float":"0.5"},{"decimal":"1.50"},{"date":"1970-01-01T00:00:00Z"}]"#
        )
        let list = any[0][5] as? [String: Any]
        #expect(list?["list"] as? Int == 6 && list?["head"] as? [Int] == [1, 2, 3, 4, 5])
        #expect((any[0][6] as? [String: Any])?["head"] as? [String] == ["a", "b"])
        #expect((any[0][7] as? [String: Any])?["map"] as? Int == 1)
        #expect((any[1][0] as? [String: String]) == ["double": "1.0"])
        #expect((any[2][0] as? [String: String])?["double"]?.contains("nan") == true)
        #expect((any[3][0] as? [String: Any])?["text"] as? String == "Person Ann")
        #expect((any[4][0] as? [String: String])?["uuid"] == "00000000-0000-0000-0000-000000000001")
        #expect((any[5][0] as? [String: Any])?["list"] as? Int == 2)
        #expect(
            SocketClient.text(any[6...].map { $0[0] })
                == #"[{"data":"YQBi","size":3},{"decimal":"123456789012345678901234"},{"float":"0.5"},{"int":"-9223372036854775808"},{"double":"-0.0"}]"#
        )
        let name = try values("Dog")[0][1] as? [String: Any]
        #expect((name?["text"] as? String)?.count == 200 && name?["size"] as? Int == 600)
        let whole = try page.ok(["do": "value", "class": "Dog", "ref": 0, "property": "name"])
        #expect((whole["value"] as? String)?.count == 300)
        let person = try values("Person")[0][1] as? [String: Any]
        #expect(person?["backlinks"] as? String == "Dog" && person?["count"] as? Int == 1)
    }

    @Test func `classes and the inspected object follow other processes`() throws {
        let page = try page("store:create('Dog', { 1, 'Rex', 3 })")
        let schema = try page.ok(["do": "schema"])
        #expect(
            (schema["classes"] as? [[String: Any]])?.compactMap { $0["name"] as? String } == [
                "Any", "Dog", "Person",
            ])
        let object = try page.ok(["do": "object", "class": "Dog", "ref": 0])
        let id = page.last
        #expect(object["name"] as? String == "Dog 1")
        try change("store:delete(store:object('Dog', 1))")
        var found: [String: Any] = [:]
        repeat { found = try page.event() } while found["on"] as? Int != id
        #expect(found["deleted"] as? Bool == true)
    }

    @Test func `an export is downloaded once`() throws {
        try change("for i = 1, 3 do store:create('Dog', { i, 'Dog ' .. i, i }) end")
        let studio = try StudioProgram(["zoo.moonpool"], in: folder.path)
        let (fields, _) = try studio.session()
        let page = try studio.welcome()
        let file = try page.ok([
            "do": "export", "class": "Dog", "where": "age > 1",
            "sort": [["age", "descending"]], "format": "csv",
        ])
        #expect(file["count"] as? Int == 2 && file["name"] as? String == "Dog.csv")
        let path = try #require(file["download"] as? String)
        #expect(path.wholeMatch(of: /\/download\/[A-Za-z0-9_-]{43}/) != nil)
        #expect(try studio.request("GET \(path)").contains(" 401 "))
        let response = try studio.request("GET \(path)", fields)
        #expect(response.hasSuffix("id,name,age,owner\r\n3,Dog 3,3,\r\n2,Dog 2,2,\r\n"))
        #expect(response.contains(#"Content-Disposition: attachment; filename="Dog.csv""#))
        #expect(try studio.request("GET \(path)", fields).contains(" 404 "))
        for format in ["json", "jsonl", "sqlite", "lua"] {
            let file = try page.ok(["do": "export", "class": "Dog", "format": format])
            #expect(file["count"] as? Int == 3)
        }
    }

    @Test func `copied Lua code creates the object again; others have its values`() throws {
        let page = try page(
            #"""
            local ann = store:create("Person", { name = 'An"n' })
            store:create("Dog", { id = 1, name = "Rex,\n\0é", owner = ann })
            store:create("Any", { value = { 1, 1.0, store:object("Dog", 1), { "and" }, moonpool.json.empty_object, true, math.mininteger, 1 / 0,
              moonpool.null, moonpool.uuid("00000000-0000-0000-0000-000000000001"), moonpool.float(0.5) }, data = "a\0b", float = 0.1,
              money = moonpool.decimal("1.50"), when = moonpool.date(0.25), list = { 1, 2 }, set = { "b", "a" },
              map = { ["end"] = 1, clear = 2, b = { c = "x" } } })
            store:create("Any", { value = "text" })
            """#)
        func copy(_ name: String, _ format: String, _ refs: Int...) throws -> String {
            let request =
                ["do": "copy", "class": name, "refs": refs.isEmpty ? [0] : refs, "format": format]
                as [String: Any]
            return try #require(page.ok(request)["text"] as? String)
        }
        #expect(
            try copy("Dog", "lua") == #"""
                store:create("Dog", { id = 1, name = "Rex,\n\0é", owner = store:object("Person", "An\"n") })
                """#)
        #expect(try copy("Dog", "csv") == "id,name,age,owner\r\n1,\"Rex,\n\0é\",,\"An\"\"n\"\r\n")
        #expect(
            try copy("Dog", "json")
                == #"{"id":1,"name":"Rex,\n\u0000é","age":null,"owner":"An\"n"}"#)
        #expect(try copy("Any", "csv", 1).hasSuffix("\r\ntext,,,,,[],[],{}\r\n"))
        // Several objects, in the order of the request.
        #expect(
            try copy("Any", "csv", 1, 1)
                == "value,data,float,money,when,list,set,map\r\ntext,,,,,[],[],{}\r\ntext,,,,,[],[],{}\r\n"
        )
        #expect(try copy("Any", "json", 1, 0).hasPrefix(#"[{"value":"text","#))
        #expect(
            try copy("Any", "lua", 1, 1).split(separator: "\n").map { $0.prefix(19) }
                == [#"store:create("Any","#, #"store:create("Any","#])
        let code = try copy("Any", "lua")
        try change(
            "\(code) local any = store:objects('Any') assert(moonpool.json.encode(any[1]) == moonpool.json.encode(any[3]), moonpool.json.encode(any[3]))"
        )
        for wrong in [
            ["class": "Dog", "refs": [0], "format": "exe"],
            ["class": "Dog", "refs": [0, 9], "format": "lua"],
            ["class": "Dgo", "refs": [0], "format": "lua"], ["class": "Dog", "format": "lua"],
        ] as [[String: Any]] {
            let reply = try page.request(wrong.merging(["do": "copy"]) { old, _ in old })
            #expect(reply["error"] != nil, "\(wrong) \(reply)")
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal ends the studio with the exit code 0`(signal: Int32) throws {
        let studio = try StudioProgram([])
        let page = try studio.welcome()
        let outcome = try studio.end(signal)
        #expect(outcome.exitCode == 0 && outcome.error == "" && outcome.lines.count == 1)
        #expect(try page.frame() == nil)
    }

    @Test func `failures to start are named`() throws {
        try change("")
        func failure(_ arguments: [String]) throws -> Tool.Outcome {
            try Tool.run(["studio", "--no-browser"] + arguments, in: folder.path)
        }
        let missing = try failure(["nothing.moonpool"])
        #expect(
            missing.exitCode == 1 && missing.error.contains("'nothing.moonpool'")
                && missing.output == "")
        let text = try folder.write("text", to: "a.txt")
        try failure([text]).expectError("a.txt")
        let place = try failure(["zoo.moonpool", "--open-to", "Dgo where age > 3"])
        #expect(
            place.exitCode == 1
                && place.error == "moonpool: there is no class 'Dgo'; did you mean 'Dog'?\n")
        let studio = try StudioProgram([])
        try failure(["--port", "\(studio.port)"]).expectError("\(studio.port)")
        try failure(["--port", "x"]).expectExit(64)
        try failure(["--frobnicate"]).expectExit(64)
        try failure(["--sandbox", "--no-console"]).expectExit(64)
        try failure(["--to", "b.moonpool"]).expectExit(64)
    }
}
