import LuaHost
import ObjectStore

/// A handle of live content: a collection, results, values, sections or a projection.
///
/// Every kind of content is validated, frozen and thawed by the same methods.
protocol LiveHandle: AnyObject, SendableMetatype {
    var handle: StoreHandle { get }
    /// The version of the handle; nil for the live store.
    var frozen: FrozenSpace? { get }
    /// Whether the content can be read.
    var isValid: Bool { get }
    var luaClass: LuaClass<Self> { get }
    /// The content as a value of the store; nil for content that other threads cannot receive.
    var stored: ReferencedValue? { get }
    /// Returns the same content in a version, or in the live store if the space is nil; nil if it does not exist there.
    func moved(to space: FrozenSpace?) throws -> LuaValue?
}

extension LiveHandle {
    var bridge: ValueBridge { ValueBridge(handle, frozen) }
    var stored: ReferencedValue? { nil }

    /// Returns the function of a method; nil if the content does not have it.
    func method(_ name: String) -> LuaFunction? { handle.state.function(name, of: luaClass) }

    /// The methods `is_valid`, `is_frozen`, `freeze` and `thaw`.
    static var versions: [LuaMethod<Self>] {
        [
            LuaMethod("is_valid") { content, call in call.answer(.boolean(content.isValid)) },
            LuaMethod("is_frozen") { content, call in
                call.answer(.boolean(content.frozen != nil))
            },
            LuaMethod("freeze") { content, call in
                if content.frozen != nil { return call.answerArgument(1) }
                return call.answer(try content.moved(to: content.handle.frozenSpace()) ?? .nil)
            },
            LuaMethod("thaw") { content, call in
                if content.frozen == nil, content.isValid { return call.answerArgument(1) }
                try content.handle.store.check()
                return call.answer(try content.moved(to: nil) ?? .nil)
            },
        ]
    }

    func moved(to space: FrozenSpace?) throws -> LuaValue? {
        guard let stored else { return nil }
        let store = handle.store
        let moved = try space == nil ? store.thaw(stored) : store.freeze(stored)
        return moved.map { handle.userdata($0, at: space) }
    }
}

/// A handle of rows: objects, projections or values.
protocol RowsHandle: LiveHandle {
    /// Calls a function with the rows at the start of the loop.
    func forEachRow(_ body: (LuaValue) throws -> Void) throws
}

extension StoreHandle {
    /// The source of a version, or the live store if the space is nil.
    func source(at space: FrozenSpace?) -> ObjectSource {
        space.map { .frozen($0.view) } ?? .store(store)
    }
}
