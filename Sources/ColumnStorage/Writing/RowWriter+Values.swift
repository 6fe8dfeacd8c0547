// Setters for the values of the row that is being created.
extension RowWriter {
    @inline(__always)
    private func check(_ column: ColumnID, _ kind: ColumnKind) {
        precondition(
            UInt(bitPattern: column.rawValue) < UInt(bitPattern: columns)
                && state.pointee.kinds[column.rawValue] == kind.rawValue,
            "the column does not exist or has another kind")
    }

    @inline(__always)
    private func setWord(_ column: ColumnID, _ kind: ColumnKind, _ word: UInt64) {
        check(column, kind)
        set(column, Cell(word: word, form: Form.word))
    }

    @inline(__always)
    private func set(_ column: ColumnID, _ cell: Cell) {
        if values[column.rawValue].form == Form.unset { cells.pointee.setCount &+= 1 }
        values[column.rawValue] = cell
    }

    /// Sets an integer.
    package func setInt(_ column: ColumnID, _ value: Int64) {
        setWord(column, .int, UInt64(bitPattern: value))
    }

    /// Sets a Boolean value.
    package func setBool(_ column: ColumnID, _ value: Bool) {
        setWord(column, .bool, value ? 1 : 0)
    }

    /// Sets a double.
    package func setDouble(_ column: ColumnID, _ value: Double) {
        setWord(column, .double, value.bitPattern)
    }

    /// Sets a float.
    package func setFloat(_ column: ColumnID, _ value: Float) {
        check(column, .float)
        set(column, Cell(word: UInt64(value.bitPattern), form: Form.float))
    }

    /// Sets a link; nil removes it.
    package func setLink(_ column: ColumnID, _ target: ObjectKey?) {
        setWord(column, .link, target.map { UInt64(bitPattern: $0.rawValue &+ 1) } ?? 0)
    }

    /// Sets a string.
    package func setString(_ column: ColumnID, _ value: String) {
        setBytes(column, value.utf8Span.span.bytes)
    }

    /// Sets a string; returns false, without setting it, if the bytes are not valid UTF-8.
    package func setText(_ column: ColumnID, _ value: RawSpan) -> Bool {
        let isText = Self.isText(value)
        if isText { setBytes(column, value) }
        return isText
    }

    /// Returns whether bytes are valid UTF-8.
    package static func isText(_ value: RawSpan) -> Bool {
        value.withUnsafeBytes { bytes in
            var offset = 0
            var high: UInt64 = 0
            while offset &+ 8 <= bytes.count {
                high |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                offset &+= 8
            }
            while offset < bytes.count {
                high |= UInt64(bytes[offset])
                offset &+= 1
            }
            return high & 0x8080_8080_8080_8080 == 0
                || String(validating: bytes, as: UTF8.self) != nil
        }
    }

    /// Sets a string, data or a fixed-size value.
    package func setBytes(_ column: ColumnID, _ value: RawSpan) {
        precondition(
            UInt(bitPattern: column.rawValue) < UInt(bitPattern: columns),
            "the column does not exist")
        let form: UInt8
        switch state.pointee.kinds[column.rawValue] {
        case ColumnKind.string.rawValue, ColumnKind.data.rawValue: form = Form.text
        case ColumnKind.bytes12.rawValue:
            precondition(value.byteCount == 12, "wrong number of bytes")
            form = Form.fixed
        case ColumnKind.bytes16.rawValue:
            precondition(value.byteCount == 16, "wrong number of bytes")
            form = Form.fixed
        default: preconditionFailure("not a column of bytes")
        }
        let count = value.byteCount
        let start = reserveText(count)
        value.withUnsafeBytes {
            if let source = $0.baseAddress {
                (cells.pointee.text + start).copyMemory(from: source, byteCount: count)
            }
        }
        set(column, Cell(word: UInt64(start), count: count, form: form))
    }

