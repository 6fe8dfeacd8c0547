import ColumnStorage
import ObjectStore

/// The objects of a query in groups with the same value: lazy and live, like ``Results``.
///
/// Each distinct value has one section, and the sections are in the order of the values.
///
/// ```swift
/// let byAge = store.all(Dog.self).sorted(by: \.name).sectioned(by: \.age)
/// for (age, dogs) in byAge { print(age ?? 0, dogs.map(\.name)) }
/// for try await change in byAge.changes() { print(change.sections.count) }
/// ```
public struct Sections<Key: StoredValue, M: Model>: Sequence {
    private let table: ModelTable
    private let content: SectionedResults

    init(_ table: ModelTable, _ content: SectionedResults) {
        self.table = table
        self.content = content
    }

    private func read<R>(_ body: (SectionedResults) throws -> R) -> R {
        do { return try body(content) } catch { ModelContext.trap(error) }
    }

    private func section(
        _ section: (key: Value, objects: ObjectStore.Results)
    ) throws -> (key: Key, objects: Results<M>) {
        (try Key(stored: table.context.mixed(section.key)), Results(table, section.objects))
    }

    /// The number of sections.
    public var count: Int { read { try $0.count() } }
    /// Whether there are no sections.
    public var isEmpty: Bool { count == 0 }
    /// The values of the sections, in order.
    public var keys: [Key] {
        read { try $0.keys().map { try Key(stored: table.context.mixed($0)) } }
    }
    /// The section at an index.
    ///
    /// The objects are live: they follow later changes of the value. An index out of range ends the program.
    public subscript(index: Int) -> (key: Key, objects: Results<M>) {
        read { try section($0.section(at: index)) }
    }
    /// Returns the objects with a value; empty if there are none.
    public subscript(key key: Key) -> Results<M> {
        read { Results(table, try $0.objects(withKey: key.stored.engineValue)) }
    }
    /// Whether the sections can be read.
    public var isValid: Bool { content.isValid }

    /// Returns a copy of the current sections.
    public func makeIterator() -> AnyIterator<(key: Key, objects: Results<M>)> {
        let sections = read { content in
            try content.keys().map { try section(($0, content.objects(withKey: $0))) }
        }
        var index = 0
        return AnyIterator {
            guard index < sections.count else { return nil }
            defer { index += 1 }
            return sections[index]
        }
    }
    /// The number of sections.
    public var underestimatedCount: Int { count }
}

extension Sections: ChangeReporting {
    /// The source of changes of the sections.
    public var _changes: LiveChanges<SectionsChange<Key, M>, Fields<M>> {
        let (context, content) = (table.context, self.content)
        return LiveChanges(
            ChangeSource(context: context) { keyPaths, handler in
                try content.observe(keyPaths: keyPaths) { change in
                    handler(
                        Result { try Self.change(change, content, context) },
                        !change.isCollectionValid)
                }
            })
    }

    private static func change(
        _ change: SectionedChange, _ content: SectionedResults, _ context: ModelContext
    ) throws -> SectionsChange<Key, M> {
        if case .error(let error) = change.kind { throw error }
        let sections = FrozenSections<Key, M>(
            try FrozenVersion.of(context), query: content.results.query, paths: content.paths)
        if case .initial = change.kind { return .initial(sections) }
        return .update(
            sections, deletions: change.sectionDeletions, insertions: change.sectionInsertions,
            changes: try change.sections.map {
                SectionChange(
                    key: try Key(stored: context.mixed($0.key)),
                    sectionBefore: $0.sectionBefore, section: $0.section,
                    deletions: $0.deletions, insertions: $0.insertions,
                    modifications: $0.modificationsNew)
            })
    }
}

/// A report to an observer of ``Sections``.
///
/// Indexes start at 0 and ascend. The objects of new and removed sections are not listed. An object that moves to
/// another section is deleted in the old section and inserted in the new one.
///
/// ```swift
/// for try await change in byAge.changes() {
///     guard case .update(let sections, let deletions, let insertions, let changes) = change else { continue }
///     print(sections.count, deletions, insertions, changes.map(\.section))
/// }
/// ```
public enum SectionsChange<Key: StoredValue, M: Model>: Sendable {
    /// The first change, with the current sections.
    case initial(FrozenSections<Key, M>)
    /// Sections have changed. Deletions are indexes of sections before the change; insertions and changes refer to
    /// sections after it.
    case update(
        FrozenSections<Key, M>, deletions: [Int], insertions: [Int], changes: [SectionChange<Key>])

    /// The sections in the version after the change.
    public var sections: FrozenSections<Key, M> {
        switch self {
        case .initial(let sections), .update(let sections, _, _, _): sections
        }
    }
}

/// The changed rows of one section; indexes count from the start of the section.
public struct SectionChange<Key: StoredValue>: Sendable {
    /// The value of the section.
    public let key: Key
    /// The index of the section before the change.
    public let sectionBefore: Int
    /// The index of the section after the change.
    public let section: Int
    /// The deleted rows, before the change.
    public let deletions: [Int]
    /// The inserted rows, after the change.
    public let insertions: [Int]
    /// The modified rows, after the change.
    public let modifications: [Int]
}

/// The sections of a query in one version: a collection for any thread.
///
/// The sections are computed when they are first accessed. They keep their version readable. Release them soon.
public struct FrozenSections<Key: StoredValue, M: Model>: RandomAccessCollection, Sendable {
    private let content: FrozenContent<[(key: Value, query: Query)]>

    init(_ version: FrozenVersion, query: Query, paths: [(path: String, ascending: Bool)]) {
        content = FrozenContent(version, query) { results in
            let grouped = try SectionedResults(results, by: paths)
            return try grouped.keys().map { ($0, try grouped.objects(withKey: $0).query) }
        }
    }

    private var sections: [(key: Value, query: Query)] {
        do { return try content.get() } catch { ModelContext.trap(error) }
    }

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of sections.
    public var endIndex: Int { sections.count }
    /// The section at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> (key: Key, objects: FrozenResults<M>) {
        let sections = sections
        precondition(sections.indices.contains(index), "index \(index) is out of range")
        do {
            return (
                try Key(stored: Mixed(sections[index].key)),
                FrozenResults(content.version, sections[index].query)
            )
        } catch {
            ModelContext.trap(error)
        }
    }
}
