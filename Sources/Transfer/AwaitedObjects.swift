import ObjectStore

/// The objects whose rows have not been read, each with the row that linked to it first.
///
/// New objects have consecutive keys, so the table has pages of adjacent keys. For a file whose links lead far ahead,
/// the table takes 16 bytes for each object, less than a hash table.
struct AwaitedObjects {
    private struct Location {
        var line = 0
        var table: UInt32 = 0
    }

    private struct Page {
        /// One bit for each key.
        var present: UInt64 = 0
        var locations = [Location](repeating: Location(), count: 64)
    }

    private struct PageName: Hashable {
        let table: TableID
        let number: Int64

        init(_ object: ObjectReference) {
            table = object.table
            number = object.key.rawValue >> 6
        }
    }

    private var pages: [PageName: Page] = [:]
    /// The tables of the locations; the first entry is unused.
    private var tables: [String?] = [nil]
    private var tableNumbers: [String?: UInt32] = [nil: 0]

    /// Whether no objects are awaited.
    var isEmpty: Bool { pages.isEmpty }

    private static func bit(of object: ObjectReference) -> (index: Int, mask: UInt64) {
        let index = Int(truncatingIfNeeded: object.key.rawValue & 63)
        return (index, 1 << UInt64(index))
    }

    /// Returns whether an object is awaited.
    func contains(_ object: ObjectReference) -> Bool {
        guard !pages.isEmpty, let page = pages[PageName(object)] else { return false }
        return page.present & Self.bit(of: object).mask != 0
    }

    /// Adds an object, with the row that links to it.
    mutating func insert(_ object: ObjectReference, _ location: RowLocation) {
        let (index, mask) = Self.bit(of: object)
        let location = Location(line: location.line, table: number(of: location.table))
        let name = PageName(object)
        pages[name, default: Page()].present |= mask
        pages[name]?.locations[index] = location
    }

    private mutating func number(of table: String?) -> UInt32 {
        if let known = tableNumbers[table] { return known }
        let number = UInt32(tables.count)
        tables.append(table)
        tableNumbers[table] = number
        return number
    }

    /// Removes an object; returns false if the object is not awaited.
    @discardableResult
    mutating func remove(_ object: ObjectReference) -> Bool {
        guard !pages.isEmpty else { return false }
        let (_, mask) = Self.bit(of: object)
        let name = PageName(object)
        guard let present = pages[name]?.present, present & mask != 0 else { return false }
        if present == mask { pages[name] = nil } else { pages[name]?.present = present & ~mask }
        return true
    }

    /// All objects with their rows, in no particular order.
    var all: [(object: ObjectReference, location: RowLocation)] {
        pages.flatMap { name, page in
            page.locations.indices.compactMap { index in
                guard page.present >> UInt64(index) & 1 != 0 else { return nil }
                let key = ObjectKey(rawValue: name.number << 6 | Int64(index))
                let location = page.locations[index]
                return (
                    ObjectReference(table: name.table, key: key),
                    RowLocation(table: tables[Int(location.table)], line: location.line)
                )
            }
        }
    }
}
