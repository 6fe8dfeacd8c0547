import LuaHost

/// The metatables of the tables that observers receive, so that printing a table shows the change:
/// `dog:observe(print)`.
///
/// In all other respects these are plain tables, and workers receive them as such.
final class ChangeMetatables {
    /// The metatable for changes of an object.
    let ofObjects: LuaTable
    /// The metatable for changes of sections.
    let ofSections: LuaTable

    /// The maximum number of properties printed with their values.
    private static let shownProperties = 4

    init(_ state: LuaState) {
        func make(_ text: @escaping (LuaTable) throws -> String) -> LuaTable {
            let metatable = state.makeTable(fields: 1)
            metatable["__tostring"] = .function(
                state.makeFunction("tostring") { call in
                    call.answer(.text("change { \(try text(call.table(1))) }"))
                })
            return metatable
        }
        ofObjects = make { [unowned state] in try Self.text(ofObjectChange: $0, state) }
        ofSections = make { [unowned state] in try Self.text(ofSections: $0, state) }
    }

    /// Returns whether a metatable is one of these two.
    func contains(_ metatable: LuaTable) -> Bool {
        metatable == ofObjects || metatable == ofSections
    }

    private static func text(ofObjectChange table: LuaTable, _ state: LuaState) throws -> String {
        switch table["type"].text {
        case "error": return try failure(table, state)
        case "deleted": return "deleted"
        default: break
        }
        let properties = table["properties"].table?.array ?? []
        var texts = try properties.prefix(shownProperties).compactMap(\.table).map { entry in
            let values = try [entry["old"], entry["new"]].map { try state.describe($0).description }
            return "\(try state.describe(entry["name"])): \(values.joined(separator: " -> "))"
        }
        if properties.count > shownProperties {
            texts.append("… \(properties.count - shownProperties) more")
        }
        return texts.joined(separator: ", ")
    }

    private static func text(ofSections table: LuaTable, _ state: LuaState) throws -> String {
        switch table["type"].text {
        case "error": return try failure(table, state)
        case "initial": return "initial"
        default: break
        }
        return ["section_deletions", "section_insertions", "sections"]
            .map { "\($0) = \(table[$0].table?.array.count ?? 0)" }.joined(separator: ", ")
    }

    private static func failure(_ table: LuaTable, _ state: LuaState) throws -> String {
        "error: \(try state.describe(table["error"]))"
    }
}
