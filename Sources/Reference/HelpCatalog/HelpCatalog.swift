import LuaHost

// The single description of the Lua API. Help, editor annotations and the reference page are generated from it.
//
// Each name has one entry with its signatures, a summary, the errors that it can raise, and an example that a test
// runs. Other tests compare the names with the tables and values of a running script, in both directions. To add
// a function to the API, add an entry to one of the files in `Entries`.

/// All names that a script can use.
package enum HelpCatalog {
    /// All entries, in the order of the reference page.
    package static let entries: [HelpEntry] =
        opening + module + storeLife + transactions + writing + versions + replicating + serving
        + objects + queries
        + collections + sections + projections + observing + effects + changes + eventLoop + workers
        + values
        + migrations + migrationFiles + transfer + promptGlobals + errors

    /// The first lines of every example: a store with three classes, two dogs, their owner, and all dogs as results.
    package static let examplePrelude = """
        local store = moonpool.open {
          in_memory = "zoo",
          schema = {
            Dog = {
              id = "int primary", name = "string", age = "int?", owner = "Person", toys = "Toy[]",
              breed = { type = "string", indexed = true, default = "mutt" },
              tags = "string<>", marks = "int[]", notes = "string{}", extra = "mixed",
            },
            Person = { name = "string primary", dogs = "backlinks Dog.owner" },
            Toy = { name = "string", price = "double" },
          },
        }

        local ann, rex, max, dogs = store:write(function()
          local ann = store:create("Person", { name = "Ann" })
          local rex = store:create("Dog", {
            id = 1, name = "Rex", age = 7, owner = ann, tags = { "calm", "big" }, marks = { 3, 1, 2 },
            toys = { { name = "ball", price = 3 }, { name = "bone", price = 1.5 } }, notes = { food = "fish" },
          })
          local max = store:create("Dog", { id = 2, name = "Max", age = 3, breed = "boxer", owner = ann })
          return ann, rex, max, store:objects("Dog")
        end)

        """

    /// Returns the entries of a type, without those of its parent.
    package static func entries(of type: HelpType) -> [HelpEntry] {
        entries.filter { $0.owners.contains(type) }
    }

    /// Returns how a method of a type is called; nil for an unknown one.
    package static func usage(of typeName: String, _ method: String) -> LuaMethodUsage? {
        var owner = type(named: typeName)
        while let type = owner {
            let entry = entries.first {
                $0.name == method && $0.kind == .method && $0.owners.contains(type)
            }
            if let entry, let signature = entry.signatures.first {
                let counts = entry.signatures.map { signature in
                    signature.parameters.contains { $0.name == "..." }
                        ? nil : signature.parameters.count
                }
                let names = signature.parameters.map { $0.name + ($0.isOptional ? "?" : "") }
                return LuaMethodUsage(
                    mostArguments: counts.contains(nil) ? nil : counts.compactMap(\.self).max(),
                    text: "\(typeName):\(method)(\(names.joined(separator: ", ")))")
            }
            owner = type.parent.flatMap(HelpCatalog.type(named:))
        }
        return nil
    }

    /// Returns the type with a name, ignoring case.
    package static func type(named name: String) -> HelpType? {
        let wanted = name.lowercased()
        return types.first { $0.name.lowercased() == wanted }
            ?? types.first { $0.annotation.lowercased() == wanted }
    }

    /// Returns the entries that `where`, `Results.where`, `dogs:where` or `moonpool.open` refers to.
    ///
    /// The part before the last separator selects a type if it names one. Otherwise it is ignored.
    package static func find(_ text: String) -> [HelpEntry] {
        let parts = text.split(whereSeparator: { $0 == "." || $0 == ":" })
        guard let name = parts.last.map(String.init) else { return [] }
        let named = entries.filter { $0.name == name }
        let before = parts.dropLast().joined(separator: ".")
        guard let type = type(named: before) else { return named }
        let own = named.filter { $0.owners.contains(type) }
        return own.isEmpty ? type.parent.map { find("\($0).\(name)") } ?? [] : own
    }
}
