import CYAJL

/// What is wrong with a text, and where.
public struct FormatError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The line, from 1 on; nil where a text has no lines.
    public var line: Int?
    /// What is wrong.
    public var reason: String

    /// An error at a line.
    public init(line: Int? = nil, _ reason: String) {
        self.line = line
        self.reason = reason
    }

    /// The line and the reason.
    public var description: String { line.map { "line \($0): \(reason)" } ?? reason }
}

/// Reads JSON as it arrives, in pieces of any size, and hands over one row after the other.
///
/// Confined to one thread. Memory grows with the largest row, not with the text.
public final class JSONParser {
    /// What a row is.
    public enum Shape: Sendable {
        /// Each value at the top.
        case values
        /// Each element of the list at the top; of an object at the top, each element of the lists under its names,
        /// and each object under a name that begins with a dollar.
        case elements
    }

    /// Deeper nesting is refused.
    public static let deepestNesting = 200

    /// The row that was read last.
    public let tape = JSONTape()
    /// The name under which the row's list stands, for a text that is an object of lists.
    public private(set) var section: String?

    private let shape: Shape
    private let onRow: (JSONParser) throws -> Void
    private var handle: yajl_handle?
    private var containers: [Int] = []
    private var depth = 0
    private var rowDepth = 0
    private var failure: (any Error)?
    private var currentLine = 1
    private var counted = 0
    private var piece = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    /// A parser that calls `onRow` for each row; the row is on the tape during the call only.
    public init(_ shape: Shape, onRow: @escaping (JSONParser) throws -> Void) {
        self.shape = shape
        self.onRow = onRow
        rowDepth = 0
    }

    deinit { if let handle { yajl_free(handle) } }

    /// The line that is being read, from 1 on; cost: one pass over the text since it was asked for last.
    public var line: Int {
        countLines(to: handle.map { Int(yajl_get_bytes_consumed($0)) } ?? 0)
        return currentLine
    }

    /// Reads on; throws a `FormatError`, or what `onRow` threw.
    public func parse(_ bytes: [UInt8], _ range: Range<Int>? = nil) throws {
        let range = range ?? 0..<bytes.count
        try bytes.withUnsafeBufferPointer { buffer in
            piece = UnsafeBufferPointer(rebasing: buffer[range])
            counted = 0
            defer { piece = UnsafeBufferPointer(start: nil, count: 0) }
            let status = yajl_parse(try started(), piece.baseAddress, piece.count)
            try check(status)
            countLines(to: piece.count)
        }
    }

    /// Says that the text is at its end; throws when it ends too early.
    public func finish() throws {
        guard let handle else { return }
        try check(yajl_complete_parse(handle))
        guard depth == 0 else { throw FormatError(line: currentLine, "the text ends too early") }
    }

    /// Forgets an unfinished value, so that the next line can be read after a bad one.
    public func reset() {
        if let handle { yajl_free(handle) }
        handle = nil
        containers.removeAll(keepingCapacity: true)
        depth = 0
        rowDepth = 0
        section = nil
        failure = nil
        tape.clear()
    }

    /// Whether a value has begun and not ended.
    public var isInsideValue: Bool { depth > 0 }

    private func countLines(to end: Int) {
        let end = min(end, piece.count)
        guard counted < end else { return }
        for byte in piece[counted..<end] where byte == 0x0A { currentLine += 1 }
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
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard let made = yajl_alloc(JSONParser.callbacks, nil, context) else {
            throw FormatError("not enough memory")
        }
        if shape == .values { _ = shim_allow_multiple_values(made) }
        handle = made
        return made
    }

    // The parser keeps a pointer to its callbacks; they are written once.
    nonisolated(unsafe) private static let callbacks: UnsafeMutablePointer<yajl_callbacks> = {
        let callbacks = UnsafeMutablePointer<yajl_callbacks>.allocate(capacity: 1)
        callbacks.initialize(
            to: yajl_callbacks(
                yajl_null: { JSONParser.of($0).scalar { $0.add(.null) } },
                yajl_boolean: { context, flag in
                    JSONParser.of(context).scalar { $0.add(flag != 0 ? .truth : .falsehood) }
                },
                yajl_integer: nil, yajl_double: nil,
                yajl_number: { context, text, count in
                    JSONParser.of(context).scalar { tape in
                        text?.withMemoryRebound(to: UInt8.self, capacity: count) {
                            tape.addNumber(UnsafeBufferPointer(start: $0, count: count))
                        }
                    }
                },
                yajl_string: { context, text, count in
                    JSONParser.of(context).scalar {
                        $0.add(.string, UnsafeBufferPointer(start: text, count: count))
                    }
                },
                yajl_start_map: { JSONParser.of($0).begin(.object) },
                yajl_map_key: { context, text, count in
                    JSONParser.of(context).key(UnsafeBufferPointer(start: text, count: count))
                },
                yajl_end_map: { JSONParser.of($0).end() },
                yajl_start_array: { JSONParser.of($0).begin(.array) },
                yajl_end_array: { JSONParser.of($0).end() }))
        return callbacks
    }()

    @inline(__always)
    private static func of(_ context: UnsafeMutableRawPointer?) -> JSONParser {
        // because `open` passed it, and a parser outlives its handle
        Unmanaged<JSONParser>.fromOpaque(context!).takeUnretainedValue()
    }
}

// What the events of the text do; each answers 1 to go on and 0 to stop.
extension JSONParser {
    private func scalar(_ add: (JSONTape) -> Void) -> Int32 {
        guard isInRow else { return fail("a row must be an object in a list") }
        add(tape)
        return depth == rowDepth ? endRow() : 1
    }

    private func key(_ text: UnsafeBufferPointer<UInt8>) -> Int32 {
        if isInRow {
            tape.add(.string, text)
        } else {
            section = String(decoding: text, as: UTF8.self)
        }
        return 1
    }

    private func begin(_ kind: JSONTape.Kind) -> Int32 {
        if isInRow {
            guard containers.count < Self.deepestNesting else {
                return fail("values are nested more than \(Self.deepestNesting) deep")
            }
            containers.append(tape.count)
            tape.add(kind)
        } else if kind == .array, depth == 0 || (depth == 1 && rowDepth == 2) {
            rowDepth = depth + 1
        } else if kind == .object, depth == 0 {
            rowDepth = 2
        } else if kind == .object, depth == 1, rowDepth == 2, section?.hasPrefix("$") == true {
            containers.append(0)
            tape.add(kind)
        } else {
            return fail("expected a list of objects under \"\(section ?? "")\"")
        }
        depth += 1
        return 1
    }

    private func end() -> Int32 {
        depth -= 1
        guard let start = containers.popLast() else {
            if depth == 0 { rowDepth = 0 }
            return 1
        }
        tape.close(start)
        return containers.isEmpty ? endRow() : 1
    }

    private var isInRow: Bool {
        !containers.isEmpty || (shape == .values ? depth == 0 : rowDepth > 0 && depth == rowDepth)
    }

    private func endRow() -> Int32 {
        defer { tape.clear() }
        do {
            try onRow(self)
            return 1
        } catch {
            failure = error
            return 0
        }
    }

    private func fail(_ reason: String) -> Int32 {
        failure = FormatError(line: line, reason)
        return 0
    }
}
