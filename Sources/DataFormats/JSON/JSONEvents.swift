import CYAJL

/// Puts the events of a JSON text on a tape, and tells its parser of each row.
///
/// What it knows lies behind a pointer, as the tape does: a text has a dozen events a row, and what the properties of
/// classes cost at each of them came to more than the reading.
struct JSONEvents {
    private struct State {
        let tape: UnsafeMutablePointer<TapeBuffer>
        let shape: JSONParser.Shape
        /// Where the containers that are open begin on the tape.
        let containers: UnsafeMutablePointer<Int>
        var containerCount = 0
        var depth = 0
        /// The depth of the rows; 0 while it is not known.
        var rowDepth = 0
        // The parser owns the state, and is there while it parses.
        var parser: Unmanaged<JSONParser>?
    }

    private let state: UnsafeMutablePointer<State>

    init(_ shape: JSONParser.Shape, _ tape: UnsafeMutablePointer<TapeBuffer>) {
        state = .allocate(capacity: 1)
        state.initialize(
            to: State(
                tape: tape, shape: shape,
                // One more, for an object under a name that begins with a dollar.
                containers: .allocate(capacity: JSONParser.deepestNesting + 1)))
    }

    private init(_ context: UnsafeMutableRawPointer?) {
        // because `makeHandle` passed it
        state = context!.assumingMemoryBound(to: State.self)
    }

    func deallocate() {
        state.pointee.containers.deallocate()
        state.deallocate()
    }

    /// How many containers are open, those of rows included.
    var depth: Int { state.pointee.depth }

    /// Forgets where the text was.
    func reset() {
        state.pointee.containerCount = 0
        state.pointee.depth = 0
        state.pointee.rowDepth = 0
    }

    /// What reads a text and calls the events.
    func makeHandle(for parser: JSONParser) throws -> yajl_handle {
        state.pointee.parser = Unmanaged.passUnretained(parser)
        guard let made = yajl_alloc(Self.callbacks, nil, state) else {
            throw FormatError("not enough memory")
        }
        if state.pointee.shape == .values { _ = shim_allow_multiple_values(made) }
        return made
    }

    // The parser keeps a pointer to its callbacks; they are written once.
    nonisolated(unsafe) private static let callbacks: UnsafeMutablePointer<yajl_callbacks> = {
        let callbacks = UnsafeMutablePointer<yajl_callbacks>.allocate(capacity: 1)
        callbacks.initialize(
            to: yajl_callbacks(
                yajl_null: { JSONEvents($0).plain(.null) },
                yajl_boolean: { JSONEvents($0).plain($1 != 0 ? .truth : .falsehood) },
                yajl_integer: nil, yajl_double: nil,
                yajl_number: { JSONEvents($0).number($1, $2) },
                yajl_string: { JSONEvents($0).string(UnsafeBufferPointer(start: $1, count: $2)) },
                yajl_start_map: { JSONEvents($0).begin(.object) },
                yajl_map_key: { JSONEvents($0).key(UnsafeBufferPointer(start: $1, count: $2)) },
                yajl_end_map: { JSONEvents($0).end() },
                yajl_start_array: { JSONEvents($0).begin(.array) },
                yajl_end_array: { JSONEvents($0).end() }))
        return callbacks
    }()
}

// What the events do; each answers 1 to go on and 0 to stop.
extension JSONEvents {
    private func plain(_ kind: JSONTape.Kind) -> Int32 {
        guard isInRow else { return noObject() }
        state.pointee.tape.pointee.add(kind)
        return endScalar()
    }

    private func string(_ text: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard isInRow else { return noObject() }
        state.pointee.tape.pointee.add(.string, text)
        return endScalar()
    }

    private func number(_ text: UnsafePointer<CChar>?, _ count: Int) -> Int32 {
        guard isInRow else { return noObject() }
        let bytes = UnsafeRawBufferPointer(start: text, count: count).assumingMemoryBound(
            to: UInt8.self)
        // What is no whole number of 64 bits keeps its text.
        if let value = NumberText.int(bytes) {
            state.pointee.tape.pointee.add(.int, value)
        } else {
            state.pointee.tape.pointee.add(.real, bytes)
        }
        return endScalar()
    }

    private func key(_ text: UnsafeBufferPointer<UInt8>) -> Int32 {
        if isInRow {
            state.pointee.tape.pointee.add(.string, text)
        } else {
            state.pointee.parser?.takeUnretainedValue().section = String(
                decoding: text, as: UTF8.self)
        }
        return 1
    }

    private func begin(_ kind: JSONTape.Kind) -> Int32 {
        let depth = state.pointee.depth
        let rowDepth = state.pointee.rowDepth
        if isInRow {
            guard state.pointee.containerCount < JSONParser.deepestNesting else {
                return fail("values are nested more than \(JSONParser.deepestNesting) deep")
            }
            open(kind)
        } else if kind == .array, depth == 0 || (depth == 1 && rowDepth == 2) {
            state.pointee.rowDepth = depth + 1
        } else if kind == .object, depth == 0 {
            state.pointee.rowDepth = 2
        } else if kind == .object, depth == 1, rowDepth == 2, section?.hasPrefix("$") == true {
            open(kind)
        } else {
            return fail("expected a list of objects under \"\(section ?? "")\"")
        }
        state.pointee.depth = depth + 1
        return 1
    }

    private func open(_ kind: JSONTape.Kind) {
        let count = state.pointee.containerCount
        state.pointee.containers[count] = state.pointee.tape.pointee.count
        state.pointee.containerCount = count + 1
        state.pointee.tape.pointee.add(kind)
    }

    private func end() -> Int32 {
        state.pointee.depth &-= 1
        guard state.pointee.containerCount > 0 else {
            if state.pointee.depth == 0 { state.pointee.rowDepth = 0 }
            return 1
        }
        state.pointee.containerCount &-= 1
        state.pointee.tape.pointee.close(
            state.pointee.containers[state.pointee.containerCount])
        return state.pointee.containerCount == 0 ? endRow() : 1
    }

    @inline(__always)
    private var isInRow: Bool {
        let depth = state.pointee.depth
        let rowDepth = state.pointee.rowDepth
        return state.pointee.containerCount > 0
            || (state.pointee.shape == .values ? depth == 0 : rowDepth > 0 && depth == rowDepth)
    }

    @inline(__always)
    private func endScalar() -> Int32 {
        // A section that is one object is a row too, and a member of it ends nothing.
        state.pointee.containerCount == 0 ? endRow() : 1
    }

    private var section: String? { state.pointee.parser?.takeUnretainedValue().section }

    private func endRow() -> Int32 {
        state.pointee.parser?.takeUnretainedValue().endRow() == true ? 1 : 0
    }

    private func noObject() -> Int32 { fail("a row must be an object in a list") }

    private func fail(_ reason: String) -> Int32 {
        state.pointee.parser?.takeUnretainedValue().fail(reason)
        return 0
    }
}
