import ColumnStorage

/// A loop of a migration over the objects of a class, in the order of their creation.
package final class MigrationWalk {
    /// The class before the migration.
    package let oldClass: ClassSchema
    /// The class after the migration.
    package let newClass: ClassSchema
    /// The version with the old values of the objects.
    package let oldView: StoreView
    private let migration: Migration
    private var keys: ResultKeys.Iterator
    private let total: Int
    private let newRows: TableReader
    private var done = 0
    private var current: ObjectKey?

    /// The number of objects after which the clock is read again; slow objects lower it.
    private var step = 1
    private var nextReport = 0
    private var lastReport = ContinuousClock.now

    /// Creates a loop over all objects of a class.
    init(_ migration: Migration, _ oldClass: ClassSchema, _ newClass: ClassSchema) throws {
        self.migration = migration
        self.oldClass = oldClass
        self.newClass = newClass
        oldView = migration.old
        newRows = try migration.store.view.table(newClass)
        let present = try QueryEvaluator.keys(of: Query(all: oldClass), in: oldView)
        total = present.count
        keys = present.makeIterator()
        migration.didBegin(self)
    }

    /// Returns the key of the next object that still exists; nil at the end.
    ///
    /// Throws `invalid_argument` after the end of the migration, and the errors of a progress handler.
    package func next() throws -> ObjectKey? {
        try reportInTime()
        while let key = keys.next() {
            done += 1
            current = key
            if try newRows.isPresent(key) { return key }
            try reportInTime()
        }
        current = nil
        migration.didEnd(self)
        try report()
        return nil
    }

    /// The class and the identifier of the object that was returned last.
    package var currentName: String? {
        current.map {
            "\(newClass.name) "
                + oldView.name(of: ObjectReference(table: oldClass.table, key: $0))
        }
    }

    /// Reports the progress after as many objects as take about ten milliseconds.
    private func reportInTime() throws {
        guard done >= nextReport else { return }
        let now = ContinuousClock.now
        step = now - lastReport < .milliseconds(10) ? min(step * 2, 64) : max(step / 2, 1)
        lastReport = now
        nextReport = done + step
        try report()
    }

    /// Reports the progress of the loop.
    func report() throws {
        try migration.check()
        try migration.progressHandler?(oldClass.name, done, total)
    }

    /// Returns the object before the migration.
    package func oldObject(_ key: ObjectKey) -> LiveObject {
        LiveObject(.frozen(oldView), oldClass, key)
    }

    /// Returns the object in its new state.
    package func newObject(_ key: ObjectKey) -> LiveObject {
        LiveObject(.store(migration.store), newClass, key)
    }
}
