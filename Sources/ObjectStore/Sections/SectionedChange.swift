/// What an observer of sections hears.
///
/// Positions start at 0 and ascend. Applied in this order they lead from the sections before to
/// those after: `sectionDeletions` (positions before), `sectionInsertions` (positions after), then
/// the row changes of each section that was there before and still is. Objects of sections that
/// came or went are not listed one by one; an object that moved to another section is deleted in the
/// one and inserted in the other.
public struct SectionedChange {
    /// Which call it is.
    public let kind: CollectionChange.Kind
    /// False once the object whose list or backlinks are grouped is gone; this is then the last call.
    public let isCollectionValid: Bool
    /// Where the sections were that are gone.
    public let sectionDeletions: [Int]
    /// Where the sections are that have come.
    public let sectionInsertions: [Int]
    /// The other sections in which something changed, in order.
    public let sections: [Rows]

    /// The row changes of one section; positions count from the start of the section.
    public struct Rows: Equatable {
        /// Where the section was.
        public let sectionBefore: Int
        /// Where the section is.
        public let section: Int
        /// The value that its objects have in common.
        public let key: Value
        /// Where the rows were that left.
        public fileprivate(set) var deletions: [Int] = []
        /// Where the rows are that entered.
        public fileprivate(set) var insertions: [Int] = []
        /// Where the modified rows were.
        public fileprivate(set) var modifications: [Int] = []
        /// Where the modified rows are.
        public fileprivate(set) var modificationsNew: [Int] = []

        fileprivate init(sectionBefore: Int, section: Int, key: Value) {
            self.sectionBefore = sectionBefore
            self.section = section
            self.key = key
        }

        fileprivate var isEmpty: Bool {
            deletions.isEmpty && insertions.isEmpty && modifications.isEmpty
        }
    }

    init(_ kind: CollectionChange.Kind, isCollectionValid: Bool = true) {
        self.kind = kind
        self.isCollectionValid = isCollectionValid
        sectionDeletions = []
        sectionInsertions = []
        sections = []
    }

    /// Every section is gone.
    init(losing count: Int) {
        kind = .update
        isCollectionValid = false
        sectionDeletions = Array(0..<count)
        sectionInsertions = []
        sections = []
    }

    /// The changes of all objects in one sequence, told section by section.
    init(
        _ positions: PositionChanges, from old: [(key: Scalar, count: Int)],
        to new: [(key: Scalar, count: Int)], _ rules: SectionRules
    ) {
        kind = .update
        isCollectionValid = true
        let before = Starts(old)
        let after = Starts(new)
        let newOfOld = old.map { section in
            rules.position(of: section.key, in: new) { $0.key }
        }
        var oldOfNew = [Int?](repeating: nil, count: new.count)
        for (place, found) in newOfOld.enumerated() {
            if let found { oldOfNew[found] = place }
        }
        sectionDeletions = newOfOld.indices.filter { newOfOld[$0] == nil }
        sectionInsertions = oldOfNew.indices.filter { oldOfNew[$0] == nil }
        var rows: [Int: Rows] = [:]
        func change(_ section: Int, _ was: Int, _ body: (inout Rows) -> Void) {
            body(
                &rows[
                    section,
                    default: Rows(
                        sectionBefore: was, section: section, key: rules.value(new[section].key))])
        }
        for position in positions.deletions {
            let (was, row) = before.locate(position)
            if let section = newOfOld[was] { change(section, was) { $0.deletions.append(row) } }
        }
        for position in positions.insertions {
            let (section, row) = after.locate(position)
            if let was = oldOfNew[section] { change(section, was) { $0.insertions.append(row) } }
        }
        for (position, next) in zip(positions.modifications, positions.modificationsNew) {
            let (was, row) = before.locate(position)
            let (section, rowNow) = after.locate(next)
            change(section, was) {
                $0.modifications.append(row)
                $0.modificationsNew.append(rowNow)
            }
        }
        sections = rows.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether there is nothing to tell.
    var isEmpty: Bool {
        sectionDeletions.isEmpty && sectionInsertions.isEmpty && sections.isEmpty
    }
}

/// Where sections begin in the sequence of all objects.
private struct Starts {
    private var starts: [Int] = []

    init(_ sections: [(key: Scalar, count: Int)]) {
        var next = 0
        for section in sections {
            starts.append(next)
            next += section.count
        }
    }

    /// The section and the row in it of a position below the number of objects.
    func locate(_ position: Int) -> (section: Int, row: Int) {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        return (low, position - starts[low])
    }
}
