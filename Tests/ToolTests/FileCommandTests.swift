import Glibc
import Testing

/// `moonpool backup` and `moonpool compact`, and files at their limits, in separate processes.
@Suite struct FileCommandTests {
    static let open = """
        local store = moonpool.open {
          path = arg[1], durability = "memory", history = 0,
          schema = { Entry = { id = "int primary", text = "string" } },
        }

        """
    static let fill =
        open + """
            store:write(function()
              for id = 1, 20000 do store:create("Entry", { id = id, text = "the entry number " .. id }) end
            end)
            """
    static let thin =
        open + """
            store:write(function() store:delete(store:objects("Entry"):where "id > 100") end)
            """

    let folder = try! TemporaryFolder()
    var store: String { folder.path + "/zoo.moonpool" }

    func lua(_ script: String, _ arguments: [String]) throws -> Tool.Outcome {
        let path = try folder.write(
            script, to: "script-\(arguments.count)-\(script.utf8.count).lua")
        return try Tool.run([path] + arguments, in: folder.path)
    }

    func makeSparse() throws {
        for script in [Self.fill, Self.thin] {
            try lua(script, [store]).expectSuccess()
        }
    }

    func count(_ path: String) throws -> String {
        let outcome = try lua(
            "print(#moonpool.open { path = arg[1], read_only = true }:objects 'Entry')", [path])
        return outcome.output + outcome.error
    }

