import ColumnStorage

/// The objects of a query grouped by a value, lazy and live like ``Results``.
///
/// There is a section for every occurring value, in the order of the values (nil first, or last in descending order).
/// Inside a section, the objects are in the order of the results. A section is created with its first object and
/// removed with its last one. The sections are confined to the store's thread.
///
/// Every member that reads throws `closed` and `wrong_thread`.
package final class SectionedResults {
    /// The grouped objects.
    package let results: Results
    /// The key paths whose values determine the sections, each in ascending or descending order.
    package let paths: [(path: String, ascending: Bool)]

    /// The key paths as one text.
    package var keyPath: String { paths.map(\.path).joined(separator: ", ") }

    private(set) var rules: SectionRules
    /// The schema for which the rules were created.
    private var created: Schema
    private var kept: SectionKeys?

    /// Groups results without running the query.
    ///
    /// A path may also have an operation or an index, such as `items.@count`, or lead into a mixed value. With several
    /// paths, the value of a section is a list. Throws `invalid_query` without a path, and for a path that defines no
    /// order because it is unknown, ends in a link or data, or goes through a list.
    package init(_ results: Results, by keys: [(path: String, ascending: Bool)]) throws {
        guard !keys.isEmpty else {
            throw StoreError(.invalidQuery, "sections need at least one key path")
        }
        let schema = try results.source.openView().schema
        let classSchema = try results.classSchema()
        let sortKeys = try keys.map {
            try SortKey($0.path, ascending: $0.ascending, class: classSchema, schema: schema)
        }
        created = schema
        rules = SectionRules(results.query, sortKeys)
        self.results = results
        self.paths = keys
    }

    private init(_ results: Results, _ other: SectionedResults) {
        self.results = results
        (rules, created, paths) = (other.rules, other.created, other.paths)
    }

    /// Whether the results can be read, as in ``Results/isValid``.
    package var isValid: Bool { results.isValid }

    /// Returns the number of sections.
    ///
    /// The first call at a version reads the value of every object.
    package func count() throws -> Int { try sections().all.count }

    /// Returns the values of the sections, in order.
    package func keys() throws -> [Value] { try sections().all.map { rules.value($0.key) } }

    /// Returns the value of a section and its objects.
    ///
    /// The objects are live: they always match the current values. Throws `out_of_range` past the end.
    package func section(at position: Int) throws -> (key: Value, objects: Results) {
        let sections = try sections()
        guard sections.all.indices.contains(position) else {
            throw StoreError.outside(position, of: "the \(sections.all.count) sections")
        }
        let section = sections.section(at: position)
        return (rules.value(section.key), objects(of: section))
    }

    /// Returns the objects with a value; the result may be empty.
    ///
    /// Throws `type_mismatch` for a value of another type.
    package func objects(withKey key: Value) throws -> Results {
        let scalar = try rules.scalar(key)
        if let kept, results.source.isOpen, kept.stamp == ViewStamp(results.source.view),
            let position = rules.position(of: scalar, in: kept.all, by: \.key)
        {
            return objects(of: kept.section(at: position))
        }
        return Results(results.source, rules.query(of: scalar))
    }

    private func objects(of section: SectionKeys.Section) -> Results {
        Results(results.source, rules.query(of: section.key), of: section)
    }

    /// Returns the position of the section with a value; nil if no object has it.
    package func index(ofKey key: Value) throws -> Int? {
        let scalar = try rules.scalar(key)
        return rules.position(of: scalar, in: try sections().all, by: \.key)
    }

    /// Returns the same sections on another view or store of the file, such as a frozen one.
    package func moved(to source: ObjectSource) -> SectionedResults {
        SectionedResults(results.moved(to: source), self)
    }

    private func sections() throws -> SectionKeys {
        let view = try results.source.openView()
        if let (store, _) = results.source.tracked {
            for path in paths { try store.recordRead(of: results.query, path: path.path) }
        }
        let stamp = ViewStamp(view)
        if let kept, kept.stamp == stamp { return kept }
        if created !== view.schema {
            rules = try rules.remade(for: view.schema)
            created = view.schema
        }
        let found = SectionKeys(try rules.keys(of: results.keys(), in: view), rules.ordered, view)
        kept = found
        return found
    }
}

/// The sections at one version, and their objects if several sections are read.
///
/// A filter finds the objects of one section in a scan of all objects. For many sections, this would take time
/// quadratic in their number, so the objects of all sections are sorted once instead.
final class SectionKeys {
    /// One section, whose objects are read on demand.
    struct Section {
        fileprivate let owner: SectionKeys
        fileprivate let position: Int

        /// The version whose objects are known.
        var stamp: ViewStamp { owner.stamp }
        var key: Scalar { owner.all[position].key }
        /// The number of objects.
        var count: Int { owner.all[position].count }

        /// Returns the keys in the view with the ``stamp``; nil if a filter should find them.
        func keys(in view: StoreView) throws -> ResultKeys? {
            try owner.keys(at: position, in: view)
        }
    }

    /// The number of reads with filters, which together cost about as much as sorting.
    private static let filters = 32

    let stamp: ViewStamp
    /// The sections in order, with the number of their objects.
    let all: [(key: Scalar, count: Int)]
    private let ordered: Query
    private var reads = 0
    /// The objects in the order of the sections, and the position of the first one of each section.
    private var sorted: (keys: ResultKeys, starts: [Int])?

    init(_ all: [(key: Scalar, count: Int)], _ ordered: Query, _ view: StoreView) {
        stamp = ViewStamp(view)
        self.all = all
        self.ordered = ordered
    }

