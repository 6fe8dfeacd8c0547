import LMDBStorage

/// The stored entries of an index, in two levels.
///
/// The *base* has nearly all entries. The *run* has the changes of bulk writes to a large index that are not merged into
/// the base yet: the added entries and the removed ones, each in blocks of their own. Changes at random positions would
/// rewrite every block of the base in each commit. The run is much smaller, and each bulk write merges only a part of it
/// into the base.
///
/// * The entries are those of the base without the removed ones, and the added ones.
/// * Every removed entry is in the base.
/// * Small indexes, and indexes whose changes were always small, have no run; they cost one test of ``IndexTables/hasRuns``.
final class IndexLevels<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>
    typealias Change = IndexChange<Value>
    typealias Blocks = IndexBlocks<Value>

    struct Run {
        let added: Blocks
        let removed: Blocks
    }

    private let tables: IndexTables
    private let base: Blocks
    @exclusivity(unchecked) private var cachedRun: Run?
    /// Whether both parts of the run were empty at a state of their pages.
    @exclusivity(unchecked) private var knownEmpty: (state: UInt64, isEmpty: Bool) = (0, true)

    init(table: TableID, column: ColumnID, tables: IndexTables) {
        self.tables = tables
        base = Blocks(table: table, column: column, pages: tables.pages(.base))
    }

    /// Returns the run; nil if it is empty.
    @inline(__always)
    private func run(_ transaction: TransactionHandle) throws(StorageError) -> Run? {
        tables.hasRuns ? try findRun(transaction) : nil
    }

    private func findRun(_ transaction: TransactionHandle) throws(StorageError) -> Run? {
        let run = makeRun()
        // Generations only grow.
        let state = run.added.pages.generation &+ run.removed.pages.generation
        if knownEmpty.state != state {
            var isEmpty = try run.added.isEmpty(in: transaction)
            if isEmpty { isEmpty = try run.removed.isEmpty(in: transaction) }
            knownEmpty = (state, isEmpty)
        }
        return knownEmpty.isEmpty ? nil : run
    }

    private func makeRun() -> Run {
        if let cachedRun { return cachedRun }
        let created = Run(
            added: base.level(tables.pages(.added)), removed: base.level(tables.pages(.removed)))
        cachedRun = created
        return created
    }

    // MARK: Reading

    /// Returns whether there are no entries in the base, and no added ones.
    func isEmpty(in transaction: TransactionHandle) throws(StorageError) -> Bool {
        guard try base.isEmpty(in: transaction) else { return false }
        return try run(transaction)?.added.isEmpty(in: transaction) ?? true
    }

    /// Returns the number of pages in the table with the base, which other indexes share.
    func pages(in transaction: TransactionHandle) throws(StorageError) -> Int {
        try transaction.statistics(base.table).pages
    }

    /// Returns the first row with a value.
    @inline(__always)
    func find(
        _ value: Value, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        let found = try base.find(value, in: transaction)
        guard let run = try run(transaction) else { return found }
        return try find(value, besides: found, run, transaction)
    }

    private func find(
        _ value: Value, besides found: ObjectKey?, _ run: Run, _ transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        guard let found else { return try run.added.find(value, in: transaction) }
        guard try run.removed.find(value, in: transaction) == nil else {
            return try keys(equalTo: value, in: transaction).first
        }
        return Swift.min(found, try run.added.find(value, in: transaction) ?? found)
    }

    /// Returns all rows with a value, ascending and with the duplicates in the index.
    func keys(
        equalTo value: Value, atMost maximum: Int = .max, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        guard let run = try run(transaction) else {
            return try base.keys(equalTo: value, atMost: maximum, in: transaction)
        }
        let removed = try run.removed.keys(equalTo: value, in: transaction)
        let added = try run.added.keys(equalTo: value, in: transaction)
        let keys = try base.keys(
            equalTo: value, atMost: maximum.saturatingAdd(removed.count), in: transaction)
        if removed.isEmpty, added.isEmpty { return keys }
        var result: [ObjectKey] = []
        var (nextRemoved, nextAdded) = (0, 0)
        for key in keys {
            while nextAdded < added.count, added[nextAdded] < key {
                result.append(added[nextAdded])
                nextAdded += 1
            }
            if nextRemoved < removed.count, removed[nextRemoved] == key {
                nextRemoved += 1
            } else {
                result.append(key)
            }
        }
        return result + added[nextAdded...]
    }

    /// Calls `body` with the entries of values from `lower` on and below `upper` until it returns false.
    ///
    /// They are ordered by value, then by key. A nil `upper` means an open end. The bytes of a value are valid only
    /// during the call.
    func forEachEntry(
        from lower: Value, below upper: Value?, in transaction: TransactionHandle,
        _ body: (_ value: Value, _ key: ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) {
        guard let run = try run(transaction) else {
            return try base.forEachEntry(from: lower, below: upper, in: transaction, body)
        }
        func isBelowUpper(_ entry: Entry) -> Bool {
            upper.map { entry.value.compare($0) < 0 } ?? true
        }
        func give(_ entry: Entry) throws(StorageError) -> Bool {
            guard isBelowUpper(entry) else { return false }
            return try body(entry.value, ObjectKey(entry.key))
        }
        var merge = try IndexMerge(IndexRunReader(run, from: lower, transaction))
        var continues = true
        try base.forEachEntry(from: lower, below: upper, in: transaction) {
            (value, key) throws(StorageError) in
            continues = try merge.pass(Entry(value: value, key: key.rawValue), give)
            return continues
        }
        if continues { try merge.finish(below: isBelowUpper, give) }
    }

    /// Calls `body` with the rows in a range of values until it returns false, in the order of the index.
    func forEachKey(
        from lower: Value, below upper: Value?, in transaction: TransactionHandle,
        _ body: (ObjectKey) -> Bool
    ) throws(StorageError) {
        if try run(transaction) == nil {
            return try base.forEachKey(from: lower, below: upper, in: transaction, body)
        }
        try forEachEntry(from: lower, below: upper, in: transaction) { body($1) }
    }

    /// Returns the number of entries in a range of values; may stop counting above `maximum`.
    func count(
        from lower: Value, below upper: Value?, atMost maximum: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        func count(_ blocks: Blocks, _ maximum: Int) throws(StorageError) -> Int {
            try blocks.count(from: lower, below: upper, atMost: maximum, in: transaction)
        }
        guard let run = try run(transaction) else { return try count(base, maximum) }
        let removed = try count(run.removed, .max)
        return try count(base, maximum.saturatingAdd(removed)) - removed + count(run.added, maximum)
    }

    /// Calls `body` with an entry that no stored one exceeds, in the memory of the call; nil if there is none.
    func withGreatest(
        in transaction: TransactionHandle, _ body: (Entry?) -> Void
    ) throws(StorageError) {
        var scratch = (GrowableBuffer<UInt8>(), GrowableBuffer<UInt8>())
        defer {
            scratch.0.deallocate()
            scratch.1.deallocate()
        }
        var greatest = try base.greatest(&scratch.0, in: transaction)
        if let other = try run(transaction)?.added.greatest(&scratch.1, in: transaction),
            greatest.map({ $0.compare(other) < 0 }) ?? true
        {
            greatest = other
        }
        body(greatest)
    }

    // MARK: Changing

    func removeAll(in transaction: TransactionHandle) throws(StorageError) {
        try base.removeAll(in: transaction)
        // Even if no run is known: the table may have been removed, with its head.
        let run = makeRun()
        try run.added.removeAll(in: transaction)
        try run.removed.removeAll(in: transaction)
    }

    /// Merges the sums of a log, and a tail of entries that are greater than all stored ones.
    func merge(
        _ sums: UnsafeBufferPointer<Change>, _ tail: UnsafeBufferPointer<Entry>,
        in transaction: TransactionHandle
    ) throws(StorageError) {
        guard let first = tail.first else { return try merge(sums, transaction) }
        if sums.last.map({ $0.entry.compare(first) < 0 }) ?? true {
            try merge(sums, transaction)
            return try write(base, transaction) { (writer) throws(StorageError) in
                try writer.append(tail)
            }
        }
        let changes = Change.adding(tail, to: sums)
        defer { changes.deallocate() }
        try merge(UnsafeBufferPointer(changes.elements), transaction)
    }

    private func merge(
        _ changes: UnsafeBufferPointer<Change>, _ transaction: TransactionHandle
    ) throws(StorageError) {
        guard !changes.isEmpty else { return }
        let pages = tables.canBeBulk(changes.count) ? try pages(in: transaction) : 0
        let isBulk = tables.isBulk(changes.count, pages: pages)
        if isBulk { tables.willWriteRun() }
        guard let run = try isBulk ? makeRun() : run(transaction) else {
            return try merge(changes, into: base, transaction)
        }
        // The parts need memory for a copy.
        for start in stride(from: 0, to: changes.count, by: 1 << 16) {
            let end = Swift.min(changes.count, start + 1 << 16)
            try merge(
                UnsafeBufferPointer(rebasing: changes[start..<end]), beside: run, isBulk: isBulk,
                transaction)
        }
        guard isBulk else { return }
        // With this many blocks in the run, rewriting them costs as much as merging a part of them into the base.
        let maximum = Int((Double(changes.count) * Double(pages) / 128).squareRoot())
        try shrink(run.added, to: maximum, by: changes.count, sign: 1, transaction)
        try shrink(run.removed, to: maximum, by: changes.count, sign: -1, transaction)
    }

    /// Applies changes to the run as far as they revert its own, and the others to the run or the base.
    private func merge(
        _ changes: UnsafeBufferPointer<Change>, beside run: Run, isBulk: Bool,
        _ transaction: TransactionHandle
    ) throws(StorageError) {
        // All of these have positive numbers.
        var added = Change.select(changes, sign: 1)
        var removed = Change.select(changes, sign: -1)
        defer {
            added.deallocate()
            removed.deallocate()
        }
        try write(run.removed, transaction) { (writer) throws(StorageError) in
            try writer.take(&added)
        }
        try write(run.added, transaction) { (writer) throws(StorageError) in
            try writer.take(&removed)
        }
        try merge(
            UnsafeBufferPointer(added.elements), into: isBulk ? run.added : base, transaction)
        if !isBulk { Change.negate(removed) }
        try merge(
            UnsafeBufferPointer(removed.elements), into: isBulk ? run.removed : base, transaction)
    }

    /// Merges a part of the added or removed entries into the base if they have more than `maximum` blocks: about as
    /// many entries as a write has changed.
    private func shrink(
        _ part: Blocks, to maximum: Int, by changes: Int, sign: Int32,
        _ transaction: TransactionHandle
    ) throws(StorageError) {
        let count = try part.blockCount(in: transaction)
        guard count > maximum else { return }
        var due = changes / 256 + (count - maximum) / 8 + 1
        // Multiples of the golden ratio spread the parts of subsequent versions evenly.
        let share = (Double(transaction.version) * 0.618_033_988_75)
            .truncatingRemainder(dividingBy: 1)
        var start = try part.key(ofBlock: Int(share * Double(count)), in: transaction)
        var entries = GrowableBuffer<Entry>()
        var arena = BytesArena()
        defer {
            entries.deallocate()
            arena.deallocate()
        }
        while due > 0 {
            entries.truncate(to: 0)
            arena.removeAll()
            let taken = try part.takeBlocks(
                atMost: Swift.min(due, 256), from: start, into: &entries, &arena, in: transaction)
            if taken == 0 {
                // After the last block comes the first one.
                guard start != nil else { return }
                start = nil
            }
            due -= taken
            let merged = Change.all(entries, change: sign)
            defer { merged.deallocate() }
            try merge(UnsafeBufferPointer(merged.elements), into: base, transaction)
        }
    }

    private func merge(
        _ changes: UnsafeBufferPointer<Change>, into blocks: Blocks,
        _ transaction: TransactionHandle
    ) throws(StorageError) {
        guard !changes.isEmpty else { return }
        try write(blocks, transaction) { (writer) throws(StorageError) in
            try writer.merge(changes)
        }
    }

    private func write(
        _ blocks: Blocks, _ transaction: TransactionHandle,
        _ body: (inout IndexBlockWriter<Value>) throws(StorageError) -> Void
    ) throws(StorageError) {
        var writer = IndexBlockWriter(blocks, transaction)
        defer { writer.deallocate() }
        try body(&writer)
    }
}

