extension Catalogue {
    /// Lists, sets and maps, which are changed in place.
    static let collections: [CatalogueEntry] = lists + sets + maps

    private static let lists: [CatalogueEntry] = [
        .method(
            "append", of: [list, mixedList], ["(...: T)"], "Adds values at the end.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.marks:append(4, 5) end)
                print(#rex.marks, rex.marks[5])  --> 5 5
                """),
        .method(
            "insert", of: [list, mixedList], ["(index: integer, value: T)"],
            "Inserts a value so that it stands at the index.",
            errors: [.notInWrite, .outOfRange, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.marks:insert(1, 9) end)
                print(rex.marks[1], #rex.marks)  --> 9 4
                """),
        .method(
            "remove", of: [list, mixedList], ["(index: integer)"],
            "Removes the element at the index.", errors: [.notInWrite, .outOfRange, .frozen],
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
            "swap", of: [list, mixedList], ["(i: integer, j: integer)"], "Exchanges two elements.",
            errors: [.notInWrite, .outOfRange, .frozen],
            example: """
                store:write(function() rex.marks:swap(1, 2) end)
                print(rex.marks[1], rex.marks[2])  --> 1 3
                """),
        .method(
            "clear", of: [list, set, map, mixedList, mixedMap], ["()"], "Removes everything.",
            errors: [.notInWrite, .frozen],
            example: """
                store:write(function() rex.marks:clear() end)
                print(#rex.marks)  --> 0
                """),
    ]

    private static let sets: [CatalogueEntry] = [
        .method(
            "add", of: [set], ["(...: T): boolean"],
            "Adds values; false if all were there already.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() print(rex.tags:add("calm"), rex.tags:add("old")) end)  --> false true
                """),
        .method(
            "remove", of: [set], ["(...: T): boolean"], "Removes values; false if none was there.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() print(rex.tags:remove("calm"), rex.tags:remove("new")) end)  --> true false
                """),
        setResult("union", "What is in either, as a plain array in order.", "big calm young"),
        setResult("intersection", "What is in both, as a plain array in order.", "calm"),
        setResult("difference", "What is only in this set, as a plain array in order.", "big"),
        setResult(
            "symmetric_difference", "What is in one of the two only, as a plain array in order.",
            "big young"),
        formed("form_union", "Adds the elements of another collection.", "big calm young"),
        formed("form_intersection", "Keeps what is also in another collection.", "calm"),
        formed("form_difference", "Removes the elements of another collection.", "big"),
        formed(
            "form_symmetric_difference",
            "Removes what is also in another collection, and adds the rest of that.", "big young"),
        .method(
            "is_subset_of", of: [set], ["(other: Set|List|table): boolean"],
            "Tells whether all elements are in the other.", errors: [.typeMismatch],
            example: """
                print(rex.tags:is_subset_of { "big", "calm", "old" })  --> true
                """),
        .method(
            "is_superset_of", of: [set], ["(other: Set|List|table): boolean"],
            "Tells whether it holds all of the other.", errors: [.typeMismatch],
            example: """
                print(rex.tags:is_superset_of { "big" })  --> true
                """),
        .method(
            "intersects", of: [set], ["(other: Set|List|table): boolean"],
            "Tells whether the two have an element in common.", errors: [.typeMismatch],
            example: """
                print(rex.tags:intersects { "calm", "young" })  --> true
                """),
    ]

    private static func setResult(
        _ name: String, _ summary: String, _ result: String
    ) -> CatalogueEntry {
        .method(
            name, of: [set], ["(other: Set|List|table): T[]"], summary, errors: [.typeMismatch],
            example: """
                print(table.concat(rex.tags:\(name) { "calm", "young" }, " "))  --> \(result)
                """)
    }

    private static func formed(
        _ name: String, _ summary: String, _ result: String
    ) -> CatalogueEntry {
        .method(
            name, of: [set], ["(other: Set|List|table)"], summary,
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.tags:\(name) { "calm", "young" } end)
                print(table.concat(rex.tags:to_table(), " "))  --> \(result)
                """)
    }

    private static let maps: [CatalogueEntry] = [
        .method(
            "get", of: [map, mixedMap], ["(key: string): T?"],
            "Gives the value under a key, or nil; also under a method's name.",
            errors: [.typeMismatch],
            example: """
                print(rex.notes:get("food"), rex.notes.food)  --> fish fish
                """),
        .method(
            "set", of: [map, mixedMap], ["(key: string, value: T?)"],
            "Sets the value under a key, also under a method's name; nil removes the key.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() rex.notes:set("clear", "yes") end)
                print(rex.notes:get("clear"))  --> yes
                """),
        .method(
            "remove", of: [map, mixedMap], ["(key: string): boolean"],
            "Removes a key; false if it was not there.",
            errors: [.notInWrite, .typeMismatch, .frozen],
            example: """
                store:write(function() print(rex.notes:remove("food")) end)  --> true
                """),
        .method(
            "keys", of: [map, mixedMap], ["(): string[]"],
            "Gives the keys as a plain array, in byte order.",
            example: """
                print(rex.notes:keys()[1])  --> food
                """),
        .method(
            "values", of: [map, mixedMap], ["(): T[]"],
            "Gives the values as a plain array, in the order of their keys.",
            example: """
                print(rex.notes:values()[1])  --> fish
                """),
    ]
}