    func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : -1
    }

    func content() throws -> [UInt8] {
        let file = try #require(fopen(store, "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: size(store))
        #expect(fread(&bytes, 1, bytes.count, file) == bytes.count)
        return bytes
    }

    // MARK: Commands

    @Test func `neither backup nor compact copies a damaged value, and the error names it`() throws
    {
        try lua(Self.fill, [store]).expectSuccess()
        let bytes = try content()
        let text = Array("the entry number 7000".utf8)
        let found = bytes.indices.first {
            bytes[$0] == text[0] && bytes[$0...].starts(with: text)
        }
        let file = try #require(fopen(store, "r+"))
        fseek(file, try #require(found), SEEK_SET)
        fputc(Int32(UInt8(ascii: "T")), file)
        fclose(file)
        let damaged = try content()
        let check = try Tool.run(["check", "zoo.moonpool"], in: folder.path)
        let fault = try #require(check.output.split(separator: "\n").first)
        for command in [["backup", "zoo.moonpool", "copy.moonpool"], ["compact", "zoo.moonpool"]] {
            try Tool.run(command, in: folder.path).expectError(
                "'zoo.moonpool' is damaged (\(fault)) and was not copied")
        }
        #expect(try content() == damaged)
        #expect(access(folder.path + "/copy.moonpool", F_OK) != 0)
    }

    @Test func `compact shrinks a file and keeps its content`() throws {
        try makeSparse()
        let before = size(store)
        let outcome = try Tool.run(["compact", "zoo.moonpool"], in: folder.path).expectSuccess()
        #expect(outcome.output.hasPrefix("zoo.moonpool: "))
        #expect(size(store) < before / 2)
        #expect(try count(store) == "100\n")
        try lua(Self.thin, [store]).expectSuccess()
    }

    @Test func `compact does not change a file that another process has open`() throws {
        try makeSparse()
        let script = try folder.write(
            Self.open + """
                print "ready" io.flush()
                moonpool.wait_until(function() store:refresh() return store:object("Entry", 0) end, 50)
                store:write(function() store:create("Entry", { id = -1, text = "after" }) end)
                """, to: "holder.lua")
        let holder = try Subprocess(Tool.path, [script, store], until: "ready")
        let before = size(store)
        try Tool.run(["compact", store]).expectError("is open in process ")
        #expect(size(store) == before)
        try lua(
            Self.open + "store:write(function() store:create('Entry', { id = 0, text = '' }) end)",
            [store]
        ).expectSuccess()
        try holder.finish().expectSuccess()
        try Tool.run(["compact", store]).expectSuccess()
        #expect(try count(store) == "102\n")
    }

    @Test func `backup copies while another process writes`() throws {
        try makeSparse()
        let script = try folder.write(
            Self.open + """
                print "ready" io.flush()
                local id = 1000000
                while not io.open(arg[2]) do
                  id = id + 2
                  store:write(function()
                    store:create("Entry", { id = id, text = "one of a pair" })
                    store:create("Entry", { id = id + 1, text = "one of a pair" })
                  end)
                end
                """, to: "writer.lua")
        let writer = try Subprocess(
            Tool.path, [script, store, folder.path + "/stop"], until: "ready")
        for number in 0..<5 {
            try Tool.run(["backup", store, folder.path + "/copy\(number)"]).expectSuccess()
        }
        _ = try folder.write("", to: "stop")
        try writer.finish().expectSuccess()
        for number in 0..<5 {
            // The result contains complete transactions and is writable.
            try lua(
                Self.open + """
                    assert(#store:objects "Entry" % 2 == 0)
                    local version = store.version
                    store:write(function() store:create("Entry", { id = -1, text = "" }) end)
                    assert(store.version == version + 1)
                    """, [folder.path + "/copy\(number)"]
            ).expectSuccess()
        }
    }

    @Test func `backup replaces a file only with --force`() throws {
        try makeSparse()
        let copy = try folder.write("precious", to: "copy")
        let refused = try Tool.run(["backup", store, copy]).expectExit(1)
        #expect(
            refused.error
                == "moonpool: '\(copy)' already exists; choose another name, or allow it to be overwritten\n"
        )
        #expect(try contents(of: copy) == "precious")
        try Tool.run(["backup", "--force", store, copy]).expectSuccess()
        #expect(try count(copy) == "100\n")
        try Tool.run(["backup", folder.path + "/missing", copy, "--force"]).expectError(
            "there is no store")
        #expect(try count(copy) == "100\n")
        try Tool.run(["backup", store, "/no/such/folder/copy"]).expectExit(1)
        try Tool.run(["backup", store]).expectExit(64)
    }

    @Test func `an encrypted backup and an encrypted export are the same after decrypting`() throws
    {
        try makeSparse()
        let key = try folder.write(String(repeating: "ab", count: 32) + "\n", to: "key")
        let path = { folder.path + "/" + $0 }
        let encrypting = ["--key-file", key]
        chmod(store, 0o640)
        try Tool.run(["backup", store, path("b.enc")] + encrypting).expectSuccess()
        try Tool.run(["check", path("b.enc")]).expectExit(1)
        // The content decides: a copy with the name of a store is named as well.
        let named = path("named.moonpool")
        try Tool.run(["backup", store, named] + encrypting).expectSuccess()
        #expect(try Tool.run([named, "-e", ""]).error.contains("is an encrypted copy; decrypt it"))
        let again = ["backup", store, path("b.enc")] + encrypting
        #expect(try Tool.run(again).error.contains("already exists"))
        try Tool.run(again + ["--force"]).expectSuccess()
        try Tool.run(["backup", store, store, "--force"] + encrypting).expectExit(1)
        try Tool.run(["decrypt", path("b.enc"), path("copy.moonpool")] + encrypting).expectSuccess()
        #expect(try count(path("copy.moonpool")) == "100\n")
        try Tool.run(["check", path("copy.moonpool")]).expectSuccess()
        #expect(TemporaryFolder.names(in: folder.path).allSatisfy { !$0.contains(".work-") })
        var status = stat()
        #expect(stat(path("copy.moonpool"), &status) == 0 && status.st_mode & 0o777 == 0o640)

        try Tool.run(["export", store, path("plain.jsonl")]).expectSuccess()
        let plain = try contents(of: path("plain.jsonl"))
        for name in ["x.jsonl.enc", "x.jsonl.gz.enc"] {
            try Tool.run(["export", store, path(name)] + encrypting).expectSuccess()
            let target = path(String(name.dropLast(4)))
            try Tool.run(["decrypt", path(name), target] + encrypting).expectSuccess()
        }
        #expect(try contents(of: path("x.jsonl")) == plain)
        try Tool.run(["import", path("new.moonpool"), path("x.jsonl.gz")]).expectSuccess()
        #expect(try Tool.run(["decrypt", path("x.jsonl.enc"), "-"] + encrypting).output == plain)

        for (options, words) in [
            ([], "has the extension of encrypted files"),
            (["--format", "jsonl"], "is an encrypted copy; decrypt it first"),
        ] {
            for name in ["x.jsonl.enc", "x.jsonl.gz.enc"] {
                try Tool.run(["import", path("no.moonpool"), path(name)] + options).expectError(
                    words)
            }
        }

        let wrong = try folder.write(String(repeating: "cd", count: 32), to: "wrong")
        try Tool.run(["decrypt", path("b.enc"), path("no"), "--key-file", wrong]).expectError(
            "the key is not that of the file")
        #expect(access(path("no"), F_OK) != 0)
        #expect(try Tool.run(["decrypt", path("b.enc"), path("no")]).error.contains("--key-file"))
        try Tool.run(["export", store, path("x.sqlite")] + encrypting).expectError("not encrypted")
    }

    @Test func `a closed store whose schema was changed can be compacted`() throws {
        let outcome = try Tool.run(
            script: """
                local path = arg[1]
                local store = moonpool.open { path = path, schema = { Dog = { id = "int primary" } } }
                store:write(function() store:create("Dog", { id = 1 }) end)
                store:define { Cat = { name = "string" } }
                store:close()
                print(os.execute(("'%s' compact '%s' >&2"):format(arg[2], path)), tostring(store))
                """, arguments: [folder.path + "/defined.moonpool", Tool.path])
        #expect(outcome.output.hasPrefix("true"), "\(outcome.error)")
    }

    @Test func `no command replaces a store, its log, a folder or a device`() throws {
        try makeSparse()
        let other = folder.path + "/other.moonpool"
        try Tool.run(["backup", store, other]).expectSuccess()
        let reserved = "is reserved: the store without '-log' in its name uses this name"
        let key = ["--key-file", try folder.write(String(repeating: "ab", count: 32), to: "key")]
        let encrypted = folder.path + "/copy.enc"
        try Tool.run(["backup", store, encrypted] + key).expectSuccess()
        let projections =
            "moonpool.open(arg[1]):objects('Entry'):project({ id = 'id' }):export(arg[2], 'json')"
        let cases = [
            (["decrypt", "--force", encrypted, other] + key, "is a store"),
            (["decrypt", "--force", encrypted, other + "-log"] + key, reserved),
            (["backup", "--force", store, other] + key, "is a store"),
            (["-e", "moonpool.csv.write(arg[1], {})", "-", other], "is a store"),
            (["-e", projections, "-", store, other], "is a store"),
            (["export", store, other, "--format", "json"], "is a store"),
            (["export", store, other, "--format", "sqlite"], "is a store"),
            (["export", store, other + "-log", "--format", "json"], reserved),
            (["backup", "--force", store, other + "-log"], reserved),
            (["backup", "--force", store, store], "is the store itself"),
            (["backup", "--force", store, folder.path], "is a folder"),
            (["backup", "--force", store, "/dev/tty"], "is not a regular file"),
        ]
        for (words, reason) in cases {
            let outcome = try Tool.run(words)
            #expect(outcome.exitCode == 1, "\(words)")
            #expect(outcome.error.contains("\(reason); choose another name"), "\(outcome.error)")
        }
        #expect(try count(other) == "100\n")
        try Tool.run(["check", store]).expectSuccess()
    }

    @Test func `a script with the name of a command runs by its path`() throws {
        _ = try folder.write("print 'a script'", to: "backup")
        #expect(try Tool.run(["./backup"], in: folder.path).output == "a script\n")
        #expect(try Tool.run(["--", "backup"], in: folder.path).output == "a script\n")
        try Tool.run(["backup"], in: folder.path).expectExit(64)
    }

    // MARK: A full disk

    @Test func `a file at its size limit throws disk_full, and stays valid`() throws {
        try lua(
            Self.open
                + "store:write(function() store:create('Entry', { id = 1, text = 'first' }) end)",
            [store]
        ).expectSuccess()
        let script = try folder.write(
            Self.open + """
                local ok, err = pcall(function()
                  store:write(function()
                    for id = 2, 200000 do store:create("Entry", { id = id, text = ("x"):rep(100) .. id }) end
                  end)
                end)
                print(ok, type(err) == "userdata" and err.code or err, store.is_in_write, #store:objects "Entry")
                print(tostring(err):find(arg[1], 1, true) ~= nil)
                store:write(function() store:create("Entry", { id = 2, text = "second" }) end)
                print(#store:objects "Entry")
                """, to: "full.lua")
        let outcome = try Tool.run([script, store], withFilesUpTo: 4000, in: folder.path)
        #expect(outcome.error == "")
        #expect(outcome.lines == ["false\tdisk_full\tfalse\t1", "true", "2"])
        #expect(try count(store) == "2\n")
        try lua(Self.thin, [store]).expectSuccess()
    }

    // MARK: Without permission

    /// Runs the tool as a user without permission to write here; nil if this is not possible.
    static let unprivileged: [String]? = {
        guard geteuid() == 0 else { return [Tool.path] }
        let words = [
            "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", Tool.path,
        ]
        let outcome = try? Subprocess(words[0], Array(words[1...]) + ["-v"]).finish()
        return outcome?.exitCode == 0 ? words : nil
    }()

    @Test(
        .enabled(
            if: unprivileged != nil, "needs setpriv and a build folder that all users may read"))
    func `a read-only store in a read-only folder can be read`() throws {
        try makeSparse()
        unlink(store + "-lock")
        chmod(store, 0o444)
        chmod(folder.path, 0o555)
        defer { chmod(folder.path, 0o700) }
        let words = try #require(Self.unprivileged)
        func run(_ script: String) throws -> Tool.Outcome {
            try Subprocess(words[0], Array(words[1...]) + ["-e", script]).finish()
        }
        try run(
            """
            local store = moonpool.open { path = "\(store)", read_only = true }
            assert(#store:objects "Entry" == 100 and store.is_read_only)
            assert(#store:pins() == 0 and not store:refresh())
            local ok, err = pcall(store.begin_write, store)
            print(err.code)
            """
        ).expectOutput("read_only\n")
        try run("moonpool.open '\(store)'").expectError("no permission to write '\(store)'")
    }
}
