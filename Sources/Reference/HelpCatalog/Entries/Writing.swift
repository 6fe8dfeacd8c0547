extension HelpCatalog {
    /// The methods that create and delete objects.
    static let writing: [HelpEntry] = [
        .method(
            "create", of: [store],
            ["(class: `T`, values?: table, mode?: \"error\"|\"all\"|\"modified\"): T"],
            "Creates an object. The modes all and modified update an existing object with the same primary key.",
            errors: [
                .notInWrite, .unknownClass, .unknownProperty, .typeMismatch, .missingValue,
                .duplicateKey, .invalidArgument, .frozen, .readOnly,
            ],
            example: """
                store:write(function()
                  local cleo = store:create("Dog", { id = 3, name = "Cleo", owner = { name = "Bob" } })
                  print(cleo.breed, cleo.owner.name)  --> mutt Bob
                  store:create("Dog", { id = 3, name = "Cleopatra" }, "modified")
                  print(cleo.name)  --> Cleopatra
                end)
                """),
        .method(
            "add", of: [store],
            ["(object: UnmanagedObject, mode?: \"error\"|\"all\"|\"modified\"): Object"],
            "Adds an object created by moonpool.new, and the objects it links to. They become managed objects.",
            errors: [
                .notInWrite, .unknownClass, .unknownProperty, .typeMismatch, .missingValue,
                .duplicateKey, .invalidArgument, .frozen, .readOnly,
            ],
            example: """
                local cleo = moonpool.new("Dog", { id = 3, name = "Cleo" })
                store:write(function() store:add(cleo) end)
                print(cleo:is_valid(), cleo.breed)  --> true mutt
                """),
        .method(
            "delete", of: [store], ["(what: Object|Results|List|Set|Map)"],
            "Deletes an object, or all objects of a collection.",
            errors: [.notInWrite, .invalidObject, .invalidArgument, .frozen, .readOnly],
            example: """
                store:write(function() store:delete(dogs:where "age < 5") end)
                print(#dogs, max:is_valid())  --> 1 false
                """),
        .method(
            "delete_all", of: [store], ["(class?: string)"],
            "Deletes all objects of one class, or of all classes.",
            errors: [.notInWrite, .unknownClass, .frozen, .readOnly],
            example: """
                store:write(function() store:delete_all("Toy") end)
                print(#rex.toys, #dogs)  --> 0 2
                """),
    ]
}
