extension HelpCatalog {
    /// The type of the module `moonpool`.
    package static let moonpool = HelpType(
        "moonpool", "moonpool", "The module: opens stores, creates values, runs timers.")
    /// The globals that exist only at the prompt.
    package static let prompt = HelpType(
        "prompt", "Prompt", "Globals that exist only at the prompt.")
    static let json = HelpType(
        "moonpool.json", "json", "Reads and writes JSON, strictly according to RFC 8259.")
    static let csv = HelpType(
        "moonpool.csv", "csv", "Reads and writes CSV (RFC 4180) and its dialects.")
    static let migrate = HelpType(
        "moonpool.migrate", "migrate",
        "Migrates store files with numbered scripts, like the command `moonpool migrate`.")
    /// The type of stores.
    package static let store = HelpType(
        "store", "Store", "A live object store, opened by this script.")
    static let frozenStore = HelpType(
        "frozen store", "FrozenStore",
        "A read-only view of one version of a store. Changes raise an error. Methods for files, versions and "
            + "references (`export`, `import`, `backup`, `record`, `at`, `diff`, `resolve` and similar) "
            + "exist on the live store only.",
        parent: "store")
    /// The type of objects.
    package static let object = HelpType(
        "object", "Object",
        "A live object: each read of a property returns the current value from the store.")
    static let unmanaged = HelpType(
        "unmanaged object", "UnmanagedObject", "An object that has not been added to a store.",
        parent: "object")
    /// The type of query results.
    package static let results = HelpType(
        "Results", "Results", "The objects that match a query. Lazy and live.", element: "object")
    /// The type of lists.
    package static let list = HelpType(
        "list", "List", "A list property of an object, modified in place.", element: "value")
    /// The type of sets.
    package static let set = HelpType(
        "set", "Set", "A set property of an object, ordered by value and modified in place.",
        element: "value")
    /// The type of maps.
    package static let map = HelpType(
        "map", "Map", "A map property of an object, in byte order of its keys, modified in place.",
        element: "value")
    /// The type of sorted or filtered values of a collection.
    package static let valuesType = HelpType(
        "Values", "Values",
        "Sorted, distinct or filtered values of a list, set or map, including one inside a mixed value. Lazy and live.",
        element: "value")
    /// The type of sections of results.
    package static let sectionsType = HelpType(
        "Sections", "Sections",
        "The objects of a query, grouped by a value: an ordered array of { key =, objects = }.",
        element: "object")
    /// The type of projections of objects.
    package static let projection = HelpType(
        "projection", "Projection",
        "A live view of an object: names of your choice, each with a path from the object to a value.",
        example: """
            local card = rex:project { name = "name", master = "owner.name", first_toy = "toys[1].name" }
            print(card.name, card.master, card.first_toy)  --> Rex Ann ball
            store:write(function() card.name = "Max" end)
            print(rex.name)  --> Max
            """)
    /// The type of projected results.
    package static let projectedResults = HelpType(
        "projected Results", "ProjectedResults",
        "Live results whose rows are projections. `where`, `sorted` and `distinct` take the key paths of the class.",
        example: """
            local cards = dogs:project { name = "name", toys = "toys.@count" }
            print(#cards, cards[1].name, cards[1].toys)  --> 2 Rex 2
            """)
    static let plotType = HelpType(
        "plot", "Plot",
        "A drawing of two properties. It prints as text; the prompt draws it in color at the width of the window.",
        example: """
            local plot = dogs:plot("name", "age", { title = "ages" })
            print(tostring(plot):match("ages"))  --> ages
            """)
    static let plotOptions = HelpType(
        "plot options", "PlotOptions", "The options of plot.",
        example: """
            local plot = dogs:plot("id", "age", { by = "breed", lines = true, title = "dogs" })
            print(plot:svg():match("boxer"))  --> boxer
            """)
    static let mixedList = HelpType(
        "mixed list", "MixedList", "A list inside a mixed value, modified in place.")
    static let mixedMap = HelpType(
        "mixed map", "MixedMap", "A map inside a mixed value, modified in place.")
    /// The type of observer tokens.
    package static let token = HelpType(
        "token", "Token",
        "A registered observer. It stays active while the token is alive and valid.")
    static let computed = HelpType(
        "computed", "Computed",
        "A cached value, read as `total()`. It is recomputed only after its inputs have changed.",
        example: """
            local total = moonpool.computed(function() return dogs:sum "age" end)
            print(total())  --> 10
            store:write(function() rex.age = 8 end)
            print(total())  --> 11
            """)
    static let timer = HelpType(
        "timer", "Timer", "A scheduled call, created by moonpool.after or moonpool.every.")
    static let worker = HelpType(
        "worker", "Worker", "A thread with its own event loop and Lua state.")
    static let reference = HelpType(
        "reference", "Reference",
        "A thread-safe reference to an object or a collection. store:resolve returns it on another thread, once."
    )
    static let recording = HelpType(
        "recording", "Recording", "A recording of commits to a file, created by store:record.")
    static let recordOptions = HelpType(
        "record options", "RecordOptions", "The options of store:record.",
        example: """
            local recording = store:record("zoo.jsonl", { snapshot = true, old_values = false })
            store:write(function() rex.age = 8 end)
            recording:stop()
            local copy = moonpool.open { in_memory = "copy of the zoo" }
            moonpool.replay("zoo.jsonl", copy)
            print(#copy:objects "Dog", copy:object("Dog", 1).age)  --> 2 8
            """)
    static let replication = HelpType(
        "replication", "Replication",
        "A running publisher or follower, created by store:publish or store:follow.")
    static let publishOptions = HelpType(
        "publish options", "PublishOptions", "The options of store:publish.",
        example: """
            local options = { url = "nats://a:4222,nats://b:4222", stream = "zoo", replicas = 3, acknowledged = true }
            print((pcall(store.publish, store, options)))  --> false
            """)
    static let followOptions = HelpType(
        "follow options", "FollowOptions", "The options of store:follow.",
        example: """
            local options = { url = "tls://host:4222", stream = "zoo", user = "ann", password = "secret" }
            print((pcall(store.follow, store, options)))  --> false
            """)
    static let service = HelpType(
        "service", "Service",
        "A running service, created by moonpool.serve. It runs until it is stopped, even if the script releases the value."
    )
    static let serveOptions = HelpType(
        "serve options", "ServeOptions", "The options of moonpool.serve.",
        example: """
            local options = {
              url = "nats://localhost:4222", subject = "zoo.>",
              handler = function(request) return request.subject .. " received" end,
            }
            print(options.handler { subject = "zoo.feed" })  --> zoo.feed received
            """)
    static let requestOptions = HelpType(
        "request options", "RequestOptions", "The options of moonpool.request.",
        example: """
            local options = { url = "nats://localhost:4222", subject = "zoo.write", body = { name = "Rex" }, timeout = -1 }
            print((pcall(moonpool.request, options)))  --> false
            """)
    static let serviceRequest = HelpType(
        "service request", "ServiceRequest", "The argument of a service's handler.",
        example: """
            local function handler(request) return { subject = request.subject, size = #request.body } end
            print(handler({ subject = "zoo.add", body = { 1, 2 } }).size)  --> 2
            """)
    static let change = HelpType(
        "change", "Change", "The changes to an observed collection.", element: "object",
        example: """
            local token <close> = dogs:observe(function(change)
              print(change.type, #change.insertions, #change.deletions, #change.modifications)
            end)
            store:refresh()  --> initial 0 0 0
            store:write(function() max.age = 4 end)
            store:refresh()  --> update 0 0 1
            """)
    static let objectChange = HelpType(
        "object change", "ObjectChange", "The changes to an observed object.",
        example: """
            local token <close> = rex:observe(function(change)
              local property = change.properties[1]
              print(change.type, property.name, property.old, property.new)
            end)
            store:write(function() rex.age = 8 end)
            store:refresh()  --> change age 7 8
            """)
    static let propertyChange = HelpType(
        "property change", "PropertyChange", "The change to one property of an object.",
        example: """
            local token <close> = rex:observe(function(change)
              for _, property in ipairs(change.properties) do print(property.name, property.new) end
            end)
            store:write(function() rex:update { age = 8, name = "Rexy" } end)
            store:refresh()
            --> age 8
            --> name Rexy
            """)
    static let sectionChange = HelpType(
        "section change", "SectionChange", "The changes to observed sections.",
        example: """
            local token <close> = dogs:group_by("breed"):observe(function(change)
              print(change.type, #change.section_insertions)
            end)
            store:refresh()  --> initial 0
            store:write(function() max.breed = "pug" end)
            store:refresh()  --> update 1
            """)
    static let date = HelpType(
        "date", "Date", "A point in time with microsecond precision. Its fields are in UTC.",
        example: """
            local day = moonpool.date("2026-11-20T10:30:00Z")
            print(day.year, day.month, day.hour)  --> 2026 11 10
            print(day + 60)  --> 2026-11-20T10:31:00Z
            print(moonpool.date("2026-11-21") - day)  --> 48600.0
            """)
    static let uuid = HelpType(
        "uuid", "UUID", "A UUID. Two UUIDs with the same bytes compare equal.")
    static let objectID = HelpType(
        "object_id", "ObjectID", "A 12-byte object id that sorts by creation time.")
    static let decimal = HelpType(
        "decimal", "Decimal",
        "A decimal number with 34 significant digits. Represents 0.1 exactly; arithmetic also accepts Lua numbers.",
        example: """
            local price = moonpool.decimal("19.90")
            print(price * 3, price + 0.1)  --> 59.70 20.00
            """)
    static let float = HelpType(
        "float", "Float",
        "A single-precision number for a mixed value, which stores a Lua number as a double.")
    static let data = HelpType(
        "data", "Data", "Bytes for a data property; tostring returns them as a string.")
    static let null = HelpType(
        "null", "Null", "Represents nil in tables, where a nil value would remove the key.")
    static let migration = HelpType(
        "migration", "Migration",
        "The argument of a migration function: reads old objects and writes new ones.")
    static let error = HelpType(
        "error", "Error", "An error that this API raises. It prints as a message and has a code.",
        example: """
            local ok, err = pcall(function() rex.age = 8 end)
            print(ok, err.code)  --> false not_in_write
            """)
    static let openOptions = HelpType(
        "open options", "OpenOptions", "The options of moonpool.open.",
        example: """
            local other = moonpool.open {
              path = "zoo.moonpool",
              schema = { Dog = { id = "int primary", name = "string" } },
              schema_version = 1, durability = "async", history = 50, max_live_versions = 1000,
            }
            print(other.schema_version)  --> 1
            other:close()
            """)
    static let propertyOptions = HelpType(
        "property declaration", "PropertyDeclaration",
        "The long form of a property in a schema; the short form is a string such as \"int? indexed\".",
        example: """
            store:define { Cat = {
              id = { type = "int", primary = true },
              name = { type = "string", indexed = true, fulltext = true, map_to = "cat_name" },
              lives = { type = "int", default = 9 },
            } }
            local tom = store:write(function() return store:create("Cat", { id = 1, name = "Tom" }) end)
            print(tom.lives)  --> 9
            """)
    static let observeOptions = HelpType(
        "observe options", "ObserveOptions", "The options of observe.",
        example: """
            local token <close> = dogs:observe(function(change) print(change.type) end,
              { keypaths = { "age", "owner.name" }, name = "ages", throttle = 0.1 })
            store:refresh()  --> initial
            print(token.name)  --> ages
            """)
    static let writeOptions = HelpType(
        "write options", "WriteOptions", "The options of write and commit_write.",
        example: """
            local token <close> = rex:observe(function() print "changed" end)
            store:write(function() rex.age = 8 end, { without_notifying = { token } })
            store:refresh()
            print(rex.age)  --> 8
            """)
    static let importOptions = HelpType(
        "import options", "ImportOptions", "The options of store:import.",
        example: """
            moonpool.csv.write("dogs.csv", { { nr = 3, name = "Cleo" }, { nr = 1, name = "Rexy" } })
            local report = store:import("dogs.csv", { class = "Dog", upsert = true, map = { nr = "id" } })
            print(report.created, report.updated, rex.name)  --> 1 1 Rexy
            """)
    static let csvOptions = HelpType(
        "csv options", "CSVOptions", "The dialect of a CSV file, and the types of its columns.",
        example: """
            moonpool.csv.write("toys.csv", { { name = "rope", price = 2 } }, nil, { separator = ";" })
            for row in moonpool.csv.rows("toys.csv", { separator = ";", types = { price = "int" } }) do
              print(row.name, row.price + 1)  --> rope 3
            end
            """)
    static let jsonOptions = HelpType(
        "json options", "JSONOptions", "The format of a JSON file.",
        example: """
            local file <close> = assert(io.open("toys.json", "w"))
            file:write('{"data": {"toys": [{"name": "rope"}]}}'):flush()
            for toy in moonpool.json.rows("toys.json", { records = "data.toys" }) do
              print(toy.name)  --> rope
            end
            """)
    static let exportOptions = HelpType(
        "export options", "ExportOptions", "The options of export.",
        example: """
            print(dogs:export("dogs.txt", { format = "csv" }))  --> 2
            """)
    static let importReport = HelpType(
        "import report", "ImportReport", "The result of store:import.",
        example: """
            moonpool.csv.write("toys.csv", { { name = "rope", price = 2 } })
            local report = store:import("toys.csv", { class = "Toy" })
            print(report.created, report.rejected, #report.new_classes)  --> 1 0 0
            """)

    /// All types, in the order of the reference page.
    package static let types: [HelpType] = [
        moonpool, json, csv, migrate, openOptions, propertyOptions, store, frozenStore,
        writeOptions, object, unmanaged, results, list, set, map, valuesType, sectionsType,
        projection, projectedResults, plotType, plotOptions, mixedList, mixedMap, observeOptions,
        token, computed, change, objectChange, propertyChange,
        sectionChange, timer, worker, reference, recording, recordOptions, replication,
        publishOptions,
        followOptions, service, serveOptions, serviceRequest, requestOptions, date, uuid, objectID,
        decimal, float,
        data, null,
        migration, importOptions, csvOptions, jsonOptions, exportOptions, importReport, prompt,
        error,
    ]
}
