import CYAJL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads JSON as it arrives, in pieces of any size, and hands over one row after the other.
///
/// Confined to one thread. Memory grows with the largest row, not with the text.
package final class JSONParser {
    /// What a row is.
    package enum Shape: Sendable {
        /// Each value at the top.
        case values
        /// Each element of the list at the top; of an object at the top, each element of the lists under its names,
        /// and each object under a name that begins with a dollar.
        case elements
    }

    /// Deeper nesting is refused.
    package static let deepestNesting = 400

    /// The row that was read last.
    package let tape = JSONTape()
    /// The name under which the row's list stands, for a text that is an object of lists.
    package internal(set) var section: String?

    private let events: JSONEvents
    private let onRow: (JSONParser) throws -> Void
    private var handle: yajl_handle?
    private var failure: (any Error)?
    private var currentLine = 1
    private var counted = 0
    private var piece = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    /// A parser that calls `onRow` for each row; the row is on the tape during the call only.
    package init(_ shape: Shape, onRow: @escaping (JSONParser) throws -> Void) {
        self.onRow = onRow
        events = JSONEvents(shape, tape.buffer)
    }

    deinit {
        if let handle { yajl_free(handle) }
        events.deallocate()
    }

    /// The line that is being read, from 1 on; cost: one pass over the text since it was asked for last.
    package var line: Int {
        countLines(to: handle.map { Int(yajl_get_bytes_consumed($0)) } ?? 0)
        return currentLine
    }

    /// Reads on; throws a `FormatError`, or what `onRow` threw.
    package func parse(_ bytes: [UInt8], _ range: Range<Int>? = nil) throws {
        try bytes.withUnsafeBufferPointer { buffer in
            let piece = range.map { UnsafeBufferPointer(rebasing: buffer[$0]) } ?? buffer
            self.piece = piece
            counted = 0
            defer { self.piece = UnsafeBufferPointer(start: nil, count: 0) }
            let handle = try started()
            let status = yajl_parse(handle, piece.baseAddress, piece.count)
            try check(status)
            countLines(to: piece.count)
        }
    }

    /// Says that the text is at its end; throws when it ends too early.
    package func finish() throws {
        guard let handle else { return }
        try check(yajl_complete_parse(handle))
        guard !isInsideValue else {
            throw FormatError(line: currentLine, "the text ends too early")
        }
    }

    /// Forgets an unfinished value, so that the next line can be read after a bad one.
    package func reset() {
        if let handle { yajl_free(handle) }
        handle = nil
        events.reset()
        section = nil
        failure = nil
        tape.clear()
    }

    /// Whether a value has begun and not ended.
    package var isInsideValue: Bool { events.depth > 0 }

    private func countLines(to end: Int) {
        let end = min(end, piece.count)
        guard counted < end, let start = piece.baseAddress else { return }
        var place = start + counted
        while let found = memchr(place, 0x0A, start + end - place) {
            currentLine += 1
            place = UnsafePointer(found.assumingMemoryBound(to: UInt8.self)) + 1
        }
        counted = end
    }

    private func check(_ status: yajl_status) throws {
        guard status != yajl_status_ok else { return }
        if let failure {
            self.failure = nil
            throw failure
        }
        guard let handle, let text = yajl_get_error(handle, 0, nil, 0) else {
            throw FormatError(line: line, "this is not JSON")
        }
        defer { yajl_free_error(handle, text) }
        let reason = String(cString: text).split(separator: "\n").first.map(String.init) ?? ""
        throw FormatError(line: line, Self.plain(reason))
    }

    /// yajl says "lexical error: invalid char in json text."; the first words mean nothing to users.
    private static func plain(_ reason: String) -> String {
        var reason = reason
        for prefix in ["lexical error: ", "parse error: "] where reason.hasPrefix(prefix) {
            reason.removeFirst(prefix.count)
        }
        while reason.last == "." { reason.removeLast() }
        return reason.isEmpty ? "this is not JSON" : "not JSON: \(reason)"
    }

    private func started() throws -> yajl_handle {
        if let handle { return handle }
        let made = try events.makeHandle(for: self)
        handle = made
        return made
    }
}

// What the events of the text come to.
extension JSONParser {
    /// A row is on the tape; false when it ends the reading.
    func endRow() -> Bool {
        defer { tape.clear() }
        do {
            try onRow(self)
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Ends the reading.
    func fail(_ reason: String) { failure = FormatError(line: line, reason) }
}