/// The LMDB tables with the index blocks of one table, and whether its indexes have runs.
///
/// The ``TableHead`` records whether there are runs, so that reading an index without one needs no search for it.
final class IndexTables {
    /// Whether an index may have a run.
    @exclusivity(unchecked) private(set) var hasRuns: Bool
    /// The number of pages from which an index can have a run.
    private let minPages: Int
    /// Returns the table with the blocks of a level.
    let pages: (IndexLevel) -> IndexPages

    init(minPages: Int, hasRuns: Bool = false, pages: @escaping (IndexLevel) -> IndexPages) {
        self.minPages = minPages
        self.hasRuns = hasRuns
        self.pages = pages
    }

    /// Follows the head of the table that is read.
    func follow(_ head: TableHead) { hasRuns = head.hasIndexRuns }

    /// Must be called before the first run is written.
    func willWriteRun() { hasRuns = true }

    /// Returns whether there is a number of pages with which changes are bulk changes.
    func canBeBulk(_ changes: Int) -> Bool { changes >= minPages / 8 }

    /// Returns whether changes are so many that they would rewrite much of an index, and so few that most of each block
    /// would remain.
    func isBulk(_ changes: Int, pages: Int) -> Bool {
        pages >= minPages && changes >= pages / 8 && changes <= pages * 32
    }
}

