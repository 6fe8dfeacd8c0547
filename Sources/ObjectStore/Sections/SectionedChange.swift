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
        sectionDeletions = removed
        sectionInsertions = come
        sections = rows.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether there is no change to report.
    var isEmpty: Bool {
        sectionDeletions.isEmpty && sectionInsertions.isEmpty && sections.isEmpty
    }
}
