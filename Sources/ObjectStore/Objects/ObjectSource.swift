/// The source of a handle's reads: a store that moves to newer versions, or one frozen version.
package enum ObjectSource {
    /// A live store.
    case store(Store)
    /// One version that never changes.
    case frozen(StoreView)

    /// The view to read; the access does not check whether the store is open.
    package var view: StoreView {
        switch self {
        case .store(let store): store.view
        case .frozen(let view): view
        }
    }

    /// Whether the source can be read.
    package var isOpen: Bool {
        switch self {
        case .store(let store): !store.isClosed
        case .frozen(let view): !view.isClosed
        }
    }

    /// Returns the view to read.
    ///
    /// Throws `closed` and `wrong_thread`.
    package func openView() throws -> StoreView {
        switch self {
        case .store(let store):
            try store.check()
        case .frozen(let view):
            guard !view.isClosed else {
                throw StoreError(
                    .closed, "this frozen version was closed; freeze the live store again")
            }
        }
        return view
    }

    /// Returns the store to write to.
    ///
    /// Throws `frozen` for a frozen version.
    package func writableStore() throws -> Store {
        switch self {
        case .store(let store): return store
        case .frozen:
            throw StoreError(
                .frozen, "this is a frozen version and cannot change; use the live object instead")
        }
    }

    /// Returns whether both are the same store, or frozen views of the same file and version.
    package func isSame(as other: ObjectSource) -> Bool {
        switch (self, other) {
        case (.store(let left), .store(let right)): left === right
        case (.frozen(let left), .frozen(let right)):
            left === right
                || (left.version == right.version && left.snapshot.file === right.snapshot.file)
        default: false
        }
    }
}
