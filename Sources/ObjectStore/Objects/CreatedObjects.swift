/// The objects that one operation has created so far, to delete them if it fails.
final class CreatedObjects {
    private var references: [ObjectReference] = []

    /// Records an object.
    func note(_ reference: ObjectReference) { references.append(reference) }

    /// Deletes the recorded objects, the newest first.
    func delete(_ writer: ObjectWriter) throws {
        for reference in references.reversed() { try writer.deleteTree(reference) }
    }
}

extension ObjectWriter {
    /// Runs an operation that may create objects, and deletes those if it throws.
    ///
    /// A nested operation is a part of the outer one.
    func undoingCreation<Result>(_ body: (ObjectWriter) throws -> Result) throws -> Result {
        if created != nil { return try body(self) }
        var noting = self
        let created = CreatedObjects()
        noting.created = created
        do {
            return try body(noting)
        } catch {
            if store.view.snapshot.write === session { try created.delete(self) }
            throw error
        }
    }

    /// A writer that does not belong to the current operation.
    ///
    /// The objects that it creates are kept even if the operation fails, because existing objects may link to them.
    var alone: ObjectWriter { ObjectWriter(store, session) }
}
