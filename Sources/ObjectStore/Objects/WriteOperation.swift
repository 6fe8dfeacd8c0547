import ColumnStorage

/// An operation of several changes that leaves nothing if it fails, such as the creation of a graph of objects.
///
/// The objects that it has created are deleted again. A savepoint before the first change of another object restores
/// everything else; an operation that only creates objects needs none.
final class WriteOperation {
    private let session: WriteSession
    private var created: [ObjectReference] = []
    /// The first of the created objects, as far as ``willChange(_:)`` has needed them.
    private var known: Set<ObjectReference> = []
    private var savepoint: (state: Savepoint, createdCount: Int)?

    init(_ session: WriteSession) { self.session = session }

    /// Records an object that was created.
    func didCreate(_ reference: ObjectReference) { created.append(reference) }

    /// Prepares the rollback of changes to an object.
    func willChange(_ reference: ObjectReference) throws {
        guard savepoint == nil else { return }
        known.formUnion(created[known.count...])
        guard !known.contains(reference) else { return }
        let state = try StoreError.wrapping(session.beginSavepoint())
        savepoint = (state, created.count)
    }

    /// Keeps the changes.
    func end() { if savepoint != nil { session.endSavepoint() } }

    /// Reverts the changes.
    func rollBack(_ writer: ObjectWriter) throws {
        if let savepoint {
            defer { session.endSavepoint() }
            try StoreError.wrapping(session.rollBack(to: savepoint.state))
            created.removeLast(created.count - savepoint.createdCount)
        }
        for reference in created.reversed() { try writer.deleteTree(reference) }
    }
}

extension ObjectWriter {
    /// Runs an operation that changes nothing if it throws.
    ///
    /// A nested operation is a part of the outer one.
    func atomically<Result>(_ body: () throws -> Result) throws -> Result {
        if store.operation != nil { return try body() }
        let operation = WriteOperation(session)
        store.operation = operation
        defer { store.operation = nil }
        do {
            let result = try body()
            operation.end()
            return result
        } catch {
            if store.view.snapshot.write === session {
                // because: a write that cannot be restored fails at its commit, and the caller needs the first error.
                try? operation.rollBack(self)
                store.didRevertChanges()
            }
            throw error
        }
    }
}

extension Store {
    /// Runs an operation in the open write that changes nothing if it throws.
    ///
    /// Throws `not_in_write`, and the errors of `body`.
    package func atomically<Result>(_ body: () throws -> Result) throws -> Result {
        try writer(changing: "the store").atomically(body)
    }
}
