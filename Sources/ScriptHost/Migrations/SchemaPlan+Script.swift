import ObjectStore
import Reference

extension SchemaPlan {
    /// The destination of a planned migration.
    enum Destination {
        /// Standard output.
        case output
        /// The first file of a folder.
        case firstFile
        /// The next file of a folder, after the file with this identity.
        case nextFile(parent: String?)
        /// The next file of a folder, which adopts changes that were made to a store outside of the migrations.
        case adoption(parent: String)
        /// A file of a folder that repeats changes by `store:define` since a version.
        case session(parent: String?, isFirst: Bool, since: UInt64, function: String?)
    }

    /// Returns the plan as an editable migration script.
    ///
    /// The next file of a folder contains only the differences; other scripts contain the complete schema. A rename that
    /// the user did not confirm is performed and marked, so that no data is lost. If several renames are possible, the
    /// script fails until the user has chosen.
    func script(for subject: String, to destination: Destination) -> String {
        let name = subject.split(separator: "/").last.map(String.init) ?? subject
        var lines: [String] = []
        var isDelta = false
        var changedTypes: [String] = []
        switch destination {
        case .output:
            lines += [
                "-- A migration of \(name), written by moonpool migrate plan. Review it, complete the marked lines, and",
                "-- save it with the next number, such as 0002_add_owners.lua.", "return {",
            ]
        case .firstFile:
            lines += [
                "-- The first migration of \(name): the schema that migrations start from.",
                "return {",
            ]
        case .nextFile(let parent):
            isDelta = true
            lines += [
                "-- The next migration of \(name), written by moonpool migrate plan. Review it and complete the marked lines.",
                "return {",
            ]
            if let parent { lines.append("  parent = \(LuaLiteral.string(parent)),") }
        case .session(let parent, let isFirst, let version, _):
            isDelta = !isFirst
            lines += [
                "-- The changes of the schema of \(name) since version \(version), as they were made with store:define.",
                "return {",
            ]
            if let parent { lines.append("  parent = \(LuaLiteral.string(parent)),") }
        case .adoption(let parent):
            lines += [
                "-- Adopts the changes that were made to \(name) outside of the migrations. Other stores receive them when",
                "-- this is applied: review the effect on their values.",
                "return {",
                "  parent = \(LuaLiteral.string(parent)),",
                "  adopts = \(LuaLiteral.string(name)),",
            ]
        }
        if case .session(_, _, _, let function) = destination, function == nil {
            changedTypes = differences.compactMap {
                if case .propertyChanged(let name, .type, let old, _) = $0 {
                    "\(name).\(old.name)"
                } else {
                    nil
                }
            }
        }
        if isDelta {
            lines.append("  -- The differences in the schema.")
            lines.append("  changes = \(changes),")
        } else {
            lines.append("  -- The complete schema after the migration.")
            lines.append("  schema = \(SchemaDocument(wanted).lua(indent: 2)),")
        }
        if case .firstFile = destination { return (lines + ["}", ""]).joined(separator: "\n") }
        let drops = drops(isDelta: isDelta) + changedTypes
        if !drops.isEmpty {
            lines.append(
                "  -- Properties and classes to remove. The values of renamed properties are kept.")
            lines.append(
                "  drops = { \(drops.map { LuaLiteral.string($0) }.joined(separator: ", ")) },")
        }
        if case .session(_, _, _, let function) = destination {
            if let function { lines += ["", "  up = \(function),"] }
            return (lines + ["}", ""]).joined(separator: "\n")
        }
        if !choices.isEmpty {
            lines.append(
                "  -- After the choice in up, add to drops: "
                    + chosenNames.map { LuaLiteral.string($0) }.joined(separator: ", "))
        }
        lines.append("")
        lines.append("  up = function(m)")
        lines += up.map { "    \($0)" }
        lines.append("  end,")
        let down = down
        if !down.isEmpty {
            lines.append("")
            lines.append("  down = function(m)")
            lines += down.map { "    \($0)" }
            lines.append("  end,")
        }
        return (lines + ["}", ""]).joined(separator: "\n")
    }

    /// The classes of the new schema with their differences.
    private var changes: String {
        let classes = wanted.compactMap { new -> ClassSchema? in
            guard let old = before.first(where: { $0.name == oldName(ofClass: new.name) }),
                old.name == new.name
            else { return new }
            let properties = new.properties.filter { property in
                guard let stored = old.property(named: property.name) else { return true }
                return !SchemaDelta.isSame(stored, property)
            }
            let sameIndexes =
                old.indexes.map(\.summary).sorted() == new.indexes.map(\.summary).sorted()
            guard !properties.isEmpty || !sameIndexes || old.isEmbedded != new.isEmbedded else {
                return nil
            }
            return ClassSchema(
                new.name, properties, isEmbedded: new.isEmbedded,
                indexes: sameIndexes ? [] : new.indexes)
        }
        return SchemaDocument(classes).lua(indent: 2)
    }

