import ObjectStore
import Reference

extension SchemaPlan {
    /// The plan as a migration script that is ready to edit.
    ///
    /// Renamings that nobody was asked about are done, so that nothing is lost, and marked.
    package func script(for store: String) -> String {
        let name = store.split(separator: "/").last.map(String.init) ?? store
        return """
            -- A migration of \(name), as moonpool migrate plan sees it. Read it, decide what it leaves open, and
            -- save it under the next number, such as 0002_what_it_does.lua.
            return {
              -- The whole schema after the migration.
              schema = \(SchemaDocument(wanted).lua(indent: 2)),

              up = function(m)
            \(body)  end,
            }

            """
    }

    private var body: String {
        var lines: [String] = []
        for (candidate, isMarked) in renames {
            lines.append(
                candidate.call
                    + (isMarked
                        ? "  -- RENAMED? Nobody was asked. Delete this line if '\(candidate.newName)' "
                            + "is something new"
                        : ""))
        }
        for difference in differences {
            switch difference {
            case .classRemoved(let name):
                lines.append(
                    "m:delete_class(\(LuaLiteral.string(name)))  -- with all of its objects")
            case .propertyRemoved(let name, let property) where !isRenamed(name, property.name):
                lines.append("-- The values of '\(name).\(property.name)' are dropped.")
            default: break
            }
        }
        for fill in fills { lines += fill.loop }
        if lines.isEmpty {
            lines.append(
                differences.isEmpty
                    ? "-- The schema does not change."
                    : "-- The schema says all that is to be done.")
        }
        return lines.map { "    \($0)\n" }.joined()
    }

    private func isRenamed(_ className: String, _ name: String) -> Bool {
        renames.contains { $0.candidate.className == className && $0.candidate.oldName == name }
    }

    private func isNewName(_ className: String, _ name: String) -> Bool {
        renames.contains { $0.candidate.className == className && $0.candidate.newName == name }
    }

    /// What a loop over the objects of a class does.
    private struct Fill {
        let className: String
        var lines: [String] = []
        var counts = false

        var loop: [String] {
            (counts ? ["local count = 0"] : [])
                + ["m:each(\(LuaLiteral.string(className)), function(old, new)"]
                + (counts ? ["  count = count + 1"] : []) + lines.map { "  \($0)" } + ["end)"]
        }
    }

    /// A loop for each class with properties that need values.
    private var fills: [Fill] {
        var fills: [Fill] = []
        func change(_ name: String, _ body: (inout Fill) -> Void) {
            if !fills.contains(where: { $0.className == name }) {
                fills.append(Fill(className: name))
            }
            // Because one was appended if there was none.
            let index = fills.firstIndex { $0.className == name }!
            body(&fills[index])
        }
        for difference in differences {
            switch difference {
            case .typeChanged(let name, let old, let new) where !new.isBacklinks:
                change(name) {
                    $0.lines.append(
                        "new\(LuaLiteral.field(new.name)) = \(Self.conversion(old, new))"
                            + "  -- from \(old.typeName) to \(new.typeName)")
                }
            case .madeRequired(let name, let property):
                let field = LuaLiteral.field(property.name)
                change(name) {
                    $0.lines.append(
                        property.type == .bool
                            ? "new\(field) = old\(field) == true  -- required from now on"
                            : "new\(field) = old\(field) or \(Self.zero(property))"
                                + "  -- required from now on: what where there was none?")
                }
            case .propertyAdded(let name, let property)
            where property.isSingle && !property.isOptional && property.defaultValue == nil
                && !isNewName(name, property.name):
                let field = LuaLiteral.field(property.name)
                change(name) {
                    $0.counts = $0.counts || (property.isPrimary && Self.key(property) != nil)
                    let value = property.isPrimary ? Self.key(property) : nil
                    $0.lines.append(
                        "new\(field) = \(value ?? Self.zero(property))"
                            + (property.isPrimary
                                ? "  -- the primary key: a value of its own for each"
                                : "  -- new and required (\(property.typeName)): what is it?"))
                }
            default: break
            }
        }
        return fills
    }

    /// What gives each object a key of its own by counting.
    private static func key(_ property: Property) -> String? {
        switch property.type {
        case .int: "count"
        case .string: "tostring(count)"
        default: nil
        }
    }

    private static func zero(_ property: Property) -> String {
        switch property.type {
        case .bool: "false"
        case .int: "0"
        case .float, .double: "0.0"
        case .string: "\"\""
        case .data: "moonpool.data(\"\")"
        case .date: "moonpool.date(0)"
        case .uuid: "moonpool.uuid()"
        case .objectID: "moonpool.object_id()"
        case .decimal: "moonpool.decimal(\"0\")"
        default: "nil"
        }
    }

    private static func conversion(_ old: Property, _ new: Property) -> String {
        let value = "old\(LuaLiteral.field(old.name))"
        if old.isSingle, new.isSingle {
            switch new.type {
            case .string:
                return old.isOptional && new.isOptional
                    ? "\(value) ~= nil and tostring(\(value)) or nil" : "tostring(\(value))"
            case .int:
                return "math.tointeger(tonumber(\(value)))" + (new.isOptional ? "" : " or 0")
            case .double, .float: return "tonumber(\(value))" + (new.isOptional ? "" : " or 0.0")
            case .mixed: return value
            default: break
            }
        }
        if new.collection == .list, old.isSingle, new.type == old.type, new.target == old.target {
            return "{ \(value) }"
        }
        if new.isSingle, old.collection == .list, new.type == old.type, new.target == old.target {
            return "\(value)[1]"
        }
        return new.isSingle ? zero(new) : "{}"
    }
}
