import LuaHost
import ObjectStore

/// A list whose elements have positions: of a property, or inside a mixed value.
protocol EditableList {
    func append(_ values: [Value]) throws
    func insert(_ value: Value, at index: Int) throws
    func remove(at index: Int) throws
    func move(from: Int, to destination: Int) throws
    func swap(_ first: Int, _ second: Int) throws
    func firstIndex(of value: Value) throws -> Int?
}

extension LiveList: EditableList {}
extension NestedCollection: EditableList {}

/// A handle of a list, which scripts change by index.
protocol PositionsHandle: LiveHandle {
    associatedtype Elements: EditableList
    var elements: Elements { get }
    /// Converts an element from a script.
    func value(_ value: LuaValue) throws -> Value
    /// Converts a value to search for.
    func valueToFind(_ value: LuaValue) throws -> Value
}

extension PositionsHandle {
    /// The methods that take or return positions.
    static var positions: [LuaMethod<Self>] {
        func changing(
            _ name: String, _ change: @escaping @Sendable (Self, borrowing LuaCall) throws -> Void
        ) -> LuaMethod<Self> {
            LuaMethod(name) { list, call in
                try change(list, call)
                return .none
            }
        }
        return [
            changing("append") { list, call in
                try list.elements.append(try call.rest(from: 2).map { try list.value($0) })
            },
            changing("insert") { list, call in
                let position = ScriptIndex.position(try call.integer(2))
                try list.elements.insert(try list.value(call[3]), at: position)
            },
            changing("remove") {
                try $0.elements.remove(at: ScriptIndex.position($1.integer(2)))
            },
            changing("move") {
                try $0.elements.move(
                    from: ScriptIndex.position($1.integer(2)),
                    to: ScriptIndex.position($1.integer(3)))
            },
            changing("swap") {
                try $0.elements.swap(
                    ScriptIndex.position($1.integer(2)), ScriptIndex.position($1.integer(3)))
            },
            LuaMethod("index_of") { list, call in
                let position = try list.elements.firstIndex(of: list.valueToFind(call[2]))
                return call.answer(position.map { .integer(Int64($0 + 1)) } ?? .nil)
            },
            LuaMethod("contains") { list, call in
                let position = try list.elements.firstIndex(of: list.valueToFind(call[2]))
                return call.answer(.boolean(position != nil))
            },
        ]
    }
}
