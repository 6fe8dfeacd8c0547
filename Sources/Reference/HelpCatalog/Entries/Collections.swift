extension HelpCatalog {
    /// The members of lists, sets and maps.
    static let collections: [HelpEntry] = lists + sets + maps

    private static let lists: [HelpEntry] = [
        .method(
            "append", of: [list, mixedList], ["(...: T)"], "Appends values.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.marks:append(4, 5) end)
                print(#rex.marks, rex.marks[5])  --> 5 5
                """),
        .method(
            "insert", of: [list, mixedList], ["(index: integer, value: T)"],
            "Inserts a value at an index.",
            errors: [.notInWrite, .outOfRange, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.marks:insert(1, 9) end)
                print(rex.marks[1], #rex.marks)  --> 9 4
                """),
        .method(
            "remove", of: [list, mixedList], ["(index: integer)"],
            "Removes the element at an index.", errors: [.notInWrite, .outOfRange, .frozen],
            example: """
                store:write(function() rex.marks:remove(1) end)
                print(rex.marks[1])  --> 1
                """),
        .method(
            "move", of: [list, mixedList], ["(from: integer, to: integer)"],
            "Moves an element to another index.", errors: [.notInWrite, .outOfRange, .frozen],
            example: """
                store:write(function() rex.marks:move(1, 3) end)
                print(rex.marks[1], rex.marks[3])  --> 1 3
                """),
        .method(
            "swap", of: [list, mixedList], ["(i: integer, j: integer)"], "Swaps two elements.",
            errors: [.notInWrite, .outOfRange, .frozen],
            example: """
                store:write(function() rex.marks:swap(1, 2) end)
                print(rex.marks[1], rex.marks[2])  --> 1 3
                """),
        .method(
            "clear", of: [list, set, map, mixedList, mixedMap], ["()"], "Removes all elements.",
            errors: [.notInWrite, .frozen],
            example: """
                store:write(function() rex.marks:clear() end)
                print(#rex.marks)  --> 0
                """),
    ]

    private static let sets: [HelpEntry] = [
        .method(
            "add", of: [set], ["(...: T): boolean"],
            "Adds values. Returns false if the set already contained all of them.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() print(rex.tags:add("calm"), rex.tags:add("old")) end)  --> false true
                """),
        .method(
            "remove", of: [set], ["(...: T): boolean"],
            "Removes values. Returns false if the set contained none of them.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() print(rex.tags:remove("calm"), rex.tags:remove("new")) end)  --> true false
                """),
        setResult(
            "union", "Returns the elements of both collections, as a sorted plain array.",
            "big calm young"),
        setResult("intersection", "Returns the common elements, as a sorted plain array.", "calm"),
        setResult(
            "difference",
            "Returns the elements that are only in this set, as a sorted plain array.", "big"),
        setResult(
            "symmetric_difference",
            "Returns the elements that are in exactly one of the two collections, as a sorted plain array.",
            "big young"),
        formed("form_union", "Adds the elements of another collection.", "big calm young"),
        formed(
            "form_intersection", "Keeps only the elements that are also in another collection.",
            "calm"),
        formed("form_difference", "Removes the elements of another collection.", "big"),
        formed(
            "form_symmetric_difference",
            "Removes the elements that another collection also has, and adds its other elements.",
            "big young"),
        .method(
            "is_subset_of", of: [set], ["(other: Set|List|table): boolean"],
            "Returns whether the other collection contains all elements of this set.",
            errors: [.typeMismatch],
            example: """
                print(rex.tags:is_subset_of { "big", "calm", "old" })  --> true
                """),
        .method(
            "is_superset_of", of: [set], ["(other: Set|List|table): boolean"],
            "Returns whether this set contains all elements of the other collection.",
            errors: [.typeMismatch],
            example: """
                print(rex.tags:is_superset_of { "big" })  --> true
                """),
        .method(
            "intersects", of: [set], ["(other: Set|List|table): boolean"],
            "Returns whether the two collections have a common element.", errors: [.typeMismatch],
            example: """
                print(rex.tags:intersects { "calm", "young" })  --> true
                """),
    ]

    private static func setResult(
        _ name: String, _ summary: String, _ result: String
    ) -> HelpEntry {
        .method(
            name, of: [set], ["(other: Set|List|table): T[]"], summary, errors: [.typeMismatch],
            example: """
                print(table.concat(rex.tags:\(name) { "calm", "young" }, " "))  --> \(result)
                """)
    }

    private static func formed(
        _ name: String, _ summary: String, _ result: String
    ) -> HelpEntry {
        .method(
            name, of: [set], ["(other: Set|List|table)"], summary,
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.tags:\(name) { "calm", "young" } end)
                print(table.concat(rex.tags:to_table(), " "))  --> \(result)
                """)
    }

    private static let maps: [HelpEntry] = [
        .method(
            "get", of: [map, mixedMap], ["(key: string): T?"],
            "Returns the value of a key, or nil. Works for keys that are also method names.",
            errors: [.typeMismatch],
            example: """
                print(rex.notes:get("food"), rex.notes.food)  --> fish fish
                """),
        .method(
            "set", of: [map, mixedMap], ["(key: string, value: T?)"],
            "Sets the value of a key; nil removes the key. Works for keys that are also method names.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.notes:set("clear", "yes") end)
                print(rex.notes:get("clear"))  --> yes
                """),
        .method(
            "remove", of: [map, mixedMap], ["(key: string): boolean"],
            "Removes a key. Returns false if the map did not contain it.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() print(rex.notes:remove("food")) end)  --> true
                """),
        .method(
            "keys", of: [map, mixedMap], ["(): string[]"],
            "Returns the keys as a plain array, in byte order.",
            example: """
                print(rex.notes:keys()[1])  --> food
                """),
        .method(
            "values", of: [map, mixedMap], ["(): T[]"],
            "Returns the values as a plain array, in the order of their keys. Nil values are moonpool.null.",
            example: """
                print(rex.notes:values()[1])  --> fish
                """),
    ]
}
