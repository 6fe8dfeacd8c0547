/// The objects that one operation has created so far, to delete them if it fails.
final class CreatedObjects {
    private var references: [ObjectReference] = []

    /// Records an object.
    func note(_ reference: ObjectReference) { references.append(reference) }

    /// Deletes them, newest first.
    func delete(_ writer: ObjectWriter) throws {
        for reference in references.reversed() { try writer.deleteTree(reference) }
    }
}

extension ObjectWriter {
    /// Runs an operation that may create objects, and deletes those if it throws.
    ///
    /// Inside another such operation it is a part of that one.
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

    /// The same writer outside the current operation: objects that an existing object now links to stay, even if the
    /// operation fails.
    var alone: ObjectWriter { ObjectWriter(store, session) }
}
