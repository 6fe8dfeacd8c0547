extension Catalogue {
    /// What observers are given.
    static let changes: [CatalogueEntry] = [
        .field(
            "type", of: [change, sectionChange], "\"initial\"|\"update\"|\"error\"",
            "What the call is for."),
        .field(
            "collection", of: [change], "Results<T>|List<T>|Set<T>|Map<T>",
            "The observed collection."),
        .field("collection", of: [sectionChange], "Sections", "The observed sections."),
        .field(
            "error", of: [change, objectChange, sectionChange], "any",
            "What has ended the observation, where the type is error."),
        .field(
            "deletions", of: [change], "integer[]|string[]",
            "Positions before, ascending; keys of a map."),
        .field(
            "insertions", of: [change], "integer[]|string[]",
            "Positions after, ascending; keys of a map."),
        .field(
            "modifications", of: [change], "integer[]|string[]",
            "Positions before of what is still there and has changed; keys of a map."),
        .field(
            "modifications_new", of: [change], "integer[]|string[]",
            "The same positions after; keys of a map."),
        .method(
            "inserted", of: [change], ["(): T[]"], "Gives the objects, or values, that came.",
            example: """
                local token <close> = dogs:observe(function(change)
                  for _, dog in ipairs(change:inserted()) do print(dog.name) end
                end)
                store:refresh()
                store:write(function() store:create("Dog", { id = 3, name = "Cleo" }) end)
                store:refresh()  --> Cleo
                """),
        .method(
            "modified", of: [change], ["(): T[]"],
            "Gives the objects, or values, that were modified.",
            example: """
                local token <close> = dogs:observe(function(change)
                  for _, dog in ipairs(change:modified()) do print(dog.name, dog.age) end
                end)
                store:refresh()
                store:write(function() max.age = 4 end)
                store:refresh()  --> Max 4
                """),
        .method(
            "deleted", of: [change], ["(): T[]"],
            "Gives what left: objects frozen as they last were, or values.",
            example: """
                local token <close> = dogs:observe(function(change)
                  for _, dog in ipairs(change:deleted()) do print(dog.name) end
                end)
                store:refresh()
                store:write(function() store:delete(max) end)
                store:refresh()  --> Max
                """),
        .method(
            "properties", of: [change], ["(i: integer): PropertyChange[]"],
            "Tells what changed in the i-th modified row.",
            errors: [.outOfRange, .invalidArgument],
            example: """
                local token <close> = dogs:observe(function(change)
                  if #change.modifications == 0 then return end
                  local property = change:properties(1)[1]
                  print(property.name, property.old, property.new)
                end)
                store:refresh()
                store:write(function() max.age = 4 end)
                store:refresh()  --> age 3 4
                """),
        .field(
            "type", of: [objectChange], "\"change\"|\"deleted\"|\"error\"", "What the call is for."),
        .field("object", of: [objectChange], "Object", "The observed object."),
        .field(
            "properties", of: [objectChange], "PropertyChange[]",
            "The properties that have changed."),
        .field("name", of: [propertyChange], "string", "The name of the property."),
        .field("old", of: [propertyChange], "any", "The value before."),
        .field(
            "new", of: [propertyChange], "any", "The value after; of a collection the collection."),
        .field(
            "section_deletions", of: [sectionChange], "integer[]",
            "Positions before of sections that went."),
        .field(
            "section_insertions", of: [sectionChange], "integer[]",
            "Positions after of sections that came."),
        .field(
            "sections", of: [sectionChange], "table[]",
            "For each section that stayed and has changed: section, section_before, key and its positions."
        ),
    ]
}
