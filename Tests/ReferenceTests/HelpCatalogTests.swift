import LuaHost
import ObjectStore
import REPL
import Reference
import ScriptHost
import Synchronization
import Testing

/// The form of the catalog, and its agreement with the API that scripts use.
@Suite struct HelpCatalogTests {
    @Test
    func `every entry has a summary, valid signatures, and an example if it is callable`() {
        for entry in HelpCatalog.entries {
            let name = "\(entry.owners[0].name).\(entry.name)"
            #expect(
                entry.summary.last == "." && entry.summary.first?.isUppercase == true, "\(name)")
            switch entry.kind {
            case .field(let type, _):
                #expect(!type.isEmpty, "\(name)")
            case .function, .method:
                #expect(!entry.signatures.isEmpty, "\(name)")
                #expect(!entry.example.isEmpty, "\(name)")
            }
            for parameter in entry.signatures.flatMap(\.parameters) {
                #expect(!parameter.type.isEmpty, "\(name)")
            }
            let unknown = Set(entry.errors).subtracting(HelpCatalog.errors.map(\.name))
            #expect(unknown.isEmpty, "\(name)")
        }
        for type in HelpCatalog.types {
            #expect(type.summary.last == ".", "\(type.name)")
            #expect(
                !HelpCatalog.entries(of: type).isEmpty || Self.plain.contains(type.name),
                "\(type.name)")
        }
    }

    /// Types without their own names.
    static let plain: Set = [
        "frozen store", "unmanaged object", "uuid", "object_id", "data", "null",
    ]

    @Test func `each type lists a name once`() {
        var seen: Set<String> = []
        for entry in HelpCatalog.entries {
            for owner in entry.owners {
                #expect(
                    seen.insert("\(owner.name).\(entry.name)").inserted,
                    "\(owner.name).\(entry.name)")
                let isListed = HelpCatalog.types.contains(owner)
                #expect(isListed, "\(owner.name)")
            }
        }
    }

    @Test func `the codes of errors are those of the store and of scripts`() {
        let codes: [StoreError.Code] = [
            .notInWrite, .duplicateKey, .unknownClass, .invalidQuery, .fileCorrupt,
            .tooManyVersions,
        ]
        let names = HelpCatalog.errors.map(\.name)
        for code in codes { #expect(names.contains(code.rawValue)) }
        for code in HelpCatalog.errors { #expect(code.summary.last == ".") }
    }

    /// One value of each type; nil for tables that scripts pass and receive.
    static let specimens =
        HelpCatalog.examplePrelude + """
            store:write(function() rex.extra = { 1, { a = 2 } } end)
            local change, object_change, m
            local token = dogs:observe(function(c) change = c end)
            local other = rex:observe(function(c) object_change = c end)
            store:refresh()
            store:write(function() rex.age = 8 end)
            store:refresh()
            local path = os.tmpname()
            moonpool.csv.write(path, { { name = "rope", price = 2 } })
            local report = store:import(path, { class = "Toy", format = "csv" })
            os.remove(path)
            local recording = store:record(path)
            recording:stop()
            os.remove(path)
            store:define({ Cat = { name = "string" } }, function(given) m = given end)
            local _, err = pcall(function() rex.age = 1 end)
            return {
              ["moonpool.json"] = moonpool.json, ["moonpool.migrate"] = moonpool.migrate, ["moonpool.csv"] = moonpool.csv,
              ["moonpool.studio"] = moonpool.studio, store = store,
              ["frozen store"] = store:freeze(), object = rex, ["unmanaged object"] = moonpool.new("Dog"),
              Results = dogs, list = rex.marks, set = rex.tags, map = rex.notes, Values = rex.marks:sorted(),
              plot = dogs:plot("id", "age"), projection = rex:project { city = "owner.name" },
              ["projected Results"] = dogs:project { city = "owner.name" },
              Sections = dogs:group_by("breed"), ["mixed list"] = rex.extra, ["mixed map"] = rex.extra[2],
              token = token, computed = moonpool.computed(function() end), change = change,
              timer = moonpool.after(60, function() end),
              date = moonpool.date(0), uuid = moonpool.uuid(), object_id = moonpool.object_id(),
              decimal = moonpool.decimal(1), float = moonpool.float(1), data = moonpool.data "", null = moonpool.null, migration = m,
              error = err, moonpool = moonpool, reference = moonpool.reference(rex),
              worker = moonpool.worker("idle", function() end), recording = recording,
              ["import report"] = report, ["object change"] = object_change,
              ["property change"] = object_change.properties[1],
            }
            """

    /// The names that are missing in a running script or in the catalog.
    static func differences(_ context: ScriptContext) throws -> [String] {
        let values = try context.state.run(specimens, name: "=specimens")
        guard let table = values.first?.table else { return ["no specimens"] }
        var problems: [String] = []
        for type in HelpCatalog.types {
            let value = table[type.name]
            if value.isNil {
                if !tables.contains(type.name) { problems.append("no specimen of \(type.name)") }
                continue
            }
            var wanted = Set(HelpCatalog.entries(of: type).map(\.name))
            if let parent = type.parent.flatMap(HelpCatalog.type(named:)) {
                wanted.formUnion(HelpCatalog.entries(of: parent).map(\.name))
            }
            let found: Set<String>
            if let module = value.table {
                found = Set(module.pairs.compactMap(\.key.text))
            } else {
                let members = Set(context.storeModule.members(of: value).map(\.name))
                found =
                    ["object", "projection"].contains(type.name)
                    ? members.subtracting(properties) : members
            }
            for name in try ignoringSurplus(value, type, found.intersection(wanted), context) {
                problems.append("\(type.name).\(name) ignores surplus arguments")
            }
            let isModule = type == HelpCatalog.type(named: "moonpool")
            for name in found.subtracting(wanted) {
                // Every method is a function of the module too.
                if isModule,
                    ["json", "csv", "migrate", "studio"].contains(name)
                        || !HelpCatalog.find(name).isEmpty
                {
                    continue
                }
                problems.append("the catalog has no \(type.name).\(name)")
            }
            for name in wanted.subtracting(found) where !computed.contains("\(type.name).\(name)") {
                problems.append("a script has no \(type.name).\(name)")
            }
        }
        return problems
    }

    /// Returns the functions and methods that do not refuse more arguments than their signatures have.
    private static func ignoringSurplus(
        _ value: LuaValue, _ type: HelpType, _ names: Set<String>, _ context: ScriptContext
    ) throws -> [String] {
        let check = try context.state.run(
            """
            return function(value, name, count)
              local arguments = {}
              for i = 1, count do arguments[i] = true end
              if type(value) == "userdata" then table.insert(arguments, 1, value) end
              local ok, err = pcall(function() return value[name](table.unpack(arguments)) end)
              return not ok and tostring(err):find(" takes ", 1, true) ~= nil
            end
            """
        ).first?.function
        return try names.sorted().filter { name in
            guard let maximum = HelpCatalog.usage(of: type.name, name)?.maxArguments else {
                return false
            }
            let results = try check?.call([
                value, .text(name), .integer(Int64(maximum + 1)),
            ])
            return results?.first != .boolean(true)
        }
    }

    /// Types of tables and globals, which do not declare their names.
    static let tables: Set = [
        "prompt", "moonpool.prompt", "command options", "columns options", "panel options",
        "section change", "schema event", "open options", "property declaration", "observe options",
        "plot options",
        "write options", "import options", "export options", "csv options", "json options",
        "record options", "replication", "publish options", "follow options", "service",
        "serve options", "cluster options", "remote write options",
        "service request", "request options",
    ]

    /// The properties of the specimen object's class.
    static let properties: Set = [
        "id", "name", "age", "owner", "toys", "breed", "tags", "marks", "notes", "extra", "city",
    ]

    /// Members that are computed without a declaration, have a default of nil, or occur in errors.
    static let computed: Set = [
        "object.store", "object.class", "unmanaged object.store", "unmanaged object.class",
        "unmanaged object.is_frozen", "unmanaged object.project", "unmanaged object.thaw",
        "unmanaged object.get",
        "moonpool.on_error", "moonpool.default_configuration", "object change.error",
        "object change.schema",
        // They exist only at the prompt.
        "moonpool.complete", "moonpool.evaluate",
        // The methods of a live store that a frozen store does not have.
        "frozen store.backup", "frozen store.export", "frozen store.import", "frozen store.pins",
        "frozen store.resolve", "frozen store.at", "frozen store.versions", "frozen store.diff",
        "frozen store.undo", "frozen store.redo", "frozen store.record", "frozen store.publish",
        "frozen store.follow", "frozen store.cluster", "frozen store.on_role",
        "frozen store.remote_write", "frozen store.new", "frozen store.stats",
        "frozen store.started_migration",
    ]

    @Test
    func `the catalog and a running script name the same functions, methods and properties`()
        throws
    {
        let found = Mutex<[String]>(["the script did not run"])
        var configuration = ScriptConfiguration(name: "reference")
        configuration.prepare = { InspectFunction.install(in: $0) }
        let script = try Script(configuration) { context in
            let problems = try Self.differences(context)
            found.withLock { $0 = problems }
            return 0
        }
        script.whenEnded { _ in }
        script.interruptWhenDone(found)
        #expect(found.withLock { $0 } == [])
    }

    @Test(arguments: [
        (
            "moonpool.json.decode(5)",
            "bad argument #1 to 'decode' (string expected, got number); write moonpool.json.decode(text)"
        ),
        (
            "moonpool.json.encode(1, 2)",
            "'encode' takes 1 argument, got 2; write moonpool.json.encode(value)"
        ),
        (
            "moonpool.open { in_memory = 'zoo' }:objects(5)",
            "bad argument #1 to 'objects' (string expected, got number); write store:objects(class)"
        ),
        (
            "moonpool.after('soon', print)",
            "bad argument #1 to 'after' (number expected, got string); write moonpool.after(seconds, body)"
        ),
        (
            "moonpool.migrate.up('a', {}, 1)",
            "'up' takes 2 arguments, got 3; write moonpool.migrate.up(store, options)"
        ),
    ])
    func `an error about the arguments of a function shows how it is called`(
        call: String, message: String
    ) throws {
        let found = Mutex("")
        let script = try Script(ScriptConfiguration(name: "arguments")) { context in
            let results = try context.state.run(
                "return tostring(select(2, pcall(function() \(call) end)))", name: "=arguments")
            found.withLock { $0 = results.first?.text ?? "" }
            return 0
        }
        _ = script.wait()
        #expect(found.withLock { $0 }.hasSuffix(message))
    }

    @Test(arguments: [
        ("where", 4), ("Results.where", 1), ("dogs:where", 4), ("moonpool.open", 1), ("open", 1),
        ("observe", 6), ("store.observe", 1), ("STORE:observe", 1), ("frozen store.objects", 1),
        ("set.union", 1), ("json.encode", 1), ("moonpool.json.encode", 1), ("nothing", 0), ("", 0),
        (".", 0), (":::", 0), ("store", 3),
    ])
    func `names are found with and without their type`(text: String, count: Int) {
        let found = HelpCatalog.find(text).count
        #expect(found == count, "\(text)")
    }
}

extension Script {
    /// Waits until the main chunk has recorded its findings, then stops the script, which its timers would keep alive.
    fileprivate func interruptWhenDone(_ found: borrowing Mutex<[String]>) {
        _ = post { $0.exit(status: 0) }
        _ = wait()
    }
}
