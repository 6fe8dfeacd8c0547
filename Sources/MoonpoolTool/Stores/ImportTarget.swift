import DataFormats
import EventLoops
import ObjectStore
import SystemCalls

/// The store of an import; a failed import leaves no new file behind.
struct ImportTarget {
    private let path: String
    private let store: Store
    private let isNew: Bool

    /// Opens or creates the store; a dry run creates no file.
    init(_ path: String, isDryRun: Bool, isBatched: Bool) throws {
        self.path = path
        let exists = ProcessServices.size(of: path) != nil
        guard !isDryRun || exists else {
            isNew = false
            store = try CommandStore.openInMemory()
            return
        }
        isNew = !exists
        // Batches that were committed before an interruption are kept.
        if isNew, !isBatched { UnfinishedFiles.add(Self.files(path)) }
        do {
            store = try CommandStore.open(path, isReadOnly: false)
        } catch {
            if isNew {
                UnfinishedFiles.forget(Self.files(path))
                Self.files(path).forEach(ProcessServices.remove)
            }
            throw error
        }
    }

    /// Runs the import.
    func run<Result>(_ work: (Store) throws -> Result) throws -> Result {
        defer { if isNew { UnfinishedFiles.forget(Self.files(path)) } }
        do {
            return try work(store)
        } catch {
            // With batches, some data may have been committed.
            let isEmpty = store.view.schema.classes.isEmpty
            store.close()
            if isNew, isEmpty { Self.files(path).forEach(ProcessServices.remove) }
            throw error
        }
    }

    /// Returns the paths of the files that belong to a store.
    private static func files(_ path: String) -> [String] {
        ["", "-lock", "-log"].map { path + $0 }
    }
}
