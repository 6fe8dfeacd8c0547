import ObjectStore

/// Notes in Moonpool, through its public interface.
final class MoonpoolNotes: NoteStore {
    private let store: Store

    init(_ folder: String) throws {
        let note = ClassSchema("Note", [Property("body", .string, isFullText: true)])
        store = try Store(
            StoreConfiguration(
                .file("\(folder)/notes.moonpool"), schema: [note], durability: .memory),
            scheduler: BenchmarkScheduler())
    }

    func fill(_ notes: Notes) throws {
        let note = try store.schema.require("Note")
        try store.write {
            for index in 0..<notes.count {
                _ = try store.create(note, positional: [.string(notes.text(index))])
            }
        }
    }

    func count(containing words: String) throws -> Int {
        try Results(.store(store), all: try store.schema.require("Note"))
            .filtered("body text $1", [.string(words)]).count()
    }
}
