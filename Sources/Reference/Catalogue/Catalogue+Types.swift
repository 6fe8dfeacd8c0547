extension Catalogue {
    /// The module.
    package static let moonpool = CatalogueType(
        "moonpool", "moonpool", "The module: opens stores, makes values, runs timers.")
    /// What entries of the prompt have besides the globals of scripts.
    package static let prompt = CatalogueType(
        "prompt", "Prompt", "What entries of the prompt have besides the globals of scripts.")
    static let json = CatalogueType(
        "moonpool.json", "json", "Reads and writes JSON, strictly by RFC 8259.")
    static let csv = CatalogueType(
        "moonpool.csv", "csv", "Reads and writes CSV (RFC 4180) and its dialects.")
    static let migrate = CatalogueType(
        "moonpool.migrate", "migrate",
        "Migrates files by numbered scripts, as the command `moonpool migrate` does.")
    /// Stores.
    package static let store = CatalogueType(
        "store", "Store", "A live object store, as the script that opened it sees it.")
    static let frozenStore = CatalogueType(
        "frozen store", "FrozenStore",
        "A store as it was in one version, for ever; what would change it is an error. Files, versions and "
            + "references (`export`, `import`, `backup`, `record`, `at`, `diff`, `resolve` and the like) "
            + "are matters of the live store.",
        parent: "store")
    /// Objects.
    package static let object = CatalogueType(
        "object", "Object", "A live object: its properties are read from the store each time.")
    static let unmanaged = CatalogueType(
        "unmanaged object", "UnmanagedObject", "An object that is in no store yet.",
        parent: "object")
    /// Results of queries.
    package static let results = CatalogueType(
        "Results", "Results", "The objects of a query: lazy and live.", element: "object")
    /// Lists.
    package static let list = CatalogueType(
        "list", "List", "A list of an object, changed in place.", element: "value")
    /// Sets.
    package static let set = CatalogueType(
        "set", "Set", "A set of an object, ordered by value and changed in place.",
        element: "value")
    /// Maps.
    package static let map = CatalogueType(
        "map", "Map", "A map of an object, in byte order of its keys, changed in place.",
        element: "value")
    /// Values of collections, in another order.
    package static let valuesType = CatalogueType(
        "Values", "Values", "Values of a list, a set or a map in another order: lazy and live.",
        element: "value")
    static let sectionsType = CatalogueType(
        "Sections", "Sections",
        "The objects of a query grouped by a value: an ordered array of { key =, objects = }.",
        element: "object")
    static let mixedList = CatalogueType(
        "mixed list", "MixedList", "A list inside a mixed value, changed in place.")
    static let mixedMap = CatalogueType(
        "mixed map", "MixedMap", "A map inside a mixed value, changed in place.")
    /// Observations.
    package static let token = CatalogueType(
        "token", "Token", "An observation: it lasts as long as its token.")
    static let computed = CatalogueType(
        "computed", "Computed",
        "A value that is computed when it is read, and again only after its inputs have changed: `total()`.",
        example: """
            local total = moonpool.computed(function() return dogs:sum "age" end)
            print(total())  --> 10
            store:write(function() rex.age = 8 end)
            print(total())  --> 11
            """)
    static let timer = CatalogueType(
        "timer", "Timer", "A call in the future, made by moonpool.after or moonpool.every.")
    static let worker = CatalogueType(
        "worker", "Worker", "A thread with an event loop and a Lua state of its own.")
    static let reference = CatalogueType(
        "reference", "Reference",
        "Something of a store for another thread, where store:resolve gives it, once.")
    static let recording = CatalogueType(
        "recording", "Recording", "What store:record writes to a file, until it is stopped.")
    static let change = CatalogueType(
        "change", "Change", "What has changed in an observed collection.", element: "object",
        example: """
            local token <close> = dogs:observe(function(change)
              print(change.type, #change.insertions, #change.deletions, #change.modifications)
            end)
            store:refresh()  --> initial 0 0 0
            store:write(function() max.age = 4 end)
            store:refresh()  --> update 0 0 1
            """)
    static let objectChange = CatalogueType(
        "object change", "ObjectChange", "What has changed in an observed object.",
        example: """
            local token <close> = rex:observe(function(change)
              local property = change.properties[1]
              print(change.type, property.name, property.old, property.new)
            end)
            store:write(function() rex.age = 8 end)
            store:refresh()  --> change age 7 8
            """)
    static let propertyChange = CatalogueType(
        "property change", "PropertyChange", "The change of one property of an object.",
        example: """
            local token <close> = rex:observe(function(change)
              for _, property in ipairs(change.properties) do print(property.name, property.new) end
            end)
            store:write(function() rex:update { age = 8, name = "Rexy" } end)
            store:refresh()
            --> age 8
            --> name Rexy
            """)
    static let sectionChange = CatalogueType(
        "section change", "SectionChange", "What has changed in observed sections.",
        example: """
            local token <close> = dogs:group_by("breed"):observe(function(change)
              print(change.type, #change.section_insertions)
            end)
            store:refresh()  --> initial 0
            store:write(function() max.breed = "pug" end)
            store:refresh()  --> update 1
            """)
    static let date = CatalogueType(
        "date", "Date", "A moment in microseconds; its fields are those of UTC.",
        example: """
            local day = moonpool.date("2026-11-20T10:30:00Z")
            print(day.year, day.month, day.hour)  --> 2026 11 10
            print(day + 60)  --> 2026-11-20T10:31:00Z
            print(moonpool.date("2026-11-21") - day)  --> 48600.0
            """)
    static let uuid = CatalogueType("uuid", "UUID", "A UUID; equal ones compare equal.")
    static let objectID = CatalogueType(
        "object_id", "ObjectID", "A 12-byte object id that sorts by the time of its making.")
    static let decimal = CatalogueType(
        "decimal", "Decimal",
        "A decimal number of 34 digits, so that 0.1 is 0.1; calculates with numbers too.",
        example: """
            local price = moonpool.decimal("19.90")
            print(price * 3, price + 0.1)  --> 59.70 20.00
            """)
    static let data = CatalogueType(
        "data", "Data", "Bytes for a data property; tostring gives them as a string.")
    static let null = CatalogueType("null", "Null", "Sets nil where a key must be present.")
    static let migration = CatalogueType(
        "migration", "Migration", "A change of the schema while it runs.")
    static let error = CatalogueType(
        "error", "Error", "What this API raises: it prints as a message and has a code.",
        example: """
            local ok, err = pcall(function() rex.age = 8 end)
            print(ok, err.code)  --> false not_in_write
            """)
    static let openOptions = CatalogueType(
        "open options", "OpenOptions", "What moonpool.open takes besides a path.",
        example: """
            local other = moonpool.open {
              path = "zoo.moonpool",
              schema = { Dog = { id = "int primary", name = "string" } },
              schema_version = 1, durability = "async", history = 50, max_live_versions = 1000,
            }
            print(other.schema_version)  --> 1
            other:close()
            """)
    static let propertyOptions = CatalogueType(
        "property declaration", "PropertyDeclaration",
        "The long form of a property in a schema; the short form is a text such as \"int? indexed\".",
        example: """
            store:define { Cat = {
              id = { type = "int", primary = true },
              name = { type = "string", indexed = true, fulltext = true, map_to = "cat_name" },
              lives = { type = "int", default = 9 },
            } }
            local tom = store:write(function() return store:create("Cat", { id = 1, name = "Tom" }) end)
            print(tom.lives)  --> 9
            """)
    static let observeOptions = CatalogueType(
        "observe options", "ObserveOptions", "What observe takes besides a function.",
        example: """
            local token <close> = dogs:observe(function(change) print(change.type) end,
              { keypaths = { "age", "owner.name" }, name = "ages", throttle = 0.1 })
            store:refresh()  --> initial
            print(token.name)  --> ages
            """)
    static let writeOptions = CatalogueType(
        "write options", "WriteOptions", "What write and commit_write take besides a function.",
        example: """
            local token <close> = rex:observe(function() print "heard" end)
            store:write(function() rex.age = 8 end, { without_notifying = { token } })
            store:refresh()
            print(rex.age)  --> 8
            """)
    static let importOptions = CatalogueType(
        "import options", "ImportOptions", "What store:import takes besides a path.",
        example: """
            moonpool.csv.write("dogs.csv", { { nr = 3, name = "Cleo" }, { nr = 1, name = "Rexy" } })
            local report = store:import("dogs.csv", { class = "Dog", upsert = true, map = { nr = "id" } })
            print(report.created, report.updated, rex.name)  --> 1 1 Rexy
            """)
    static let csvOptions = CatalogueType(
        "csv options", "CSVOptions", "The dialect of a CSV file, and the types of its columns.",
        example: """
            moonpool.csv.write("toys.csv", { { name = "rope", price = 2 } }, nil, { separator = ";" })
            for row in moonpool.csv.rows("toys.csv", { separator = ";", types = { price = "int" } }) do
              print(row.name, row.price + 1)  --> rope 3
            end
            """)
    static let jsonOptions = CatalogueType(
        "json options", "JSONOptions", "The form of a file of JSON.",
        example: """
            local file <close> = assert(io.open("toys.json", "w"))
            file:write('{"data": {"toys": [{"name": "rope"}]}}'):flush()
            for toy in moonpool.json.rows("toys.json", { records = "data.toys" }) do
              print(toy.name)  --> rope
            end
            """)
    static let exportOptions = CatalogueType(
        "export options", "ExportOptions", "What export takes besides a path.",
        example: """
            print(dogs:export("dogs.txt", { format = "csv" }))  --> 2
            """)
    static let importReport = CatalogueType(
        "import report", "ImportReport", "What store:import has done.",
        example: """
            moonpool.csv.write("toys.csv", { { name = "rope", price = 2 } })
            local report = store:import("toys.csv", { class = "Toy" })
            print(report.created, report.rejected, #report.new_classes)  --> 1 0 0
            """)

    /// Everything that names belong to, in the order of the reference.
    package static let types: [CatalogueType] = [
        moonpool, json, csv, migrate, openOptions, propertyOptions, store, frozenStore,
        writeOptions, object, unmanaged, results, list, set, map, valuesType, sectionsType,
        mixedList, mixedMap, observeOptions, token, computed, change, objectChange, propertyChange,
        sectionChange, timer, worker, reference, recording, date, uuid, objectID, decimal, data,
        null,
        migration, importOptions, csvOptions, jsonOptions, exportOptions, importReport, prompt,
        error,
    ]
}
