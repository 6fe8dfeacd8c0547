extension HelpCatalog {
    /// The members of the changes that observers receive.
    static let changes: [HelpEntry] = [
        .field(
            "type", of: [change, sectionChange], "\"initial\"|\"update\"|\"error\"",
            "The kind of notification."),
        .field(
            "collection", of: [change], "Results<T>|List<T>|Set<T>|Map<T>",
            "The observed collection."),
        .field("collection", of: [sectionChange], "Sections", "The observed sections."),
        .field(
            "error", of: [change, objectChange, sectionChange], "any",
            "The error of a version that could not be read, if the type is error."),
        .field(
            "deletions", of: [change], "integer[]|string[]",
            "Indexes before the change, ascending; the keys of a map."),
        .field(
            "insertions", of: [change], "integer[]|string[]",
            "Indexes after the change, ascending; the keys of a map."),
        .field(
            "modifications", of: [change], "integer[]|string[]",
            "Indexes of modified elements before the change, ascending; the keys of a map."),
        .field(
            "modifications_new", of: [change], "integer[]|string[]",
            "Indexes of the same elements after the change; the keys of a map."),
        .method(
            "inserted", of: [change], ["(): T[]"], "Returns the inserted objects or values.",
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
            "Returns the modified objects or values.",
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
            "Returns the deleted objects, frozen with their last values, or the deleted values.",
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
            "Returns the changed properties of the i-th modified object.",
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
            "type", of: [objectChange], "\"change\"|\"deleted\"|\"error\"",
            "The kind of notification."),
        .field("object", of: [objectChange], "Object", "The observed object."),
        .field(
            "properties", of: [objectChange], "PropertyChange[]",
            "The changed properties."),
        .field("name", of: [propertyChange], "string", "The name of the property."),
        .field("old", of: [propertyChange], "any", "The value before the change."),
        .field(
            "new", of: [propertyChange], "any",
            "The value after the change; for a collection property, the collection."),
        .field(
            "section_deletions", of: [sectionChange], "integer[]",
            "Indexes of removed sections before the change."),
        .field(
            "section_insertions", of: [sectionChange], "integer[]",
            "Indexes of new sections after the change."),
        .field(
            "sections", of: [sectionChange], "table[]",
            "For each modified section: section, section_before, key and the indexes of its changes."
        ),
    ]
}