    /// Reserves space for the bytes of a value, and returns its offset in the text.
    private func reserveText(_ count: Int) -> Int {
        let start = cells.pointee.textSize
        if start &+ count > cells.pointee.textCapacity { growText(count) }
        cells.pointee.textSize = start &+ count
        assert(
            cells.pointee.textSize <= cells.pointee.textCapacity,
            "the text has space for the value")
        return start
    }

    @inline(never)
    private func growText(_ count: Int) {
        let used = cells.pointee.textSize
        let capacity = 2 * (used + count)
        let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        grown.copyMemory(from: cells.pointee.text, byteCount: used)
        cells.pointee.text.deallocate()
        cells.pointee.text = grown
        cells.pointee.textCapacity = capacity
    }

    /// Sets data or a fixed-size value.
    package func setBytes(_ column: ColumnID, _ value: [UInt8]) {
        setBytes(column, value.span.bytes)
    }

    /// Sets null; for a link, removes the link.
    package func setNull(_ column: ColumnID) {
        guard let kind = reader.kind(of: column), kind != .list else { return }
        set(column, Cell(form: kind == .link ? Form.word : Form.null))
    }

    // MARK: Collections

    func collection(_ column: ColumnID) -> Collection? {
        collections.first { $0.column == column.rawValue }
    }

    /// Begins a list, a set or a map; returns false if the row writer cannot set collections of the column.
    package func beginCollection(_ column: ColumnID) -> Bool {
        guard let collection = collection(column) else { return false }
        elements.clear(words: collection.words)
        keys.clear(words: false)
        return true
    }

    /// Adds an integer, a Boolean as 0 or 1, the bits of a double, or the key of a linked row.
    package func append(word: Int64) { elements.append(word: word) }

    /// Adds a string, data or a fixed-size value.
    package func append(bytes: RawSpan) {
        bytes.withUnsafeBytes { elements.append(bytes: $0) }
    }

    /// Adds data or a fixed-size value.
    package func append(bytes: [UInt8]) { append(bytes: bytes.span.bytes) }

    /// Adds a string.
    package func append(string: String) { append(bytes: string.utf8Span.span.bytes) }

    /// Adds null.
    package func appendNull() { elements.append(.null) }

    /// Adds the key of the element of a map that is added next.
    package func append(key: RawSpan) {
        key.withUnsafeBytes { keys.append(bytes: $0) }
    }

    /// Adds the key of the element of a map that is added next.
    package func append(key: String) { append(key: key.utf8Span.span.bytes) }

    /// Arranges the elements of the set that was begun: `positions` returns those of the distinct elements in order.
    package func arrangeSet(_ column: ColumnID, _ positions: ([ListElement]) -> [Int]) {
        guard elements.count > 1, let collection = collection(column) else { return }
        let all = (0..<elements.count).map { elements.element($0, collection.kind) }
        elements = elements.arranged(positions(all))
    }

    /// Sets the collection that was begun.
    ///
    /// Returns false, without setting it, if the collection is too long for a row, or a map has a key twice.
    package func endCollection(_ column: ColumnID) -> Bool {
        guard let collection = collection(column) else { return false }
        if collection.keys != nil {
            if !keys.isAscending {
                let positions = keys.ascendingPositions
                (keys, elements) = (keys.arranged(positions), elements.arranged(positions))
            }
            guard keys.isAscending, keys.count == elements.count else { return false }
        }
        guard elements.fitsRow, keys.fitsRow else { return false }
        // Empty collections are stored too, so that the column counts as set.
        values[collection.column] = Cell(word: UInt64(elements.count), form: Form.word)
        set(elements, in: collection.contents)
        if let column = collection.keys { set(keys, in: column) }
        return true
    }

    private func set(_ chunk: UnpackedChunk, in column: Int) {
        if chunk.count == 0 { return }
        let size = chunk.packedSize
        let start = reserveText(size)
        chunk.pack(into: cells.pointee.text + start)
        values[column] = Cell(word: UInt64(start), count: size, form: Form.text)
    }
}

extension UnpackedChunk {
    /// Whether the elements can be stored in the row of their owner.
    fileprivate var fitsRow: Bool {
        count <= ListChunk.maximumElements && packedSize <= InlineLists.maximumBytes
    }
}