    /// Returns the classes and properties that the new schema no longer has, and whose values have no choice.
    private func drops(isDelta: Bool) -> [String] {
        var result: [String] = []
        let undecided = chosenNames
        for difference in differences {
            switch difference {
            case .classRemoved(let name) where !undecided.contains(name): result.append(name)
            case .propertyRemoved(let name, let property)
            where (isDelta || !movesAway(name, property.name))
                && !undecided.contains("\(name).\(property.name)"):
                result.append("\(name).\(property.name)")
            case .propertyChanged(let name, .type, let old, let new)
            where receives(name, new.name) && !movesAway(name, old.name)
                && !undecided.contains("\(name).\(old.name)"):
                result.append("\(name).\(old.name)")
            case .classRenamed(let from, _) where isDelta: result.append(from)
            default: break
            }
        }
        return result
    }

    /// The old properties and classes from which the user has to choose.
    private var chosenNames: [String] {
        Set(
            choices.joined().map { candidate in
                (candidate.className.map { "\($0)." } ?? "") + candidate.oldName
            }
        ).sorted()
    }

    private var up: [String] {
        var lines = renameSteps.map { candidate, isMarked in
            candidate.call
                + (isMarked
                    ? "  -- RENAMED? A guess. Delete this line if '\(candidate.newName)' is something new"
                    : "")
        }
        for choice in choices {
            let names = Set(choice.map(\.oldName)).sorted().joined(separator: ", ")
            lines.append(
                "-- CHOOSE: several renames are possible. Keep those that are right, or none, and delete the line 'error'."
            )
            lines += choice.map { "-- \($0.call)" }
            lines.append(
                "error "
                    + LuaLiteral.string(
                        "choose what keeps the values of \(names)"
                            + (choice[0].className.map { " of \($0)" } ?? "")))
        }
        lines += fills(Fill.up)
        if lines.isEmpty {
            lines.append(
                differences.isEmpty
                    ? "-- The schema does not change."
                    : "-- Nothing to do beyond the schema: values are kept, and converted if the conversion is exact."
            )
        }
        return lines
    }

    /// The code that reverses `up`; empty if values would be lost.
    private var down: [String] {
        guard !differences.isEmpty else { return [] }
        var lines = renameSteps.reversed().map { $0.candidate.reversed.call }
        for choice in choices {
            lines.append("-- CHOOSE: reverse the renames of up.")
            lines += choice.map { "-- \($0.reversed.call)" }
        }
        lines += fills(Fill.down)
        for name in drops(isDelta: false) {
            lines.append("-- The values of '\(name)' were dropped.")
        }
        return lines.isEmpty ? ["-- Nothing to do beyond the schema."] : lines
    }

    /// The body of a loop over the objects of a class.
    private struct Fill {
        enum Direction { case up, down }
        static let up = Direction.up
        static let down = Direction.down

        let className: String
        var lines: [String] = []
        var counts = false

        var loop: [String] {
            (counts ? ["local count = 0"] : [])
                + ["m:each(\(LuaLiteral.string(className)), function(old, new)"]
                + (counts ? ["  count = count + 1"] : []) + lines.map { "  \($0)" } + ["end)"]
        }
    }

    /// Returns a loop for each class with properties that need code.
    private func fills(_ direction: Fill.Direction) -> [String] {
        var fills: [Fill] = []
        func change(_ name: String, _ body: (inout Fill) -> Void) {
            if !fills.contains(where: { $0.className == name }) {
                fills.append(Fill(className: name))
            }
            // The index exists, because an element was appended if there was none.
            let index = fills.firstIndex { $0.className == name }!
            body(&fills[index])
        }
        for difference in differences {
            switch (difference, direction) {
            case (.propertyChanged(let name, .type, let old, let new), _)
            where !new.isBacklinks && !old.isBacklinks && !movesAway(name, old.name)
                && !receives(name, new.name):
                let (from, to) = direction == .up ? (old, new) : (new, old)
                let className = direction == .up ? name : oldName(ofClass: name)
                guard let lines = PropertyConversion(from, to).lines else { continue }
                change(className) { $0.lines += lines }
            case (.propertyChanged(let name, .required, _, let property), .up)
            where property.defaultValue == nil:
                guard property.isSingle else { continue }
                change(name) { fill in
                    let field = LuaLiteral.field(property.name)
                    fill.lines.append(
                        "if new\(field) == nil then error(tostring(old) .. \": "
                            + "\(name).\(property.name) is required\") end  -- or set a value here"
                    )
                }
            case (.propertyAdded(let name, let property), .up)
            where property.isSingle && !property.isOptional && property.defaultValue == nil
                && !receives(name, property.name) && !isNewClass(name):
                let field = LuaLiteral.field(property.name)
                change(name) {
                    let value = property.isPrimary ? PropertyConversion.key(property) : nil
                    $0.counts = $0.counts || value != nil
                    $0.lines.append(
                        "new\(field) = \(value ?? PropertyConversion.zero(property))"
                            + (property.isPrimary
                                ? "  -- the primary key: a different value for each object"
                                : "  -- new and required (\(property.typeName)): which value?"))
                }
            default: break
            }
        }
        return fills.flatMap(\.loop)
    }

