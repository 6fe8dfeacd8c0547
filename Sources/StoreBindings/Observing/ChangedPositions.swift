import LuaHost
import ObjectStore

/// The changed indexes of a collection, or the changed keys of a map.
///
/// The indexes are converted only when read, because most observers read one of the lists, or none.
enum ChangedPositions {
    enum List: Int {
        case deletions, insertions, modifications, modificationsNew

        /// The name of the list in scripts.
        var name: String {
            switch self {
            case .deletions: "deletions"
            case .insertions: "insertions"
            case .modifications: "modifications"
            case .modificationsNew: "modifications_new"
            }
        }
    }

    case positions(
        deletions: [Int], insertions: [Int], modifications: [Int], modificationsNew: [Int])
    case keys(deletions: [String], insertions: [String], modifications: [String])

    /// Creates the indexes of a change; with `rows`, only those modifications that are in `rows`.
    init(_ change: CollectionChange, _ rows: ProjectedRows? = nil) throws {
        if let rows {
            self = .positions(
                deletions: change.deletions, insertions: change.insertions,
                modifications: rows.positions(change.modifications),
                modificationsNew: rows.positions(change.modificationsNew))
            return
        }
        if change.isOfMap {
            self = try .keys(
                deletions: change.deletedKeys, insertions: change.insertedKeys,
                modifications: change.modifiedKeys)
        } else {
            self = .positions(
                deletions: change.deletions, insertions: change.insertions,
                modifications: change.modifications, modificationsNew: change.modificationsNew)
        }
    }

    /// Returns a table of the values of a list; indexes are counted from 1.
    ///
    /// Throws `MemoryLimitReached` if the script does not have enough memory for it.
    func table(_ list: List, _ state: LuaState) throws -> LuaTable {
        switch self {
        case .positions: try state.makeTable(ofPositions: positions(list))
        case .keys: try state.makeTable(of: keys(list), LuaValue.text)
        }
    }

    /// Returns the length of a list.
    func count(_ list: List) -> Int {
        switch self {
        case .positions: positions(list).count
        case .keys: keys(list).count
        }
    }

    private func positions(_ list: List) -> [Int] {
        guard
            case .positions(
                let deletions, let insertions, let modifications, let modificationsNew) = self
        else { return [] }
        return switch list {
        case .deletions: deletions
        case .insertions: insertions
        case .modifications: modifications
        case .modificationsNew: modificationsNew
        }
    }

    private func keys(_ list: List) -> [String] {
        guard case .keys(let deletions, let insertions, let modifications) = self else { return [] }
        return switch list {
        case .deletions: deletions
        case .insertions: insertions
        case .modifications, .modificationsNew: modifications
        }
    }
}

extension LuaState {
    /// Creates a table of positions, which are counted from 1.
    ///
    /// Throws `MemoryLimitReached` if the script does not have enough memory for it.
    func makeTable(ofPositions positions: [Int]) throws -> LuaTable {
        try makeTable(of: positions) { .integer(Int64($0 + 1)) }
    }
}
