import LuaHost
import ObjectStore

/// A change of the schema that a script made with `store:define`.
///
/// The data before the change stays readable as long as the history of the version is kept, so that a migration that
/// repeats the change can be rehearsed on it.
package final class Definition {
    /// The version before the change.
    package let base: UInt64
    /// The schema before the change.
    package let before: Schema
    /// The classes after the change.
    package let after: [ClassSchema]
    /// The migration function; nil for none.
    package let function: LuaFunction?
    /// Whether the store had no objects before the change.
    package let wasEmpty: Bool
    /// The store before the change; nil if it had no objects, or after its history was removed.
    package private(set) var view: StoreView?

    init(_ base: DefinitionBase, after: [ClassSchema], function: LuaFunction?) {
        self.base = base.version
        before = base.schema
        self.after = after
        self.function = function
        wasEmpty = base.view == nil
        view = base.view
    }

    func forgetData() { view = nil }
}

/// The store before a change of its schema.
struct DefinitionBase {
    let version: UInt64
    let schema: Schema
    /// The data; nil if the store has no objects.
    let view: StoreView?
}

extension StoreHandle {
    /// Returns the store before a change by `store:define`.
    func definitionBase() throws -> DefinitionBase {
        let isEmpty = try schema.classes.allSatisfy { try store.view.count(of: $0) == 0 }
        let keepsData = !isEmpty && store.configuration.maximumLiveVersions == nil
        return DefinitionBase(
            version: store.version, schema: schema,
            view: keepsData ? try store.frozenView(for: module.holder) : nil)
    }

    /// Records a change by `store:define`.
    func noteDefinition(since base: DefinitionBase, _ function: LuaFunction?) {
        guard store.version > base.version else { return }
        definitions.append(
            Definition(base, after: schema.classes.map(\.unplaced), function: function))
        guard base.view != nil else { return }
        store.advanceHandler = { [weak self] in self?.forgetOldDefinitions() }
    }

    private var schema: Schema { store.schema }

    /// Releases the versions that are older than the history, because they take space in the file.
    private func forgetOldDefinitions() {
        let kept = UInt64(clamping: store.configuration.history)
        for definition in definitions where definition.base + kept < store.version {
            definition.forgetData()
        }
        if definitions.allSatisfy({ $0.view == nil }) { store.advanceHandler = nil }
    }

    /// Returns the changes of the schema since a version that this script made, oldest first; by default all.
    package func definitions(since version: UInt64?) -> [Definition] {
        definitions.filter { version ?? 0 <= $0.base }
    }

    /// Forgets the changes that a migration repeats.
    package func forgetDefinitions() {
        definitions = []
        migratedVersion = store.version
        store.advanceHandler = nil
    }
}