    private func isNewClass(_ name: String) -> Bool {
        differences.contains { if case .classAdded(name) = $0 { true } else { false } }
    }
}

/// The Lua code that converts the value of a property to another type.
struct PropertyConversion {
    private let old: Property
    private let new: Property

    init(_ old: Property, _ new: Property) {
        self.old = old
        self.new = new
    }

    /// The lines of a loop; nil if the engine converts every value exactly without code.
    var lines: [String]? {
        let (from, field) = ("old\(LuaLiteral.field(old.name))", "new\(LuaLiteral.field(new.name))")
        let change = "from \(old.typeName) to \(new.typeName)"
        guard old.isSingle, new.isSingle else { return collectionLines(from, field, change) }
        guard let expression = expression(from) else {
            if new.type == .mixed || old.type == .int && new.type == .decimal
                || old.type == .float && new.type == .double
            {
                return nil
            }
            if new.type == .string, ![.object, .mixed, .data].contains(old.type) { return nil }
            return [
                "error(tostring(old) .. \": decide how to convert '\(old.name)' (\(change))\")"
            ]
        }
        let failure =
            "or error(tostring(old) .. \": \(old.name) = \" .. tostring(\(from)) .. \" does not convert \(change)\")"
        if old.isOptional || old.type == .mixed {
            return [
                "if \(from) ~= nil then \(field) = \(expression) \(failure) end"
            ]
        }
        if new.type == .bool {
            return [
                "if \(from) ~= \(expression.falsehood) and \(from) ~= \(expression.truth) then "
                    + "error(tostring(old) .. \": \(old.name) = \" .. tostring(\(from)) .. \" does not convert \(change)\") end",
                "\(field) = \(from) == \(expression.truth)",
            ]
        }
        return ["\(field) = \(expression) \(failure)"]
    }

    private struct Expression: CustomStringConvertible {
        var description: String
        var truth = ""
        var falsehood = ""
    }

    /// Returns the expression that computes the new value; the expression is nil or raises an error for values that
    /// cannot be converted.
    private func expression(_ value: String) -> Expression? {
        switch (old.type, new.type) {
        case (.string, .int), (.double, .int), (.float, .int), (.decimal, .int), (.mixed, .int):
            return Expression(
                description: "math.tointeger(tonumber(\(value == "" ? "nil" : text(value))))")
        case (.string, .double), (.string, .float), (.mixed, .double), (.mixed, .float),
            (.decimal, .double), (.decimal, .float):
            return Expression(description: "tonumber(\(text(value)))")
        case (.double, .float), (.int, .double), (.int, .float):
            return Expression(description: value)
        case (.string, .decimal), (.double, .decimal), (.float, .decimal), (.mixed, .decimal):
            return Expression(description: "moonpool.decimal(\(text(value)))")
        case (.string, .date), (.mixed, .date):
            return Expression(description: "moonpool.date(\(value))")
        case (.string, .uuid), (.mixed, .uuid):
            return Expression(description: "moonpool.uuid(\(value))")
        case (.string, .objectID), (.mixed, .objectID):
            return Expression(description: "moonpool.object_id(\(value))")
        case (.string, .data): return Expression(description: "moonpool.data(\(value))")
        case (.string, .bool):
            return Expression(
                description: "\(value) == \"true\"", truth: "\"true\"", falsehood: "\"false\"")
        case (.int, .bool):
            return Expression(description: "\(value) == 1", truth: "1", falsehood: "0")
        case (.data, .string), (.mixed, .string):
            return Expression(description: "tostring(\(value))")
        default: return nil
        }
    }

    private func text(_ value: String) -> String {
        [.decimal, .double, .float].contains(old.type) && new.type != .int || old.type == .decimal
            ? "tostring(\(value))" : value
    }

    private func collectionLines(_ from: String, _ field: String, _ change: String) -> [String]? {
        if new.collection == .list, old.isSingle, new.type == old.type, new.target == old.target {
            return nil
        }
        if new.isSingle, old.collection == .list, new.type == old.type, new.target == old.target {
            return [
                "if #\(from) > 1 then error(tostring(old) .. \": '\(old.name)' has several values (\(change))\") end",
                "\(field) = \(from)[1]",
            ]
        }
        if old.isSet, new.isList, new.type == old.type { return nil }
        // The elements become required.
        if old.collection == new.collection, new.type == old.type, new.target == old.target {
            return nil
        }
        return ["error(tostring(old) .. \": decide how to convert '\(old.name)' (\(change))\")"]
    }

    /// Returns the expression that derives a unique key from the count of the objects; nil for types without one.
    static func key(_ property: Property) -> String? {
        switch property.type {
        case .int: "count"
        case .string: "tostring(count)"
        default: nil
        }
    }

    /// Returns the initial value of a property's type.
    static func zero(_ property: Property) -> String {
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
}
