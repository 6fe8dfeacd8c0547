extension HelpCatalog {
    /// The members of the argument of a migration function.
    static let migrations: [HelpEntry] = [
        .method(
            "each", of: [migration],
            [
                "(class: string, body: fun(old: Object?, new: Object?), options?: {batch: integer, resumable: boolean})"
            ],
            "Calls a function with the old and the new form of each object; the old one is nil for a new class, the new one is "
                + "nil for a removed class.",
            errors: [.unknownClass, .invalidArgument, .closed],
            example: """
                store:define({ Toy = { name = "string", cents = "int" } }, function(m)
                  m:each("Toy", function(old, new) new.cents = math.tointeger(old.price * 100) end)
                end)
                print(store:objects("Toy"):sum "cents")  --> 450
                """),
        .method(
            "rename_property", of: [migration], ["(class: string, old: string, new: string)"],
            "Renames a property and keeps its values.",
            errors: [.invalidSchema, .invalidArgument, .closed],
            example: """
                store:define({ Toy = { name = "string", cost = "double" } }, function(m)
                  m:rename_property("Toy", "price", "cost")
                end)
                print(rex.toys[1].cost)  --> 3.0
                """),
        .method(
            "rename_class", of: [migration], ["(old: string, new: string)"],
            "Renames a class and keeps its objects.",
            errors: [.invalidSchema, .invalidArgument, .closed],
            example: """
                local farm = moonpool.open { in_memory = "farm", schema = { Cow = { name = "string" } } }
                farm:write(function() farm:create("Cow", { name = "Berta" }) end)
                farm:define({ Cattle = { name = "string" } }, function(m) m:rename_class("Cow", "Cattle") end)
                print(farm:objects("Cattle")[1].name)  --> Berta
                """),
        .method(
            "delete_property", of: [migration], ["(class: string, name: string): boolean"],
            "Declares that a property and its values are removed. Returns false if the property does not exist.",
            errors: [.unknownClass, .invalidSchema, .invalidArgument, .closed],
            example: """
                store:define({ Toy = { name = "string" } }, function(m)
                  print(m:delete_property("Toy", "price"))  --> true
                end)
                """),
        .method(
            "delete_class", of: [migration], ["(class: string): boolean"],
            "Deletes all objects of a class, and the class itself if the new schema lacks it.",
            errors: [.invalidSchema, .invalidArgument, .closed],
            example: """
                store:define({ Cat = { name = "string" } })
                store:define({ Lion = { name = "string" } }, function(m) print(m:delete_class("Cat")) end)  --> true
                """),
        .method(
            "create", of: [migration],
            ["(class: string, values?: table, mode?: \"error\"|\"all\"|\"modified\"): Object"],
            "Creates an object in the new schema.",
            errors: [.unknownClass, .unknownProperty, .typeMismatch, .missingValue, .duplicateKey],
            example: """
                store:define({ Log = { text = "string" } }, function(m)
                  m:create("Log", { text = "migrated" })
                end)
                print(store:objects("Log")[1].text)  --> migrated
                """),
        .method(
            "delete", of: [migration], ["(what: Object|Results|List)"],
            "Deletes objects in the new schema.", errors: [.invalidObject, .invalidArgument],
            example: """
                store:define({ Toy = { name = "string", price = "double", used = "bool?" } }, function(m)
                  m:delete(m:objects("Toy"):where "price < 2")
                end)
                print(#rex.toys)  --> 1
                """),
        .method(
            "objects", of: [migration], ["(class: string): Results"],
            "Returns all objects of a class in the new schema.", errors: [.unknownClass],
            example: """
                store:define({ Toy = { name = "string", price = "double", used = "bool?" } }, function(m)
                  print(#m:objects "Toy")  --> 2
                end)
                """),
        .field(
            "old_version", of: [migration], "integer",
            "The schema version of the file before the migration."),
        .field(
            "new_version", of: [migration], "integer",
            "The schema version after the migration."),
        .field("old", of: [migration], "FrozenStore", "The store before the migration, read-only."),
        .field(
            "new", of: [migration], "Store", "The store being migrated, in a write transaction."),
    ]
}
