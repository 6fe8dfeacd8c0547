/// A report to an observer of sections.
///
/// Positions start at 0 and ascend. Applied in this order they lead from the sections before to
/// those after: `sectionDeletions` (positions before), `sectionInsertions` (positions after), then
/// the row changes of each section that was there before and still is. Objects of sections that
/// came or went are not listed one by one; an object that moved to another section is deleted in the
/// one and inserted in the other.
package struct SectionedChange {
    /// Which call it is.
    package let kind: CollectionChange.Kind
    /// False once the object whose list or backlinks are grouped is gone; this is then the last call.
    package let isCollectionValid: Bool
    /// Where the sections were that are gone.
    package let sectionDeletions: [Int]
    /// Where the sections are that have come.
    package let sectionInsertions: [Int]
    /// The other sections in which something changed, in order.
    package let sections: [Rows]

    /// The row changes of one section; positions count from the start of the section.
    package struct Rows: Equatable {
        /// Where the section was.
        package let sectionBefore: Int
        /// Where the section is.
        package let section: Int
        /// The value that its objects have in common.
        package let key: Value
        /// Where the rows were that left.
        package fileprivate(set) var deletions: [Int] = []
        /// Where the rows are that entered.
        package fileprivate(set) var insertions: [Int] = []
        /// Where the modified rows were.
        package fileprivate(set) var modifications: [Int] = []
        /// Where the modified rows are.
        package fileprivate(set) var modificationsNew: [Int] = []

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

    /// The changes of all objects in one sequence, reported section by section.
    ///
    /// A section that is gone has lost a row, and one that has come has gained one: only the sections of changed rows
    /// are looked at.
    init(
        _ positions: CollectionChangeSet, from old: SectionSequence, to new: SectionSequence,
        _ rules: SectionRules
    ) {
        kind = .update
        isCollectionValid = true
        var gone: [Int] = []
        var come: [Int] = []
        var rows: [Int: Rows] = [:]
        func change(
            _ section: Int, _ was: Int, _ key: Scalar, _ body: (inout Rows) -> Void
        ) {
            body(
                &rows[
                    section,
                    default: Rows(sectionBefore: was, section: section, key: rules.value(key))])
        }
        // Positions ascend, so that those of a section follow one another.
        var known: (was: Int, section: Int?) = (-1, nil)
        for position in positions.deletions {
            guard let (was, key, row) = old.section(ofRow: position) else { continue }
            if was != known.was { known = (was, new.place(of: key, by: rules)) }
            if let section = known.section {
                change(section, was, key) { $0.deletions.append(row) }
            } else if gone.last != was {
                gone.append(was)
            }
        }
        var found: (section: Int, was: Int?) = (-1, nil)
        for position in positions.insertions {
            guard let (section, key, row) = new.section(ofRow: position) else { continue }
            if section != found.section { found = (section, old.place(of: key, by: rules)) }
            if let was = found.was {
                change(section, was, key) { $0.insertions.append(row) }
            } else if come.last != section {
                come.append(section)
            }
        }
        for (position, next) in zip(positions.modifications, positions.modificationsNew) {
            guard let (was, _, row) = old.section(ofRow: position),
                let (section, key, rowNow) = new.section(ofRow: next)
            else { continue }
            change(section, was, key) {
                $0.modifications.append(row)
                $0.modificationsNew.append(rowNow)
            }
        }
        sectionDeletions = gone
        sectionInsertions = come
        sections = rows.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether there is nothing to report.
    var isEmpty: Bool {
        sectionDeletions.isEmpty && sectionInsertions.isEmpty && sections.isEmpty
    }
}