/// Reads the changes of a run in the order of the entries.
final class IndexRunReader<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>

    /// The entries of the current block of one part.
    private struct Part: ~Copyable {
        private let blocks: IndexBlocks<Value>
        private let transaction: TransactionHandle
        private let cursor: Cursor
        private let lower: Value
        private var isStarted = false
        private var isAtEnd = false
        private var entries = GrowableBuffer<Entry>()
        private var arena = BytesArena()
        private var next = 0

        init(
            _ blocks: IndexBlocks<Value>, from lower: Value, _ transaction: TransactionHandle
        ) throws(StorageError) {
            self.blocks = blocks
            self.transaction = transaction
            self.lower = lower
            cursor = try transaction.cursor(blocks.table)
        }

        deinit {
            entries.deallocate()
            arena.deallocate()
        }

        var first: Entry? { next < entries.count ? entries[next] : nil }
        var last: Entry? { next < entries.count ? entries.last : nil }

        mutating func removeFirst() { next += 1 }

        /// Reads the next block if all entries of the last one were taken.
        mutating func fill() throws(StorageError) {
            while next == entries.count, !isAtEnd {
                next = 0
                entries.truncate(to: 0)
                arena.removeAll()
                let found =
                    isStarted
                    ? try cursor.next()
                    : try IndexBlocks<Value>.seek(
                        cursor, blocks.key.position(before: lower), blocks.prefix
                    ).entry
                guard let found, IndexKey.hasPrefix(found.key, blocks.prefix) else {
                    isAtEnd = true
                    return
                }
                guard let block = Value.Block(found.value), block.unpack(into: &entries, &arena)
                else { throw blocks.damaged(transaction) }
                if !isStarted { next = block.lowerBound(lower) }
                isStarted = true
            }
        }
    }

    private var added: Part
    private var removed: Part
    private var window = GrowableBuffer<IndexChange<Value>>()

    /// Creates a reader of the changes to values from `lower` on, which must remain valid.
    init(
        _ run: IndexLevels<Value>.Run, from lower: Value, _ transaction: TransactionHandle
    ) throws(StorageError) {
        added = try Part(run.added, from: lower, transaction)
        removed = try Part(run.removed, from: lower, transaction)
    }

    deinit { window.deallocate() }

    /// Returns the next changes, at most those of two blocks; none at the end.
    ///
    /// They are valid until the next call.
    func next() throws(StorageError) -> UnsafeBufferPointer<IndexChange<Value>> {
        window.truncate(to: 0)
        try added.fill()
        try removed.fill()
        // After the last entry of a block, the other part may have entries that precede the next block.
        let bound = [added.last, removed.last].compactMap { $0 }.min { $0.compare($1) < 0 }
        while let bound {
            let (insertion, removal) = (added.first, removed.first)
            let isInsertion =
                insertion.map { entry in removal.map { entry.compare($0) <= 0 } ?? true } ?? false
            guard let entry = isInsertion ? insertion : removal, entry.compare(bound) <= 0
            else { break }
            if isInsertion { added.removeFirst() } else { removed.removeFirst() }
            window.add(IndexChange(entry: entry, change: isInsertion ? 1 : -1))
        }
        return UnsafeBufferPointer(window.elements)
    }
}

