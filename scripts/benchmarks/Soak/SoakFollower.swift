import ObjectStore

/// An observer of the soak test that knows the expected changes.
protocol SoakFollower: AnyObject {
    /// A description of the subject.
    var title: String { get }
    /// Whether the received changes do not lead to the current state.
    func isWrong() throws -> Bool
}

/// Applies the changes of a collection to a copy of it.
final class CollectionFollower: SoakFollower {
    let title: String
    private let read: () throws -> [Value]
    private var values: [Value] = []
    /// Whether it received a change that does not fit its copy.
    private var isBroken = false
    private var token: NotificationToken?

    init(
        _ title: String, read: @escaping () throws -> [Value], _ counter: SoakCounter,
        observe: (@escaping (CollectionChange) throws -> Void) throws -> NotificationToken
    ) throws {
        self.title = title
        self.read = read
        token = try observe { [unowned self] change in
            counter.calls += 1
            switch change.kind {
            case .initial: values = try read()
            case .update: if fits(change) { try apply(change) } else { isBroken = true }
            case .error(let error): throw error
            }
        }
    }

    /// Whether the indexes of a change fit the copy.
    private func fits(_ change: CollectionChange) -> Bool {
        let left = values.count - change.deletions.count
        let count = left + change.insertions.count
        let fits =
            change.deletions.allSatisfy(values.indices.contains)
            && zip(change.insertions, left...).allSatisfy { $0 <= $1 }
            && change.modificationsNew.allSatisfy { $0 < count }
        if !fits {
            printError(
                "\(title): of \(values.count) rows \(change.deletions.count) are deleted, "
                    + "\(change.insertions.count) inserted, the last at "
                    + "\(change.insertions.last ?? -1); since version "
                    + "\(change.versionBefore?.version ?? 0)")
        }
        return fits
    }

    private func apply(_ change: CollectionChange) throws {
        func elements(_ objects: [ObjectReference], _ plain: [Value]) -> [Value] {
            change.isOfValues ? plain : objects.map(Value.object)
        }
        for position in change.deletions.reversed() { values.remove(at: position) }
        let inserted = try elements(change.insertedObjects, change.insertedValues)
        for (position, value) in zip(change.insertions, inserted) {
            values.insert(value, at: position)
        }
        let modified = try elements(change.modifiedObjects, change.modifiedValues)
        for (position, value) in zip(change.modificationsNew, modified) { values[position] = value }
    }

    func isWrong() throws -> Bool { try isBroken || values != read() }
}

/// Records the last received value of each property.
final class ObjectFollower: SoakFollower {
    let title: String
    private let object: LiveObject
    private var told: [String: Value] = [:]
    private var token: NotificationToken?

    init(_ title: String, _ object: LiveObject, _ keyPaths: [String], _ counter: SoakCounter) throws
    {
        self.title = title
        self.object = object
        // A missed change would be detected by the value.
        for property in object.classSchema.properties
        where property.isSingle && !property.isBacklinks {
            told[property.name] = try object.value(property.name)
        }
        token = try object.observe(keyPaths: keyPaths) { [unowned self] change in
            counter.calls += 1
            // Lists, sets and maps have other followers.
            for property in change.properties where told[property.name] != nil {
                told[property.name] = try property.new
            }
        }
        if !keyPaths.isEmpty { told = told.filter { keyPaths.contains($0.key) } }
    }

    func isWrong() throws -> Bool {
        try told.contains { name, value in try object.value(name) != value }
    }
}

/// Counts sections that are inserted and deleted.
final class SectionsFollower: SoakFollower {
    let title: String
    private let sections: SectionedResults
    private var count = 0
    private var token: NotificationToken?

    init(_ title: String, _ sections: SectionedResults, _ counter: SoakCounter) throws {
        self.title = title
        self.sections = sections
        token = try sections.observe { [unowned self] change in
            counter.calls += 1
            if case .initial = change.kind { count = try sections.count() }
            count += change.sectionInsertions.count - change.sectionDeletions.count
        }
    }

    func isWrong() throws -> Bool { try count != sections.count() }
}

/// The number of calls of the followers.
final class SoakCounter {
    var calls = 0
}
