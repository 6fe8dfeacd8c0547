/// The objects that one operation has created so far, so that none of them stays if it fails.
final class CreatedObjects {
    private var references: [ObjectReference] = []

    /// Remembers an object.
    func note(_ reference: ObjectReference) { references.append(reference) }

    /// Deletes them; those that hold others first, whose links need not be searched then.
    func delete(_ writer: ObjectWriter) throws {
        for reference in references.reversed() { try writer.deleteTree(reference) }
    }
}

extension ObjectWriter {
    /// Runs an operation that may create objects; if it throws, those are gone again.
    ///
    /// Inside of another such operation it is a part of that one.
    func undoingCreation<Result>(_ body: (ObjectWriter) throws -> Result) throws -> Result {
        if created != nil { return try body(self) }
        var noting = self
        let created = CreatedObjects()
        noting.created = created
        do {
            return try body(noting)
        } catch {
            try created.delete(self)
            throw error
        }
    }

    /// The same writer outside of the operation it is in: what an object that was there before links to stays, whatever
    /// becomes of those that are being created.
    var alone: ObjectWriter { ObjectWriter(store, session) }
}