extension Int {
    /// Returns the sum of two numbers that are not negative, or the greatest number.
    func saturatingAdd(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension GrowableBuffer {
    /// Appends a change, or adds it to the last one if both are of the same entry.
    fileprivate mutating func add<Value>(_ change: IndexChange<Value>)
    where Element == IndexChange<Value> {
        if let last, last.entry.compare(change.entry) == 0 {
            (base + (count - 1)).pointee.change += change.change
        } else {
            append(change)
        }
    }
}

extension IndexChange {
    /// Returns the changes with a sign, as positive numbers.
    fileprivate static func select(
        _ changes: UnsafeBufferPointer<Self>, sign: Int32
    ) -> GrowableBuffer<Self> {
        var selected = GrowableBuffer<Self>()
        for change in changes where change.change.signum() == sign {
            selected.append(Self(entry: change.entry, change: change.change * sign))
        }
        return selected
    }

    /// Returns the same change of each entry, with the sums of equal entries.
    fileprivate static func all(
        _ entries: GrowableBuffer<IndexEntry<Value>>, change: Int32
    ) -> GrowableBuffer<Self> {
        var changes = GrowableBuffer<Self>(capacity: entries.count)
        for entry in entries.elements { changes.add(Self(entry: entry, change: change)) }
        return changes
    }

    static func negate(_ changes: GrowableBuffer<Self>) {
        for index in 0..<changes.count { (changes.base + index).pointee.change *= -1 }
    }

    /// Returns the sums of a log with the insertions of a tail, which overlap.
    fileprivate static func adding(
        _ tail: UnsafeBufferPointer<IndexEntry<Value>>, to sums: UnsafeBufferPointer<Self>
    ) -> GrowableBuffer<Self> {
        var changes = GrowableBuffer<Self>(capacity: sums.count + tail.count)
        var next = 0
        for entry in tail {
            while next < sums.count, sums[next].entry.compare(entry) <= 0 {
                changes.append(sums[next])
                next += 1
            }
            // This removes an entry that is still in the tail, or another copy of it.
            changes.add(Self(entry: entry, change: 1))
        }
        changes.append(contentsOf: UnsafeBufferPointer(rebasing: sums[next...]))
        assert(
            isAscending(UnsafeBufferPointer(changes.elements)),
            "the insertions of the tail are joined with the sums of their entries")
        return changes
    }
}