    func section(at position: Int) -> Section {
        assert(all.indices.contains(position), "there is a section at the position")
        return Section(owner: self, position: position)
    }

    private func keys(at position: Int, in view: StoreView) throws -> ResultKeys? {
        reads += 1
        if sorted == nil, reads > Self.filters {
            let keys = try QueryEvaluator.keys(of: ordered, in: view)
            var start = 0
            let starts = all.map { section in
                defer { start += section.count }
                return start
            }
            assert(start == keys.count, "the sections have all objects")
            sorted = (keys, starts)
        }
        return sorted.map {
            $0.keys[$0.starts[position]..<$0.starts[position] + all[position].count]
        }
    }
}

extension Results {
    /// Returns the objects grouped by the value of a key path.
    ///
    /// Throws `invalid_query` for a path that defines no order.
    package func grouped(by keyPath: String, ascending: Bool = true) throws -> SectionedResults {
        try SectionedResults(self, by: [(keyPath, ascending)])
    }
}

/// A report to an observer of sections.
///
/// Positions start at 0 and ascend. Applied in this order, the changes turn the old sections into the new ones:
/// `sectionDeletions` (positions before), `sectionInsertions` (positions after), then the row changes of each section
/// that exists before and after. The objects of inserted and deleted sections are not listed. An object that moved to
/// another section is deleted in the old one and inserted in the new one.
package struct SectionedChange {
    /// The kind of call.
    package let kind: CollectionChange.Kind
    /// Whether the object that owns the grouped list or backlinks still exists; if false, this is the last call.
    package let isCollectionValid: Bool
    /// The positions of the deleted sections before the change.
    package let sectionDeletions: [Int]
    /// The positions of the inserted sections after the change.
    package let sectionInsertions: [Int]
    /// The other sections that changed, in order.
    package let sections: [Rows]

    /// The row changes of one section; positions count from the start of the section.
    package struct Rows: Equatable {
        /// The position of the section before the change.
        package let sectionBefore: Int
        /// The position of the section after the change.
        package let section: Int
        /// The value that the objects of the section share.
        package let key: Value
        /// The positions of the removed rows before the change.
        package fileprivate(set) var deletions: [Int] = []
        /// The positions of the added rows after the change.
        package fileprivate(set) var insertions: [Int] = []
        /// The positions of the modified rows before the change.
        package fileprivate(set) var modifications: [Int] = []
        /// The positions of the modified rows after the change.
        package fileprivate(set) var modificationsNew: [Int] = []

        fileprivate init(sectionBefore: Int, section: Int, key: Value) {
            self.sectionBefore = sectionBefore
            self.section = section
            self.key = key
        }
    }

    init(_ kind: CollectionChange.Kind, isCollectionValid: Bool = true) {
        self.kind = kind
        self.isCollectionValid = isCollectionValid
        sectionDeletions = []
        sectionInsertions = []
        sections = []
    }

    /// Creates a change that deletes every section.
    init(losing count: Int) {
        kind = .update
        isCollectionValid = false
        sectionDeletions = Array(0..<count)
        sectionInsertions = []
        sections = []
    }

    /// Creates the changes by section from the changes of all objects in one sequence.
    ///
    /// Every deleted section has lost a row and every inserted one has gained a row, so only the sections of changed
    /// rows are read.
    init(
        _ positions: CollectionChangeSet, from old: SectionSequence, to new: SectionSequence,
        _ rules: SectionRules
    ) {
        kind = .update
        isCollectionValid = true
        var removed: [Int] = []
        var come: [Int] = []
        var rows: [Int: Rows] = [:]
        func change(
            _ section: Int, was: Int, key: Scalar, _ body: (inout Rows) -> Void
        ) {
            body(
                &rows[
                    section,
                    default: Rows(sectionBefore: was, section: section, key: rules.value(key))])
        }
        // Positions ascend, so those of one section are adjacent.
        var known: (was: Int, section: Int?) = (-1, nil)
        for position in positions.deletions {
            guard let (was, key, row) = old.section(ofRow: position) else { continue }
            if was != known.was { known = (was, new.position(of: key, by: rules)) }
            if let section = known.section {
                change(section, was: was, key: key) { $0.deletions.append(row) }
            } else if removed.last != was {
                removed.append(was)
            }
        }
        var found: (section: Int, was: Int?) = (-1, nil)
        for position in positions.insertions {
            guard let (section, key, row) = new.section(ofRow: position) else { continue }
            if section != found.section { found = (section, old.position(of: key, by: rules)) }
            if let was = found.was {
                change(section, was: was, key: key) { $0.insertions.append(row) }
            } else if come.last != section {
                come.append(section)
            }
        }
        for (position, next) in zip(positions.modifications, positions.modificationsNew) {
            guard let (was, _, row) = old.section(ofRow: position),
                let (section, key, rowNow) = new.section(ofRow: next)
            else { continue }
            change(section, was: was, key: key) {
                $0.modifications.append(row)
                $0.modificationsNew.append(rowNow)
            }
        }
        assert(
            Self.isAscending(removed) && Self.isAscending(come),
            "the positions of the sections ascend")
        sectionDeletions = removed
        sectionInsertions = come
        sections = rows.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func isAscending(_ positions: [Int]) -> Bool {
        zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// Whether there is no change to report.
    var isEmpty: Bool {
        sectionDeletions.isEmpty && sectionInsertions.isEmpty && sections.isEmpty
    }
}
