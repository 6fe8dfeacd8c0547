import Foundation
import Testing

/// Requests of the studio that take long, that end early, or that a page must not make.
@Suite struct StudioJobTests {
    private let folder = try! TemporaryFolder()

    private static let dogs = """
        local store = moonpool.open { path = "zoo.moonpool", durability = "memory", schema = {
          Dog = { { "id", "int primary" }, { "name", "string" }, { "age", "int?" } } } }

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

    private func message(_ reply: [String: Any]) -> String {
        (reply["error"] as? [String: Any])?["message"] as? String ?? "\(reply)"
    }

    /// The names of the files in the private folder of the studio that runs in a folder.
    private func files(_ folder: TemporaryFolder) throws -> [String] {
        let name = try #require(
            TemporaryFolder.names(in: folder.path).first { $0.hasPrefix("moonpool-studio") })
        return TemporaryFolder.names(in: "\(folder.path)/\(name)")
    }

    private func eventually(
        _ condition: () throws -> Bool, at location: SourceLocation = #_sourceLocation
    ) throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while try !condition(), ContinuousClock.now < deadline { usleep(10_000) }
        try #require(try condition(), sourceLocation: location)
    }

    @Test func `many objects are searched and sorted in a worker, which follows the store`() throws
    {
        let page = try page(
            "for i = 1, 100001 do store:create('Dog', { i, 'n' .. i % 1000, i % 100 }) end")
        // A search that the page ends has no reply, and the next one is not late.
        page.send(
            #"{"id":900,"do":"rows","class":"Dog","where":"name contains 'n99' and name like '*n*9*9*'"}"#
        )
        #expect(try page.request(["do": "cancel", "on": 900])["ok"] as? Bool == true)
        let rows = try page.ok([
            "do": "rows", "class": "Dog", "where": "age == 7",
            "sort": [["name", "ascending"]], "first": 0, "count": 2,
        ])
        #expect(rows["total"] as? Int == 1000 && rows["all"] as? Int == 100_001)
        let on = page.last
        let names = (rows["rows"] as? [[String: Any]])?.compactMap { $0["name"] as? String }
        #expect(names == ["Dog 107", "Dog 1107"])
        let window = try page.ok(["do": "window", "on": on, "first": 998, "count": 5])
        #expect((window["rows"] as? [Any])?.count == 2)
        _ = try page.ok(["do": "window", "on": on, "first": 0, "count": 2])
        try change("store:object('Dog', 107).name = 'a'")
        var event = try page.event()
        while event["is_running"] != nil { event = try page.event() }
        #expect(event["on"] as? Int == on && event["total"] as? Int == 1000, "\(event)")
        #expect(event["modifications"] as? [[Int]] == [[0, 1]])
        // Without an acknowledgment, the next change waits.
        try change("store:object('Dog', 1107).name = 'b'")
        page.seen(event)
        let next = try page.event()
        #expect(next["modifications"] as? [[Int]] == [[1, 1]])
        let wrong = try page.request(["do": "rows", "class": "Dog", "where": "age > > 3"])
        let error = try #require(wrong["error"] as? [String: Any])
        #expect(error["column"] as? Int == 7 && error["text"] as? String == "age > > 3")
        let version = try #require(rows["version"] as? Int)
        let past = try page.ok([
            "do": "rows", "class": "Dog", "where": "name == 'a'", "at": version,
        ])
        #expect(past["total"] as? Int == 0)
        #expect(try page.request(["do": "end", "on": on])["ok"] as? Bool == true)
    }

    @Test func `the id of a subscription cannot be used again until it has ended`() throws {
        let page = try page("store:create('Dog', { 1, 'Rex' })")
        page.send(#"{"id":77,"do":"rows","class":"Dog"}"#)
        page.send(#"{"id":77,"do":"rows","class":"Dog"}"#)
        let first = try page.event()
        #expect(first["id"] as? Int == 77)
        let both = [first, try page.event()]
        #expect(both.filter { $0["error"] != nil }.map(message) == ["the id 77 is in use"])
        #expect(try page.request(["do": "end", "on": 77])["ok"] as? Bool == true)
        page.send(#"{"id":77,"do":"rows","class":"Dog"}"#)
        #expect(try page.event()["ok"] != nil)
    }

    @Test func `a request that is stopped is answered with an error`() throws {
        let page = try page("store:create('Dog', { 1, 'Rex', 3 })")
        let text = "moonpool.csv.write('started.csv', {}) while true do end"
        page.send(SocketClient.text(["id": 900, "do": "plan", "text": text]))
        try eventually { access(folder.path + "/started.csv", F_OK) == 0 }
        page.send(#"{"id":901,"do":"interrupt"}"#)
        let reply = try page.event()
        let error = reply["error"] as? [String: Any]
        #expect(
            reply["id"] as? Int == 900 && error?["code"] as? String == "interrupted", "\(reply)")
        #expect(try page.event()["id"] as? Int == 901)
        #expect(try page.ok(["do": "rows", "class": "Dog"])["total"] as? Int == 1)
    }

    @Test func `uploads are limited, end with the page, and need write access`() throws {
        try change("")
        let studio = try StudioProgram(["zoo.moonpool"], in: folder.path)
        func upload(_ studio: StudioProgram, size: String, _ body: String = "") throws -> String {
            let (cookie, key) = try studio.session()
            return try studio.request(
                "POST /upload",
                cookie + "Origin: http://127.0.0.1:\(studio.port)\r\nX-Moonpool-Key: \(key)\r\n"
                    + "Content-Length: \(size)\r\n\r\n\(body)")
        }
        #expect(try upload(studio, size: "1073741825").contains(" 413 "))
        #expect(try upload(studio, size: "x").contains(" 400 "))
        func number(_ response: String) throws -> String {
            String(try #require(response.firstMatch(of: /"upload":"([\w-]+)"/)).1)
        }
        let first = try number(upload(studio, size: "11", "id,name\n1,a"))
        let second = try number(upload(studio, size: "11", "id,name\n1,a"))
        // The files have no names.
        #expect(try files(folder).isEmpty)
        let (_, key) = try studio.session()
        let hello = try studio.welcome().ok(["do": "hello", "key": key, "protocol": 1])
        let pid = try #require(hello["pid"] as? Int)
        func uploads() -> Int {
            TemporaryFolder.names(in: "/proc/\(pid)/fd").filter { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/\(pid)/fd/\(name)")
                return target?.contains("/upload-") == true
            }.count
        }
        #expect(uploads() == 2)
        do {
            let page = try studio.welcome()
            for upload in [first, second] {
                _ = try page.ok([
                    "do": "import", "upload": upload, "name": "a.csv", "class": "Dog",
                    "preview": true,
                ])
            }
            let reply = try page.request([
                "do": "import", "upload": first, "name": "a.csv", "discard": true,
            ])
            #expect(reply["ok"] as? Bool == true)
            #expect(uploads() == 1)
            for unknown in [first, "../zoo.moonpool", "/etc/passwd"] {
                let reply = try page.request([
                    "do": "import", "upload": unknown, "name": "a.csv", "class": "Dog",
                ])
                #expect(message(reply).hasPrefix("unknown upload"))
            }
        }
        try eventually { uploads() == 0 }
        // Of the files that no page claims, the last ones remain.
        for _ in 0..<7 { _ = try upload(studio, size: "0") }
        #expect(uploads() == 4)
        try studio.end().expectSuccess()
        let reader = try StudioProgram(["zoo.moonpool", "--read-only"], in: folder.path)
        #expect(try upload(reader, size: "0").contains(" 403 "))
        #expect(try files(folder).isEmpty)
    }

    @Test(arguments: [[], ["--sandbox"]])
    func `an exported SQLite file with data is previewed and imported`(options: [String]) throws {
        try Tool.lua(
            #"""
            local store = moonpool.open { path = "box.moonpool", schema = { Box = { { "id", "int primary" }, { "bytes", "data?" } } } }
            store:write(function() store:create("Box", { 1, moonpool.data("\xff\0") }) end)
            """#, in: folder.path
        ).expectSuccess()
        let studio = try StudioProgram(["box.moonpool"], in: folder.path)
        let page = try studio.welcome()
        let file = try page.ok(["do": "export", "class": "Box", "format": "sqlite"])
        let (fields, _) = try studio.session()
        let download = try RawConnection(port: studio.port)
        download.send(
            "GET \(file["download"] ?? "") HTTP/1.1\r\nHost: 127.0.0.1:\(studio.port)\r\n\(fields)\r\n"
        )
        let bytes = try download.readBody()
        let other = try StudioProgram(options, in: folder.path)
        let (cookie, key) = try other.session()
        let upload = try RawConnection(port: other.port)
        upload.send(
            "POST /upload HTTP/1.1\r\nHost: 127.0.0.1:\(other.port)\r\n\(cookie)Origin: http://127.0.0.1:\(other.port)\r\n"
                + "X-Moonpool-Key: \(key)\r\nContent-Length: \(bytes.count)\r\n\r\n")
        upload.send(bytes)
        let answer = String(decoding: try upload.readToEnd(), as: UTF8.self)
        let number = String(try #require(answer.firstMatch(of: /"upload":"([\w-]+)"/)).1)
        let target = try other.welcome()
        let request = ["do": "import", "upload": number, "name": "box.sqlite"] as [String: Any]
        let preview = try target.ok(request.merging(["preview": true]) { $1 })
        let classes = try #require(preview["classes"] as? [[String: Any]])
        #expect(classes.first?["rows"] as? [[String]] == [["1", "2 bytes"]])
        #expect(try target.ok(request)["created"] as? Int == 1)
        let copy = try target.ok(["do": "copy", "class": "Box", "refs": [0], "format": "lua"])
        #expect(
            copy["text"] as? String
                == #"store:create("Box", { id = 1, bytes = moonpool.data("\xff\0") })"#)
    }

    @Test func `a rehearsal leaves no files, also if it is canceled`() throws {
        try folder.make("migrations")
        let file = "return { schema = { Dog = { id = 'int primary', name = 'string' } } }"
        try folder.write(file, to: "migrations/0001_start.lua")
        let later = """
            return { schema = { Dog = { id = 'int primary', name = 'string', age = 'int?' } },
              up = function(m) local begin = os.time() while os.time() - begin < 3600 do end end }
            """
        try Tool.lua(
            "moonpool.migrate.up('kennel.moonpool', { dir = 'migrations' })", in: folder.path
        ).expectSuccess()
        let studio = try StudioProgram(["kennel.moonpool"], in: folder.path)
        let page = try studio.welcome()
        let whole = try page.ok(["do": "rehearse", "dir": "migrations"])
        #expect(whole["count"] as? Int == 0)
        #expect(try files(folder).isEmpty)
        try folder.write(later, to: "migrations/0002_age.lua")
        page.send(#"{"id":900,"do":"rehearse","dir":"migrations"}"#)
        try eventually { try !files(folder).isEmpty }
        #expect(try page.request(["do": "cancel", "on": 900])["ok"] as? Bool == true)
        try eventually { try files(folder).isEmpty }
    }

    @Test func `a confined studio filters, exports, previews and completes without workers`() throws
    {
        try change("for i = 1, 5 do store:create('Dog', { i, 'n' .. i, i }) end")
        let studio = try StudioProgram(["zoo.moonpool", "--sandbox"], in: folder.path)
        let page = try studio.welcome()
        let rows = ["do": "rows", "class": "Dog", "where": "age > 3"]
        #expect(try page.ok(rows)["total"] as? Int == 2)
        let export = ["do": "export", "class": "Dog", "where": "age > 3", "format": "jsonl"]
        let file = try page.ok(export)
        let (fields, _) = try studio.session()
        let download = try studio.request("GET \(file["download"] ?? "")", fields)
        #expect(file["count"] as? Int == 2 && download.contains(#""name":"n5""#), "\(download)")
        let complete = ["do": "complete", "class": "Dog", "property": "name", "text": "n5"]
        #expect(try page.ok(complete)["values"] as? [String] == ["'n5'"])
        #expect(
            message(try page.request(["do": "rehearse", "dir": "."])).contains("confined script"))
        #expect(message(try page.request(["do": "plan"])).contains("--sandbox"))
        func run(_ text: String) throws -> String {
            let parts = try page.ok(["do": "evaluate", "text": text])["parts"]
            return (parts as? [[String: Any]])?.compactMap { $0["text"] as? String }.joined() ?? ""
        }
        #expect(try run("#store:objects 'Dog'") == "5\n")
        #expect(try run("io.open('/etc/passwd')").contains("attempt to"))
        #expect(try run("os.execute('true')").contains("attempt to"))
        _ = try run("store:write(function() store:create('Dog', { 6, 'n6', 6 }) end)")
        #expect(try page.ok(rows)["total"] as? Int == 3)
    }

    @Test func `a page stops its own entries in another process, and no other code`() throws {
        let script = try StudioPageTests.Observers.run(
            """
            local store = moonpool.open { path = "shop.moonpool", schema = { Order = { { "id", "int primary" } } } }
            local timer = moonpool.every(0.02, function()
              local begin = os.clock()
              while os.clock() - begin < 0.02 do end
            end)
            function spin() while true do end end
            print("ready")
            """, in: folder)
        defer { script.send(SIGKILL) }
        let reader = try StudioProgram(
            ["\(folder.path)/shop.sock", "--read-only"], in: folder.path)
        let watcher = try reader.welcome()
        #expect(message(try watcher.request(["do": "evaluate", "text": "1"])).contains("Lua code"))
        let studio = try StudioProgram(["\(folder.path)/shop.sock"], in: folder.path)
        let page = try studio.welcome()
        for _ in 0..<20 {
            _ = try watcher.request(["do": "interrupt"])
            _ = try page.request(["do": "interrupt"])
        }
        page.send(
            #"{"id":900,"do":"evaluate","text":"io.open('\#(folder.path)/runs', 'w'):close() spin()"}"#
        )
        try eventually { access(folder.path + "/runs", F_OK) == 0 }
        // The other page cannot stop the entry, but this page can.
        watcher.send(#"{"id":901,"do":"interrupt"}"#)
        page.send(#"{"id":902,"do":"interrupt"}"#)
        let entry = try page.event()
        let parts = (entry["ok"] as? [String: Any])?["parts"] as? [[String: Any]]
        #expect("\(parts ?? [])".contains("interrupted"), "\(entry)")
        #expect(try page.event()["id"] as? Int == 902)
        #expect(try watcher.event()["id"] as? Int == 901)
        #expect(!script.error.contains("interrupted"), "\(script.error)")
    }
}
